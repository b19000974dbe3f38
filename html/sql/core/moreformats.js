/**
 * Formats that are asked for rarely: lines of JSON, UPDATE statements, a list for IN.
 * @module
 */

import { kindOf } from './types.js';

/**
 * @typedef {{columns: string[], types: string[], rows: Iterable<any[]>, name?: string, leaveOut?: string[], nested?: string[], key?: string[]}} Table
 * @typedef {{document: (value: any) => string|null, literal: (value: any, kind: string) => string, quoteName: (name: string) => string}} Ways of writing values and names
 */

/** An object a line. @param {Table} table @param {Ways} ways */
function* writeLines({ columns, types, rows, nested = [] }, { document }) {
  const keys = columns.map((name) => JSON.stringify(name));
  const isNested = columns.map((name, i) => kindOf(types[i]) === 'json' || nested.includes(name));
  const cell = (value, i) => (isNested[i] ? document(value) : null) ?? JSON.stringify(value);
  for (const row of rows) yield `{${row.map((value, i) => `${keys[i]}: ${cell(value, i)}`).join(', ')}}\n`;
}

/** A statement for each row, found by its key. @param {Table} table @param {Ways} ways */
function* writeUpdates({ columns, types, rows, name = 'table_name', leaveOut = [], key = [] }, { literal, quoteName }) {
  if (!key.length) throw new Error('SQL UPDATE needs a primary key, and none of these rows is known');
  const missing = key.filter((one) => !columns.includes(one));
  if (missing.length) throw new Error(`SQL UPDATE needs the key: select ${missing.join(', ')} too`);
  const kinds = types.map(kindOf);
  const set = [...columns.keys()].filter((i) => !key.includes(columns[i]) && !leaveOut.includes(columns[i]));
  if (!set.length) throw new Error('SQL UPDATE needs a column beside the key');
  const pair = (row, i) => `${quoteName(columns[i])} = ${literal(row[i], kinds[i])}`;
  for (const row of rows) {
    yield `UPDATE ${name} SET ${set.map((i) => pair(row, i)).join(', ')} WHERE ${key.map((one) => pair(row, columns.indexOf(one))).join(' AND ')};\n`;
  }
}

/** Different values in parentheses, of several columns as tuples; NULL is equal to nothing and left out. @param {Table} table @param {Ways} ways */
function* writeList({ types, rows }, { literal }) {
  const kinds = types.map(kindOf);
  const seen = new Set();
  for (const row of rows) {
    if (row.some((value) => value === null)) continue;
    const values = row.map((value, i) => literal(value, kinds[i])).join(', ');
    const item = row.length === 1 ? values : `(${values})`;
    if (seen.has(item)) continue;
    yield `${seen.size ? ', ' : '('}${item}`;
    seen.add(item);
  }
  yield seen.size ? ')' : '(NULL)';
}

/** @type {Record<string, (table: Table, ways: Ways) => Iterable<string>>} */
export const WRITERS = { jsonl: writeLines, update: writeUpdates, list: writeList };
