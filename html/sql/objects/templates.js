/**
 * Statements to begin with, made from what is known of an object. Values are parameters, `:name`, which are asked for
 * when the statement runs. No DOM.
 * @module
 */

import { quoteIdentifier } from '../core/identifiers.js';
import { qualified } from './kinds.js';

/** @typedef {{name: string, type: string, nullable?: boolean, key?: string, extra?: string, generated?: string|null}} Column */
/** @typedef {{mode: string, name: string, type: string}} Argument of a routine; `mode`: IN, OUT or INOUT */

/** A parameter's name for a column's. @param {string} name @param {Set<string>} taken */
function parameter(name, taken) {
  const base = name.replace(/[^A-Za-z0-9_]/g, '_').replace(/^(?![A-Za-z_])/, 'p_');
  let free = base;
  for (let n = 2; taken.has(free.toLowerCase()); n += 1) free = `${base}_${n}`;
  taken.add(free.toLowerCase());
  return `:${free}`;
}

/** Columns that a statement may set. @param {Column[]} columns */
const settable = (columns) => columns.filter(({ generated, extra }) => !generated && !/\bGENERATED\b/i.test((extra ?? '').replace(/DEFAULT_GENERATED/i, '')));

/** Columns of the shortest unique key without NULL; none if the table has no such key. @param {any} schema @returns {Column[]} */
function keyColumns({ columns, indexes = [] }) {
  const named = (name) => columns.find((column) => column.name === name);
  const whole = indexes.filter(({ unique }) => unique).map((index) => index.columns.map(named));
  const keys = whole.filter((list) => list.every((column) => column && !column.nullable));
  return keys.sort((a, b) => a.length - b.length)[0] ?? [];
}

function where(schema, taken) {
  const key = keyColumns(schema);
  if (!key.length) return 'WHERE FALSE -- choose the rows: the table has no key';
  return `WHERE ${key.map(({ name }) => `${quoteIdentifier(name)} = ${parameter(name, taken)}`).join(' AND ')}`;
}

/** @param {import('./kinds.js').Named} object @param {any} schema */
export function selectTemplate(object, { columns }) {
  return `SELECT ${columns.map(({ name }) => quoteIdentifier(name)).join(', ') || '*'}\nFROM ${qualified(object)}\nLIMIT 100`;
}

/** Leaves out columns that the server counts up itself. @param {import('./kinds.js').Named} object @param {any} schema */
export function insertTemplate(object, { columns }) {
  const taken = new Set();
  const list = settable(columns).filter(({ extra }) => !/auto_increment/i.test(extra ?? ''));
  return `INSERT INTO ${qualified(object)} (${list.map(({ name }) => quoteIdentifier(name)).join(', ')})\nVALUES (${list.map(({ name }) => parameter(name, taken)).join(', ')})`;
}

/** @param {import('./kinds.js').Named} object @param {any} schema */
export function updateTemplate(object, schema) {
  const taken = new Set();
  const key = new Set(keyColumns(schema).map(({ name }) => name));
  const all = settable(schema.columns);
  const list = all.some(({ name }) => !key.has(name)) ? all.filter(({ name }) => !key.has(name)) : all;
  const set = list.map(({ name }) => `${quoteIdentifier(name)} = ${parameter(name, taken)}`).join(',\n    ');
  return `UPDATE ${qualified(object)}\nSET ${set}\n${where(schema, taken)}`;
}

/** @param {import('./kinds.js').Named} object @param {any} schema */
export function deleteTemplate(object, schema) {
  return `DELETE FROM ${qualified(object)}\n${where(schema, new Set())}`;
}

/** Kinds that can be created from a template. */
export const NEW_KINDS = ['view', 'procedure', 'function', 'trigger', 'event'];

/**
 * A statement that creates an object and runs as it stands.
 * @param {string} kind @param {string} db @param {string} [table] of a trigger
 */
export function newTemplate(kind, db, table) {
  const name = `${quoteIdentifier(db)}.new_${kind}`;
  switch (kind) {
    case 'view': return `CREATE VIEW ${name} AS\nSELECT 1 AS id`;
    case 'procedure': return `CREATE PROCEDURE ${name}(IN amount INT)\nSQL SECURITY INVOKER\nBEGIN\n  SELECT amount * 2 AS doubled;\nEND`;
    case 'function': return `CREATE FUNCTION ${name}(amount INT) RETURNS INT\nDETERMINISTIC NO SQL\nRETURN amount * 2`;
    case 'trigger': return `CREATE TRIGGER ${name}\nBEFORE INSERT ON ${quoteIdentifier(db)}.${quoteIdentifier(table ?? 'my_table')}\nFOR EACH ROW\nBEGIN\n  SET @last_insert = NOW();\nEND`;
    default: return `CREATE EVENT ${name}\nON SCHEDULE EVERY 1 DAY STARTS CURRENT_TIMESTAMP + INTERVAL 1 DAY\nON COMPLETION PRESERVE DISABLE\nDO\n  SET @ran = NOW()`;
  }
}

/** A call: what goes in is a parameter, what comes out a variable that is shown behind it. @param {import('./kinds.js').Named} object @param {Argument[]} list */
export function callTemplate(object, list) {
  const taken = new Set();
  const variable = (name) => `@${name.replace(/[^A-Za-z0-9_$.]/g, '_')}`;
  if (object.kind === 'function') return `SELECT ${qualified(object)}(${list.map(({ name }) => parameter(name, taken)).join(', ')})`;
  const before = list.filter(({ mode }) => mode === 'INOUT').map(({ name }) => `SET ${variable(name)} = ${parameter(name, taken)};\n`);
  const call = `CALL ${qualified(object)}(${list.map(({ mode, name }) => (mode === 'IN' ? parameter(name, taken) : variable(name))).join(', ')})`;
  const out = list.filter(({ mode }) => mode !== 'IN').map(({ name }) => variable(name));
  return `${before.join('')}${call}${out.length ? `;\nSELECT ${out.join(', ')}` : ''}`;
}
