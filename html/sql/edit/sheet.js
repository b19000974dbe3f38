/**
 * The table that is shown, with what is changed in it: which row and which value stands at a place.
 * @module
 */

import { keyOf } from '../data/browse.js';
import { MOST_PENDING } from '../core/pending.js';
import { Changes, Default } from './changes.js';
import { fieldOf, initialOf, isGrouped, read, refusal } from './fields.js';

/** Types of numbers with digits behind a point, and a number that has a comma there. */
const FRACTIONAL = /^(?:decimal|numeric|float|double)$/;
const DECIMAL_COMMA = /^\s*[+-]?\d*,\d+(?:e[+-]?\d+)?\s*$/i;

/** Characters of a value told as what it was. */
const TOLD = 60;

/**
 * @typedef {import('../results/gridmodel.js').Position} Position
 * @typedef {import('./changes.js').Target} Target
 * @typedef {import('./fields.js').Field} Field
 * @typedef {{grid: import('../results/grid.js').Grid, rows: import('../data/source.js').TableRows, schema: any,
 *   place: import('../data/source.js').Place}} Shown
 * @typedef {{db: string, table: string, changes: Changes, fields: Field[], uncertain: boolean, server?: string}} Table `fields`: none before the table was looked at; `uncertain`:
 *   the changes were sent, and it is unknown whether they were made; `server`: the instance that answered when they were first kept
 */

/** The tables that a data tab has changed rows of, and the one that it shows. */
export class Sheet {
  /** @type {Map<string, Table>} */ tables = new Map();
  /** Kept changes whose table has another key now. @type {import('../core/pending.js').PendingTable[]} */ held = [];
  /** @type {Shown|null} */ shown = null;
  /** @type {Table} */ table = { db: '', table: '', changes: new Changes({ columns: [], key: [] }), fields: [], uncertain: false };

  /** @param {Shown|null} shown null where the rows cannot be changed */
  show(shown) {
    this.shown = shown;
    const known = shown && this.tables.get(idOf(shown.place));
    if (known) this.table = known;
  }

  /** The changes of a table, which outlive what is looked at. @param {{db: string, table: string}} of @param {any} schema */
  changesOf({ db, table }, schema) {
    const id = idOf({ db, table });
    const columns = schema.columns.map(({ name }) => name);
    const known = this.tables.get(id);
    if (known?.fields.length && JSON.stringify(known.changes.columns) === JSON.stringify(columns)) return known.changes;
    const fields = schema.columns.map((column) => fieldOf(column, schema));
    const field = (name) => fields.find((one) => one.name === name);
    const key = keyOf(schema)?.parts.map(({ name }) => name) ?? [];
    const changes = new Changes({
      columns, key, isGiven: (name) => !field(name)?.fixed,
      initial: (name) => new Default(initialOf(field(name))),
    });
    const isKeyed = known && key.every((name) => known.changes.columns.includes(name));
    if (isKeyed) changes.adopt(known.changes);
    else if (known?.changes.size) this.held.push(storedOf(known));
    this.tables.set(id, { db, table, changes, fields, uncertain: Boolean(isKeyed && known.uncertain), server: isKeyed ? known.server : '' });
    return changes;
  }

  /** Takes changes that were kept while the page was loaded again. @param {import('../core/pending.js').PendingTable[]} kept */
  restore(kept) {
    for (const one of kept) {
      const { db, table, uncertain, server } = one;
      const known = this.tables.get(idOf(one));
      if (known) known.changes.adopt(Changes.of(one));
      else this.tables.set(idOf(one), { db, table, changes: Changes.of(one), fields: [], uncertain, server });
    }
  }

  /** The changes as they are kept while the page is loaded again. @param {string} server that answers now @returns {import('../core/pending.js').PendingTable[]} */
  stored(server) {
    for (const table of this.tables.values()) table.server = table.changes.size ? table.server || server : '';
    return [...[...this.tables.values()].filter(({ changes }) => changes.size).map(storedOf), ...this.held];
  }

  /** The rows of a table are read again. @param {{db: string, table: string}} of */
  reread({ db, table }) {
    this.tables.get(idOf({ db, table }))?.changes.reread();
  }

  /** @param {number} place @returns {Target|null} */
  target(place) {
    const { rows } = /** @type {Shown} */ (this.shown);
    const { changes } = this.table;
    if (place < 0) return null;
    if (place < rows.extra) return changes.extraTarget(place);
    const row = rows.pager.row(place - rows.extra);
    return row ? changes.target(row) : null;
  }

  /** The change of the row at a place. @param {number} place */
  change(place) {
    const target = this.target(place);
    return target && this.table.changes.get(target.id);
  }

  /** Value shown at a place. @param {Position} at @returns {any} */
  value({ row, column }) {
    return this.shown?.rows.at(row)?.[column] ?? null;
  }

  /** The places of the selection that are held, and its columns. @param {number} most cells */
  selection(most) {
    const { model } = /** @type {Shown} */ (this.shown).grid;
    const { top, bottom, columns, empty } = model.selection;
    if (empty || model.active.row < 0) return { places: [], columns: [] };
    const places = [];
    for (let place = top; place <= bottom && places.length * columns.length < most; place += 1) if (this.target(place)) places.push(place);
    return { places, columns, missing: bottom - top + 1 - places.length };
  }

  /**
   * Turns pasted cells into changes of rows and into new rows. A block that begins in a new row goes on in new ones, not
   * in the rows of the table, which stand below it by chance.
   * @param {{place: number, column: number, value: any}[]} spots
   * @param {{typed: boolean, asNew: boolean}} how `typed`: values are texts to be read; `asNew`: all become new rows
   * @returns {{cells: {target: Target, column: string, value: any}[], rows: Map<string, any>[], beyond: Map<string, any>[], left: number, hasCommas: boolean}}
   *   `hasCommas`: decimal commas were read as points; `beyond`: rows behind the last one, which could become new ones; `left`: cells that are in neither `cells` nor `rows`
   */
  pasted(spots, { typed, asNew }) {
    const { rows: shown } = /** @type {Shown} */ (this.shown);
    const isInsert = (place) => this.change(place)?.op === 'insert';
    const intoNew = !asNew && spots.length > 0 && isInsert(spots[0].place);
    const rows = new Map();
    const beyond = new Map();
    const cells = [];
    let hasCommas = false;
    const counted = [];
    for (const { place, column, value } of spots) {
      const field = this.table.fields[column];
      const fresh = asNew || (intoNew && !isInsert(place)) ? rows : place >= shown.length && shown.pager.ended ? beyond : null;
      const target = fresh ? null : this.target(place);
      // A number that the server counts is not copied from one row to another, and not missed in a new one.
      const isCounted = fresh !== null && !typed && field?.auto;
      if (isCounted) counted.push(place);
      if (!field || refusal(field, value) || (fresh ? isCounted : !target)) continue;
      const isComma = typed && FRACTIONAL.test(field.base) && DECIMAL_COMMA.test(value) && !isGrouped(value);
      hasCommas ||= isComma;
      const put = typed && typeof value === 'string' ? read(field, isComma ? value.replace(',', '.') : value).value : value;
      if (target) cells.push({ target, column: field.name, value: put });
      else fresh?.set(place, (fresh.get(place) ?? new Map()).set(field.name, put));
    }
    const taken = [...rows.values()].reduce((sum, { size }) => sum + size, cells.length);
    const whole = (list) => [...list.values()].map((set) => new Map([...this.initial(), ...set]));
    return { cells, rows: whole(rows), beyond: whole(beyond), left: spots.length - taken - counted.filter((place) => rows.has(place)).length, hasCommas };
  }

  /** Values of a new row from the start: those that the filters ask for. @returns {Map<string, any>} */
  initial() {
    const wanted = /** @type {Shown} */ (this.shown).place.filters.filter(({ op, off }) => op === '=' && !off);
    const isSingle = (name) => wanted.filter(({ column }) => column === name).length === 1;
    return new Map(wanted.filter(({ column }) => isSingle(column) && this.table.changes.isGiven(column)).map(({ column, value }) => [column, value]));
  }

  /** The place of a row that is held; -1 where it is not. @param {string} id */
  placeOf(id) {
    const { rows } = /** @type {Shown} */ (this.shown);
    const { changes } = this.table;
    for (let at = 0; at < rows.extra; at += 1) if (changes.extraTarget(at)?.id === id) return at;
    const place = rows.pager.placeOf((row) => changes.idOf(row) === id);
    return place < 0 ? -1 : place + rows.extra;
  }

  /** Mark of a cell. @param {Position} at @returns {import('./marks.js').CellMark|null} */
  mark({ row, column }) {
    if (!this.shown || !(this.table.changes.size || this.shown.rows.extra)) return null;
    const change = this.change(row);
    if (!change) return null;
    const field = this.table.fields[column];
    const value = change.row[column];
    if (change.op === 'delete') return { state: 'deleted', before: '', problem: '', value: change.base?.[column] };
    if (change.op === 'insert') return { state: 'new', before: '', problem: this.#problem(change, field), value };
    return change.set.has(field.name) ? { state: 'changed', before: told(change.base?.[column]), problem: this.#problem(change, field), value } : null;
  }

  /** Reason against an entered value. @param {import('./changes.js').Change} change @param {Field} field */
  #problem({ op, set }, field) {
    if (!field || op === 'delete') return '';
    const value = set.get(field.name);
    if (field.required && ((op === 'insert' && !set.has(field.name)) || value instanceof Default)) return `${field.name} needs a value: it is NOT NULL and has no default`;
    return typeof value === 'string' ? read(field, value).problem : '';
  }

  /** Entered values that are not valid. @returns {{id: string, column: number, problem: string}[]} */
  problems() {
    const { changes, fields } = this.table;
    return changes.list.flatMap((change) => fields.flatMap((field, column) => {
      const problem = change.op === 'insert' || change.set.has(field.name) ? this.#problem(change, field) : '';
      return problem ? [{ id: change.id, column, problem }] : [];
    }));
  }

  /** Content of a row's number cell. @param {number} place @returns {{state: import('./marks.js').RowState|null, text: string, error: string}} */
  rowMark(place) {
    const extra = this.shown?.rows.extra ?? 0;
    const change = this.table.changes.size || extra ? this.change(place) : null;
    const state = change?.error ? 'failed' : change?.op ?? (place < extra ? 'saved' : null);
    return { state, text: place < extra ? '' : String(place - extra + 1), error: change?.error ?? '' };
  }

  /** Name of a row by its key. @param {string} id */
  nameOf(id) {
    const { changes } = this.table;
    const { base } = changes.get(id) ?? {};
    return changes.key.map((name) => `${name} = ${told(base?.[changes.columns.indexOf(name)])}`).join(', ');
  }
}

/** @param {Table} table @returns {import('../core/pending.js').PendingTable} */
const storedOf = ({ db, table, changes, uncertain, server }) => ({ db, table, ...changes.stored(MOST_PENDING), uncertain, server });

const idOf = ({ db, table }) => JSON.stringify([db, table]);

/** A value in words. */
function told(value) {
  if (value === null || value === undefined) return 'NULL';
  const text = String(value);
  return text === '' ? 'empty' : text.length > TOLD ? `${text.slice(0, TOLD)} …` : text;
}
