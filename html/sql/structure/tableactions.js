/**
 * Renames and copies a table: the choices, then the statements in the review.
 * @module
 */

import { askRows, textOf } from '../ask.js';
import { quoteName } from '../core/format.js';
import { usesOf } from '../objects/tablefacts.js';
import { edited, parseTable, writeTable } from './definition.js';
import { createOf, factsOf, serverOf } from './facts.js';
import { freeName } from './fieldtext.js';
import { form, untilMade } from './form.js';
import { review } from './review.js';

/** @typedef {import('./formparts.js').OpenHost} Host */
/** @typedef {{db: string, name: string}} Named */

/** Objects that are named in a sentence. */
const MOST = 20;

const full = ({ db, name }) => `${quoteName(db)}.${quoteName(name)}`;
const isSame = (a, b) => a.db === b.db && a.name === b.name;
const isDirectory = ({ name }) => /^(?:DATA|INDEX) DIRECTORY$/.test(name);
const listed = (names) => `${names.slice(0, MOST).join(', ')}${names.length > MOST ? ' …' : ''}`;

/** Options of every review of a table. @param {Host} host */
const common = (host) => ({ server: { mariadb: host.mariadb }, api: host.api, newId: host.newId, notify: host.notify, transactions: host.transactions, remember: host.remember });

/** Fields of a name and a database. @param {string} db @param {string[]} databases */
const placeFields = (db, databases) => [
  { name: 'name', label: 'Name', maxLength: 64 },
  { name: 'db', label: 'Database', type: /** @type {const} */ ('select'), options: databases.includes(db) ? databases : [db, ...databases] },
];
/** @param {import('./form.js').Values} values */
const named = ({ name }) => (name.trim() ? null : { field: 'name', text: 'Enter a name.' });
/** Numbers of the server's errors by the field that they are about. */
const FIELDS = { 1050: 'name', 1059: 'name', 1103: 'name', 1044: 'db', 1049: 'db', 1142: 'db', 1435: 'db' };
const faultOf = ({ error }) => (error ? { field: FIELDS[error.errno], text: error.message } : null);
/** @param {import('./form.js').Values} values @returns {Named} */
const placeOf = ({ db, name }) => ({ db, name: name.trim() });

const triggersOf = (api, { db, name }) => askRows(api, { sql: `SELECT TRIGGER_NAME AS name FROM information_schema.TRIGGERS WHERE TRIGGER_SCHEMA = ${textOf(db)} AND EVENT_OBJECT_TABLE = ${textOf(name)} ORDER BY TRIGGER_NAME LIMIT 200` });

/** @param {Named} object @param {Host} host */
export async function renameTable(object, host) {
  const { api, mariadb } = host;
  const title = `Rename ${object.name}`;
  const fields = placeFields(object.db, await factsOf(api).databases());
  const moving = async (to) => {
    const triggers = to.db === object.db ? [] : await triggersOf(api, object);
    return triggers.length ? [`The server refuses to move a table with triggers to another database: ${listed(triggers.map((one) => one.name))}.`] : [];
  };
  const made = await untilMade(
    (values, fault) => form({ title, fields, values, fault, check: (now) => named(now) ?? (isSame(placeOf(now), object) ? { field: 'name', text: 'Enter another name.' } : null) }),
    async (values) => {
      const to = placeOf(values);
      const end = await review({
        ...common(host), title, action: 'Rename', db: object.db, statements: [`RENAME TABLE ${full(object)} TO ${full(to)}`],
        notes: ['Foreign keys follow. Privileges granted on the table alone, and routines, triggers and events that name it, do not.', 'It waits for transactions that use the table, and others wait for it meanwhile.', usesOf({ api, mariadb, db: object.db, table: object.name }), moving(to)],
        open: (sql) => host.fillIn(object.db, sql, to.name),
      });
      return { end, done: end.done === 1, fault: faultOf(end) };
    }, { name: object.name, db: object.db });
  if (!made) return;
  const to = placeOf(made);
  host.notify(`${object.name} is now ${to.db === object.db ? '' : `${to.db}.`}${to.name}`, 'good');
  host.structured(to, object);
}

/** @param {Named} object @param {Host} host */
export async function copyTable(object, host) {
  const { api, notify } = host;
  let table;
  let server;
  let sql;
  try {
    [server, sql] = await Promise.all([serverOf(host), createOf(api, object.db, object.name)]);
    table = parseTable(sql, server, object.db);
  } catch (error) {
    return notify(`${object.name} cannot be copied: ${error.message}`, 'bad');
  }
  const [databases, tables, triggers] = await Promise.all([factsOf(api).databases(), api.tables(object.db).catch(() => []), triggersOf(api, object).catch(() => [])]);
  const taken = tables.map((one) => (typeof one === 'string' ? one : one.name));
  const title = `Copy ${object.name}`;
  const check = /** @type {const} */ ('check');
  const fields = [...placeFields(object.db, databases), { name: 'rows', label: 'Copy the rows too', type: check }, ...(table.foreignKeys.length ? [{ name: 'keys', label: `Copy its foreign keys (${table.foreignKeys.length}), named by the server`, type: check }] : [])];
  const made = await untilMade(
    (values, fault) => form({ title, fields, values, fault, check: named }),
    async (values) => {
      const end = await copyReviewed(object, { table, server, triggers, ...values, to: placeOf(values) }, host);
      // The first statement only sets the mode.
      return { end: { ...end, done: end.done > 1 ? end.done : 0 }, done: end.done > 1 && !end.failed, fault: faultOf(end) };
    }, { name: freeName(`${object.name}_copy`, taken), db: object.db, rows: true, keys: true });
  if (!made) return undefined;
  const to = placeOf(made);
  notify(`${object.name} copied to ${to.db === object.db ? '' : `${to.db}.`}${to.name}`, 'good');
  host.structured(to, null);
  return undefined;
}

/**
 * Shows the statements of a copy, and runs them.
 * @param {Named} object @param {any} choice @param {Host} host
 */
function copyReviewed(object, { table, server, triggers, rows, keys, to }, host) {
  const copy = copyOf(table, to, server, { rows, keys });
  const create = writeTable(copy, server);
  const columns = table.columns.filter(({ generated, rest }) => !generated && !/\bAS ROW (?:START|END)\b/i.test(rest)).map(({ name }) => quoteName(name)).join(', ');
  const statements = [`SET SESSION sql_mode = '${copyMode(server.mode)}'`, create, ...(rows ? [`INSERT INTO ${full(to)} (${columns})\nSELECT ${columns} FROM ${full(object)}`] : [])];
  const drop = `DROP TABLE ${full(to)}`;
  const isVersioned = table.options.some(({ name }) => /SYSTEM VERSIONING/.test(name));
  return review({
    ...common(host), title: `Copy ${object.name}`, action: 'Copy', db: to.db, statements,
    notes: [
      `Copied: columns, indexes, checks, options${table.partition ? ', partitions' : ''}${table.foreignKeys.length && keys ? ', foreign keys' : ''}${rows ? ', rows' : ''}.`,
      `Not copied: ${[triggers.length ? `triggers (${listed(triggers.map((one) => one.name))})` : 'triggers', 'privileges', ...(table.foreignKeys.length && !keys ? ['foreign keys'] : []), ...(rows ? [] : ['rows']), ...(isVersioned ? ['old versions of rows'] : []), ...(table.options.some(isDirectory) ? ['directories of the files'] : [])].join(', ')}; foreign keys of other tables still reference ${object.name}.`,
      rows ? 'Rows are copied in one transaction. It may lock those that it reads, so that others wait to change them.' : '',
    ],
    restoring: rows ? [drop] : [],
    restore: async ({ done, unknown, run }) => {
      if (!rows || done < 2) return null;
      if (unknown) return { good: false, text: `The incomplete copy ${to.name} may still exist. Look at it, and drop it.` };
      await run(drop);
      return { good: true, text: `The incomplete copy ${to.name} was dropped.` };
    },
    open: (text) => host.fillIn(to.db, text, to.name),
  });
}

/** Modes that refuse what a table may hold already, such as zero dates. */
const REFUSING = new Set(['STRICT_TRANS_TABLES', 'STRICT_ALL_TABLES', 'NO_ZERO_DATE', 'NO_ZERO_IN_DATE', 'ERROR_FOR_DIVISION_BY_ZERO', 'TRADITIONAL', 'NO_AUTO_VALUE_ON_ZERO']);

/** The mode in which each row is copied as it is; how texts are read stays. @param {string} mode */
const copyMode = (mode) => [...mode.split(',').filter((one) => one && !REFUSING.has(one)), 'NO_AUTO_VALUE_ON_ZERO'].join(',');

/** The table under another name. Foreign keys, and checks of MySQL, have names of the whole database: the server names those of the copy. */
function copyOf(table, to, server, { rows, keys }) {
  const options = table.options.filter(({ name }) => (rows || name !== 'AUTO_INCREMENT') && !isDirectory({ name }));
  const own = (key) => (!key.refDb && to.db !== table.db ? table.db : key.refDb);
  return {
    ...table, db: to.db, name: to.name, options,
    foreignKeys: keys ? table.foreignKeys.map((key) => edited(key, { name: '', refDb: own(key), ...(!key.refDb && key.refTable === table.name ? { refDb: '', refTable: to.name } : {}) })) : [],
    checks: table.checks.map((check) => edited(check, { name: to.db === table.db && !server.mariadb ? '' : check.name })),
  };
}
