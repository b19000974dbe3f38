/**
 * Readable names of the keys that a column refers to: beside its values, and to find keys by.
 * @module
 */

import { ask } from '../ask.js';
import { KeptReadables, keyAt } from '../edit/readable.js';
import { WITHIN, filterSql } from './filters.js';
import { classOf, isNumber, literal, quoteName } from './values.js';

/** @typedef {{value: string, text: string}} Named a key and the name of its row */

/** Keys that a name leads to, at most. */
const MOST_KEYS = 200;

/** The names of one column's keys; of nothing where the account may not read them. */
export class KeyNames {
  #api;
  #db;
  #key;
  #type;
  /** The readable column, and the key's type; null where there is none. @type {Promise<{name: string, type: string}|null>} */ #readable;

  /** @param {import('./source.js').Api} api @param {string} db of the table @param {string} type of the column @param {import('../edit/readable.js').Key} key @param {Promise<{name: string, type: string}|null>} readable */
  constructor(api, db, type, key, readable) {
    this.#api = api;
    this.#db = db;
    this.#type = type;
    this.#key = key;
    this.#readable = readable;
  }

  /**
   * The names for a column with a foreign key of its own; null for another.
   * @param {{api: import('./source.js').Api, schema: (db: string, table: string) => Promise<any>, store: ConstructorParameters<typeof KeptReadables>[0]}} deps
   * @param {any} schema of the table @param {string} db @param {{name: string, type: string}} column
   */
  static of({ api, schema: schemaOf, store }, schema, db, { name, type }) {
    const key = keyAt(schema, db, name);
    if (key?.columns.length !== 1) return null;
    const find = async () => {
      const schema = await schemaOf(key.db, key.table);
      const readable = new KeptReadables(store).read(key, schema);
      return schema.columns?.find((column) => column.name === readable) ?? null;
    };
    return new KeyNames(api, db, type, key, find().catch(() => null));
  }

  get #ref() {
    return quoteName(this.#key.refColumns[0]);
  }

  get #from() {
    return `FROM ${quoteName(this.#key.db)}.${quoteName(this.#key.table)}`;
  }

  /** @param {string} sql @param {AbortSignal} [signal] */
  #ask(sql, signal) {
    return ask(this.#api, { sql, db: this.#db, signal });
  }

  /** The account may not read them: it is not asked again. */
  #failed(cause) {
    if (cause.name !== 'AbortError') this.#readable = Promise.resolve(null);
  }

  /** The names of keys. @param {(string|null)[]} keys @param {AbortSignal} signal @returns {Promise<Map<string, string>>} */
  async names(keys, signal) {
    const readable = await this.#readable;
    const values = keys.flatMap((key) => (key === null ? [] : [literal(key, this.#type)]));
    if (!readable || !values.length) return new Map();
    try {
      const sql = `SELECT ${this.#ref}, CAST(${quoteName(readable.name)} AS CHAR)\n${this.#from}\nWHERE ${this.#ref} IN (${values.join(', ')}) LIMIT ${values.length}`;
      const { rows } = await this.#ask(sql, signal);
      return new Map(rows.flatMap(([key, text]) => (text === null ? [] : [[String(key), String(text)]])));
    } catch (cause) {
      this.#failed(cause);
      return new Map();
    }
  }

  /** Condition for the values of the column whose name holds a text; empty where names are unknown. @param {string} column @param {string} text */
  async condition(column, text) {
    const readable = await this.#readable;
    return readable ? `${quoteName(column)} IN (SELECT ${this.#ref} ${this.#from} WHERE ${holds(readable, text)})` : '';
  }

  /**
   * Keys of the rows whose name holds a text; null where the text is a key, or part of one, or where names are unknown.
   * @param {string} op by which keys are compared @param {string} text
   * @returns {Promise<Named[]|null>}
   */
  async find(op, text) {
    const isPlain = ['number', 'float'].includes(classOf(this.#type)) && isNumber(text.trim());
    const readable = isPlain ? null : await this.#readable;
    if (!readable) return null;
    const { table, refColumns: [column] } = this.#key;
    let isKey = false;
    let isRead = true;
    try {
      const compared = filterSql({ column, op: /** @type {any} */ (op), value: text }, this.#type);
      isKey = (await this.#ask(`SELECT 1 ${this.#from} WHERE ${compared} LIMIT 1`)).rows.length > 0;
    } catch {
      isRead = false; // it is no value of the type
    }
    if (isKey) return null;
    /** @type {any[][]} */
    let rows;
    try {
      ({ rows } = await this.#ask(`SELECT ${this.#ref}, CAST(${quoteName(readable.name)} AS CHAR)\n${this.#from}\nWHERE ${holds(readable, text, op)}\nORDER BY 2, 1 LIMIT ${MOST_KEYS + 1}`));
    } catch (cause) {
      this.#failed(cause);
      return null;
    }
    if (rows.length > MOST_KEYS) throw new Error(`More than ${MOST_KEYS} rows of ${table} have “${text}” in ${readable.name}. Type more of it`);
    if (!rows.length && !isRead) throw new Error(`No row of ${table} has “${text}” in ${readable.name}`);
    return rows.map(([key, name]) => ({ value: String(key), text: String(name) }));
  }
}

/** @param {{name: string, type: string}} column @param {string} text @param {string} [op] */
const holds = ({ name, type }, text, op = '') => filterSql({ column: name, op: op === 'LIKE' || WITHIN.includes(/** @type {any} */ (op)) ? /** @type {any} */ (op) : 'contains', value: text }, type);
