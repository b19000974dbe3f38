// The catalogue of databases, tables and columns: fetched once, shared by sidebar, schema view and completion.
import { ask, textOf } from '../ask.js';

/** Limit for cached schemas; the oldest makes room. A schema is a few kB. */
const MAX_SCHEMAS = 400;

const NONE = [];
/** Foreign keys' columns, or routines, of a database that are read at most. */
const MAX_MORE = 20_000;

const QUERIES = {
  relations: (db) => `SELECT TABLE_NAME, CONSTRAINT_NAME, COLUMN_NAME, REFERENCED_TABLE_SCHEMA, REFERENCED_TABLE_NAME, REFERENCED_COLUMN_NAME FROM information_schema.KEY_COLUMN_USAGE WHERE TABLE_SCHEMA = ${db} AND REFERENCED_TABLE_NAME IS NOT NULL ORDER BY TABLE_NAME, CONSTRAINT_NAME, ORDINAL_POSITION`,
  routines: (db) => `SELECT ROUTINE_NAME, ROUTINE_TYPE FROM information_schema.ROUTINES WHERE ROUTINE_SCHEMA = ${db} AND ROUTINE_TYPE IN ('PROCEDURE', 'FUNCTION') ORDER BY ROUTINE_NAME`,
};
const READERS = {
  relations: (rows) => rows.reduce((found, [table, name, column, refDb, refTable, refColumn]) => {
    const last = found[found.length - 1];
    if (last?.name !== name || last.table !== table) return [...found, { table, name, columns: [column], refDb, refTable, refColumns: [refColumn] }];
    last.columns.push(column);
    last.refColumns.push(refColumn);
    return found;
  }, []),
  routines: (rows) => rows.map(([name, kind]) => ({ name, kind: kind.toLowerCase() })),
};

/** A cache of the API's catalogue; concurrent requests for the same thing share one. */
export class Catalogue {
  #api;
  #pending = new Map();
  /** @type {string[]|null} */
  #databases = null;
  #tables = new Map();
  #schemas = new Map();
  /** Foreign keys and routines, by what they are and their database. */
  #more = new Map();
  /** Number of statements that changed the schema. */
  changes = 0;

  /** @param {ReturnType<typeof import('../api.js').createApi>} api */
  constructor(api) {
    this.#api = api;
  }

  /** @returns {string[]} names known so far */
  get databaseNames() {
    return this.#databases ?? NONE;
  }

  /** @param {string} db @returns {{name: string, kind: string}[]|undefined} tables known so far */
  knownTables(db) {
    return this.#tables.get(db);
  }

  /** @returns {{name: string, type: string}[]|undefined} columns known so far; an empty list where the table is unknown to the server */
  knownColumns(db, table) {
    const schema = this.#schemas.get(keyOf(db, table));
    return schema && (schema.columns ?? []);
  }

  /** @param {string} db @returns {import('../core/joins.js').Relation[]|undefined} foreign keys known so far */
  knownRelations(db) {
    return this.#more.get(keyOf(db, 'relations'));
  }

  /** @param {string} db @returns {{name: string, kind: string}[]|undefined} procedures and functions known so far */
  knownRoutines(db) {
    return this.#more.get(keyOf(db, 'routines'));
  }

  /** @param {boolean} [fresh] @returns {Promise<string[]>} */
  async databases(fresh = false) {
    if (!fresh && this.#databases) return this.#databases;
    const names = await this.#once('databases', () => this.#api.databases());
    this.#databases = names;
    return names;
  }

  /** @param {string} db @param {boolean} [fresh] @returns {Promise<object[]>} */
  async tables(db, fresh = false) {
    if (!fresh && this.#tables.has(db)) return this.#tables.get(db);
    const list = await this.#once(`tables ${db}`, () => this.#api.tables(db, true));
    this.#tables.set(db, list);
    return list;
  }

  /** The names alone, which the server has at once where the details of thousands of tables take it a while. @param {string} db @returns {Promise<string[]>} */
  tableNames(db) {
    return this.#once(`names ${db}`, () => this.#api.tables(db, false));
  }

  /** @param {string} db @param {string} table @param {boolean} [fresh] @returns {Promise<object>} */
  async schema(db, table, fresh = false) {
    const key = keyOf(db, table);
    const known = this.#schemas.get(key);
    if (!fresh && known && !known.unknown) return known;
    const schema = await this.#once(`schema ${key}`, () => this.#api.schema(db, table));
    this.#keep(key, schema);
    return schema;
  }

  #keep(key, schema) {
    this.#schemas.delete(key);
    this.#schemas.set(key, schema);
    if (this.#schemas.size > MAX_SCHEMAS) this.#schemas.delete(this.#schemas.keys().next().value);
  }

  /** Loads what completion misses; a failure is cached as an empty list. @param {import('../core/complete.js').Missing[]} missing */
  async load(missing) {
    await Promise.all(missing.slice(0, 8).map(({ db, table, what }) => (what ? this.#loadMore(db, what) : this.#loadQuietly(db, table))));
  }

  async #loadMore(db, what) {
    const key = keyOf(db, what);
    const rows = this.#more.has(key) ? null : await this.#once(key, () => this.#read(db, what)).catch(() => NONE);
    if (rows) this.#more.set(key, rows);
  }

  /** Runs a statement for facts that the catalogue's own calls do not have. */
  async #read(db, what) {
    const { rows } = await ask(this.#api, { sql: QUERIES[what](textOf(db)), limit: MAX_MORE });
    return READERS[what](rows);
  }

  async #loadQuietly(db, table) {
    try {
      await (table === undefined ? this.tables(db) : this.schema(db, table));
    } catch (error) {
      if (error.status !== 404) return;
      if (table === undefined) this.#tables.set(db, []);
      else this.#keep(keyOf(db, table), { unknown: true });
    }
  }

  /** Clears the cache after a statement that changed the schema. */
  forget() {
    this.changes += 1;
    this.#databases = null;
    this.#tables.clear();
    this.#schemas.clear();
    this.#more.clear();
    this.#pending.clear();
  }

  #once(key, request) {
    if (!this.#pending.has(key)) {
      const promise = request().finally(() => { if (this.#pending.get(key) === promise) this.#pending.delete(key); });
      this.#pending.set(key, promise);
    }
    return this.#pending.get(key);
  }
}

function keyOf(db, table) {
  return `${db}\u0000${table}`;
}
