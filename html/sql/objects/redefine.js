/**
 * Statements that define an existing object again, or give it another name. No DOM.
 * @module
 */

import { unquoteIdentifier } from '../core/identifiers.js';
import { quoteName } from '../core/format.js';
import { isWord, significant } from '../core/scope.js';
import { dropSql, qualified } from './kinds.js';

/** @typedef {'view'|'procedure'|'function'|'package'|'package body'|'trigger'|'event'} ProgramKind */
/** @typedef {{kind: ProgramKind, db: string, name: string, start: number, end: number}} Created `start`, `end`: where its name stands */
/** @typedef {{kind: ProgramKind, db: string, name: string}} Program */
/**
 * An object as the server has it.
 * @typedef {object} Old
 * @property {string} text its CREATE statement
 * @property {string} mode the sql_mode in which it was made
 * @property {string} collation the collation_connection of then
 * @property {string} client the character_set_client of then
 * @property {string} database the collation of its database then
 * @property {string} zone the time zone of an event
 * @property {{of: string, before: string, after: string}|null} order of a trigger: `of` its table, time and event; the triggers before and after it
 * @property {string[]} grants statements that grant again what was granted on it alone
 * @property {string[]} [grantors] accounts that granted it
 */
/** @typedef {{statements: string[], restoring: string[], made: string[], makes: number}} Plan `made`: names that exist only in between; `makes`: statements after which the new object is there */

/** Kinds that MariaDB takes `OR REPLACE` for, and every server for a view. */
const REPLACEABLE = new Set(['view', 'procedure', 'function', 'package', 'package body', 'trigger', 'event']);
const KINDS = new Set(['VIEW', 'PROCEDURE', 'FUNCTION', 'PACKAGE', 'TRIGGER', 'EVENT']);
/** Seconds that a statement waits for others, so that they do not queue behind it for a day. */
const LOCK_WAIT = 60;

/**
 * The text of an object as one runs it after a change: in place of the object where the server can do that in one statement.
 * @param {{kind: string}} object @param {string} create what SHOW CREATE answered @param {boolean} mariadb
 */
export function editText({ kind }, create, mariadb) {
  if (!REPLACEABLE.has(kind) || (!mariadb && kind !== 'view')) return create;
  const [first, second] = significant(create);
  return first?.upper === 'CREATE' && second?.upper !== 'OR' ? `${create.slice(0, first.end)} OR REPLACE${create.slice(first.end)}` : create;
}

/** A name at a place for one; in the mode ANSI_QUOTES it may be in double quotes. @param {import('../core/scope.js').Word|undefined} token */
const isName = (token) => isWord(token) || (token?.type === 'string' && token.text.startsWith('"'));
/** @param {import('../core/scope.js').Word} token */
export const nameIn = ({ text }) => (text.startsWith('"') ? text.slice(1, -1).replaceAll('""', '"') : unquoteIdentifier(text));

/**
 * The object that a statement creates; null where it is no view, routine, package, trigger or event.
 * @param {string} sql @param {string} db where it runs
 * @returns {Created|null}
 */
export function createdBy(sql, db) {
  const list = significant(sql);
  let at = list.findIndex(({ upper, type }) => type !== 'string' && KINDS.has(upper));
  if (list[0]?.upper !== 'CREATE' || at < 0) return null;
  const isBody = list[at].upper === 'PACKAGE' && list[at + 1]?.upper === 'BODY';
  const kind = /** @type {ProgramKind} */ (`${list[at].upper.toLowerCase()}${isBody ? ' body' : ''}`);
  at += isBody ? 1 : 0;
  at += list[at + 1]?.upper === 'IF' && list[at + 2]?.upper === 'NOT' ? 4 : 1;
  const isQualified = list[at + 1]?.text === '.';
  const [first, last] = [list[at], list[isQualified ? at + 2 : at]];
  if (!isName(first) || !isName(last)) return null;
  return { kind, db: isQualified ? nameIn(first) : db, name: nameIn(last), start: first.start, end: last.end };
}

/** The statement for an object of another name. @param {string} sql @param {Created} created @param {string} name */
export const renamed = (sql, { start, end, db }, name) => `${sql.slice(0, start)}${quoteName(db)}.${quoteName(name)}${sql.slice(end)}`;

/** An account or role; a role of MariaDB has no host. @param {string} user @param {string} host @param {boolean} [mariadb] */
export const accountName = (user, host, mariadb = false) => (mariadb && host === '' ? quoteName(user) : `${user === '' ? "''" : quoteName(user)}@${quoteName(host)}`);

/** @param {string} privileges a set of the server's tables */
const listed = (privileges) => String(privileges).toUpperCase().split(',').filter(Boolean).map((one) => (one === 'DELETE VERSIONING ROWS' ? 'DELETE HISTORY' : one));

/**
 * The statements that grant what was granted on a routine or view alone, or revoke it.
 * @param {{kind: string, db: string, name: string}} object @param {Record<string, any>[]} rows `user`, `host` and `privileges` as the tables of mysql have them, with `column` for one of a column
 * @param {boolean} [mariadb] @param {boolean} [revokes]
 */
export function grantsSql({ kind, db, name }, rows, mariadb = false, revokes = false) {
  const on = `${kind === 'view' ? 'TABLE' : kind.toUpperCase()} ${quoteName(db)}.${quoteName(name)}`;
  return rows.map(({ user, host, privileges, column }) => {
    const all = listed(privileges);
    const of = column ? ` (${quoteName(String(column))})` : '';
    const list = all.filter((one) => one !== 'GRANT').map((one) => `${one}${of}`);
    const may = all.includes('GRANT');
    const who = accountName(String(user), String(host), mariadb);
    if (revokes) return `REVOKE ${[...list, ...(may ? ['GRANT OPTION'] : [])].join(', ')} ON ${on} FROM ${who}`;
    return `GRANT ${list.join(', ') || 'USAGE'} ON ${on} TO ${who}${may ? ' WITH GRANT OPTION' : ''}`;
  });
}

/** The account of a DEFINER clause, as it is written; empty where there is none. @param {string} sql */
export function definerOf(sql) {
  const list = significant(sql);
  const at = list.findIndex(({ upper }) => upper === 'DEFINER');
  const head = list.findIndex(({ upper, type }) => type !== 'string' && KINDS.has(upper));
  if (at < 0 || at > head || list[at + 1]?.text !== '=') return '';
  // `SQL SECURITY` of a view may follow.
  const end = list.findIndex(({ upper }, i) => i > at + 2 && (KINDS.has(upper) || upper === 'SQL'));
  return sql.slice(list[at + 2].start, list[end - 1].end);
}

/** An account without quotes, to be compared; where none is named, the own one. @param {string} text @param {string} own */
export function accountIn(text, own) {
  const [, user = '', host = '%'] = /^(`(?:[^`]|``)*`|'(?:[^']|'')*'|"(?:[^"]|"")*"|[^\s@]+)\s*(?:@\s*(.+))?$/s.exec(text.trim()) ?? [];
  const bare = (name) => (/^[`'"]/.test(name) ? name.slice(1, -1).replaceAll(name[0] + name[0], name[0]) : name);
  return !user || /^CURRENT_USER(?:\(\))?$/i.test(user) ? own : `${bare(user)}@${bare(host)}`;
}

/** With whose privileges an object runs. @param {string} sql */
export function securityOf(sql) {
  const list = significant(sql);
  const at = list.findIndex(({ upper }, i) => upper === 'SECURITY' && list[i - 1].upper === 'SQL');
  return list[at + 1]?.upper === 'INVOKER' && at > 0 ? 'INVOKER' : 'DEFINER';
}

/**
 * The table of a trigger with its time and event, and where an order may be named.
 * @param {string} sql @param {string} db
 * @returns {{db: string, table: string, of: string, at: number, isOrdered: boolean}|null} `at`: behind FOR EACH ROW
 */
export function triggerOf(sql, db) {
  const list = significant(sql);
  const created = createdBy(sql, db);
  if (created?.kind !== 'trigger') return null;
  const from = list.findIndex(({ start }) => start >= created.end);
  const on = list.findIndex(({ upper }, i) => i >= from && upper === 'ON');
  const row = list.findIndex(({ upper }, i) => i > on && upper === 'ROW');
  if (on < 0 || row < 0) return null;
  const isQualified = list[on + 2]?.text === '.';
  const table = nameIn(list[isQualified ? on + 3 : on + 1]);
  const when = list.slice(from, on).map(({ upper }) => upper).join(' ');
  return { db: isQualified ? nameIn(list[on + 1]) : created.db, table, of: `${table} ${when}`, at: list[row].end, isOrdered: ['FOLLOWS', 'PRECEDES'].includes(list[row + 1]?.upper) };
}

/** The text of a trigger that takes the place of another in the order. @param {string} sql @param {string} db @param {Old['order']} order */
export function inOrder(sql, db, order) {
  const trigger = triggerOf(sql, db);
  if (!trigger || !order || trigger.isOrdered || trigger.of !== order.of) return sql;
  const clause = order.before ? ` FOLLOWS ${quoteName(order.before)}` : order.after ? ` PRECEDES ${quoteName(order.after)}` : '';
  return `${sql.slice(0, trigger.at)}${clause}${sql.slice(trigger.at)}`;
}

/** An ALTER EVENT of the text of a CREATE. @param {string} sql @param {string} db @param {string} old the text of before, whose comment would stay */
export function alterEvent(sql, db, old) {
  const list = significant(sql);
  const created = createdBy(sql, db);
  if (!created) return sql;
  const event = list.findIndex(({ upper }) => upper === 'EVENT');
  const replace = list[1]?.upper === 'OR' ? 2 : 0;
  const body = list.findIndex(({ upper }, i) => i > event && upper === 'DO');
  const says = (text) => { const words = significant(text); return words.slice(0, words.findIndex(({ upper }) => upper === 'DO')).some(({ upper }) => upper === 'COMMENT'); };
  const comment = body > 0 && says(old) && !says(sql) ? "COMMENT '' " : '';
  const head = `ALTER${sql.slice(list[replace].end, list[event].end)} ${quoteName(created.db)}.${quoteName(created.name)}`;
  return body < 0 ? `${head}${sql.slice(created.end)}` : `${head}${sql.slice(created.end, list[body].start)}${comment}${sql.slice(list[body].start)}`;
}

/** The statements that let an event run, or not; its definer and SQL mode stay. @param {Program} object @param {Old} old @param {boolean} enabled @returns {Plan} */
export function enabling(object, old, enabled) {
  const definer = definerOf(old.text);
  return { statements: [asThen(old), `ALTER ${definer ? `DEFINER=${definer} ` : ''}EVENT ${qualified(/** @type {any} */ (object))} ${enabled ? 'ENABLE' : 'DISABLE'}`], restoring: [], made: [], makes: 2 };
}

/** The statement that sets the session, so that an object is made as the old one was. @param {Old} old */
export function asThen({ mode, collation, zone }) {
  const of = (name, value) => (value ? [`SESSION ${name} = '${value.replaceAll("'", "''")}'`] : []);
  const sets = ['@postern_collation = @@SESSION.collation_connection', `SESSION lock_wait_timeout = ${LOCK_WAIT}`, `SESSION sql_mode = '${mode}'`];
  return `SET ${[...sets, ...of('collation_connection', collation), ...of('time_zone', zone)].join(', ')}`;
}

/** The statement that keeps others from the table of a trigger. @param {{db: string, table: string}} trigger */
export const lockOf = ({ db, table }) => `LOCK TABLES ${quoteName(db)}.${quoteName(table)} WRITE`;

/**
 * The statements that put a text in place of an object.
 * @param {Program} object @param {string} sql its new CREATE @param {Old} old @param {string} trial a free name @param {boolean} mariadb
 * @returns {Plan}
 */
export function replacement(object, sql, old, trial, mariadb) {
  const { kind, db } = object;
  const set = asThen(old);
  const text = kind === 'trigger' ? inOrder(sql, db, old.order) : sql;
  if (kind === 'event') return { statements: [set, alterEvent(sql, db, old.text)], restoring: [], made: [], makes: 2 };
  if (mariadb || kind === 'view') return { statements: [set, editText(object, text, mariadb)], restoring: [], made: [], makes: 2 };
  const created = createdBy(sql, db);
  const of = { ...object, name: trial };
  const tried = created ? [renamed(sql, created, trial), dropSql(/** @type {any} */ (of))] : [];
  const steps = [...tried, dropSql(/** @type {any} */ (object)), text];
  const back = kind === 'trigger' ? inOrder(old.text, db, old.order) : old.text;
  const restoring = [back, ...old.grants];
  if (kind !== 'trigger') return { statements: [set, ...steps, ...old.grants], restoring, made: [trial], makes: 1 + steps.length };
  const tables = [triggerOf(old.text, db), triggerOf(sql, db)].filter((one) => one !== null);
  const locks = [...new Set(tables.map(lockOf))];
  const lock = locks.length > 1 ? `LOCK TABLES ${tables.map((one) => `${quoteName(one.db)}.${quoteName(one.table)} WRITE`).join(', ')}` : locks[0];
  return { statements: [set, lock, ...steps, 'UNLOCK TABLES'], restoring: [...restoring, 'UNLOCK TABLES'], made: [trial], makes: 2 + steps.length };
}

/**
 * The statements that give an object another name. The old one is there until the new one is.
 * @param {Program} object @param {string} to @param {Old} old its `grants` are on the new name @param {string[]} revokes of what was granted on the old name
 * @returns {Plan}
 */
export function renaming(object, to, old, revokes = []) {
  const { kind, db, name } = object;
  const [from, next] = [qualified(/** @type {any} */ (object)), qualified(/** @type {any} */ ({ ...object, name: to }))];
  const { grants } = old;
  if (kind === 'view') return { statements: [`RENAME TABLE ${from} TO ${next}`, ...grants, ...revokes], restoring: [`RENAME TABLE ${next} TO ${from}`], made: [], makes: 1 };
  const definer = definerOf(old.text);
  if (kind === 'event') return { statements: [asThen(old), `ALTER ${definer ? `DEFINER=${definer} ` : ''}EVENT ${from} RENAME TO ${next}`], restoring: [], made: [], makes: 2 };
  const created = createdBy(old.text, db);
  const text = created ? renamed(old.text, created, to) : old.text;
  const drop = dropSql(/** @type {any} */ (object));
  const restoring = [dropSql(/** @type {any} */ ({ ...object, name: to }))];
  if (kind !== 'trigger') return { statements: [asThen(old), text, ...grants, drop], restoring, made: [to], makes: 2 };
  const trigger = triggerOf(old.text, db);
  const ordered = inOrder(text, db, old.order && { ...old.order, before: name });
  return { statements: [asThen(old), trigger ? lockOf(trigger) : '', ordered, drop, 'UNLOCK TABLES'].filter(Boolean), restoring: [...restoring, 'UNLOCK TABLES'], made: [to], makes: trigger ? 3 : 2 };
}
