/**
 * The changes of a table's rows that are collected until they are applied: by key, each step of them undone in turn.
 * @module
 */

import { toHex } from '../core/binary.js';
import { momentsOf } from '../data/values.js';

/** Stands for a column's default in a row that is changed; `text`: what a cell shows of it. */
export class Default {
  constructor(text = 'DEFAULT') {
    this.text = text;
  }

  toString() {
    return this.text;
  }

  /** As the API takes it. */
  toJSON() {
    return { default: true };
  }
}

/** The bytes of a file in a row that is changed. */
export class FileValue {
  /** @type {string|undefined} */ #hex;

  /** @param {{name: string, size: string, base64: string}} file `size`: in words */
  constructor({ name, size, base64 }) {
    this.name = name;
    this.size = size;
    this.base64 = base64;
  }

  toString() {
    return `${this.name}, ${this.size}`;
  }

  get bytes() {
    return Uint8Array.from(atob(this.base64), (char) => char.charCodeAt(0));
  }

  /** The value that the file becomes: bytes as hex digits, or a text; null where the bytes are none. @param {boolean} binary @returns {string|null} */
  content(binary) {
    if (binary) return (this.#hex ??= toHex(this.bytes));
    try {
      return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(this.bytes);
    } catch {
      return null;
    }
  }

  /** As the API takes it. */
  toJSON() {
    return { base64: this.base64 };
  }
}

/** Characters of a value up to which it is sent to be compared: a change has to fit in what the server takes. */
const COMPARED = 4_000_000;

/** True if a value stands for another: a default, a file. @param {any} value */
export const standsFor = (value) => value instanceof Default || value instanceof FileValue;

/**
 * @typedef {null|string|number|boolean|Default|FileValue} Value
 * @typedef {{id: string, op: 'update'|'delete'|'insert', base: any[]|null, set: Map<string, Value>, row: any[], error: string}} Change
 *   `base`: the row as it was read, undefined where it is not known; `set`: new values by column; `row`: what is shown
 * @typedef {{id: string, base: any[]|null}} Target a row that is there, by what was read of it, or a new one
 */

/** A value as it is kept: a placeholder by its text, and one that is not known. */
const packed = (value) => (value instanceof Default ? { default: value.text } : value === undefined ? { missing: true } : value);

/** @param {any} value as it was kept @returns {any} */
function unpacked(value) {
  if (typeof value !== 'object' || value === null) return value;
  return 'default' in value ? new Default(String(value.default)) : undefined;
}

/** The changes of one table. */
export class Changes {
  /** @type {Map<string, Change>} */ #all = new Map();
  /** Changes that each step replaced. @type {[string, Change|null][][]} */ #steps = [];
  /** Steps that were taken back. @type {[string, Change|null][][]} */ #undone = [];
  #serial = 0;
  /** @type {any[][]} */ #saved = [];
  /** @type {WeakMap<any[], string>} */ #ids = new WeakMap();
  /** @type {Change[]} */ #added = [];

  /**
   * @param {{columns: string[], key: string[], initial?: (column: string) => Value, isGiven?: (column: string) => boolean}} table
   *   `key`: the columns that tell rows apart; `initial`: what a new row shows of a column that nothing was put in; `isGiven`: whether
   *   a new row can have a value of the column
   */
  constructor({ columns, key, initial = () => new Default(), isGiven = () => true }) {
    this.columns = columns;
    this.key = key;
    this.initial = initial;
    this.isGiven = isGiven;
  }

  get size() {
    return this.#all.size;
  }

  /** True if there is a step to undo. */
  get canUndo() {
    return this.#steps.length > 0;
  }

  /** All changes, in the order in which they are applied: what goes makes room for what comes. @returns {Change[]} */
  get list() {
    const rank = { delete: 0, update: 1, insert: 2 };
    return [...this.#all.values()].sort((a, b) => rank[a.op] - rank[b.op]);
  }

  /** A row's name: the values of its key. @param {any[]} row as it was read */
  idOf(row) {
    let id = this.#ids.get(row);
    if (id === undefined) {
      id = JSON.stringify(this.key.map((name) => momentsOf.get(row)?.[name] ?? row[this.columns.indexOf(name)]));
      this.#ids.set(row, id);
    }
    return id;
  }

  /** The change of a row. @param {any[]} row as it was read @returns {Change|undefined} */
  of(row) {
    return this.#all.size ? this.#all.get(this.idOf(row)) : undefined;
  }

  /** @param {string} id @returns {Change|undefined} */
  get(id) {
    return this.#all.get(id);
  }

  // Rows above those of the table: new rows, and those that were new and are saved.

  get extraCount() {
    return this.#added.length + this.#saved.length;
  }

  /** Rows that were new and are saved. */
  get savedCount() {
    return this.#saved.length;
  }

  /** @param {number} at @returns {any[]|undefined} */
  extra(at) {
    const saved = this.#saved[at - this.#added.length];
    return this.#added[at]?.row ?? (saved && this.shown(saved));
  }

  /** The new row at a place above the others, or what was read of one that is saved. @param {number} at @returns {Target|null} */
  extraTarget(at) {
    const saved = this.#saved[at - this.#added.length];
    if (this.#added[at]) return { id: this.#added[at].id, base: null };
    return saved ? this.target(saved) : null;
  }

  /** A row as it is to be. @param {any[]} row as it was read */
  shown(row) {
    const change = this.of(row);
    if (!change || change.op !== 'update') return row;
    return change.base === row ? change.row : this.#merged(row, change.set);
  }

  #merged(row, set) {
    return this.columns.map((name, i) => (set.has(name) ? set.get(name) : row[i]));
  }

  /** @param {any[]} row as it was read @returns {Target} */
  target(row) {
    return { id: this.idOf(row), base: row };
  }

  // Steps.

  /**
   * Changes cells and adds new rows, in one step.
   * @param {{target: Target, column: string, value: Value}[]} cells
   * @param {Map<string, Value>[]} [rows] values of the new rows by column
   * @returns {string[]} names of the new rows
   */
  set(cells, rows = []) {
    /** @type {Map<string, Change|null>} */
    const next = new Map();
    for (const { target, column, value } of cells) {
      const known = next.has(target.id) ? next.get(target.id) : this.#all.get(target.id);
      if (known?.op === 'delete') continue;
      next.set(target.id, this.#with(target, known ?? null, column, value));
    }
    const added = rows.map((set) => this.#made(`new ${(this.#serial += 1)}`, 'insert', null, set));
    for (const change of added) next.set(change.id, change);
    this.#step(next);
    return added.map(({ id }) => id);
  }

  /** @param {Target} target @param {Change|null} known @returns {Change|null} null where nothing is left to change */
  #with({ id, base }, known, column, value) {
    const set = new Map(known?.set);
    const op = known?.op ?? 'update';
    const from = known?.base ?? base;
    if (op === 'update' && from && same(from[this.columns.indexOf(column)], value)) set.delete(column);
    else set.set(column, value);
    return op === 'update' && set.size === 0 ? null : this.#made(id, op, from, set);
  }

  /** @param {string} id @param {Change['op']} op @param {any[]|null} base @param {Map<string, Value>} set @returns {Change} */
  #made(id, op, base, set) {
    const row = base ? this.#merged(base, set) : this.columns.map((name) => (set.has(name) ? /** @type {Value} */ (set.get(name)) : this.initial(name)));
    return { id, op, base, set, row, error: '' };
  }

  /** Adds new rows, in one step. @param {Map<string, Value>[]} rows values by column @returns {string[]} their names */
  add(rows) {
    return this.set([], rows);
  }

  /** Marks rows to be deleted, in one step; new ones just go. @param {Target[]} targets */
  remove(targets) {
    this.#step(new Map(targets.map(({ id, base }) => {
      const known = this.#all.get(id);
      const from = known?.base ?? base;
      return [id, from ? this.#made(id, 'delete', from, new Map(known?.set)) : null];
    })));
  }

  /** Takes the changes of rows back, in one step. @param {string[]} ids */
  revert(ids) {
    this.#step(new Map(ids.map((id) => [id, null])));
  }

  /** Takes all changes back, which can be undone too. */
  discard() {
    this.revert([...this.#all.keys()]);
  }

  /** @param {Map<string, Change|null>} next */
  #step(next) {
    const differs = [...next].filter(([id, change]) => change || this.#all.has(id));
    if (!differs.length) return;
    this.#steps.push(this.#before(differs));
    this.#undone = [];
    this.#put(differs);
  }

  #put(changes) {
    for (const [id, change] of changes) {
      if (change) this.#all.set(id, change);
      else this.#all.delete(id);
    }
    this.#added = [...this.#all.values()].filter(({ op }) => op === 'insert').sort((a, b) => serial(a) - serial(b));
  }

  /** The changes of rows as they are now. @param {[string, Change|null][]} step @returns {[string, Change|null][]} */
  #before(step) {
    return step.map(([id]) => [id, this.#all.get(id) ?? null]);
  }

  /** Takes the last step back. @returns {string|undefined} a row that it was about */
  undo() {
    return this.#turn(this.#steps, this.#undone);
  }

  /** Takes the step again that was taken back last. @returns {string|undefined} a row that it is about */
  redo() {
    return this.#turn(this.#undone, this.#steps);
  }

  #turn(from, to) {
    const step = from.pop();
    if (!step) return undefined;
    to.push(this.#before(step));
    this.#put(step);
    return step[0][0];
  }

  #forget() {
    this.#steps = [];
    this.#undone = [];
  }

  // Exchange with the server.

  /** The changes as the API takes them, and the row of each. */
  requests() {
    const { list } = this;
    return { ids: list.map(({ id }) => id), changes: list.map((change) => this.#request(change)) };
  }

  #request({ op, base, set }) {
    if (!base) return { op, new: Object.fromEntries(set) };
    const old = Object.fromEntries(this.columns.map((name, i) => [name, base[i]]).filter(([, value]) => isCompared(value)));
    const key = Object.fromEntries(this.key.map((name) => [name, base[this.columns.indexOf(name)]]));
    const moments = momentsOf.get(base);
    const of = { op, key, old, ...(moments && { moments }) };
    return op === 'delete' ? of : { ...of, new: Object.fromEntries(set) };
  }

  /** True if a value of a row that is to be written is too large to be compared. */
  get hasUncompared() {
    return this.list.some(({ base }) => base?.some((value) => !isCompared(value)));
  }

  /** Records the reason for which a change was refused. @param {string} id @param {string} message */
  fail(id, message) {
    const change = this.#all.get(id);
    if (change) this.#put([[id, { ...change, error: message }]]);
  }

  /** No change was refused so far. */
  forgive() {
    this.#put([...this.#all].filter(([, { error }]) => error).map(([id, change]) => [id, { ...change, error: '' }]));
  }

  /**
   * Changes were applied: they are no more, and what they did cannot be undone. New rows stay in sight.
   * @param {string[]} ids
   * @param {(any[]|null)[]} rows each as read again
   */
  applied(ids, rows) {
    ids.forEach((id, i) => {
      const row = rows[i];
      if (this.#all.get(id)?.op === 'insert' && row) this.#saved.push(row);
      else this.#saved = this.#saved.flatMap((one) => (this.idOf(one) === id ? (row ? [row] : []) : [one]));
    });
    this.#put(ids.map((id) => [id, null]));
    this.#forget();
  }

  /** The rows are read again, the saved ones in their places. */
  reread() {
    this.#saved = [];
  }

  /**
   * A row is another one now, and what is to be changed in it is changed in that.
   * @param {string} id
   * @param {any[]|null} row as it is now; null where it is gone: a change of its values becomes a new row
   */
  rebase(id, row) {
    const known = this.#all.get(id);
    if (!known) return;
    this.#forget();
    this.#all.delete(id);
    if (!row) {
      const values = this.columns.map((name, i) => /** @type {[string, Value]} */ ([name, known.row[i]])).filter(([name]) => this.isGiven(name));
      if (known.op === 'update') this.add([new Map(values)]);
      else this.#put([]);
      this.#forget();
      return;
    }
    const set = new Map([...known.set].filter(([name, value]) => !same(row[this.columns.indexOf(name)], value)));
    const next = this.idOf(row);
    this.#put(known.op === 'delete' || set.size ? [[next, this.#made(next, known.op, row, set)]] : []);
  }

  /**
   * The changes as they are kept while the page is loaded again, without files and those beyond a number of characters.
   * @param {number} room @returns {Pick<import('../core/pending.js').PendingTable, 'columns'|'key'|'changes'|'left'>}
   */
  stored(room) {
    const { columns, key } = this;
    const all = [...this.list.filter(({ op }) => op !== 'insert'), ...this.#added];
    let left = room;
    const changes = all.flatMap(({ op, base, set }) => {
      const values = [...base ?? [], ...set.values()];
      const size = values.reduce((sum, value) => sum + (typeof value === 'string' ? value.length : value instanceof FileValue ? Infinity : 8), 40);
      if (size > left) return [];
      left -= size;
      const moments = base && momentsOf.get(base);
      return [{ op, base: base && base.map(packed), ...(moments && { moments }), set: [...set].map(([name, value]) => /** @type {[string, any]} */ ([name, packed(value)])) }];
    });
    return { columns, key, changes, left: all.length - changes.length };
  }

  /** Changes that were kept. @param {Pick<import('../core/pending.js').PendingTable, 'columns'|'key'|'changes'>} kept */
  static of({ columns, key, changes }) {
    const all = new Changes({ columns, key });
    for (const { op, base, moments, set } of changes) {
      const values = new Map(set.map(([name, value]) => [name, unpacked(value)]));
      const row = base && base.map(unpacked);
      if (row && moments) momentsOf.set(row, moments);
      if (row) all.#put([[all.idOf(row), all.#made(all.idOf(row), op, row, values)]]);
      else all.add([values]);
    }
    all.#forget();
    return all;
  }

  /** Takes over what was collected while the table had other columns, or in another tab. @param {Changes} old */
  adopt(old) {
    for (const { op, base, set } of old.list) {
      const row = base && this.columns.map((name) => (old.columns.includes(name) ? base[old.columns.indexOf(name)] : null));
      const moments = base && momentsOf.get(base);
      if (row && moments) momentsOf.set(row, moments);
      const kept = new Map([...set].filter(([name]) => this.columns.includes(name)));
      if (!row) this.add([kept]);
      else if (op === 'delete' || kept.size) this.#put([[this.idOf(row), this.#made(this.idOf(row), op, row, new Map([...this.of(row)?.set ?? [], ...kept]))]]);
    }
    this.#forget();
  }

  /** Forgets the changes of rows for good. @param {string[]} ids */
  drop(ids) {
    this.#put(ids.map((id) => [id, null]));
    this.#forget();
  }
}

const isCompared = (value) => value !== undefined && !(typeof value === 'string' && value.length > COMPARED);

const serial = ({ id }) => Number(id.slice(4));

/** True if two values are the same to the server. */
function same(a, b) {
  if (a === null || b === null || standsFor(b)) return a === b;
  return String(a) === String(b);
}
