/**
 * The form of one row beside the grid: all its columns below each other, hidden ones too.
 * @module
 */

import { fill, focusedIn, h, iconButton, marked, plainMarked, query } from '../../common/dom.js';
import { openMenu } from '../../common/menu.js';

/** Columns that are listed at once; with more of them one is found by its name. */
const MOST_LINES = 300;

/** Characters of a value that are shown, and of one in which is searched. */
const MOST_TEXT = 20_000;

let serial = 0;

/**
 * @typedef {import('./rowedit.js').RowEdit} RowEdit
 * @typedef {HTMLInputElement|HTMLTextAreaElement|HTMLSelectElement} Control
 * @typedef {{column: number, element: HTMLElement, name: HTMLElement, body: HTMLElement, note: HTMLElement, mode: string, control: Control|null, shown: string}} Line
 *   `mode`: the kind of its control; `shown`: the text in it before somebody typed
 * @typedef {{close: () => void, step: (by: 1|-1) => void, view: (at: import('../results/gridmodel.js').Position) => void,
 *   edit: (row: number) => RowEdit|null, typing: (commit: (() => void)|null) => void, announce: Announce}} On `edit`: changes the row; null where it cannot be changed;
 *   `typing`: gets the function that takes what is being typed, null where nothing is
 */

/** The form; it follows the active row of the grid. */
export class RowForm {
  #grid;
  #on;
  /** @type {Map<number, Line>} */ #lines = new Map();
  #row = -1;
  /** @type {RowEdit|null} */ #edit = null;
  /** The line in which something is typed that was not taken yet. @type {Line|null} */ #typed = null;
  #listed = '';

  /** @param {import('../results/grid.js').Grid} grid @param {On} on */
  constructor(grid, on) {
    this.#grid = grid;
    this.#on = on;
    this.title = h('span', { class: 'viewer-title' });
    this.facts = h('span', { class: 'viewer-facts dim' });
    this.find = h('input', { class: 'field', type: 'search', 'aria-label': 'Find a column or a value of the row', placeholder: 'Find a column or a value', autocomplete: 'off', spellcheck: 'false', on: { input: () => this.#list() } });
    this.found = h('p', { class: 'dim', 'aria-live': 'polite' });
    this.list = h('div', { class: 'form-lines' });
    // The keyboard of a phone takes a part of the height.
    new ResizeObserver(() => focusedIn(this.list)?.scrollIntoView({ block: 'nearest' })).observe(this.list);
    this.element = h('section', { class: 'viewer row-form', 'aria-label': 'Row', hidden: true, on: { keydown: (event) => this.#onKey(event), focusin: (event) => this.#onFocus(event) } },
      h('div', { class: 'viewer-head' }, this.title, this.facts, this.wide = iconButton('expand', 'Whole width, or beside the rows', () => this.widen(), { class: 'button quiet square form-wide', 'aria-pressed': 'false' }), iconButton('chevron-up', 'Previous row (Alt+↑)', () => on.step(-1)),
        iconButton('chevron-down', 'Next row (Alt+↓)', () => on.step(1)), iconButton('close', 'Close the form (Esc)', on.close)),
      h('div', { class: 'form-find' }, this.find, this.found), this.list);
  }

  get isOpen() {
    return !this.element.hidden;
  }

  /** Gives the form the whole width, or leaves the rows beside it. @param {boolean} [whole] */
  widen(whole = !this.element.classList.contains('whole')) {
    this.element.classList.toggle('whole', whole);
    this.wide.setAttribute('aria-pressed', String(whole));
  }

  /** Number of the row among all. @param {number} row */
  #titleOf(row) {
    if (row < 0) return 'No row';
    const number = this.#edit ? this.#edit.number : String(row + 1);
    if (!number) return 'New row';
    const { model } = this.#grid;
    /** @type {any} */
    const { pager } = model.result;
    const all = (pager?.rowCount ?? model.rowCount).toLocaleString('en');
    return `Row ${Number(number).toLocaleString('en')} of ${all}${model.goesOn ? '+' : ''}`;
  }

  /** Shows the active row. */
  show() {
    const { active, rowCount } = this.#grid.model;
    const row = Math.min(Math.max(0, active.row), rowCount - 1);
    if (row !== this.#row) this.commit();
    this.#row = row;
    this.element.hidden = false;
    this.#edit = row < 0 ? null : this.#on.edit(row);
    this.title.textContent = this.#titleOf(row);
    this.facts.textContent = this.#edit?.state ?? '';
    this.facts.classList.toggle('bad', Boolean(this.#edit?.error));
    this.#list();
  }

  close() {
    this.commit();
    this.element.hidden = true;
    this.#row = -1;
  }

  /** Goes to the field of the active column, or the first one. */
  focus() {
    const line = this.#lines.get(this.#grid.model.active.column);
    const control = line?.element.isConnected ? line.control : query(this.list, 'input, textarea, select');
    (control ?? this.find).focus();
    control?.scrollIntoView({ block: 'nearest' });
  }

  /** Takes what is being typed. */
  commit() {
    const line = this.#typed;
    if (!line?.control) return;
    this.#type(null);
    if (line.control.value !== line.shown) this.#edit?.put(line.column, line.control.value);
  }

  /** @param {Line|null} line */
  #type(line) {
    this.#typed = line;
    this.#on.typing(line && (() => this.commit()));
  }

  // The lines.

  #list() {
    const { columns } = this.#grid.model.result;
    const needle = this.find.value.trim().toLowerCase();
    const found = [...columns.keys()].filter((column) => !needle || columns[column].toLowerCase().includes(needle) || this.#textAt(column).toLowerCase().includes(needle));
    const listed = this.#row < 0 ? [] : found.slice(0, MOST_LINES);
    const lines = listed.map((column) => this.#lines.get(column) ?? this.#line(column));
    // The focus stays where the lines are the same.
    if (String(listed) !== this.#listed) fill(this.list, lines.map(({ element }) => element));
    this.#listed = String(listed);
    for (const line of lines) this.#update(line);
    this.found.textContent = !needle && found.length <= MOST_LINES ? '' : `${found.length} of ${columns.length} columns${found.length > MOST_LINES ? `; the first ${MOST_LINES} are listed` : ''}`;
  }

  #textAt(column) {
    const value = this.#valueAt(column);
    return value === null || value === undefined ? 'NULL' : String(value).slice(0, MOST_TEXT);
  }

  #valueAt(column) {
    return this.#grid.model.row(this.#row)?.[column];
  }

  /** @returns {Line} */
  #line(column) {
    /** @type {any} */
    const { result } = this.#grid.model;
    const { columns, types } = result;
    const { type, comment } = result.describe?.(column) ?? { type: (types[column] ?? '').toLowerCase(), comment: '' };
    const name = h('label', { class: 'form-name', for: `form-${(serial += 1)}`, title: plainMarked([columns[column], type, comment].filter(Boolean).join('\n')) },
      h('b', {}, marked(columns[column])), h('span', { class: 'dim' }, marked(type)), comment && h('span', { class: 'dim form-comment' }, marked(comment)));
    const body = h('div', { class: 'form-value' });
    const note = h('p', { class: 'form-note', id: `form-${serial}-note`, hidden: true });
    const line = { column, element: h('div', { class: 'form-line', data: { column } }, name, body, note), name, body, note, mode: '', control: null, shown: '' };
    this.#lines.set(column, line);
    return line;
  }

  /** @param {Line} line */
  #update(line) {
    const value = this.#valueAt(line.column);
    const edit = this.#edit;
    const text = edit?.text(line.column, value) ?? (value === null || value === undefined ? '' : String(value));
    const kind = edit?.modeOf(line.column, value) ?? (/\n/.test(text) ? 'area' : 'input');
    // A list that is open stays the same element.
    const mode = kind === 'select' ? JSON.stringify(edit?.options(line.column)) : kind;
    const isCut = text.length > MOST_TEXT;
    const isFixed = !edit || edit.isDeleted || isCut || value === undefined || edit.isFixed(line.column, value);
    if (line.mode !== mode) this.#makeControl(line, mode);
    const control = /** @type {Control} */ (line.control);
    const next = kind === 'select' ? edit?.choiceOf(line.column, value) ?? '' : isCut ? `${text.slice(0, MOST_TEXT)} …` : text;
    if (control !== this.#typed?.control) {
      if (control.value !== next) control.value = next;
      line.shown = control.value;
    }
    if (control instanceof HTMLSelectElement) control.disabled = isFixed;
    else {
      control.readOnly = isFixed;
      control.placeholder = value === undefined ? 'loading …' : value === null ? 'NULL' : value === '' ? 'empty text' : typeof value === 'object' ? String(value) : '';
    }
    const { state = '', words = '', problem = '' } = edit?.markOf(line.column) ?? {};
    line.element.dataset.edit = problem ? 'bad' : state;
    line.note.textContent = problem || words;
    line.note.hidden = line.note.textContent === '';
    control.setAttribute('aria-invalid', String(problem !== ''));
    if (isCut || edit?.menu(line.column).length) line.element.dataset.more = '';
    else delete line.element.dataset.more;
  }

  /** @param {Line} line @param {string} mode `area`, `input`, or the choices of a list */
  #makeControl(line, mode) {
    const id = line.name.getAttribute('for') ?? '';
    const had = focusedIn(line.body) === line.control && line.control !== null;
    const { column } = line;
    const on = {
      input: () => this.#type(line.control?.value === line.shown ? null : line),
      change: () => this.commit(),
    };
    const props = { id, class: 'field', 'aria-describedby': line.note.id, autocomplete: 'off', spellcheck: 'false' };
    if (mode.startsWith('[')) {
      const select = h('select', { ...props, on: { change: () => this.#edit?.choose(column, select.value) } }, JSON.parse(mode).map(({ key, text }) => h('option', { value: key, text })));
      line.control = select;
    } else line.control = mode === 'area' ? h('textarea', { ...props, rows: 2, on }) : h('input', { ...props, on });
    line.mode = mode;
    const more = iconButton('dots', `More for ${this.#grid.model.result.columns[column]}`, () => this.#openMore(line, more), { class: 'button quiet square form-more' });
    fill(line.body, line.control, more);
    if (had) line.control.focus();
  }

  #openMore(line, button) {
    this.commit();
    const table = this.#edit?.refersTo(line.column);
    const choose = { label: `Choose a row of ${table} …`, icon: 'link', key: 'Alt+Enter', run: () => this.#choose(line) };
    openMenu(button, [...(table ? [choose] : []), ...this.#edit?.menu(line.column) ?? [], { label: 'Show in the viewer', icon: 'value', run: () => this.#on.view({ row: this.#row, column: line.column }) }]);
  }

  /** Opens the rows that the column can refer to, or its value in a panel. @param {Line} line */
  #choose(line) {
    this.commit();
    if (line.control && this.#edit?.refersTo(line.column)) this.#edit.openReference(line.column, line.control);
    else this.#edit?.openPanel(line.column);
  }

  // Keys.

  #lineOf(target) {
    const column = target.closest?.('.form-line')?.dataset.column;
    return column === undefined ? undefined : this.#lines.get(Number(column));
  }

  /** The grid shows the column of the field. */
  #onFocus({ target }) {
    const line = this.#lineOf(target);
    const { model } = this.#grid;
    if (!line || model.slotOf(line.column) < 0 || (model.active.column === line.column && model.active.row === this.#row)) return;
    this.#grid.moveTo({ row: this.#row, column: line.column }, { focus: false });
  }

  #onKey(event) {
    if (event.isComposing || !this.#act(event)) return;
    event.preventDefault();
    event.stopPropagation();
  }

  /** True if the key does something. @param {KeyboardEvent} event */
  #act(event) {
    const { key, altKey, shiftKey, target } = event;
    const line = this.#lineOf(target);
    const ctrl = (event.ctrlKey || event.metaKey) && !altKey;
    const step = altKey && !ctrl && { ArrowUp: /** @type {-1} */ (-1), ArrowDown: /** @type {1} */ (1) }[key];
    if (step) this.#step(step, line);
    else if (key === 'Escape') this.#escape();
    else if (key === 'Enter' && altKey && line && this.#edit) this.#choose(line);
    else if (key === 'F8') this.#on.close();
    else if (ctrl && key === 's' && this.#edit) { this.commit(); this.#edit.review(); }
    else if (ctrl && key === '0' && line && this.#edit) this.#edit.setNull(line.column);
    else if (ctrl && key === 'Backspace' && line && this.#edit && !this.#typed) this.#edit.setDefault(line.column);
    else if (ctrl && (key === 'y' || key.toLowerCase() === 'z') && this.#edit && !this.#typed) {
      if (key === 'z') this.#edit.undo();
      else this.#edit.redo();
      line?.control?.focus();
    }
    else if (key === 'Enter' && !ctrl && !altKey && target instanceof HTMLInputElement && line) this.#go(line, shiftKey ? -1 : 1);
    else return false;
    return true;
  }

  #step(by, line) {
    this.commit();
    this.#on.step(by);
    line?.control?.focus();
    this.#on.announce(`${this.title.textContent} ${this.facts.textContent}`);
  }

  #escape() {
    const line = this.#typed;
    if (!line?.control) return this.#on.close();
    line.control.value = line.shown;
    return this.#type(null);
  }

  /** Goes on to the field below or above. */
  #go(line, by) {
    this.commit();
    const all = [...this.list.children];
    const next = all[all.indexOf(line.element) + by];
    const control = next && this.#lineOf(next)?.control;
    control?.focus();
    if (control instanceof HTMLInputElement) control.select();
  }
}
