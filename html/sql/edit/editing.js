/**
 * Editing in the grid of a table's data: what is changed is collected, marked, reviewed as SQL and only then written.
 * @module
 */

import { confirmDialog } from '../../common/dialog.js';
import { keyOf } from '../data/browse.js';
import { reviewAndApply } from './applying.js';
import { valueOf } from './bytes.js';
import { CellEditor } from './celleditor.js';
import { Changes, Default, standsFor } from './changes.js';
import { openChoices, openSet } from './choices.js';
import { entriesOf } from './cellmenu.js';
import { Copied, spotsOf } from './clipboard.js';
import { EditBar, countText } from './editbar.js';
import { bitsOf, fieldOf, initialOf, needsPanel, read, refusal, textOf } from './fields.js';
import { drawCell, drawRow } from './marks.js';
import { openValue } from './panel.js';
import { showConflict, showReview } from './review.js';

/** Cells that one key or one paste changes at most. */
const MOST_CELLS = 20_000;

/** Characters of a value told as what it was. */
const TOLD = 60;

/** Where the active cell goes after an edit. */
const STEPS = { down: [1, 0], up: [-1, 0], right: [0, 1], left: [0, -1] };

/**
 * @typedef {import('../results/gridmodel.js').Position} Position
 * @typedef {import('./changes.js').Value} Value
 * @typedef {import('./changes.js').Target} Target
 * @typedef {import('./fields.js').Field} Field
 * @typedef {{grid: import('../results/grid.js').Grid, rows: import('../data/source.js').TableRows, schema: any,
 *   place: import('../data/source.js').Place}} Shown
 * @typedef {{db: string, table: string, changes: Changes, fields: Field[]}} Table
 * @typedef {{api: ReturnType<typeof import('../api.js').createApi>, notify: Notify, announce: Announce, redraw: (toTop?: boolean) => void,
 *   reload: () => void, failed: (message: string) => void, settled: () => void, titled: () => void, view: (at: Position) => void}} Host
 */

/** What changes the rows of one data tab, whichever table it shows. */
export class Editing {
  #host;
  /** @type {Map<string, Table>} */ #tables = new Map();
  /** @type {Shown|null} */ #shown = null;
  /** @type {Table} */ #table = { db: '', table: '', changes: new Changes({ columns: [], key: [] }), fields: [] };
  /** @type {CellEditor|null} */ #editor = null;
  /** Grids whose clipboard is heard. @type {WeakSet<object>} */ #heard = new WeakSet();
  #copied = new Copied();
  #applying = '';
  #bar;

  /** @param {Host} host */
  constructor(host) {
    this.#host = host;
    this.#bar = new EditBar({
      add: () => this.add(), duplicate: () => this.duplicate(), remove: () => this.remove(), undo: () => this.undo(),
      review: () => this.review(), discard: () => this.#discard(), cancel: () => this.#host.api.cancel(this.#applying).catch(() => {}),
    });
    this.element = this.#bar.element;
  }

  // Which table.

  /** The changes of a table, which outlive what is looked at. @param {{db: string, table: string}} of @param {any} schema */
  changesOf({ db, table }, schema) {
    const id = JSON.stringify([db, table]);
    const columns = schema.columns.map(({ name }) => name);
    const known = this.#tables.get(id);
    const same = known && JSON.stringify(known.changes.columns) === JSON.stringify(columns);
    if (known && (same || known.changes.size)) return known.changes;
    const fields = schema.columns.map((column) => fieldOf(column, schema));
    const field = (name) => fields.find((one) => one.name === name);
    const changes = new Changes({
      columns, key: keyOf(schema)?.parts.map(({ name }) => name) ?? [], isGiven: (name) => !field(name)?.fixed,
      initial: (name) => new Default(initialOf(field(name))),
    });
    this.#tables.set(id, { db, table, changes, fields });
    return changes;
  }

  /** Another table, or other rows of it, are shown. @param {Shown|null} shown null where they cannot be changed */
  show(shown) {
    this.#shown = shown;
    if (shown) {
      const { db, table } = shown.place;
      this.#table = /** @type {Table} */ (this.#tables.get(JSON.stringify([db, table])));
      this.#hear(shown.grid.element);
    }
    this.#draw();
  }

  #hear(element) {
    if (this.#heard.has(element)) return;
    this.#heard.add(element);
    element.addEventListener('paste', (event) => this.#onPaste(event));
    element.addEventListener('copy', (event) => this.#onCopy(event));
  }

  /** The rows of a table are read again. @param {{db: string, table: string}} of */
  reread({ db, table }) {
    this.#tables.get(JSON.stringify([db, table]))?.changes.reread();
  }

  /** What is not applied, in words; empty where nothing is. */
  get unsaved() {
    const pending = [...this.#tables.values()].filter(({ changes }) => changes.size || (changes === this.#table.changes && this.#editor?.touched));
    return pending.map(({ table, changes }) => `${countText(Math.max(1, changes.size))} in ${table}`).join(', ');
  }

  dispose() {
    this.#editor?.remove();
    this.#editor = null;
    this.#shown = null;
  }

  // What is where.

  /** @param {number} place @returns {Target|null} */
  #target(place) {
    const { rows } = /** @type {Shown} */ (this.#shown);
    const { changes } = this.#table;
    if (place < 0) return null;
    if (place < rows.extra) return changes.extraTarget(place);
    const row = rows.pager.row(place - rows.extra);
    return row ? changes.target(row) : null;
  }

  #change(place) {
    const target = this.#target(place);
    return target && this.#table.changes.get(target.id);
  }

  #draw() {
    const { changes } = this.#table;
    const others = [...this.#tables.values()].filter((one) => one !== this.#table && one.changes.size);
    const elsewhere = others.map((one) => `${countText(one.changes.size)} in ${one.table}`).join(', ');
    this.#bar.show(this.#shown && {
      count: changes.size, canUndo: changes.canUndo, hasRow: this.#shown.rows.length > 0, problems: this.#problems().length, elsewhere: elsewhere && `Also ${elsewhere}`, applying: this.#applying !== '',
    });
  }

  /** Something was changed. */
  #changed(toTop = false) {
    this.#host.settled();
    this.#host.redraw(toTop);
    this.#draw();
    this.#host.titled();
  }

  // Marks.

  /** @param {HTMLElement} cell @param {Position} at */
  markCell(cell, at) {
    drawCell(cell, this.#shown && (this.#table.changes.size || this.#shown.rows.extra) ? this.#mark(at) : null);
  }

  /** @returns {import('./marks.js').CellMark|null} */
  #mark({ row, column }) {
    const change = this.#change(row);
    if (!change) return null;
    const field = this.#table.fields[column];
    const value = change.row[column];
    if (change.op === 'delete') return { state: 'deleted', before: '', problem: '', value: change.base?.[column] };
    if (change.op === 'insert') return { state: 'new', before: '', problem: this.#problem(change, field), value };
    return change.set.has(field.name) ? { state: 'changed', before: told(change.base?.[column]), problem: this.#problem(change, field), value } : null;
  }

  /** What speaks against a value that was put in. @param {import('./changes.js').Change} change @param {Field} field */
  #problem({ op, set }, field) {
    const value = field && op !== 'delete' && set.get(field.name);
    return typeof value === 'string' ? read(field, value).problem : '';
  }

  #problems() {
    const { changes, fields } = this.#table;
    return changes.list.flatMap((change) => fields.flatMap((field, column) => {
      const problem = change.set.has(field.name) ? this.#problem(change, field) : '';
      return problem ? [{ id: change.id, column, problem }] : [];
    }));
  }

  /** @param {HTMLElement} row @param {HTMLElement} number @param {number} place */
  markRow(row, number, place) {
    const rows = this.#shown?.rows;
    if (!rows) return;
    const { extra } = rows;
    const change = this.#table.changes.size || extra ? this.#change(place) : null;
    const state = change?.error ? 'failed' : change?.op ?? (place < extra ? 'saved' : null);
    drawRow(row, number, { state, text: place < extra ? '' : String(place - extra + 1), error: change?.error ?? '' });
  }

  // Editing one cell.

  /**
   * Begins to edit a cell. @param {Position} at @param {string} [typed] what was typed there already
   * @returns {boolean} false where nothing of it can be edited
   */
  begin(at, typed) {
    if (!this.#shown || at.row < 0) return false;
    const field = this.#table.fields[at.column];
    const target = this.#target(at.row);
    if (!target || !field || this.#isBusy()) return target === null || !field ? false : true;
    if (this.#change(at.row)?.op === 'delete') this.#host.notify('The row is to be deleted. Undo that first (Ctrl+Z, or the menu of the cell)', 'info');
    else if (field.fixed) {
      if (typed === undefined) return false;
      this.#host.notify(field.fixed, 'info');
    } else this.#begin(at, field, target, typed);
    return true;
  }

  #begin(at, field, target, typed) {
    const { grid } = /** @type {Shown} */ (this.#shown);
    if (grid.model.active.row !== at.row || grid.model.active.column !== at.column) grid.moveTo(at, { focus: true });
    grid.focus();
    const cell = /** @type {HTMLElement} */ (grid.activeElement);
    const value = this.#value(at);
    const put = (next, move = '') => { this.#put(target, field, next); this.#go(at, move); };
    const label = `${field.name} of row ${at.row + 1}`;
    const choice = field.kind === 'choice' || (field.kind === 'boolean' && typed === undefined);
    if (choice) openChoices(cell, { field, value, label, typed, done: put });
    else if (field.kind === 'choices') openSet(cell, { field, value, label, done: put });
    else if (needsPanel(field, value) && (typed === undefined || field.kind !== 'text')) this.#panel(at, field, target);
    else this.#inCell(at, field, target, cell, label, typed);
  }

  #value({ row, column }) {
    return this.#shown?.rows.at(row)?.[column] ?? null;
  }

  #inCell(at, field, target, cell, label, typed) {
    const { grid } = /** @type {Shown} */ (this.#shown);
    grid.held = at;
    const ended = () => { grid.held = null; this.#editor = null; };
    this.#editor = new CellEditor(cell, {
      field, label, typed, text: textOf(field, this.#value(at)),
      done: (text, move) => { ended(); this.#put(target, field, read(field, text).value); this.#go(at, move); },
      leave: (move) => { ended(); grid.render(true); this.#go(at, move); },
      ctrl: (key) => this.#inEditor(key),
      panel: (text) => { ended(); grid.render(true); grid.focus(); this.#panel(at, field, target, text); },
    });
    this.#draw();
  }

  /** Ctrl with a key while a cell is edited. */
  #inEditor(key) {
    if (key !== 's' && key !== '0') return false;
    this.commit();
    this.#shown?.grid.focus();
    if (key === 's') this.review();
    else this.setAll(null);
    return true;
  }

  async #panel(at, field, target, text) {
    const chosen = await openValue({ field, value: this.#value(at), text });
    if (chosen) this.#put(target, field, chosen.value);
    this.#shown?.grid.focus();
  }

  #put(target, field, value) {
    this.#table.changes.set([{ target, column: field.name, value }]);
    this.#changed();
  }

  /** Goes on from a cell where the keyboard ended its edit. */
  #go(at, move) {
    const grid = this.#shown?.grid;
    if (!grid || move === '') return;
    const [down, right] = STEPS[move] ?? [0, 0];
    const row = Math.min(Math.max(0, at.row + down), grid.model.rowCount - 1);
    grid.moveTo({ row, column: at.column + right }, { focus: true });
  }

  /** Takes what is being typed in a cell. */
  commit() {
    this.#editor?.commit();
  }

  // Keys of the grid.

  /** @param {KeyboardEvent} event @param {Position} at @returns {boolean} whether it was taken */
  onKey(event, at) {
    if (!this.#shown || this.#editor) return false;
    const { key, altKey, shiftKey } = event;
    const ctrl = (event.ctrlKey || event.metaKey) && !altKey;
    const act = ctrl ? this.#withCtrl(key.toLowerCase(), shiftKey) : altKey ? null : this.#plain(event, at);
    if (act) act();
    else if (isTyped(event)) return this.begin(at, key === 'Process' ? '' : key) && key !== 'Process';
    return Boolean(act);
  }

  #withCtrl(key, shift) {
    if (shift) return null;
    return { 0: () => this.setAll(null), backspace: () => this.setAll(new Default()), d: () => this.duplicate(), delete: () => this.remove(), z: () => this.undo(), s: () => this.review() }[key] ?? null;
  }

  #plain({ key, shiftKey }, at) {
    const whole = this.#shown?.grid.model.span === 'rows';
    if (key === 'F2') return () => this.begin(at);
    if (key === 'Enter' && shiftKey) return () => this.#host.view(at);
    if (key === 'Insert' && !shiftKey) return () => this.add();
    if (key === 'Delete' && whole) return () => this.remove();
    if (key === 'Delete' || key === 'Backspace') return () => this.begin(at, '');
    if (key === ' ' && !shiftKey && this.#table.fields[at.column]?.kind === 'boolean') return () => this.#toggle(at);
    return null;
  }

  #toggle(at) {
    const field = this.#table.fields[at.column];
    const target = this.#target(at.row);
    if (!target || field.fixed || this.#isBusy()) return;
    const value = this.#value(at);
    const on = value !== null && !standsFor(value) && (field.base === 'bit' ? bitsOf(value) !== 0n : Number(value) !== 0);
    this.#put(target, field, field.base === 'bit' ? (on ? '0x00' : '0x01') : on ? '0' : '1');
  }

  // Several cells and rows.

  /** The places of the selection that are held, and its columns. */
  #selection() {
    const { model } = /** @type {Shown} */ (this.#shown).grid;
    const { top, bottom, left, right, empty } = model.selection;
    if (empty || model.active.row < 0) return { places: [], columns: [] };
    const columns = Array.from({ length: right - left + 1 }, (_, i) => left + i);
    const places = [];
    for (let place = top; place <= bottom && places.length * columns.length < MOST_CELLS; place += 1) if (this.#target(place)) places.push(place);
    return { places, columns, missing: bottom - top + 1 - places.length };
  }

  #isBusy() {
    if (this.#applying) this.#host.notify('The changes are being applied; wait for the end of it', 'info');
    return this.#applying !== '';
  }

  /** Puts a value into all selected cells. @param {Value} value */
  setAll(value) {
    if (this.#isBusy()) return;
    const { places, columns } = this.#selection();
    const fields = columns.map((column) => this.#table.fields[column]).filter((field) => !refusal(field, value));
    const refused = columns.map((column) => refusal(this.#table.fields[column], value)).find(Boolean);
    if (refused) this.#host.notify(refused, 'warn');
    this.#table.changes.set(places.flatMap((place) => fields.map((field) => ({ target: /** @type {Target} */ (this.#target(place)), column: field.name, value }))));
    this.#changed();
  }

  /** A new row above the others; what the filters ask for is in it. */
  add() {
    if (!this.#shown || this.#isBusy()) return;
    this.commit();
    const { filters } = this.#shown.place;
    const set = filters.filter(({ op, column }) => op === '=' && this.#table.changes.isGiven(column)).map(({ column, value }) => /** @type {[string, Value]} */ ([column, value]));
    this.#added([new Map(set)]);
  }

  /** New rows with what the selected ones have, but for what the server counts or computes. */
  duplicate() {
    if (!this.#shown || this.#isBusy()) return;
    this.commit();
    const { fields } = this.#table;
    const { places } = this.#selection();
    const { rows } = this.#shown;
    this.#added(places.map((place) => new Map(fields.flatMap((field, i) => {
      const value = rows.at(place)?.[i];
      return field.fixed || field.auto || value instanceof Default ? [] : [[field.name, value ?? null]];
    }))));
  }

  /** @param {Map<string, Value>[]} rows */
  #added(rows) {
    if (!rows.length || !this.#shown) return;
    const { grid } = this.#shown;
    const [first] = this.#table.changes.add(rows);
    const column = Math.max(0, this.#table.fields.findIndex((field) => !field.fixed && !field.auto));
    this.#changed(true);
    grid.moveTo({ row: Math.max(0, this.#placeOf(first)), column }, { focus: true });
    this.#host.announce(`${rows.length} new ${rows.length === 1 ? 'row' : 'rows'} above the others`);
  }

  /** Marks the selected rows to be deleted. */
  remove() {
    if (!this.#shown || this.#isBusy()) return;
    this.commit();
    const { places, missing = 0 } = this.#selection();
    this.#table.changes.remove(places.map((place) => /** @type {Target} */ (this.#target(place))));
    this.#changed();
    if (missing) this.#host.notify(`${places.length.toLocaleString('en')} rows are marked: of so many only those near the ones in sight are held`, 'warn');
    else this.#host.announce(`${places.length} ${places.length === 1 ? 'row' : 'rows'} to be deleted`);
  }

  // Taking back.

  /** Takes the last step back. */
  undo() {
    if (!this.#shown || this.#isBusy()) return;
    this.commit();
    const id = this.#table.changes.undo();
    this.#changed();
    if (id === undefined) return;
    this.#reveal(id);
    this.#host.announce('Undone');
  }

  #revert(ids) {
    if (this.#isBusy()) return;
    this.#table.changes.revert(ids);
    this.#changed();
  }

  async #discard() {
    const { changes, table } = this.#table;
    const sure = changes.size === 1 || await confirmDialog({ title: 'Discard', text: `Take ${countText(changes.size)} in ${table} back? Undo brings them again.`, action: 'Discard' });
    if (!sure || this.#isBusy()) return;
    changes.discard();
    this.#changed();
    this.#host.announce('Changes taken back');
  }

  /** The place of a row that is held; -1 where it is not. */
  #placeOf(id) {
    const { rows } = /** @type {Shown} */ (this.#shown);
    const { changes } = this.#table;
    for (let at = 0; at < rows.extra; at += 1) if (changes.extraTarget(at)?.id === id) return at;
    const place = rows.pager.placeOf((row) => changes.idOf(row) === id);
    return place < 0 ? -1 : place + rows.extra;
  }

  #reveal(id, column = this.#shown?.grid.model.active.column ?? 0) {
    const row = this.#placeOf(id);
    if (row >= 0) this.#shown?.grid.moveTo({ row, column }, { focus: true });
  }

  // The clipboard.

  #onCopy(event) {
    const text = event.clipboardData?.getData('text/plain') ?? '';
    const { places, columns } = this.#shown ? this.#selection() : { places: [], columns: [] };
    this.#copied.keep(text, places.map((place) => columns.map((column) => this.#value({ row: place, column }))));
  }

  #onPaste(event) {
    if (!this.#shown || event.target instanceof HTMLInputElement || this.#isBusy()) return;
    const { active } = this.#shown.grid.model;
    const text = event.clipboardData?.getData('text/plain') ?? '';
    const [file] = event.clipboardData?.files ?? [];
    if (active.row < 0 || (!text && !file)) return;
    event.preventDefault();
    if (text) this.#paste(text);
    else this.#pasteFile(active, file);
  }

  async #pasteFile(at, file) {
    const field = this.#table.fields[at.column];
    const target = this.#target(at.row);
    try {
      const value = await valueOf(file);
      if (value && target && !field.fixed) this.#put(target, field, value);
    } catch (cause) {
      this.#host.notify(cause.message, 'bad');
    }
  }

  #paste(text) {
    const { grid } = /** @type {Shown} */ (this.#shown);
    const known = this.#copied.of(text);
    const spots = spotsOf(text, known, this.#selection());
    const cells = spots.slice(0, MOST_CELLS).flatMap(({ place, column, value }) => {
      const field = this.#table.fields[column];
      const target = place < grid.model.rowCount ? this.#target(place) : null;
      if (!field || !target || refusal(field, value)) return [];
      return [{ target, column: field.name, value: typeof value === 'string' && !known ? read(field, value).value : value }];
    });
    this.#table.changes.set(cells);
    this.#changed();
    const left = spots.length - cells.length;
    if (left) this.#host.notify(`${cells.length} of ${spots.length} cells were pasted; the others are not there, or take no such value`, 'warn');
    else this.#host.announce(`${cells.length} ${cells.length === 1 ? 'cell' : 'cells'} pasted`);
  }

  /** The entries of a cell's menu. @param {Position} at @returns {import('../../common/menu.js').MenuItem[]} */
  menu(at) {
    const target = this.#shown && this.#target(at.row);
    if (!target) return [];
    const field = this.#table.fields[at.column];
    return entriesOf({ field, change: this.#change(at.row), rows: this.#selection().places.length }, {
      edit: () => this.begin(at), set: (value) => this.setAll(value), panel: () => this.#panel(at, field, target), revert: (id) => this.#revert([id]),
      add: () => this.add(), duplicate: () => this.duplicate(), remove: () => this.remove(),
    });
  }

  // Writing.

  /** Shows what would run and, if that is wanted, applies it. */
  async review() {
    this.commit();
    if (!this.#shown || this.#isBusy()) return;
    const { rows, grid } = this.#shown;
    const table = this.#table;
    const { changes } = table;
    const [problem] = this.#problems();
    if (problem) {
      this.#reveal(problem.id, problem.column);
      return this.#host.failed(problem.problem);
    }
    if (!changes.size) return this.#host.notify('Nothing is changed', 'info');
    changes.forgive();
    this.#host.settled();
    try {
      const outcome = await reviewAndApply(this.#host.api, {
        changes, of: { db: table.db, table: table.table, timeZone: rows.timeZone }, nameOf: (id) => `The row ${keyText(changes, id)}`, showReview, showConflict,
      }, {
        changed: () => this.#changed(), took: (id, row) => { rows.pager.edit((one) => (changes.idOf(one) === id ? row : one)); this.#changed(); },
        applying: (id) => { this.#applying = id; this.#draw(); }, refused: () => { this.#applying = ''; this.#draw(); },
      });
      if (outcome) this.#applied(table, rows, outcome);
      else this.#changed();
    } catch (refusal) {
      this.#refused(table, rows, refusal);
    } finally {
      this.#applying = '';
      this.#draw();
      if (!document.querySelector('dialog[open]')) grid.focus();
    }
    return undefined;
  }

  #applied({ changes }, shown, { ids, rows }) {
    const byId = new Map(ids.map((id, i) => [id, rows?.[i] ?? null]));
    if (rows) shown.pager.edit((row) => (byId.has(changes.idOf(row)) ? byId.get(changes.idOf(row)) ?? null : row));
    changes.applied(ids, rows ?? []);
    this.#changed();
    if (!rows) this.#host.reload();
    this.#host.notify(`${countText(ids.length)} applied`, 'good');
  }

  #refused(table, rows, { message, id, outcome }) {
    if (outcome) this.#applied(table, rows, outcome);
    if (id) table.changes.fail(id, message);
    this.#changed();
    if (id) this.#reveal(id);
    this.#host.failed(outcome ? `${message} (${outcome.applied.toLocaleString('en')} before it were made and stay)` : message);
  }
}

/** Whether a key writes something. */
function isTyped(event) {
  const altGr = event.getModifierState?.('AltGraph');
  return event.key === 'Process' || (event.key.length === 1 && (altGr || (!event.ctrlKey && !event.metaKey && !event.altKey)));
}

/** A value in words. */
function told(value) {
  if (value === null || value === undefined) return 'NULL';
  const text = String(value);
  return text === '' ? 'empty' : text.length > TOLD ? `${text.slice(0, TOLD)} …` : text;
}

/** Which row it is. @param {Changes} changes @param {string} id */
function keyText(changes, id) {
  const { base } = changes.get(id) ?? {};
  return changes.key.map((name) => `${name} = ${told(base?.[changes.columns.indexOf(name)])}`).join(', ');
}
