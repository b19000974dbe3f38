/**
 * The list of all columns: find one and go to it, hide, freeze and move them.
 * @module
 */

import { fill, focusedIn, h, icon, iconButton, query, queryAll } from '../../common/dom.js';
import { openPanel } from '../../common/popup.js';
import { freeze, hide, isPlain, place, plainLayout, sequence, shift, show } from './columns.js';

/** Columns listed at once; with more of them one is found by its name. */
const MOST_LISTED = 300;

/**
 * @param {HTMLElement} button
 * @param {import('./grid.js').Grid} grid
 * @param {Announce} announce
 * @param {import('../../common/popup.js').Back} [back]
 */
export function openColumnList(button, grid, announce, back) {
  openPanel(button, 'Columns', (close) => new ColumnList(grid, announce, close).nodes, back);
}

class ColumnList {
  #grid;
  #announce;
  #close;
  /** The column whose line is reached by Tab. */
  #current;

  /** @param {import('./grid.js').Grid} grid @param {Announce} announce @param {() => void} close */
  constructor(grid, announce, close) {
    this.#grid = grid;
    this.#announce = announce;
    this.#close = close;
    this.#current = grid.model.active.column;
    this.find = h('input', {
      class: 'field', type: 'search', 'aria-label': 'Find a column', placeholder: 'Find a column; Enter goes to it', autocomplete: 'off', spellcheck: 'false',
      data: { first: '' }, on: { input: () => this.#draw(), keydown: (event) => this.#onFindKey(event) },
    });
    this.figures = h('p', { class: 'dim', 'aria-live': 'polite' });
    this.tools = h('div', { class: 'panel-buttons' });
    this.list = h('ul', { class: 'column-list', 'aria-label': 'Columns', on: { keydown: (event) => this.#onKey(event) } });
    this.nodes = [this.find, this.figures, this.list, this.tools];
    this.#draw();
  }

  get #layout() {
    return this.#grid.model.layout;
  }

  get #names() {
    return this.#grid.model.result.columns;
  }

  get #found() {
    const needle = this.find.value.trim().toLowerCase();
    const all = sequence(this.#layout);
    if (!needle) return all;
    const names = this.#names;
    const isFound = (column) => [names[column], this.#about(column).comment].some((text) => text.toLowerCase().includes(needle));
    const rank = (column) => [names[column].toLowerCase()].map((name) => (name === needle ? 0 : name.startsWith(needle) ? 1 : name.includes(needle) ? 2 : 3))[0];
    return all.filter(isFound).sort((a, b) => rank(a) - rank(b));
  }

  /** Whole type and comment of a column, as far as they are known. @param {number} column @returns {{type: string, comment: string}} */
  #about(column) {
    /** @type {any} */
    const { result } = this.#grid.model;
    return result.describe?.(column) ?? { type: (result.types[column] ?? '').toLowerCase(), comment: '' };
  }

  #draw() {
    const found = this.#found;
    const isSearch = this.find.value.trim() !== '';
    const { hidden, frozen } = this.#layout;
    const { model } = this.#grid;
    const scrolled = this.list.scrollTop;
    const focused = focusedIn(this.list);
    const part = focused?.dataset.part;
    if (!found.includes(this.#current)) this.#current = found[0] ?? -1;
    const states = { away: new Set(hidden), ahead: new Set(frozen) };
    fill(this.list, found.slice(0, MOST_LISTED).map((column) => this.#line(column, states)));
    this.list.scrollTop = scrolled;
    if (part) this.#focus(this.#current, part);
    else if (!isSearch) query(this.list, `[data-column="${this.#current}"]`)?.scrollIntoView({ block: 'nearest' });
    const total = this.#names.length;
    const narrowed = isSearch ? `${found.length} of ${total} columns` : `${total} ${total === 1 ? 'column' : 'columns'}`;
    const visible = hidden.length && !isSearch ? `${total - hidden.length} of ${total} columns are visible` : narrowed;
    const cut = found.length > MOST_LISTED ? `. The first ${MOST_LISTED} are listed: type to find the others` : '';
    const narrow = model.stuck < model.frozen ? `. Only ${model.stuck} of ${model.frozen} frozen columns fit this window` : '';
    this.figures.textContent = isSearch && !found.length ? `No column is named like “${this.find.value.trim()}”` : `${visible}${narrow}${cut}`;
    const of = isSearch ? 'found' : 'all';
    fill(this.tools,
      this.#tool(`Show ${of}`, !found.some((column) => states.away.has(column)), () => this.#arrange(show(this.#layout, found))),
      this.#tool(`Hide ${of}`, found.every((column) => states.away.has(column)), () => this.#arrange(hide(this.#layout, found))),
      this.#tool('Reset', isPlain(this.#layout), () => this.#arrange(plainLayout(total))));
  }

  #tool(text, disabled, run) {
    // The focus stays on a button that has nothing more to do.
    return h('button', { type: 'button', class: 'button', text, 'aria-disabled': disabled ? 'true' : null, data: { tool: text }, on: { click: () => { if (!disabled) { run(); query(this.tools, `[data-tool="${text}"]`)?.focus(); } } } });
  }

  #line(column, { away, ahead }) {
    const name = this.#names[column];
    const isCurrent = column === this.#current;
    const tabindex = isCurrent ? 0 : -1;
    const isFrozen = ahead.has(column);
    const { type, comment } = this.#about(column);
    const box = h('input', { type: 'checkbox', 'aria-label': `Show ${name}`, tabindex, data: { part: 'show' }, on: { change: () => this.#toggle(column, box.checked) } });
    box.checked = !away.has(column);
    const go = h('button', { type: 'button', class: 'column-name', tabindex, title: [`Go to ${name}`, type, comment].filter(Boolean).join('\n'), data: { part: 'go' }, on: { click: () => this.#go(column) } },
      h('span', { text: name }), h('span', { class: 'dim', text: type }));
    const pin = iconButton('freeze', `Freeze ${name}`, () => this.#arrange(freeze(this.#layout, [column], !isFrozen), column), { tabindex, 'aria-pressed': String(isFrozen), data: { part: 'pin' } });
    const handle = h('span', { class: 'column-handle', 'aria-hidden': 'true', title: 'Drag to move (Alt+↑, Alt+↓)', on: { pointerdown: (event) => this.#drag(event, column) } }, icon('menu'));
    return h('li', { data: { column }, class: away.has(column) ? 'away' : null }, handle, h('label', { class: 'column-box' }, box), go, pin);
  }

  /** @param {import('./gridmodel.js').Layout} layout @param {number} [current] */
  #arrange(layout, current) {
    if (current !== undefined) this.#current = current;
    this.#grid.arrange(layout);
    this.#draw();
  }

  #toggle(column, on) {
    const next = on ? show(this.#layout, [column]) : hide(this.#layout, [column]);
    if (!on && !next.hidden.includes(column)) this.#announce('One column stays visible');
    this.#arrange(next, column);
  }

  #move(column, by) {
    this.#arrange(shift(this.#layout, column, by, true), column);
    query(this.list, `[data-column="${column}"]`)?.scrollIntoView({ block: 'nearest' });
    this.#announce(`${this.#names[column]} is column ${sequence(this.#layout).indexOf(column) + 1} of ${this.#names.length}`);
  }

  /** Goes to a column in the grid, which is shown where it was hidden. */
  #go(column) {
    if (column === undefined) return;
    const grid = this.#grid;
    this.#close();
    grid.show([column]);
    grid.moveTo({ row: grid.model.active.row, column }, { focus: true });
  }

  #focus(column, part) {
    this.#current = column;
    for (const line of queryAll(this.list, 'li')) {
      const isCurrent = line.dataset.column === String(column);
      for (const one of queryAll(line, '[data-part]')) one.tabIndex = isCurrent ? 0 : -1;
      if (isCurrent) query(line, `[data-part="${part}"]`)?.focus();
    }
  }

  #onFindKey(event) {
    if (event.isComposing) return;
    if (event.key === 'Enter') this.#go(this.#found[0]);
    else if (event.key === 'ArrowDown') this.#focus(this.#current, 'show');
    else return;
    event.preventDefault();
  }

  #onKey(event) {
    const line = event.target.closest('li');
    if (!line) return;
    const { key } = event;
    const part = event.target.dataset.part;
    const column = Number(line.dataset.column);
    const lines = queryAll(this.list, 'li').map(({ dataset }) => Number(dataset.column));
    const at = lines.indexOf(column);
    const step = { ArrowUp: at - 1, ArrowDown: at + 1, Home: 0, End: lines.length - 1, PageUp: Math.max(0, at - 10), PageDown: Math.min(lines.length - 1, at + 10) }[key];
    const parts = ['show', 'go', 'pin'];
    const side = { ArrowLeft: -1, ArrowRight: 1 }[key];
    if (event.altKey && (key === 'ArrowUp' || key === 'ArrowDown')) this.#move(column, key === 'ArrowUp' ? -1 : 1);
    else if (step === -1) this.find.focus();
    else if (step !== undefined) this.#focus(lines[Math.min(step, lines.length - 1)], part);
    else if (side) this.#focus(column, parts[Math.min(Math.max(parts.indexOf(part) + side, 0), parts.length - 1)]);
    else if (key === 'Enter' && part === 'show') this.#go(column);
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  /** Moves a column to where it is dropped. */
  #drag(event, column) {
    event.preventDefault();
    const { target, pointerId } = event;
    target.setPointerCapture(pointerId);
    /** @type {{line: HTMLElement, behind: boolean}|null} */
    let to = null;
    const mark = () => { for (const line of queryAll(this.list, 'li')) line.classList.remove('before', 'behind'); };
    const move = ({ clientY }) => {
      const box = this.list.getBoundingClientRect();
      if (clientY < box.top + 16) this.list.scrollTop -= 12;
      else if (clientY > box.bottom - 16) this.list.scrollTop += 12;
      const line = queryAll(this.list, 'li').find((one) => clientY < one.getBoundingClientRect().bottom) ?? queryAll(this.list, 'li').at(-1);
      mark();
      if (!line) return;
      const own = line.getBoundingClientRect();
      to = { line, behind: clientY > own.top + own.height / 2 };
      line.classList.add(to.behind ? 'behind' : 'before');
    };
    const end = ({ type }) => {
      mark();
      for (const name of ['pointermove', 'pointerup', 'pointercancel']) target.removeEventListener(name, name === 'pointermove' ? move : end);
      if (type === 'pointerup' && to) this.#arrange(place(this.#layout, column, Number(to.line.dataset.column), to.behind), column);
    };
    target.addEventListener('pointermove', move);
    for (const name of ['pointerup', 'pointercancel']) target.addEventListener(name, end);
  }
}
