/**
 * Requests of the data view to the server.
 * @module
 */

import { ask } from '../ask.js';
import { shortest } from '../core/binary.js';
import { ResultSet } from '../core/resultset.js';
import { MOST_VALUES, countSql, factsSql, isShortened, keyOf, orderOf, pageSql, selection, sumsSql, valuesSql, wholeSql } from './browse.js';
import { dependsOnZone, whereSql } from './filters.js';
import { Pager } from './pager.js';
import { momentsOf, quoteText } from './values.js';

/** @typedef {ReturnType<typeof import('../api.js').createApi>} Api */
/** @typedef {{filters: import('./filters.js').Filter[], free: string, sort: import('./browse.js').SortKey[]}} Wanted */
/**
 * @typedef {Wanted & {db: string, table: string, top?: number, at?: import('../results/gridmodel.js').Position}} Place
 *   what is looked at; `top`, `at`: where in it
 */

/**
 * @typedef {{extraCount: number, savedCount: number, extra: (at: number) => any[]|undefined, shown: (row: any[]) => any[]}} Edits what is changed in rows:
 *   rows above them, and each as it is to be
 */

/** @typedef {{values: {value: string|null, count: number|null, text?: string}[], isCut: boolean}} Counted `isCut`: there are further values; `text`: the readable name of a key */

/** Rows that are asked for at once where all are loaded. */
const EVERY = 1000;

/** A FLOAT that was read as a DOUBLE, by as many digits as it has. */
const float = (value) => (typeof value === 'number' ? Number(shortest(value)) : value);

/** The rows of a table in an order, under a condition, as a result that the grid shows. */
export class TableRows extends ResultSet {
  #api;
  #abort = new AbortController();
  #places;
  #moments;
  #width;
  #keys;

  /**
   * @param {Api} api
   * @param {{db: string, table: string, schema: any, timeZone?: string}} of `timeZone`: another one than the server's
   * @param {Wanted} wanted throws where a filter is wrong
   * @param {(shifted: boolean) => void} onChange rows came or went
   */
  constructor(api, { db, table, schema, timeZone }, { filters, free, sort }, onChange) {
    super({ db });
    this.#api = api;
    /** Changes in them. @type {Edits|null} */
    this.edits = null;
    this.timeZone = timeZone;
    this.source = { db, table, columns: schema.columns, order: orderOf(schema, sort), where: whereSql(filters, free, schema.columns) };
    const { names, hidden, places, moments } = selection(this.source);
    this.#places = places;
    this.#moments = moments;
    this.#width = names.length;
    this.#keys = new Set([...(keyOf(schema)?.parts ?? []).map(({ name }) => name), ...(schema.foreign_keys ?? []).flatMap(({ columns }) => columns)]);
    this.all = [...names, ...hidden.map(({ name }) => name)];
    this.columns = names;
    this.sql = wholeSql(this.source);
    /** The time zone that a file of INSERTs is written in: UTC, in which no hour comes twice, if the same rows are found in it. */
    this.insertZone = dependsOnZone(filters, free, schema.columns) ? timeZone : '+00:00';
    this.pager = new Pager((range) => this.#fetch(range), { byCursor: this.source.order.byCursor, columns: names.length, onChange });
  }

  /** The rows that widths of columns are chosen by. @override @returns {any[][]} */
  get sample() {
    return this.pager.sample;
  }

  /** @override @returns {any[][]} */
  get latest() {
    return this.pager.latest;
  }

  /** @override @param {number} column */
  isKey(column) {
    return this.#keys.has(this.columns[column]);
  }

  /** Whole type and comment of a column. @param {number} column @returns {{type: string, comment: string}} */
  describe(column) {
    const { type, comment } = /** @type {any} */ (this.source.columns[column]);
    return { type, comment: comment ?? '' };
  }

  /** The statement for some columns alone, as they stand. @param {number[]} columns */
  sqlOf(columns) {
    return wholeSql({ ...this.source, columns: columns.map((column) => this.source.columns[column]) });
  }

  /** Rows above those of the table: new ones. */
  get extra() {
    return this.edits?.extraCount ?? 0;
  }

  /** @override */
  get length() {
    return this.extra + this.pager.rowCount;
  }

  /** @override */
  get signWidth() {
    return this.edits ? 16 : 0;
  }

  /** A row as it is to be shown. @override @param {number} place */
  at(place) {
    const { edits, extra } = this;
    if (place < extra) return edits?.extra(place);
    const row = this.pager.row(place - extra);
    return row && edits ? edits.shown(row) : row;
  }

  /** Loads what is missing around the rows in sight. @param {number} first @param {number} last */
  need(first, last) {
    const { extra } = this;
    return this.pager.need(Math.max(0, first - extra), Math.max(0, last - extra));
  }

  /** All rows, without the pages that are kept; null where they are more than `most`. @param {number} most @param {AbortSignal} signal @returns {Promise<any[][]|null>} */
  async every(most, signal) {
    const rows = [];
    for (let after = null; ;) {
      const { rows: loaded, last } = await this.#fetch({ after, until: null, limit: EVERY, offset: this.source.order.byCursor ? 0 : rows.length });
      signal.throwIfAborted();
      for (const row of loaded) rows.push(row);
      if (loaded.length < EVERY) return rows;
      if (rows.length >= most) return null;
      after = last;
    }
  }

  async #fetch(range) {
    const sql = pageSql(this.source, range);
    const { db } = this.source;
    const result = await ask(this.#api, { sql, db, timeZone: this.timeZone, signal: this.#abort.signal });
    const at = this.all.map((name) => result.columns.indexOf(name));
    const floats = this.source.columns.map(({ type }) => isShortened(type));
    if (result.types.length) this.types = at.slice(0, this.#width).map((i, column) => (floats[column] ? 'FLOAT' : result.types[i] ?? ''));
    const end = result.rows.at(-1);
    const last = end && this.source.order.byCursor ? this.#places.map((place) => end[at[place]]) : null;
    return { rows: result.rows.map((row) => this.#shown(row, at, floats)), last };
  }

  #shown(row, at, floats) {
    const shown = this.columns.map((_, i) => (floats[i] ? float(row[at[i]]) : row[at[i]]));
    if (this.#moments.length) momentsOf.set(shown, Object.fromEntries(this.#moments.map(({ column, place }) => [column, row[at[place]]])));
    return shown;
  }

  /** Counts the rows, with `all` also those that the filters hide. @param {boolean} [all] @param {AbortSignal} [signal] @returns {Promise<string>} */
  async total(all = false, signal = this.#abort.signal) {
    const sql = countSql(all ? { ...this.source, where: '' } : this.source);
    const { rows } = await ask(this.#api, { sql, db: this.source.db, timeZone: this.timeZone, signal });
    return String(rows[0]?.[0] ?? '');
  }

  /**
   * Values of a column with their counts, most frequent first.
   * @param {number} column @param {string} where condition of the rows that count @param {string} search text within the values @param {AbortSignal} signal
   * @param {string} [others] condition of further values that the search finds
   * @returns {Promise<Counted>}
   */
  async values(column, where, search, signal, others) {
    const { db, columns } = this.source;
    const { rows } = await ask(this.#api, { sql: valuesSql({ ...this.source, where }, columns[column], search, others), db, timeZone: this.timeZone, signal });
    const read = isShortened(columns[column].type) ? float : (value) => value;
    const values = rows.slice(0, MOST_VALUES).map(([value, count]) => ({ value: value === null ? null : String(read(value)), count: Number(count) }));
    return { values, isCut: rows.length > MOST_VALUES };
  }

  /** Figures about a column over all rows, as pairs of label and text. @param {number} column @param {AbortSignal} signal @returns {Promise<[string, string][]>} */
  async facts(column, signal) {
    const { db, columns } = this.source;
    const { rows: [figures] } = await ask(this.#api, { sql: factsSql(this.source, columns[column]), db, timeZone: this.timeZone, signal });
    const labels = ['Rows', 'NULL', 'Different values', 'Smallest', 'Largest', 'Sum', 'Mean'];
    return labels.flatMap((label, i) => (figures[i] === null ? [] : [[label, i < 3 ? Number(figures[i]).toLocaleString('en') : String(figures[i])]]));
  }

  /**
   * Figures of some columns from the server, over all rows or over those from `top` to `bottom`.
   * @param {number[]} columns @param {{top: number, bottom: number}|null} area @param {AbortSignal} signal
   * @returns {Promise<{rows: number, columns: {count: number, sum: any, least: any, most: any}[], distinct: number|null}>}
   */
  async sums(columns, area, signal) {
    const { extra } = this;
    const offset = area ? Math.max(0, area.top - extra) : 0;
    const range = area && { limit: Math.max(0, area.bottom - extra - offset + 1), offset };
    const sql = sumsSql(this.source, columns.map((column) => this.source.columns[column]), range);
    const { rows: [figures] } = await ask(this.#api, { sql, db: this.source.db, timeZone: this.timeZone, signal });
    const [rows, ...rest] = figures;
    const of = (i) => rest.slice(4 * i, 4 * i + 4);
    return {
      rows: Number(rows), distinct: rest.length > 4 * columns.length ? Number(rest[4 * columns.length]) : null,
      columns: columns.map((_, i) => { const [count, sum, least, most] = of(i); return { count: Number(count), sum, least, most }; }),
    };
  }

  /** Nobody looks at it any more. */
  dispose() {
    this.#abort.abort();
  }
}

/** Rows of a table as the server estimates them; null where it does not. @param {Api} api @param {string} db @param {string} table @param {AbortSignal} signal */
export async function estimateOf(api, db, table, signal) {
  const sql = `SELECT TABLE_ROWS FROM information_schema.TABLES WHERE TABLE_SCHEMA = ${quoteText(db)} AND TABLE_NAME = ${quoteText(table)}`;
  const { rows } = await ask(api, { sql, signal });
  const estimate = rows[0]?.[0] ?? null;
  return estimate === null ? null : Number(estimate);
}

/**
 * The foreign keys that refer to a table.
 * @param {Api} api @param {string} db @param {string} table
 * @returns {Promise<import('./links.js').Reference[]>}
 */
export async function referencesTo(api, db, table) {
  const sql = 'SELECT TABLE_SCHEMA, TABLE_NAME, CONSTRAINT_NAME, COLUMN_NAME, REFERENCED_COLUMN_NAME\n'
    + 'FROM information_schema.KEY_COLUMN_USAGE\n'
    + `WHERE REFERENCED_TABLE_SCHEMA = ${quoteText(db)} AND REFERENCED_TABLE_NAME = ${quoteText(table)}\n`
    + 'ORDER BY TABLE_SCHEMA, TABLE_NAME, CONSTRAINT_NAME, ORDINAL_POSITION';
  const { rows } = await ask(api, { sql, db });
  /** @type {Map<string, import('./links.js').Reference>} */
  const found = new Map();
  for (const [schema, name, constraint, column, referenced] of rows.map((row) => row.map(String))) {
    const id = JSON.stringify([schema, name, constraint]);
    const known = found.get(id) ?? { db: schema, table: name, columns: [], refColumns: [] };
    known.columns.push(column);
    known.refColumns.push(referenced);
    found.set(id, known);
  }
  return [...found.values()];
}
