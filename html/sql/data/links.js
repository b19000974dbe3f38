/**
 * Links from a row by its foreign keys.
 * @module
 */

/** @typedef {import('./filters.js').Filter} Filter */
/** @typedef {{db: string, table: string, columns: string[], refColumns: string[]}} Reference a key of `table` that refers to the one shown */
/** @typedef {{db: string, table: string, filters: Filter[], text: string}} Link */

/**
 * Links from a cell by the foreign keys of its column; keys with fewer columns come first.
 * @param {{foreign_keys?: any[], columns: {name: string}[]}} schema
 * @param {string} db of the table
 * @param {any[]|undefined} row
 * @param {string} column
 * @returns {Link[]}
 */
export function linksOf(schema, db, row, column) {
  if (!row) return [];
  return (schema.foreign_keys ?? []).filter((key) => key.columns.includes(column) && key.ref_table)
    .sort((a, b) => a.columns.length - b.columns.length)
    .flatMap((key) => linkTo({ db: key.ref_db ?? db, table: key.ref_table, columns: key.ref_columns }, valuesOf(schema, row, key.columns)));
}

/**
 * The rows of another table that refer to a row.
 * @param {{columns: {name: string}[]}} schema of the row
 * @param {any[]} row
 * @param {Reference} reference
 * @returns {Link[]} none where a value is NULL, to which nothing refers
 */
export function linkBack(schema, row, { db, table, columns, refColumns }) {
  return linkTo({ db, table, columns }, valuesOf(schema, row, refColumns));
}

function valuesOf(schema, row, names) {
  // Placeholders for a value lead nowhere yet.
  const known = (value) => (typeof value === 'object' ? null : value);
  return names.map((name) => known(row[schema.columns.findIndex((column) => column.name.toLowerCase() === name.toLowerCase())] ?? null));
}

function linkTo({ db, table, columns }, values) {
  if (values.some((value) => value === null)) return [];
  /** @type {Filter[]} */
  const filters = columns.map((column, i) => ({ column, op: '=', value: String(values[i]) }));
  return [{ db, table, filters, text: `${table} (${columns.join(', ')})` }];
}
