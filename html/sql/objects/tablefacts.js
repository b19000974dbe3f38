/**
 * Parts of a table's schema beside columns and indexes: referring tables, triggers, CHECKs, partitions. They are asked for
 * when the rest is shown already.
 * @module
 */

import { h } from '../../common/dom.js';
import { formatBytes } from '../../common/figures.js';
import { askRows, textOf } from '../ask.js';
import { quoteName } from '../core/format.js';
import { code, note, row, section, table } from './parts.js';
import { ownGrants, reach } from './privileges.js';

/** @typedef {import('./privileges.js').Api} Api */
/** @typedef {{api: Api, db: string, table: string, mariadb: boolean, jump: (db: string, table: string) => void, open: (trigger: string) => void}} Of */

/** Objects that are named one by one. */
const MOST_NAMED = 12;
/** ER_UNKNOWN_TABLE: the server is too old to have such a list, and so to have what it would hold. */
const UNKNOWN_TABLE = 1109;

/**
 * The sections, in order; those that are empty are left out.
 * @param {any} schema @param {Of} of
 * @returns {Promise<Node[]>}
 */
export async function tableSections(schema, of) {
  if (schema.table && schema.table.kind !== 'table') return [];
  const partitioned = /partitioned/i.test(schema.table?.options ?? '');
  const asked = { 'Referenced by': referencing(of), Triggers: triggers(of), 'CHECK constraints': checks(of, schema), Partitions: partitioned ? partitions(of) : Promise.resolve(null) };
  const parts = await Promise.all(Object.entries(asked).map(([title, part]) => part.catch((error) => failed(title, error))));
  return parts.flatMap((part) => part ?? []);
}

function failed(title, error) {
  return error.errno === UNKNOWN_TABLE ? null : section(title, undefined, note(error.message, 'bad'));
}

/**
 * The foreign keys that refer to a table. MariaDB opens every table of the databases it looks into, so it is asked about
 * this one alone, unless `everywhere`.
 * @param {{api: Api, db: string, table: string, mariadb: boolean}} of @param {boolean} [everywhere]
 */
export function referencesTo({ api, db, table: name, mariadb }, everywhere = !mariadb) {
  return askRows(api, { sql: 'SELECT k.TABLE_SCHEMA AS db, k.TABLE_NAME AS name, k.CONSTRAINT_NAME AS fk, GROUP_CONCAT(k.COLUMN_NAME ORDER BY k.ORDINAL_POSITION SEPARATOR \', \') AS of_columns,'
    + ' GROUP_CONCAT(k.REFERENCED_COLUMN_NAME ORDER BY k.ORDINAL_POSITION SEPARATOR \', \') AS to_columns FROM information_schema.KEY_COLUMN_USAGE k'
    + ` WHERE k.REFERENCED_TABLE_SCHEMA = ${textOf(db)} AND k.REFERENCED_TABLE_NAME = ${textOf(name)}${everywhere ? '' : ` AND k.TABLE_SCHEMA = ${textOf(db)}`}`
    + ' GROUP BY k.TABLE_SCHEMA, k.TABLE_NAME, k.CONSTRAINT_NAME ORDER BY 1, 2, 3' });
}

/** Views, routines, triggers and events that use a table, as sentences. @param {{api: Api, db: string, table: string, mariadb: boolean}} of @returns {Promise<string[]>} */
export async function usesOf({ api, db: inside, table: name, mariadb }) {
  const [db, table] = [textOf(inside), textOf(name)];
  const list = (sql) => askRows(api, { sql: `${sql} ORDER BY 1 LIMIT 200` });
  const qualified = (schema, column) => `IF(${schema} = ${db}, ${column}, CONCAT(${schema}, '.', ${column})) AS name`;
  const naming = (column) => `LOCATE(${table}, ${column}) > 0`;
  const views = mariadb
    // Definitions have each name in backquotes.
    ? list(`SELECT ${qualified('TABLE_SCHEMA', 'TABLE_NAME')} FROM information_schema.VIEWS WHERE LOCATE(${textOf(`${quoteName(inside)}.${quoteName(name)}`)}, VIEW_DEFINITION) > 0`)
    : list(`SELECT DISTINCT ${qualified('VIEW_SCHEMA', 'VIEW_NAME')} FROM information_schema.VIEW_TABLE_USAGE WHERE TABLE_SCHEMA = ${db} AND TABLE_NAME = ${table}`);
  const [used, triggers, routines, events] = await Promise.all([
    views, list(`SELECT TRIGGER_NAME AS name FROM information_schema.TRIGGERS WHERE TRIGGER_SCHEMA = ${db} AND EVENT_OBJECT_TABLE <> ${table} AND ${naming('ACTION_STATEMENT')}`),
    list(`SELECT ROUTINE_NAME AS name FROM information_schema.ROUTINES WHERE ROUTINE_SCHEMA = ${db} AND ${naming('ROUTINE_DEFINITION')}`),
    list(`SELECT EVENT_NAME AS name FROM information_schema.EVENTS WHERE EVENT_SCHEMA = ${db} AND ${naming('EVENT_DEFINITION')}`),
  ]);
  const names = (found) => `${found.slice(0, MOST_NAMED).map((one) => one.name).join(', ')}${found.length > MOST_NAMED ? ` and ${found.length - MOST_NAMED} more` : ''}`;
  const others = Object.entries({ triggers, routines, events }).flatMap(([what, found]) => (found.length ? [`${what} ${names(found)}`] : []));
  return [used.length ? `Views that use it will fail: ${names(used)}.` : '', others.length ? `Its name is in the text of these, which may fail: ${others.join('; ')}.` : ''].filter(Boolean);
}

async function referencing(of) {
  const list = await referencesTo(of);
  if (!list.length) return null;
  const rows = list.map(({ db, name, fk, of_columns: from, to_columns: to }) => row(
    h('button', { type: 'button', class: 'link', text: `${db === of.db ? '' : `${db}.`}${name} (${from})`, on: { click: () => of.jump(db, name) } }), code(to), fk));
  return section(of.mariadb ? `Referenced by tables of ${of.db}` : 'Referenced by', list.length, table('Referenced by', ['Table', 'Columns', 'Foreign key'], rows));
}

async function triggers({ api, db, table: name, open }) {
  const [list, grants] = await Promise.all([
    askRows(api, { sql: `SELECT TRIGGER_NAME AS name, ACTION_TIMING AS timing, EVENT_MANIPULATION AS event, ACTION_STATEMENT AS body, DEFINER AS definer FROM information_schema.TRIGGERS WHERE TRIGGER_SCHEMA = ${textOf(db)} AND EVENT_OBJECT_SCHEMA = ${textOf(db)} AND EVENT_OBJECT_TABLE = ${textOf(name)} ORDER BY TRIGGER_NAME` }),
    ownGrants(api),
  ]);
  if (!list.length) return grants.length && reach(grants, 'TRIGGER', db) === 'none' ? section('Triggers', undefined, note('Not shown by the server: this account has no TRIGGER privilege here.')) : null;
  const rows = list.map(({ name: trigger, timing, event, body, definer }) => row(
    h('button', { type: 'button', class: 'link', text: trigger, on: { click: () => open(trigger) } }), `${timing} ${event}`.toLowerCase(), code(shortened(body)), definer));
  return section('Triggers', list.length, table('Triggers', ['Name', 'Runs', 'Statement', 'Definer'], rows));
}

const shortened = (text) => (text.length > 120 ? `${text.slice(0, 120)} …` : text);

async function checks({ api, db, table: name, mariadb }, schema) {
  const sql = mariadb
    ? `SELECT CONSTRAINT_NAME AS name, CHECK_CLAUSE AS clause, 'YES' AS enforced FROM information_schema.CHECK_CONSTRAINTS WHERE CONSTRAINT_SCHEMA = ${textOf(db)} AND TABLE_NAME = ${textOf(name)} ORDER BY 1`
    : `SELECT c.CONSTRAINT_NAME AS name, c.CHECK_CLAUSE AS clause, t.ENFORCED AS enforced FROM information_schema.CHECK_CONSTRAINTS c JOIN information_schema.TABLE_CONSTRAINTS t ON t.CONSTRAINT_SCHEMA = c.CONSTRAINT_SCHEMA AND t.CONSTRAINT_NAME = c.CONSTRAINT_NAME AND t.CONSTRAINT_TYPE = 'CHECK' WHERE t.TABLE_SCHEMA = ${textOf(db)} AND t.TABLE_NAME = ${textOf(name)} ORDER BY 1`;
  const list = await askRows(api, { sql });
  if (!list.length) return /\bCHECK \(/.test(schema.create_statement ?? '') ? section('CHECK constraints', undefined, note('See the CREATE statement below: the server does not list them to this account.')) : null;
  // MySQL puts a backslash before each quote of the text.
  const clause = (text) => (mariadb ? text : text.replace(/\\(['"\\])/g, '$1'));
  return section('CHECK constraints', list.length, table('CHECK constraints', ['Name', 'Condition', 'Enforced'], list.map((one) => row(one.name, code(clause(one.clause)), one.enforced === 'NO' ? 'no' : 'yes'))));
}

async function partitions({ api, db, table: name }) {
  const list = await askRows(api, { sql: `SELECT PARTITION_NAME AS name, SUBPARTITION_NAME AS sub, PARTITION_METHOD AS method, PARTITION_EXPRESSION AS expression, PARTITION_DESCRIPTION AS holds, TABLE_ROWS AS row_count, DATA_LENGTH + INDEX_LENGTH AS bytes FROM information_schema.PARTITIONS WHERE TABLE_SCHEMA = ${textOf(db)} AND TABLE_NAME = ${textOf(name)} AND PARTITION_NAME IS NOT NULL ORDER BY PARTITION_ORDINAL_POSITION, SUBPARTITION_ORDINAL_POSITION` });
  if (!list.length) return null;
  const number = (value) => (value === null ? '' : Number(value));
  const rows = list.map((one) => row(one.sub ? `${one.name} / ${one.sub}` : one.name, one.holds ?? '', one.row_count === null ? '' : `≈ ${number(one.row_count).toLocaleString('en')}`, one.bytes === null ? '' : formatBytes(Number(one.bytes))));
  return section('Partitions', list.length, h('p', {}, 'By ', code(`${list[0].method} (${list[0].expression ?? ''})`)), table('Partitions', ['Name', 'Values', 'Rows', 'Size'], rows));
}
