/**
 * Facts about the server and a database that the form of a table suggests from, each asked for once. No DOM.
 * @module
 */

import { ask, askRows, textOf } from '../ask.js';
import { createText, showCreateSql } from '../objects/kinds.js';
import { changingIn, unfitMode, withSystemIds } from './definition.js';

/** Keys of a database that are read at most. */
const MOST = 20_000;

/** @typedef {import('./fieldtext.js').Key} Key */
/** @typedef {import('./fieldtext.js').Suggestion} Suggestion */
/** @typedef {{name: string, charset: string, isDefault: boolean}} Collation */

/** Facts, as they are asked for. */
export class Facts {
  #api;
  #known = new Map();

  /** @param {import('../objects/privileges.js').Api} api */
  constructor(api) {
    this.#api = api;
  }

  /** A failure is asked again the next time. @template T @param {string} name @param {() => Promise<T>} load @param {T} none @returns {Promise<T>} */
  #once(name, load, none) {
    if (!this.#known.has(name)) this.#known.set(name, load().catch(() => { this.#known.delete(name); return none; }));
    return this.#known.get(name);
  }

  /** Forgets what a change of structure moves. */
  forget() {
    for (const name of this.#known.keys()) if (/^(?:keys|tables) /.test(name)) this.#known.delete(name);
  }

  #rows(sql) {
    return askRows(this.#api, { sql, limit: MOST });
  }

  /** @returns {Promise<Suggestion[]>} */
  engines() {
    return this.#once('engines', async () => (await this.#rows('SHOW ENGINES')).filter(({ support }) => /yes|default/i.test(support)).map(({ engine, comment }) => ({ value: engine, hint: comment ?? '' })), []);
  }

  /** @returns {Promise<Suggestion[]>} */
  charsets() {
    return this.#once('charsets', async () => (await this.#rows('SHOW CHARACTER SET')).map(({ charset, description }) => ({ value: charset, hint: description ?? '' })), []);
  }

  /** @returns {Promise<Collation[]>} */
  collations() {
    return this.#once('collations', async () => {
      const rows = await this.#rows('SELECT * FROM information_schema.COLLATION_CHARACTER_SET_APPLICABILITY');
      return rows.map((row) => ({ name: String(row.full_collation_name ?? row.collation_name), charset: String(row.character_set_name ?? ''), isDefault: /^yes$/i.test(row.is_default ?? '') })).sort((a, b) => a.name.localeCompare(b.name));
    }, []);
  }

  /** Suggestions of collations. @param {string} charset those of it come first */
  async collationList(charset) {
    const list = await this.collations();
    const own = list.filter((one) => one.charset === charset);
    return [...own, ...list.filter((one) => one.charset !== charset)].map(({ name, charset: of }) => ({ value: name, hint: of }));
  }

  /** @param {string} collation @returns {Promise<string>} its character set; empty where it is unknown */
  async charsetOf(collation) {
    return (await this.collations()).find(({ name }) => name === collation)?.charset ?? '';
  }

  /** Names of the databases. @returns {Promise<string[]>} */
  databases() {
    return this.#once('databases', () => this.#api.databases(), []);
  }

  /** Primary and unique keys of the tables of a database, those that may be referenced. @param {string} db @returns {Promise<Key[]>} */
  keys(db) {
    return this.#once(`keys ${db}`, async () => {
      const rows = await this.#rows('SELECT s.TABLE_NAME AS name, s.INDEX_NAME AS of_index, s.COLUMN_NAME AS column_name, c.COLUMN_TYPE AS type FROM information_schema.STATISTICS s'
        + ' JOIN information_schema.COLUMNS c ON c.TABLE_SCHEMA = s.TABLE_SCHEMA AND c.TABLE_NAME = s.TABLE_NAME AND c.COLUMN_NAME = s.COLUMN_NAME'
        + ` WHERE s.TABLE_SCHEMA = ${textOf(db)} AND s.NON_UNIQUE = 0 ORDER BY s.TABLE_NAME, s.INDEX_NAME <> 'PRIMARY', s.INDEX_NAME, s.SEQ_IN_INDEX`);
      /** @type {(Key & {index: string})[]} */ const keys = [];
      for (const { name, of_index: index, column_name: column, type } of rows) {
        const last = keys.at(-1);
        if (last && last.table === name && last.index === index) {
          last.columns.push(column);
          last.types.push(String(type));
        } else keys.push({ db, table: name, index, columns: [column], types: [String(type)] });
      }
      return keys;
    }, []);
  }

  /** Columns of a table. @param {string} db @param {string} table @returns {Promise<(Suggestion & import('./edits.js').Typed)[]>} */
  columns(db, table) {
    return this.#once(`tables ${db}.${table}`, async () => (await this.#rows(`SELECT COLUMN_NAME AS name, COLUMN_TYPE AS type, CHARACTER_SET_NAME AS charset, COLLATION_NAME AS collation FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = ${textOf(db)} AND TABLE_NAME = ${textOf(table)} ORDER BY ORDINAL_POSITION`))
      .map(({ name, type, charset, collation }) => ({ value: name, hint: String(type), name, type: String(type), charset: charset ?? '', collation: collation ?? '' })), []);
  }
}

/** @type {WeakMap<object, Facts>} */
const FACTS = new WeakMap();

/** Facts of a server, kept while the page is open. @param {import('../objects/privileges.js').Api} api */
export function factsOf(api) {
  const facts = FACTS.get(api) ?? new Facts(api);
  FACTS.set(api, facts);
  return facts;
}

/** Kind, version and modes of the server. @param {{api: import('../objects/privileges.js').Api, mariadb: boolean, version: string}} host @returns {Promise<import('./definition.js').Server & {mode: string}>} `mode`: sql_mode */
export async function serverOf({ api, mariadb, version }) {
  const [row] = await askRows(api, { sql: 'SELECT @@SESSION.sql_mode AS mode' });
  const mode = String(row?.mode ?? '');
  const unfit = unfitMode(mode);
  if (unfit) throw new Error(`In the SQL mode ${unfit} of this server, SHOW CREATE TABLE does not tell all of a table`);
  return changingIn({ mariadb, version }, mode);
}

/** The text of SHOW CREATE TABLE. @param {import('../objects/privileges.js').Api} api @param {string} db @param {string} name */
export async function createOf(api, db, name) {
  const text = createText(await ask(api, { sql: showCreateSql({ kind: 'table', db, name }) }));
  if (text === null) throw new Error('The server does not show the structure of this table to this account.');
  return withIds(api, db, name, text);
}

/** The text of a table with what MariaDB leaves out of it. @param {import('../objects/privileges.js').Api} api @param {string} db @param {string} name @param {string} text */
export async function withIds(api, db, name, text) {
  if (!/\b(?:geometry|point|linestring|polygon|multi(?:point|linestring|polygon)|geometrycollection)\b/i.test(text)) return text;
  const [{ version }] = await askRows(api, { sql: 'SELECT VERSION() AS version' });
  if (!/MariaDB/i.test(version)) return text;
  const rows = await askRows(api, { sql: `SELECT G_GEOMETRY_COLUMN AS name, SRID AS id FROM information_schema.GEOMETRY_COLUMNS WHERE F_TABLE_SCHEMA = ${textOf(db)} AND F_TABLE_NAME = ${textOf(name)}` }).catch(() => []);
  try {
    return withSystemIds(text, new Map(rows.map((row) => /** @type {const} */ ([String(row.name), Number(row.id)]))));
  } catch {
    // The form says why it cannot read it.
    return text;
  }
}
