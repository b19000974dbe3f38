/**
 * The rows that a foreign key can refer to: their statement, and the column by which people know them. No DOM.
 * @module
 */

import { classOf, quoteName, quoteText } from '../data/values.js';

/** Rows that are listed at once. */
export const MOST_LISTED = 50;

/** Tables whose readable column is remembered. */
const MOST_KEPT = 300;

/** Names that readable columns have, the most telling first. */
const TELLING = [/^(full_?|display_?)?name$/i, /^title$/i, /^label$/i, /name$|^name|title|label/i, /^(code|sku|login|subject|e_?mail|description)$/i, /code|mail/i];

/**
 * @typedef {{db: string, table: string, columns: string[], refColumns: string[]}} Key a foreign key: its columns, and those that they refer to
 * @typedef {{columns: {name: string, type: string, nullable: boolean}[], indexes?: {unique: boolean, columns: string[]}[]}} Schema
 */

/**
 * The foreign key by which a column is chosen: the one with the fewest columns.
 * @param {any} schema @param {string} db of the table @param {string} column
 * @returns {Key|undefined}
 */
export function keyAt(schema, db, column) {
  const keys = (schema.foreign_keys ?? []).filter((key) => key.columns.includes(column) && key.ref_table && key.ref_columns?.length === key.columns.length);
  const [key] = keys.sort((a, b) => a.columns.length - b.columns.length);
  return key && { db: key.ref_db ?? db, table: key.ref_table, columns: key.columns, refColumns: key.ref_columns };
}

/** The columns that can be shown beside a key. @param {Schema} schema @param {string[]} refColumns */
export function candidates({ columns }, refColumns) {
  return columns.filter(({ name, type }) => !refColumns.includes(name) && !['binary', 'shape', 'bit', 'json'].includes(classOf(type))).map(({ name }) => name);
}

/** The column by which people know the rows of a table; empty where there is none. @param {Schema} schema @param {string[]} refColumns */
export function readableColumn(schema, refColumns) {
  const texts = schema.columns.filter(({ name, type }) => !refColumns.includes(name) && classOf(type) === 'text').map(({ name }) => name);
  for (const pattern of TELLING) {
    const found = texts.find((name) => pattern.test(name));
    if (found) return found;
  }
  const unique = texts.find((name) => schema.indexes?.some((index) => index.unique && index.columns.length === 1 && index.columns[0] === name));
  return unique ?? texts[0] ?? '';
}

/**
 * The statement for rows that match a text: by the beginning of a key, or any part of the readable column.
 * @param {Key} key @param {string} readable its name, or empty @param {string} text @param {any} now the current value of the first column
 * @param {Schema} schema of the table
 */
export function rowsSql({ db, table, refColumns }, readable, text, now, { columns }) {
  const names = refColumns.map(quoteName);
  const label = readable && quoteName(readable);
  const pattern = text.replace(/[!%_]/g, '!$&');
  const asText = (name) => `CAST(${name} AS CHAR)`;
  // Bytes are entered as they are shown.
  const likeOf = (column) => (classOf(columns.find(({ name }) => name === column)?.type ?? '') === 'binary'
    ? `HEX(${quoteName(column)}) LIKE ${quoteText(`${pattern.replace(/^0x/i, '')}%`)} ESCAPE '!'`
    : `${asText(quoteName(column))} LIKE ${quoteText(`${pattern}%`)} ESCAPE '!'`);
  const likes = [...refColumns.map(likeOf), ...(label ? [`${asText(label)} LIKE ${quoteText(`%${pattern}%`)} ESCAPE '!'`] : [])];
  const first = text === '' ? (now === null || now === undefined ? '' : String(now)) : text;
  const order = [...(first === '' ? [] : [`${asText(names[0])} = ${quoteText(first)} DESC`]), ...(label ? [label] : []), ...names];
  return `SELECT ${[...names, ...(label ? [`${asText(label)} AS ${quoteName(readable)}`] : [])].join(', ')}\nFROM ${quoteName(db)}.${quoteName(table)}`
    + `${text === '' ? '' : `\nWHERE ${likes.join(' OR ')}`}\nORDER BY ${order.join(', ')} LIMIT ${MOST_LISTED + 1}`;
}

/** The readable columns that a person chose, in the browser's storage for this server and account. */
export class KeptReadables {
  #store;

  /** @param {{read: (name: string) => any, write: (name: string, value: any) => boolean}} store */
  constructor(store) {
    this.#store = store;
  }

  /** @returns {[string, string][]} */
  get #all() {
    const kept = this.#store.read('readable');
    return Array.isArray(kept) ? kept.filter((one) => Array.isArray(one) && typeof one[0] === 'string' && typeof one[1] === 'string') : [];
  }

  /** @param {Key} key @param {Schema} schema */
  read(key, schema) {
    const kept = this.#all.find(([of]) => of === idOf(key))?.[1];
    return kept !== undefined && (kept === '' || candidates(schema, key.refColumns).includes(kept)) ? kept : readableColumn(schema, key.refColumns);
  }

  /** @param {Key} key @param {string} column */
  write(key, column) {
    this.#store.write('readable', [...this.#all.filter(([of]) => of !== idOf(key)), [idOf(key), column]].slice(-MOST_KEPT));
  }
}

const idOf = ({ db, table }) => JSON.stringify([db, table]);
