/**
 * Editing in the grid of a table's data: what is changed is collected, marked, reviewed as SQL and only then written.
 * @module
 */

import { confirmDialog } from '../../common/dialog.js';
import { countText, pendingText } from '../core/pending.js';
import { reviewAndApply } from './applying.js';
import { valueOf } from './bytes.js';
import { CellEditor } from './celleditor.js';
import { Default, standsFor } from './changes.js';
import { openChoices, openSet } from './choices.js';
import { entriesOf } from './cellmenu.js';
import { Copied, cellsOf, newSpots, spotsOf } from './clipboard.js';
import { EditBar } from './editbar.js';
import { followsOf } from './follows.js';
import { bitsOf, needsPanel, read, refusal, textOf } from './fields.js';
import { drawCell, drawRow } from './marks.js';
import { openValue } from './panel.js';
import { KeptReadables, keyAt } from './readable.js';
import { openReference } from './reference.js';
import { showConflict, showReview } from './review.js';
import { rowEdit } from './rowedit.js';
import { Sheet } from './sheet.js';

/** Cells that one key or one paste changes at most. */
const MOST_CELLS = 20_000;

/** Step of the active cell after an edit. */
const STEPS = { down: [1, 0], up: [-1, 0], right: [0, 1], left: [0, -1] };

/**
 * @typedef {import('../results/gridmodel.js').Position} Position
 * @typedef {import('./changes.js').Value} Value
 * @typedef {import('./changes.js').Target} Target
 * @typedef {import('./fields.js').Field} Field
 * @typedef {import('./sheet.js').Shown} Shown
 * @typedef {{api: ReturnType<typeof import('../api.js').createApi>, notify: Notify, announce: Announce, redraw: (toTop?: boolean) => void,
 *   reload: () => void, failed: (message: string) => void, settled: () => void, titled: () => void, edited: (now?: boolean) => void, view: (at: Position) => void, transactions: () => string[], server: () => string,
 *   schema: (db: string, table: string) => Promise<any>, store: ConstructorParameters<typeof KeptReadables>[0]}} Host `transactions`: the page's tabs with an open one; `edited`:
 *   the changes are others, to be kept in a moment or now
 */

/** Editor of the rows of one data tab, whichever table it shows. */
export class Editing {
  #host;
  #sheet = new Sheet();
  /** @type {CellEditor|null} */ #editor = null;
  /** Grids whose clipboard is heard. @type {WeakSet<object>} */ #heard = new WeakSet();
  #copied = new Copied();
  /** True if the key pressed last asks for new rows of what is pasted. */
  #asNew = false;
  #applying = '';
  /** Remark about the last step. */
  #remark = '';
  /** Takes what is being typed in the form of a row; null where nothing is. @type {(() => void)|null} */
  typing = null;
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

  // Choice of the table.

  /** The changes of a table, which outlive what is looked at. @param {{db: string, table: string}} of @param {any} schema */
  changesOf(of, schema) {
    return this.#sheet.changesOf(of, schema);
  }

  /** The rows of a table are read again. @param {{db: string, table: string}} of */
  reread(of) {
    this.#sheet.reread(of);
  }

  /** Another table, or other rows of it, are shown. @param {Shown|null} shown null where they cannot be changed */
  show(shown) {
    this.#sheet.show(shown);
    if (shown) this.#hear(shown.grid.element);
    this.#draw();
  }

  #hear(element) {
    if (this.#heard.has(element)) return;
    this.#heard.add(element);
    element.addEventListener('paste', (event) => this.#onPaste(event));
    element.addEventListener('copy', (event) => this.#onCopy(event));
  }

  /** Describes the pending changes; empty if there are none. */
  get unsaved() {
    const pending = [...this.#sheet.tables.values()].filter(({ changes }) => changes.size || (changes === this.#sheet.table.changes && (this.typing || this.#editor?.touched)));
    return [...pending.map(({ table, changes }) => `${countText(Math.max(1, changes.size))} in ${table}`), pendingText(this.#sheet.held)].filter(Boolean).join(', ');
  }

  /** The changes as they are kept while the page is loaded again. */
  get pending() {
    return this.#sheet.stored(this.#host.server());
  }

  /** True while something is typed or written, which is lost with the page. */
  get isOpen() {
    return this.#applying !== '' || this.typing !== null || Boolean(this.#editor?.touched);
  }

  /** Takes changes that were kept. @param {import('../core/pending.js').PendingTable[]} kept */
  restore(kept) {
    this.#sheet.restore(kept);
  }

  /** Reason for which kept changes of a table cannot be applied; empty where they can. @param {{db: string, table: string}} of */
  whyHeld({ db, table }) {
    const held = this.#sheet.held.filter((one) => one.db === db && one.table === table);
    return held.length ? `${pendingText(held)} cannot be applied: the key of the table has changed` : '';
  }

  dispose() {
    this.#editor?.remove();
    this.#editor = null;
    this.#sheet.show(null);
  }

  #draw() {
    const { changes } = this.#sheet.table;
    const others = [...this.#sheet.tables.values()].filter((one) => one !== this.#sheet.table && one.changes.size);
    const elsewhere = others.map((one) => `${countText(one.changes.size)} in ${one.table}`).join(', ');
    this.#bar.show(this.#sheet.shown && {
      count: changes.size, canUndo: changes.canUndo, hasRow: this.#sheet.shown.rows.length > 0, problems: this.#sheet.problems().length, elsewhere: elsewhere && `Also ${elsewhere}`, applying: this.#applying !== '',
      uncertain: this.#sheet.table.uncertain, remark: this.#remark,
    });
  }

  /** Something was changed. */
  #changed(toTop = false) {
    this.#remark = '';
    this.#host.settled();
    this.#host.redraw(toTop);
    this.#draw();
    this.#host.titled();
  }

  /** The row at a place as its form changes it; null where it cannot be changed. @param {number} place */
  formOf(place) {
    return this.#sheet.shown && rowEdit(this.#sheet, place, {
      put: (target, field, value) => this.#put(target, field, value), isBusy: () => this.#isBusy(), notify: this.#host.notify, undo: () => this.undo(), redo: () => this.redo(), review: () => this.review(),
      panel: (field, value) => openValue({ field, value }),
      reference: (anchor, target, field, column) => this.#openReference(anchor, { row: place, column }, field, target, { label: `${field.name} of row ${place + 1}`, go: () => {}, plain: () => this.#host.notify('The rows of the other table cannot be read; enter the key itself', 'info') }),
      refersTo: (field) => keyAt(this.#sheet.shown?.schema, this.#sheet.shown?.place.db ?? '', field.name)?.table ?? '',
    });
  }

  // Marks.

  /** @param {HTMLElement} cell @param {Position} at */
  markCell(cell, at) {
    drawCell(cell, this.#sheet.mark(at));
  }

  /** @param {HTMLElement} row @param {HTMLElement} number @param {number} place */
  markRow(row, number, place) {
    if (this.#sheet.shown) drawRow(row, number, this.#sheet.rowMark(place));
  }

  // Editing one cell.

  /**
   * Begins to edit a cell. @param {Position} at @param {string} [typed] what was typed there already
   * @returns {boolean} false where nothing of it can be edited
   */
  begin(at, typed) {
    if (!this.#sheet.shown || at.row < 0) return false;
    const field = this.#sheet.table.fields[at.column];
    const target = this.#sheet.target(at.row);
    if (!target || !field || this.#isBusy()) return target === null || !field ? false : true;
    if (this.#sheet.change(at.row)?.op === 'delete') this.#host.notify('The row is marked for deletion. Undo that first (Ctrl+Z, or the cell menu)', 'info');
    else if (field.fixed) {
      if (typed === undefined) return false;
      this.#host.notify(field.fixed, 'info');
    } else this.#begin(at, field, target, typed);
    return true;
  }

  #begin(at, field, target, typed) {
    const { grid } = /** @type {Shown} */ (this.#sheet.shown);
    if (grid.model.active.row !== at.row || grid.model.active.column !== at.column) grid.moveTo(at, { focus: true });
    grid.focus();
    const cell = /** @type {HTMLElement} */ (grid.activeElement);
    const value = this.#sheet.value(at);
    const put = (next, move = '') => {
      if (move === 'all') return this.#fill(next);
      this.#put(target, field, next);
      return this.#go(at, move);
    };
    const label = `${field.name} of row ${at.row + 1}`;
    const choice = field.kind === 'choice' || (field.kind === 'boolean' && typed === undefined);
    const plain = (text) => this.#inCell(at, field, target, /** @type {HTMLElement} */ (grid.activeElement), label, text);
    if (!choice && field.kind !== 'choices' && this.#openReference(cell, at, field, target, { label, typed, plain, go: (move) => this.#go(at, move) })) return;
    if (choice) openChoices(cell, { field, value, label, typed, done: put });
    // A typed text is a list with commas.
    else if (field.kind === 'choices' && (typed === undefined || typed === ' ')) openSet(cell, { field, value, label, done: put });
    else if (needsPanel(field, value) && (typed === undefined || field.kind !== 'text')) this.#panel(at, field, target, field.kind === 'json' ? typed : undefined);
    else this.#inCell(at, field, target, cell, label, typed);
  }

  /**
   * Opens the rows that a foreign key can refer to, where the column is of one.
   * @param {HTMLElement} anchor @param {Position} at @param {Field} field @param {Target} target
   * @param {{label: string, typed?: string, plain: (typed?: string) => void, go: (move: string) => void}} on `plain`: they cannot be read
   * @returns {boolean} whether the column is of a foreign key
   */
  #openReference(anchor, at, field, target, { label, typed, plain, go }) {
    const { schema, place } = /** @type {Shown} */ (this.#sheet.shown);
    const key = keyAt(schema, place.db, field.name);
    if (!key) return false;
    const { table } = this.#sheet;
    const isAll = (move) => move === 'all' && Boolean(this.#sheet.shown?.grid.element.contains(anchor));
    const ifSame = (act) => { if (this.#sheet.table === table && !this.#isBusy()) act(); };
    openReference(anchor, {
      api: this.#host.api, key, schema: () => this.#host.schema(key.db, key.table), readables: new KeptReadables(this.#host.store), field, value: this.#sheet.value(at), label, typed,
      nullable: key.columns.every((name) => table.fields.find((one) => one.name === name)?.nullable),
      chosen: (values, move) => ifSame(() => {
        const targets = isAll(move) ? this.#sheet.selection(MOST_CELLS).places.map((row) => /** @type {Target} */ (this.#sheet.target(row))) : [target];
        table.changes.set(targets.flatMap((one) => key.columns.map((column, i) => ({ target: one, column, value: values && (typeof values[i] === 'number' ? String(values[i]) : values[i]) }))));
        this.#changed();
        if (!isAll(move)) go(move);
      }),
      entered: (text, move) => ifSame(() => {
        if (isAll(move)) return this.#fill(text);
        this.#put(target, field, read(field, text).value);
        if (move !== 'stay') go(move);
        return undefined;
      }),
      plain: (text) => ifSame(() => plain(text)),
    });
    return true;
  }

  #inCell(at, field, target, cell, label, typed) {
    const { grid } = /** @type {Shown} */ (this.#sheet.shown);
    grid.held = at;
    const ended = () => { grid.held = null; this.#editor = null; };
    this.#editor = new CellEditor(cell, {
      field, label, typed, text: textOf(field, this.#sheet.value(at)),
      done: (text, move) => { ended(); this.#put(target, field, read(field, text).value); this.#go(at, move); },
      leave: (move) => { ended(); grid.render(true); this.#go(at, move); },
      ctrl: (key) => this.#inEditor(key),
      fill: (text) => { ended(); grid.render(true); grid.focus(); this.#fill(text); },
      panel: (text) => { ended(); grid.render(true); grid.focus(); this.#panel(at, field, target, text); },
    });
    this.#draw();
  }

  /** Ctrl with a key while a cell is edited. */
  #inEditor(key) {
    if (key !== 's' && key !== '0') return false;
    this.commit();
    this.#sheet.shown?.grid.focus();
    if (key === 's') this.review();
    else this.setAll(null);
    return true;
  }

  /** Puts a value, or what was typed, into all selected cells. @param {Value} value */
  #fill(value) {
    if (this.#isBusy()) return;
    const { places, columns } = this.#sheet.selection(MOST_CELLS);
    const { fields, changes } = this.#sheet.table;
    const taking = columns.map((column) => fields[column]).filter((field) => !field.fixed);
    changes.set(places.flatMap((place) => taking.map((field) => ({ target: /** @type {Target} */ (this.#sheet.target(place)), column: field.name, value: typeof value === 'string' ? read(field, value).value : value }))));
    this.#changed();
    const count = places.length * taking.length;
    this.#host.announce(`${count.toLocaleString('en')} ${count === 1 ? 'cell' : 'cells'} filled`);
  }

  async #panel(at, field, target, text) {
    const chosen = await openValue({ field, value: this.#sheet.value(at), text });
    if (chosen) this.#put(target, field, chosen.value);
    this.#sheet.shown?.grid.focus();
  }

  #put(target, field, value) {
    this.#sheet.table.changes.set([{ target, column: field.name, value }]);
    this.#changed();
  }

  /** Goes on from a cell where the keyboard ended its edit. */
  #go(at, move) {
    const grid = this.#sheet.shown?.grid;
    if (!grid || move === '') return;
    const [down, right] = STEPS[move] ?? [0, 0];
    const { slots, rowCount } = grid.model;
    const slot = grid.model.slotOf(at.column) + right;
    const row = at.row + down + Math.sign(Math.floor(slot / slots.length)); // past an end of the row
    const to = row < 0 || row >= rowCount ? at : { row, column: slots[(slot + slots.length) % slots.length] };
    grid.moveTo(to, { focus: true });
  }

  /** Takes what is being typed in a cell. */
  commit() {
    this.#editor?.commit();
    this.typing?.();
  }

  // Keys of the grid.

  /** @param {KeyboardEvent} event @param {Position} at @returns {boolean} whether it was taken */
  onKey(event, at) {
    if (!this.#sheet.shown || this.#editor) return false;
    const { key, altKey, shiftKey } = event;
    this.#asNew = (event.ctrlKey || event.metaKey) && shiftKey && key.toLowerCase() === 'v';
    const ctrl = (event.ctrlKey || event.metaKey) && !altKey;
    const act = ctrl ? this.#withCtrl(key.toLowerCase(), shiftKey) : altKey ? null : this.#plain(event, at);
    if (act) act();
    else if (isTyped(event)) return this.begin(at, key === 'Process' ? '' : key) && key !== 'Process';
    return Boolean(act);
  }

  #withCtrl(key, shift) {
    if (shift) return key === 'z' ? () => this.redo() : null;
    return { y: () => this.redo(), 0: () => this.setAll(null), backspace: () => this.setAll(new Default()), d: () => this.duplicate(), delete: () => this.remove(), z: () => this.undo(), s: () => this.review() }[key] ?? null;
  }

  #plain({ key, shiftKey }, at) {
    const whole = this.#sheet.shown?.grid.model.span === 'rows';
    if (key === 'F2') return () => this.begin(at);
    if (key === 'Enter' && shiftKey) return () => this.#host.view(at);
    if (key === 'Insert' && !shiftKey) return () => this.add();
    if (key === 'Delete' && whole) return () => this.remove();
    if (key === 'Delete' || key === 'Backspace') return () => this.begin(at, '');
    if (key === ' ' && !shiftKey && this.#sheet.table.fields[at.column]?.kind === 'boolean') return () => this.#toggle(at);
    return null;
  }

  #toggle(at) {
    const field = this.#sheet.table.fields[at.column];
    const target = this.#sheet.target(at.row);
    if (!target || field.fixed || this.#isBusy()) return;
    const value = this.#sheet.value(at);
    const on = value !== null && !standsFor(value) && (field.base === 'bit' ? bitsOf(value) !== 0n : Number(value) !== 0);
    this.#put(target, field, field.base === 'bit' ? (on ? '0x00' : '0x01') : on ? '0' : '1');
  }

  // Several cells and rows.

  #isBusy() {
    if (this.#applying) this.#host.notify('The changes are being applied; wait until they are done', 'info');
    return this.#applying !== '';
  }

  /** Puts a value into all selected cells. @param {Value} value */
  setAll(value) {
    if (this.#isBusy()) return;
    const { places, columns } = this.#sheet.selection(MOST_CELLS);
    const fields = columns.map((column) => this.#sheet.table.fields[column]).filter((field) => !refusal(field, value));
    const refused = columns.map((column) => refusal(this.#sheet.table.fields[column], value)).find(Boolean);
    if (refused) this.#host.notify(refused, 'warn');
    this.#sheet.table.changes.set(places.flatMap((place) => fields.map((field) => ({ target: /** @type {Target} */ (this.#sheet.target(place)), column: field.name, value }))));
    this.#changed();
  }

  /** A new row above the others; what the filters ask for is in it. */
  add() {
    if (!this.#sheet.shown || this.#isBusy()) return;
    this.commit();
    this.#added([this.#sheet.initial()]);
  }

  /** New rows with what the selected ones have, but for what the server counts or computes. */
  duplicate() {
    if (!this.#sheet.shown || this.#isBusy()) return;
    this.commit();
    const { fields } = this.#sheet.table;
    const { places } = this.#sheet.selection(MOST_CELLS);
    const { rows } = this.#sheet.shown;
    this.#added(places.map((place) => new Map(fields.flatMap((field, i) => {
      const value = rows.at(place)?.[i];
      return field.fixed || field.auto || value instanceof Default ? [] : [[field.name, value ?? null]];
    }))));
  }

  /** @param {Map<string, Value>[]} rows */
  #added(rows) {
    if (rows.length) this.#showAdded(this.#sheet.table.changes.add(rows));
  }

  /** Goes to the first of new rows. @param {string[]} ids */
  #showAdded(ids) {
    const { grid } = /** @type {Shown} */ (this.#sheet.shown);
    const [first] = ids;
    const column = Math.max(0, this.#sheet.table.fields.findIndex((field) => !field.fixed && !field.auto));
    this.#changed(true);
    grid.moveTo({ row: Math.max(0, this.#sheet.placeOf(first)), column }, { focus: true });
    this.#host.announce(`${rowsText(ids.length)} above the others`);
  }

  /** Marks the selected rows to be deleted. */
  remove() {
    if (!this.#sheet.shown || this.#isBusy()) return;
    this.commit();
    const { places, missing = 0 } = this.#sheet.selection(MOST_CELLS);
    this.#sheet.table.changes.remove(places.map((place) => /** @type {Target} */ (this.#sheet.target(place))));
    this.#changed();
    if (missing) this.#host.notify(`${places.length.toLocaleString('en')} rows are marked; the other selected rows are not loaded`, 'warn');
    else this.#host.announce(`${places.length} ${places.length === 1 ? 'row' : 'rows'} marked for deletion`);
  }

  // Taking back.

  /** Takes the last step back. */
  undo() {
    this.#turn('undo', 'Undone');
  }

  /** Takes the step again that was taken back last. */
  redo() {
    this.#turn('redo', 'Done again');
  }

  /** @param {'undo'|'redo'} way @param {string} told */
  #turn(way, told) {
    if (!this.#sheet.shown || this.#isBusy()) return;
    this.commit();
    const id = this.#sheet.table.changes[way]();
    this.#changed();
    if (id === undefined) return;
    this.#reveal(id);
    this.#host.announce(told);
  }

  #revert(ids) {
    if (this.#isBusy()) return;
    this.#sheet.table.changes.revert(ids);
    this.#changed();
  }

  async #discard() {
    const { changes, table } = this.#sheet.table;
    const sure = changes.size === 1 || await confirmDialog({ title: 'Discard', text: `Discard ${countText(changes.size)} in ${table}? Undo restores them.`, action: 'Discard' });
    if (!sure || this.#isBusy()) return;
    changes.discard();
    this.#changed();
    this.#host.announce('Changes discarded');
  }

  #reveal(id, column = this.#sheet.shown?.grid.model.active.column ?? 0) {
    const row = this.#sheet.placeOf(id);
    if (row < 0) return;
    this.#sheet.shown?.grid.show([column]);
    this.#sheet.shown?.grid.moveTo({ row, column }, { focus: true });
  }

  // The clipboard.

  #onCopy(event) {
    const text = event.clipboardData?.getData('text/plain') ?? '';
    const { places, columns } = this.#sheet.shown ? this.#sheet.selection(MOST_CELLS) : { places: [], columns: [] };
    this.#copied.keep(text, places.map((place) => columns.map((column) => this.#sheet.value({ row: place, column }))));
  }

  #onPaste(event) {
    if (!this.#sheet.shown || event.target instanceof HTMLInputElement || this.#isBusy()) return;
    const { active, rowCount } = this.#sheet.shown.grid.model;
    const text = event.clipboardData?.getData('text/plain') ?? '';
    const [file] = event.clipboardData?.files ?? [];
    if ((active.row < 0 && rowCount > 0) || (!text && !file)) return;
    event.preventDefault();
    if (text) this.#paste(text, this.#asNew || rowCount === 0, event.clipboardData.getData('text/html'));
    else if (rowCount > 0) this.#pasteFile(active, file);
    this.#asNew = false;
  }

  /** Pastes what is in the clipboard, where the browser lets the page read it. */
  async #pasteNew() {
    const text = await navigator.clipboard?.readText?.().catch(() => null);
    if (typeof text !== 'string') this.#host.notify('The browser blocked the clipboard: press Ctrl+Shift+V in the rows', 'info');
    else if (text && this.#sheet.shown && !this.#isBusy()) this.#paste(text, true);
  }

  async #pasteFile(at, file) {
    const field = this.#sheet.table.fields[at.column];
    const target = this.#sheet.target(at.row);
    try {
      const value = await valueOf(file);
      if (value && target && !field.fixed) this.#put(target, field, value);
    } catch (cause) {
      this.#host.notify(cause.message, 'bad');
    }
  }

  /** @param {string} text @param {boolean} asNew whether all of it becomes new rows @param {string} [html] */
  #paste(text, asNew, html = '') {
    const { grid } = /** @type {Shown} */ (this.#sheet.shown);
    const { changes, fields } = this.#sheet.table;
    const known = this.#copied.of(text);
    const selection = this.#sheet.selection(MOST_CELLS);
    const { kind } = fields[selection.columns[0]] ?? {};
    const { model } = grid;
    const slotOf = (column) => model.slotOf(column);
    const spots = (asNew ? newSpots(known ?? cellsOf(text), slotOf(model.active.column), model.slots.length)
      : spotsOf(text, known, { places: selection.places, columns: selection.columns.map(slotOf) }, { html, takesLines: kind === 'text' || kind === 'json' })
    ).map((spot) => ({ ...spot, column: model.slots[spot.column] ?? fields.length })); // next to each other are those that are shown
    const { cells, rows, beyond, left, hasCommas } = this.#sheet.pasted(spots.slice(0, MOST_CELLS), { typed: !known, asNew });
    const ids = changes.set(cells, rows);
    if (ids.length && !cells.length) this.#showAdded(ids);
    else this.#changed();
    if (hasCommas) {
      this.#remark = 'Decimal commas were read as points';
      this.#draw();
      this.#host.announce(this.#remark);
    }
    const missing = left + Math.max(0, spots.length - MOST_CELLS);
    const add = { text: `Add ${rowsText(beyond.length)}`, run: () => { if (this.#sheet.shown && changes === this.#sheet.table.changes && !this.#isBusy()) this.#added(beyond); } };
    if (missing) this.#host.notify(`${(spots.length - missing).toLocaleString('en')} of ${spots.length.toLocaleString('en')} cells were pasted; the others do not exist or reject the value`, 'warn', beyond.length ? add : undefined);
    else if (ids.length && cells.length) this.#host.notify(`${rowsText(ids.length)} added by the paste`, 'info');
    else if (!ids.length) this.#host.announce(`${cells.length} ${cells.length === 1 ? 'cell' : 'cells'} pasted`);
  }

  /** The entries of a cell's menu. @param {Position} at @returns {import('../../common/menu.js').MenuItem[]} */
  menu(at) {
    const target = this.#sheet.shown && this.#sheet.target(at.row);
    if (!target) return [];
    const field = this.#sheet.table.fields[at.column];
    return entriesOf({ field, change: this.#sheet.change(at.row), rows: this.#sheet.selection(MOST_CELLS).places.length }, {
      edit: () => this.begin(at), set: (value) => this.setAll(value), panel: () => this.#panel(at, field, target), revert: (id) => this.#revert([id]),
      add: () => this.add(), duplicate: () => this.duplicate(), paste: () => this.#pasteNew(), remove: () => this.remove(),
    });
  }

  // Writing.

  /** Shows what would run and, if that is wanted, applies it. */
  async review() {
    this.commit();
    if (!this.#sheet.shown || this.#isBusy()) return;
    const { rows, grid, schema } = this.#sheet.shown;
    const table = this.#sheet.table;
    const { changes } = table;
    const [problem] = this.#sheet.problems();
    if (problem) {
      this.#reveal(problem.id, problem.column);
      return this.#host.failed(problem.problem);
    }
    if (!changes.size) return this.#host.notify('No changes', 'info');
    changes.forgive();
    this.#host.settled();
    const known = table.uncertain;
    try {
      const outcome = await reviewAndApply(this.#host.api, {
        changes, of: { db: table.db, table: table.table, timeZone: rows.timeZone }, nameOf: (id) => `The row ${this.#sheet.nameOf(id)}`, showConflict,
        showReview: (review, name) => showReview({ ...review, uncertain: table.uncertain, isElsewhere: Boolean(table.server) && table.server !== this.#host.server() }, name),
        follows: () => followsOf(this.#host.api, { db: table.db, table: table.table, columns: schema.columns }, changes.list), transactions: this.#host.transactions,
      }, {
        changed: () => this.#changed(), took: (id, row) => this.#took(table, rows, id, row),
        // Kept at once: the page may go before the answer comes.
        applying: (id) => { this.#applying = id; table.uncertain = true; this.#host.edited(true); this.#draw(); },
        refused: (lost) => { this.#applying = ''; table.uncertain = known || lost; this.#host.edited(true); this.#draw(); },
      });
      if (outcome) {
        table.uncertain = false;
        this.#applied(table, rows, outcome);
      } else this.#changed();
    } catch (refusal) {
      this.#refused(table, rows, refusal);
    } finally {
      this.#applying = '';
      this.#draw();
      if (document.activeElement === document.body) grid.focus();
    }
    return undefined;
  }

  /** A row is another one now. */
  #took({ changes }, shown, id, row) {
    const whole = row === null || !row.includes(undefined);
    if (whole) shown.pager.edit((one) => (changes.idOf(one) === id ? row : one));
    this.#changed();
    if (!whole) this.#host.reload();
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
    if (id && table === this.#sheet.table) this.#reveal(id);
    this.#host.failed(outcome ? `${message} (changes made before it: ${outcome.applied.toLocaleString('en')})` : message);
  }
}

const rowsText = (count) => `${count.toLocaleString('en')} new ${count === 1 ? 'row' : 'rows'}`;

/** True if a key writes something. */
function isTyped(event) {
  const altGr = event.getModifierState?.('AltGraph');
  return event.key === 'Process' || (event.key.length === 1 && (altGr || (!event.ctrlKey && !event.metaKey && !event.altKey)));
}
