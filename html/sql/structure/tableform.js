/**
 * The form of a table: its columns, indexes, foreign keys, checks and options, as its SHOW CREATE tells them.
 * @module
 */

import { fill, h, icon, iconButton, marked, queryAll } from '../../common/dom.js';
import { confirmDialog, openDialog } from '../../common/dialog.js';
import { openPanel } from '../../common/popup.js';
import { askRows, textOf } from '../ask.js';
import { quoteName } from '../core/format.js';
import { formatBytes } from '../../common/figures.js';
import { highlighted } from '../objects/parts.js';
import { alterTable, faultOf, lockingOf, prepare, risks } from './alter.js';
import { ColumnsForm } from './columnsform.js';
import { optionOf, parseTable, writeTable } from './definition.js';
import { Draft, isSame, LISTS, rebase, settledText } from './draft.js';
import { misfits, problemsOf } from './edits.js';
import { cellInput, focusField, setProblem, show } from './formparts.js';
import { ChecksForm, ForeignKeysForm, IndexesForm } from './keysform.js';
import { OptionsForm } from './optionsform.js';
import { review } from './review.js';
import { Suggest } from './suggest.js';

/** Objects that mention a column and are named. */
const MOST_NAMED = 20;

const LIST_OF = { column: 'columns', index: 'indexes', foreignKey: 'foreignKeys', check: 'checks', option: 'options', table: 'table' };
/** Field of a part that an error is shown at where it names none. */
const MAIN_FIELD = { columns: 'type', indexes: 'parts', foreignKeys: 'refTable', checks: 'expression' };
const KIND_WORDS = { columns: 'Column', indexes: 'Index', foreignKeys: 'Foreign key', checks: 'Check', options: 'Option', table: 'Table' };
const MARK_WORDS = { new: 'new', changed: 'changed', moved: 'moved', removed: 'removed' };

/** True if the statements are shown below the form; the same for all of them. */
let showsSql = false;

/** The form of one table. */
export class TableForm {
  #host;
  #checked = false;
  /** The control in which something is being typed. @type {any} */ #typing = null;
  /** Fault that the server found. @type {{list: string, id: string, field: string, text: string}|null} */ #fault = null;
  /** @type {Map<string, string>} */ #problems = new Map();
  /** Ids of parts with a problem. @type {Set<string>} */ #faulty = new Set();
  #busy = false;
  /** Problem that is told above the bar. */ #told = '';
  /** The control that had the focus last, and its label once the changes are run. @type {Element|null} */ #last = null;
  #back = '';

  /**
   * @param {import('./definition.js').Table} table as read, or the blank one of a new table
   * @param {boolean} isNew
   * @param {import('./definition.js').Server} server
   * @param {import('./facts.js').Facts} facts
   * @param {import('./formparts.js').Host} host
   */
  constructor(table, isNew, server, facts, host) {
    this.#host = host;
    this.server = server;
    this.facts = facts;
    this.isNew = isNew;
    this.draft = new Draft(table, server);
    this.suggest = new Suggest((input) => { this.#typing = null; input.dispatchEvent(new Event('change')); });
    this.name = cellInput('field structure-name', (value) => this.set({ ...this.draft.table, name: value }, 'table name'));
    this.name.setAttribute('aria-label', 'Name of the table');
    this.name.placeholder = 'name of the table';
    this.columns = new ColumnsForm(this, (list, id, field) => this.go(list, id, field));
    this.indexes = new IndexesForm(this);
    this.foreignKeys = new ForeignKeysForm(this);
    this.checks = new ChecksForm(this);
    this.options = new OptionsForm(this);
    this.where = h('span', { class: 'dim' });
    this.head = h('div', { class: 'structure-head' }, h('h2', {}, icon('table'), this.where), this.name, h('span', { class: 'grow' }), !isNew && iconButton('refresh', 'Reload the structure', () => this.reload()));
    this.sections = h('div', { class: 'structure-scroll', tabindex: '-1' }, this.head, this.columns.element, this.indexes.element, this.foreignKeys.element, this.checks.element, this.options.element);
    this.strip = h('div', { class: 'structure-strip', hidden: true });
    this.sql = h('pre', { class: 'structure-preview', tabindex: '0', role: 'group', 'aria-label': 'Statements' });
    const button = (label, kind, run, title) => h('button', { type: 'button', class: `button small ${kind}`.trim(), title, on: { click: run } }, label);
    this.undoButton = iconButton('undo', 'Undo (Ctrl+Z)', () => this.undo());
    this.redoButton = iconButton('undo', 'Redo (Ctrl+Shift+Z)', () => this.redo(), { class: 'button quiet square flipped' });
    this.sqlButton = h('button', { type: 'button', class: 'button small quiet', 'aria-expanded': String(showsSql), title: 'Show the statements', on: { click: () => { showsSql = !showsSql; this.draw(); } } }, icon('file'), 'SQL');
    this.countText = h('button', { type: 'button', class: 'button small quiet structure-count', 'aria-haspopup': 'dialog', 'aria-expanded': 'false', title: 'List the changes', on: { click: () => this.#listChanges() } });
    this.discardButton = h('button', { type: 'button', class: 'button small', title: 'Discard all changes', on: { click: () => this.discard() } }, icon('close'), h('span', { class: 'tool-label', text: 'Discard' }));
    this.reviewButton = button('Review SQL …', 'primary', () => this.review(), 'Ctrl+S');
    this.bar = h('div', { class: 'edit-bar structure-bar', role: 'group', 'aria-label': 'Changes' }, h('div', { class: 'edit-tools' }, this.undoButton, this.redoButton, this.sqlButton),
      h('div', { class: 'edit-state' }, this.countText, this.discardButton, this.reviewButton));
    this.element = h('div', { class: 'structure-form', role: 'region', 'aria-label': 'Structure' }, this.sections, this.strip, this.sql, this.bar, this.suggest.list);
    this.element.addEventListener('keydown', (event) => this.#onKey(event));
    this.sections.addEventListener('focusin', ({ target }) => { if (target !== this.sections) this.#last = /** @type {Element} */ (target); });
    this.outside = (event) => this.#onOutside(event);
    document.addEventListener('keydown', this.outside, true);
    this.element.addEventListener('input', (event) => { if (event.target !== this.name && event.target !== this.columns.filter) this.#forgive(); }, true);
    this.element.addEventListener('change', () => { this.draft.settle(); this.#typing = null; this.draw(); });
    this.element.addEventListener('input', (event) => { this.#typing = event.target; }, true);
    // A list that hangs from a field would stay behind.
    const scrolled = ({ target }) => { if (target === this.sections || target === this.columns.grid) this.suggest.close(); };
    this.sections.addEventListener('scroll', scrolled, { passive: true, capture: true });
    this.leaving = (event) => { if (this.count) event.preventDefault(); };
    addEventListener('beforeunload', this.leaving);
    this.draw();
  }

  dispose() {
    removeEventListener('beforeunload', this.leaving);
    document.removeEventListener('keydown', this.outside, true);
  }

  /** Number of changes. */
  get count() {
    return this.isNew ? (this.draft.canUndo ? 1 : 0) : this.draft.changes.length;
  }

  /** Changes that would be lost with the form, in words; empty where there are none. */
  get unsaved() {
    const { count } = this;
    if (!count) return '';
    return this.isNew ? `The new table ${this.draft.table.name || ''}`.trim() : `${count} ${count === 1 ? 'change' : 'changes'} of the structure of ${this.draft.before.name}`;
  }

  // Changes.

  /** @param {import('./definition.js').Table} table @param {string} [key] */
  set(table, key = '') {
    if (this.#busy || !this.draft.set(table, key)) return;
    this.draw();
  }

  /** @param {any} list @param {string} id */
  revert(list, id) {
    if (this.draft.revert(list, id)) this.draw();
    this.#keepFocus();
  }

  /** @param {string} text */
  say(text) {
    this.#host.notify(text, 'info');
  }

  #forgive() {
    if (!this.#fault) return;
    this.#fault = null;
    this.#tell('');
  }

  /** @param {any} list @param {string} id @param {string} field */
  problem(list, id, field) {
    return this.#problems.get(`${list} ${id} ${field}`) ?? '';
  }

  /** @param {string} id */
  isFaulty(id) {
    return this.#faulty.has(id);
  }

  // Drawing.

  /** Draws what differs from what is shown. */
  draw() {
    const { draft } = this;
    const typing = this.#typing;
    const hadFocus = this.element.contains(document.activeElement);
    const problems = problemsOf(draft.table);
    this.#problems = new Map(problems.filter(({ text }) => this.#checked || !text.startsWith('Enter')).map(({ list, id, field, text }) => [`${list} ${id} ${field}`, text]));
    if (this.#told && !problems.some(({ text }) => text === this.#told)) this.#tell('');
    if (this.#fault) this.#problems.set(`${this.#fault.list} ${this.#fault.id} ${this.#fault.field}`, this.#fault.text);
    this.#faulty = new Set([...problems.map(({ id }) => id), this.#fault?.id ?? '']);
    fill(this.where, marked(`${draft.table.db}.`));
    show(this.name, draft.table.name, typing);
    setProblem(this.name, this.problem('table', 'name', 'name'));
    for (const part of [this.columns, this.indexes, this.foreignKeys, this.checks, this.options]) part.draw(typing);
    const { count } = this;
    this.bar.classList.toggle('pending', count > 0);
    this.undoButton.disabled = !draft.canUndo;
    this.redoButton.disabled = !draft.canRedo;
    this.countText.hidden = this.discardButton.hidden = count === 0;
    this.reviewButton.disabled = this.#busy;
    this.reviewButton.hidden = count === 0 && !this.isNew;
    fill(this.countText, icon('edit'), h('b', { text: this.isNew ? 'New table' : `${count} ${count === 1 ? 'change' : 'changes'}` }), problems.length > 0 && h('span', { class: 'bad', text: ` · ${problems.length} to fix` }));
    this.sqlButton.setAttribute('aria-expanded', String(showsSql));
    this.sql.hidden = !showsSql;
    if (showsSql) this.#drawSql();
    this.#host.titled();
    if (hadFocus) this.#keepFocus();
  }

  #drawSql() {
    let text;
    try {
      text = this.statements(null).map((sql) => `${sql};`).join('\n');
    } catch (error) {
      text = `-- ${error.message}`;
    }
    fill(this.sql, text ? highlighted(text) : h('span', { class: 'dim', text: 'No changes: nothing would run.' }));
  }

  /** The statements of the changes. @param {import('./review.js').Locking|null} choice */
  statements(choice) {
    const { before, table } = this.draft;
    if (this.isNew) return [...this.server.first ?? [], writeTable(table, this.server)];
    return alterTable(before, table, { ...this.server, ...(choice && { algorithm: choice.algorithm, lock: choice.lock }) });
  }

  #listChanges() {
    const { changes } = this.draft;
    openPanel(this.countText, 'Changes', (close) => changes.length ? [h('ul', { class: 'structure-changes' }, changes.map(({ list, id, mark, name }) => h('li', {},
      h('button', { type: 'button', class: 'link', on: { click: () => { close(); this.go(list, id, ''); } } }, marked(`${KIND_WORDS[list]} ${name || '(no name)'}`)), h('span', { class: 'dim', text: MARK_WORDS[mark] }),
      iconButton('undo', `Undo: ${KIND_WORDS[list].toLowerCase()} ${name}`, () => { close(); this.revert(list, id); }))))] : [h('p', { text: 'The whole table is new.' }), h('button', { type: 'button', class: 'button small', text: 'Close', on: { click: close } })]);
  }

  /** Shows a text above the bar; none where it is empty. @param {string} text @param {string} [kind] @param {import('../../common/dom.js').Child[]} more */
  #tell(text, kind = 'bad', ...more) {
    this.#told = '';
    this.strip.hidden = text === '';
    this.strip.className = `structure-strip ${kind}`;
    fill(this.strip, text && [h('span', { role: kind === 'bad' ? 'alert' : 'status', text }), more, iconButton('close', 'Close the message', () => this.#tell(''))].flat());
  }

  // Moving.

  /** Leads to a field. @param {string} list @param {string} id @param {string} field */
  go(list, id, field) {
    if (list === 'options') return this.options.focus(id);
    if (list === 'table') return focusField(this.name);
    this[/** @type {'columns'} */ (list)].focus(id, field);
    return undefined;
  }

  /** Goes to the filter of the columns. */
  find() {
    this.columns.filter.focus();
    this.columns.filter.select();
  }

  /** Focuses a column, or the first field. @param {string} [column] */
  focus(column = '') {
    if (column && this.columns.goTo(column)) return;
    if (this.isNew && !this.draft.table.name) focusField(this.name);
    else this.columns.focus(this.draft.table.columns[0]?.id ?? '', 'name');
  }

  undo() {
    this.#typing = null;
    if (this.draft.undo()) this.draw();
  }

  redo() {
    this.#typing = null;
    if (this.draft.redo()) this.draw();
  }

  discard() {
    this.#typing = null;
    this.#fault = null;
    this.#checked = false;
    this.#tell('');
    if (this.draft.discard()) this.#host.announce('All changes are taken back; Ctrl+Z brings them again');
    this.draw();
    this.#keepFocus();
  }

  /** Keys of the form where the focus is on its tab, or nowhere. */
  #onOutside(event) {
    const { target } = event;
    const isNear = target === document.body || (target instanceof Element && target.closest('.results-tab, .structure-pane') !== null && target.closest('.results')?.contains(this.element));
    if (!isNear || this.element.contains(target) || !this.element.checkVisibility() || document.querySelector('dialog[open]')) return;
    const letter = event.key.toLowerCase();
    if ((event.ctrlKey || event.metaKey) && !event.altKey && ['s', 'z', 'y', 'f', 'g'].includes(letter)) this.#onKey(event);
  }

  #onKey(event) {
    const { key, shiftKey, altKey } = event;
    const isCtrl = event.ctrlKey || event.metaKey;
    const letter = key.toLowerCase();
    // The filter is undone by itself.
    if (event.target === this.columns.filter && isCtrl && (letter === 'z' || letter === 'y')) return;
    const row = event.target instanceof Element ? event.target.closest('.field-row, .structure-details') : null;
    const inColumns = this.columns.body.contains(event.target);
    if (key === 'Escape' && this.#typing === event.target && !event.defaultPrevented) {
      this.undo();
      // The next text that is typed replaces the old one.
      if (row && event.target instanceof HTMLInputElement) event.target.select();
    }
    else if (key === 'Escape' && !event.defaultPrevented && inColumns && this.columns.isEmpty(row?.dataset.id ?? '')) this.columns.remove([row.dataset.id]);
    else if (isCtrl && !altKey && letter === 'z') shiftKey ? this.redo() : this.undo();
    else if (isCtrl && !altKey && letter === 'y') this.redo();
    else if (isCtrl && !altKey && !shiftKey && letter === 's') this.review();
    else if (isCtrl && !altKey && !shiftKey && (letter === 'f' || letter === 'g')) this.find();
    else if (key === 'Insert' && !isCtrl && !altKey && !shiftKey) this.columns.add();
    else if (isCtrl && key === 'Delete' && row) this.#removeRow(row, inColumns);
    else if (isCtrl && !altKey && !shiftKey && letter === 'd' && inColumns) this.columns.duplicate();
    else if (altKey && !isCtrl && (key === 'ArrowUp' || key === 'ArrowDown') && inColumns && !event.defaultPrevented) this.columns.move(key === 'ArrowUp' ? -1 : 1);
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  #removeRow(row, inColumns) {
    if (inColumns) return this.columns.remove();
    const { id } = row.dataset;
    const list = LISTS.find((one) => /** @type {any[]} */ (this.draft.table[one]).some((part) => part.id === id));
    if (list && list !== 'columns') this[list].remove(id);
    return undefined;
  }

  // Running.

  /** Shows the statements, and runs them if that is wanted. */
  async review() {
    if (this.#busy) return undefined;
    this.#typing = null;
    this.#back = this.#last?.getAttribute('aria-label') ?? '';
    this.draft.settle();
    const [problem] = problemsOf(this.draft.table);
    this.#checked = true;
    this.draw();
    if (problem) {
      this.go(problem.list, problem.id, problem.field);
      this.#tell(problem.text);
      this.#told = problem.text;
      return undefined;
    }
    if (!this.count && !this.isNew) return this.say('No changes');
    let statements;
    try {
      statements = this.statements(null);
    } catch (error) {
      return this.#tell(error.message);
    }
    if (!statements.length) return this.#tell('The changes come to the same structure: there is nothing to run.', 'warn');
    this.#busy = true;
    try {
      const [unfit] = await this.#misfits();
      if (unfit) {
        this.#fault = unfit;
        this.draw();
        this.go(unfit.list, unfit.id, unfit.field);
        return this.#tell(unfit.text);
      }
      if (!this.isNew && !await this.#isCurrent()) return undefined;
      await this.#run();
    } catch (error) {
      this.#tell(error.message);
    } finally {
      this.#busy = false;
      this.draw();
      this.#keepFocus();
      this.#back = '';
    }
    return undefined;
  }

  /** Foreign keys that the server would refuse, by the referenced tables as they are now. */
  #misfits() {
    this.facts.forget();
    return misfits(this.draft.table, (db, name) => this.facts.columns(db, name));
  }

  /** Takes the focus if the element that had it has gone. */
  #keepFocus() {
    const { activeElement } = document;
    const isLost = activeElement === document.body || (activeElement instanceof HTMLElement && !activeElement.checkVisibility({ checkVisibilityCSS: true }));
    if (!isLost && (!this.#back || activeElement !== this.sections)) return;
    // The lines are others after a change; the cell of that name is the same one.
    const back = this.#back ? queryAll(this.sections, '[aria-label]').find((one) => one.getAttribute('aria-label') === this.#back && one.checkVisibility()) : undefined;
    if (back) focusField(back);
    else this.sections.focus({ preventScroll: true });
  }

  async #run() {
    const { before, table } = this.draft;
    const { server } = this;
    const of = `${before.db}.${before.name}`;
    const end = await review({
      title: this.isNew ? `Create the table ${table.db}.${table.name}` : `Change the table ${of}`,
      action: this.isNew ? 'Create' : 'Run', db: before.db, server, api: this.#host.api, newId: this.#host.newId, notify: this.#host.notify, transactions: this.#host.transactions, remember: this.#host.remember,
      statements: (choice) => this.statements(choice),
      losses: this.isNew ? [] : risks(before, table), prepare: this.isNew ? [] : prepare(before, table, server), locking: this.isNew ? [] : lockingOf(before, table, server),
      notes: this.isNew ? [] : [this.#sizes(), this.#mentions(), this.#nextNumber()],
      open: (sql) => this.#host.fillIn(before.db, sql, table.name),
      before: async () => (this.isNew || isSame(before, await this.#read(), server) ? '' : 'The table was changed by somebody else since it was opened. Close this, and press Review SQL again to see what differs.'),
    });
    if (!end.failed && end.done) return this.#applied();
    if (!end.error) return undefined;
    const { message } = end.error;
    const text = end.cancelled ? 'Cancelled. Your changes are still here.' : `${message}${end.done ? ` (statements that ran before it: ${end.done})` : ''}`;
    if (end.done || end.unknown) await this.#rebaseOn(await this.#read().catch(() => null), '');
    this.#fault = end.cancelled ? null : this.#faultOf(end.error);
    if (this.#fault) {
      this.draw();
      this.go(this.#fault.list, this.#fault.id, this.#fault.field);
    }
    this.#tell(text, end.cancelled ? 'warn' : 'bad');
    return undefined;
  }

  /** @param {import('./review.js').Failure} error */
  #faultOf(error) {
    const { before, table } = this.draft;
    const found = faultOf(error, table, error.statement, before);
    const list = found && LIST_OF[found.part];
    if (!found || !list) return null;
    if (list === 'options') return { list, id: found.field ?? '', field: 'value', text: error.message };
    if (list === 'table') return { list, id: 'name', field: 'name', text: error.message };
    return found.id ? { list, id: found.id, field: found.field ?? MAIN_FIELD[list], text: error.message } : null;
  }

  async #applied() {
    const { table, before } = this.draft;
    const was = this.isNew ? null : { db: before.db, name: before.name };
    const now = { db: table.db, name: table.name };
    this.facts.forget();
    this.#fault = null;
    this.#checked = false;
    try {
      const read = parseTable(await this.#host.load(now.db, now.name), this.server, now.db);
      this.draft = new Draft(read, this.server);
      this.isNew = false;
      this.#tell('');
    } catch (error) {
      this.#tell(`It is done, but the new structure could not be read: ${error.message}`, 'warn');
    }
    this.#host.notify(was ? `${now.name} changed` : `${now.name} created`, 'good');
    this.#host.changed(now, was);
  }

  /** The table as the server has it now. */
  async #read() {
    const { db, name } = this.draft.before;
    return parseTable(await this.#host.load(db, name), this.server, db);
  }

  /** True if the table is as it was opened; else says what differs, and asks. */
  async #isCurrent() {
    const now = await this.#read();
    if (isSame(this.draft.before, now, this.server)) return true;
    const lines = (table) => settledText(table, this.server).split('\n').map((line) => line.replace(/,$/, ''));
    const [old, fresh] = [lines(this.draft.before), lines(now)];
    const gone = old.filter((line) => !fresh.includes(line));
    const come = fresh.filter((line) => !old.includes(line));
    const part = (sign, kind, list) => list.map((line) => h('li', { class: kind }, h('span', { class: 'visually-hidden', text: kind === 'removed' ? 'Before: ' : 'Now: ' }), h('code', { text: `${sign} ${line.trim()}` })));
    const choice = await openDialog({
      title: 'The table was changed meanwhile', wide: true, harmless: true,
      body: [h('p', { text: `Somebody else changed ${this.draft.before.name} since you opened it. Nothing was run. This differs:` }), h('ul', { class: 'structure-diff' }, part('−', 'removed', gone), part('+', 'added', come)),
        h('p', { text: 'Keep mine puts your changes on top of the new structure. What both changed stays as it is on the server, and is listed. You see the SQL again before anything runs.' })],
      actions: [{ label: 'Decide later', value: '' }, { label: 'Discard mine', value: 'theirs' }, { label: 'Keep mine', value: 'mine', kind: 'primary' }],
    });
    if (choice === 'theirs') {
      this.draft = new Draft(now, this.server);
      this.#tell('');
    } else if (choice === 'mine') await this.#rebaseOn(now, 'Your changes are on top of the present structure. Review them again.');
    return false;
  }

  /** @param {import('./definition.js').Table|null} now @param {string} text */
  async #rebaseOn(now, text) {
    if (!now) return;
    const { table, left } = rebase(this.draft, now, this.server);
    this.draft = new Draft(now, this.server);
    this.draft.set(table);
    const said = this.count ? text : 'Nothing is left of your changes: the table has them already, or they were not kept.';
    if (text || left.length) this.#tell([said, ...left].filter(Boolean).join(' '), left.length ? 'warn' : 'info');
  }

  /** Loads the structure again. */
  async reload() {
    if (this.#busy || this.isNew) return;
    if (this.count && !await confirmDialog({ title: 'Reload the structure', text: `${this.unsaved}: not applied. Reloading discards them.`, action: 'Discard and reload' })) return;
    try {
      this.draft = new Draft(await this.#read(), this.server);
      this.facts.forget();
      this.#fault = null;
      this.#checked = false;
      this.#tell('');
      this.#host.announce('The structure was loaded again');
    } catch (error) {
      this.#tell(error.message);
    }
    this.draw();
  }

  // Facts for the review.

  /** @returns {Promise<string[]>} */
  async #sizes() {
    const { db, name } = this.draft.before;
    const { table } = await this.#host.api.schema(db, name);
    if (!table || table.rows_estimate === null || table.bytes === null) return [];
    return [`About ${table.rows_estimate.toLocaleString('en')} ${table.rows_estimate === 1 ? 'row' : 'rows'}, ${formatBytes(table.bytes)}.`];
  }

  /** A next AUTO_INCREMENT that the server will not take, since there are higher values. @returns {Promise<string[]>} */
  async #nextNumber() {
    const { before, table } = this.draft;
    const wanted = optionOf(table, 'AUTO_INCREMENT');
    const counter = table.columns.find(({ autoIncrement, was }) => autoIncrement && was !== null);
    if (!counter?.was || !wanted || wanted === optionOf(before, 'AUTO_INCREMENT')) return [];
    const [{ most }] = await askRows(this.#host.api, { sql: `SELECT MAX(${quoteName(counter.was)}) AS most FROM ${quoteName(before.db)}.${quoteName(before.name)}` });
    return Number(most) >= Number(wanted) ? [`${counter.name} has values up to ${most}: the server keeps a higher next AUTO_INCREMENT than ${wanted}.`] : [];
  }

  /** Views and triggers that mention columns that go or get another name. @returns {Promise<string[]>} */
  async #mentions() {
    const { before, table } = this.draft;
    const lost = before.columns.filter(({ name }) => !table.columns.some((column) => column.was === name && column.name === name)).map(({ name }) => name);
    const isRenamed = before.name !== table.name || before.db !== table.db;
    if (!lost.length && !isRenamed) return [];
    const [db, name] = [textOf(before.db), textOf(before.name)];
    const { api } = this.#host;
    const [views, triggers] = await Promise.all([
      askRows(api, { sql: `SELECT CONCAT_WS('.', TABLE_SCHEMA, TABLE_NAME) AS name, VIEW_DEFINITION AS text FROM information_schema.VIEWS WHERE TABLE_SCHEMA = ${db} AND INSTR(VIEW_DEFINITION, ${name}) > 0 LIMIT 200` }),
      askRows(api, { sql: `SELECT TRIGGER_NAME AS name, ACTION_STATEMENT AS text FROM information_schema.TRIGGERS WHERE TRIGGER_SCHEMA = ${db} AND EVENT_OBJECT_TABLE = ${name} LIMIT 200` }),
    ]);
    const mentions = (one) => isRenamed || lost.some((column) => String(one.text).toLowerCase().includes(column.toLowerCase()));
    const say = (list, what) => (list.length ? [`${what} ${list.slice(0, MOST_NAMED).map((one) => one.name).join(', ')}${list.length > MOST_NAMED ? ' …' : ''} may use what goes or is renamed: check ${list.length === 1 ? 'it' : 'them'} afterwards.`] : []);
    return [...say(views.filter(mentions), views.length === 1 ? 'The view' : 'The views'), ...say(triggers.filter(mentions), triggers.length === 1 ? 'The trigger' : 'The triggers')];
  }
}

