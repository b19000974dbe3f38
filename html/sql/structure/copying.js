/**
 * Statements that move or copy a database. No DOM.
 * @module
 */

import { quoteName } from '../core/format.js';
import { quoteIdentifier, unquoteIdentifier } from '../core/identifiers.js';
import { significant } from '../core/scope.js';
import { asThen, createdBy, nameIn, triggerOf } from '../objects/redefine.js';

/** @typedef {import('../objects/redefine.js').Old} Old */
/** @typedef {{kind: string, name: string, text: string, old?: Old, columns?: string[], next?: string}} Part `columns`: of a table, those that take values; `next`: of a sequence */

/** Names with their database in front of them, as tokens of a text. @param {string} sql @param {string} db @returns {{start: number, end: number}[]} */
function namesOf(sql, db) {
  const list = significant(sql);
  return list.filter((one, i) => (one.type === 'identifier' || one.type === 'keyword' || one.text.startsWith('"')) && list[i + 1]?.text === '.' && list[i - 1]?.text !== '.' && nameIn(one) === db).map(({ start, end }) => ({ start, end }));
}

/** True if a text names a database. @param {string} sql @param {string} db */
export const mentions = (sql, db) => namesOf(sql, db).length > 0;

/** A text for another database. @param {string} sql @param {string} from @param {string} to @param {number} [end] up to where */
export function inDatabase(sql, from, to, end = Infinity) {
  let text = '';
  let at = 0;
  for (const one of namesOf(sql, from).filter(({ start }) => start < end)) {
    text += `${sql.slice(at, one.start)}${quoteName(to)}`;
    at = one.end;
  }
  return text + sql.slice(at);
}

/** Tables whose history a copy does not have. @param {Part[]} parts @returns {string[]} */
export const versioned = (parts) => parts.filter(({ kind, text }) => kind === 'table' && significant(text).some(({ upper }, i, list) => upper === 'VERSIONING' && list[i - 1]?.upper === 'SYSTEM' && list[i - 2]?.upper === 'WITH')).map(({ name }) => name);

/** Views in an order in which each comes after those that it reads. @param {Part[]} views @returns {Part[]} */
export function viewsInOrder(views) {
  const names = new Map(views.map((view) => [view.name.toLowerCase(), view]));
  const reads = new Map(views.map((view) => [view, significant(view.text).map(({ text }) => names.get(unquoteIdentifier(text).toLowerCase())).filter((one) => one && one !== view)]));
  const done = new Set();
  const visit = (view, above) => {
    if (done.has(view) || above.has(view)) return;
    for (const other of reads.get(view) ?? []) visit(other, new Set([...above, view]));
    done.add(view);
  };
  for (const view of views) visit(view, new Set());
  return /** @type {Part[]} */ ([...done]);
}

/** The statement that creates a program in another database: names in its head move along. @param {Part} part @param {string} from @param {string} to */
function program({ kind, text, old }, from, to) {
  const created = createdBy(text, from);
  if (!created) return [];
  const end = kind === 'trigger' ? triggerOf(text, from)?.at ?? created.end : created.end;
  const named = inDatabase(text, from, to, end);
  const sql = kind === 'event' ? asleep(named) : named;
  return [old ? asThen(old) : '', sql].filter(Boolean);
}

/** The text of an event that does not run until it is enabled. @param {string} sql */
function asleep(sql) {
  const list = significant(sql);
  const body = list.findIndex(({ upper }) => upper === 'DO');
  const state = list.findIndex(({ upper }, i) => i < body && (upper === 'ENABLE' || upper === 'DISABLE'));
  if (state < 0) return sql;
  // DISABLE ON SLAVE.
  const last = list[state + 1].upper === 'ON' && ['SLAVE', 'REPLICA'].includes(list[state + 2]?.upper) ? state + 2 : state;
  return `${sql.slice(0, list[state].start)}DISABLE${sql.slice(list[last].end)}`;
}

/**
 * The statements that copy the parts of a database, in an order that works: tables, rows, routines, views, triggers, events.
 * @param {{from: string, to: string, create: string, parts: Part[], rows: boolean}} copy `create`: creates the database
 * @returns {string[]}
 */
export function copyStatements({ from, to, create, parts, rows }) {
  const of = (...kinds) => parts.filter(({ kind }) => kinds.includes(kind));
  const tables = of('table');
  const filled = rows ? tables.filter(({ columns = [] }) => columns.length) : [];
  /** @param {Part} part */
  const insert = ({ name, columns = [] }) => {
    const list = columns.map(quoteName).join(', ');
    return `INSERT INTO ${quoteName(to)}.${quoteName(name)} (${list}) SELECT ${list} FROM ${quoteName(from)}.${quoteName(name)}`;
  };
  // Names without a database are those of the new one: `USE` is in the session that runs them.
  const table = ({ text }) => inDatabase(text, from, to);
  /** @param {Part} part */
  const view = ({ text, old }) => [old ? asThen(old) : '', inDatabase(text, from, to)].filter(Boolean);
  return [
    create, `USE ${quoteIdentifier(to)}`,
    ...(tables.length ? ["SET SESSION foreign_key_checks = 0, SESSION unique_checks = 0, SESSION sql_mode = 'NO_AUTO_VALUE_ON_ZERO,NO_ENGINE_SUBSTITUTION'"] : []),
    ...of('sequence').flatMap((one) => [inDatabase(one.text, from, to), ...(one.next ? [`SELECT SETVAL(${quoteName(to)}.${quoteName(one.name)}, ${one.next}, 0)`] : [])]),
    ...tables.map(table), ...filled.map(insert),
    ...of('package', 'package body', 'procedure', 'function').flatMap((one) => program(one, from, to)),
    ...viewsInOrder(of('view')).flatMap(view),
    ...of('trigger').flatMap((one) => program(one, from, to)), ...of('event').flatMap((one) => program(one, from, to)),
  ];
}

/** The statement that moves tables, which happens at once or not at all. @param {string[]} tables @param {string} from @param {string} to */
export const moveStatement = (tables, from, to) => `RENAME TABLE ${tables.map((name) => `${quoteName(from)}.${quoteName(name)} TO ${quoteName(to)}.${quoteName(name)}`).join(',\n  ')}`;

/** A text in quotes, for the session's SQL mode. @param {string} text @param {boolean} [isPlain] a backslash is an ordinary character */
export function quotedText(text, isPlain = false) {
  const doubled = text.replaceAll("'", "''");
  return `'${isPlain ? doubled : doubled.replaceAll('\\', '\\\\')}'`;
}
