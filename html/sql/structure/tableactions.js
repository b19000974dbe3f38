/**
 * Renames and copies a table: the choices, then the statements in the review.
 * @module
 */

import { h } from '../../common/dom.js';
import { openDialog } from '../../common/dialog.js';
import { askRows, textOf } from '../ask.js';
import { quoteName } from '../core/format.js';
import { edited, parseTable, writeTable } from './definition.js';
import { createOf, factsOf, serverOf } from './facts.js';
import { freeName } from './fieldtext.js';
import { review } from './review.js';

/** @typedef {import('./formparts.js').OpenHost} Host */
/** @typedef {{db: string, name: string}} Named */

/** Objects that are named in a sentence. */
const MOST = 20;

let serial = 0;

const full = ({ db, name }) => `${quoteName(db)}.${quoteName(name)}`;
const isDirectory = ({ name }) => /^(?:DATA|INDEX) DIRECTORY$/.test(name);
const listed = (names) => `${names.slice(0, MOST).join(', ')}${names.length > MOST ? ' …' : ''}`;

/** Options of every review of a table. @param {Host} host */
const common = (host) => ({ server: { mariadb: host.mariadb }, api: host.api, newId: host.newId, notify: host.notify, transactions: host.transactions, remember: host.remember });

/**
 * Asks for a name and a database.
 * @param {string} title @param {Named} object @param {{name: string, action: string, more?: HTMLElement[]}} options @param {string[]} databases
 * @returns {Promise<Named|undefined>}
 */
function askName(title, { db }, { name, action, more = [] }, databases) {
  const prefix = `table-name-${(serial += 1)}`;
  const input = h('input', { class: 'field', id: `${prefix}-name`, autocomplete: 'off', spellcheck: 'false', autocapitalize: 'off', maxlength: 64 });
  input.value = name;
  const select = h('select', { class: 'field', id: `${prefix}-db` }, (databases.includes(db) ? databases : [db, ...databases]).map((one) => h('option', { value: one, text: one })));
  select.value = db;
  return openDialog({
    title, body: h('div', { class: 'structure-ask' }, h('label', { for: input.id, text: 'Name' }), input, h('label', { for: select.id, text: 'Database' }), select, ...more),
    actions: [{ label: 'Cancel', value: undefined }],
    onOpen: (dialog, close) => {
      const button = h('button', { type: 'button', class: 'button primary', text: action });
      const done = () => { if (!button.disabled) close({ db: select.value, name: input.value.trim() }); };
      dialog.querySelector('.dialog-foot')?.append(button);
      button.addEventListener('click', done);
      input.addEventListener('input', () => { button.disabled = input.value.trim() === ''; });
      input.addEventListener('keydown', (event) => { if (event.key === 'Enter' && !event.isComposing) { event.preventDefault(); done(); } });
      input.focus();
      input.select();
    },
  });
}

const triggersOf = (api, { db, name }) => askRows(api, { sql: `SELECT TRIGGER_NAME AS name FROM information_schema.TRIGGERS WHERE TRIGGER_SCHEMA = ${textOf(db)} AND EVENT_OBJECT_TABLE = ${textOf(name)} ORDER BY TRIGGER_NAME LIMIT 200` });

/** @param {Named} object @param {Host} host */
export async function renameTable(object, host) {
  const { api } = host;
  const databases = await factsOf(api).databases();
  const to = await askName(`Rename ${object.name}`, object, { name: object.name, action: 'Review SQL …' }, databases);
  if (!to || (to.db === object.db && to.name === object.name)) return;
  const isMoved = to.db !== object.db;
  const facts = async () => {
    const [triggers, views] = await Promise.all([triggersOf(api, object),
      askRows(api, { sql: `SELECT CONCAT_WS('.', TABLE_SCHEMA, TABLE_NAME) AS name FROM information_schema.VIEWS WHERE INSTR(VIEW_DEFINITION, ${textOf(object.name)}) > 0 LIMIT 200` })]);
    const names = (list) => listed(list.map((one) => one.name));
    return [views.length ? `Views that mention its name, and fail until they are changed: ${names(views)}.` : '',
      triggers.length && isMoved ? `The server refuses to move a table with triggers to another database: ${names(triggers)}.` : ''];
  };
  const end = await review({
    ...common(host), title: `Rename ${object.name}`, action: 'Rename', db: object.db, statements: [`RENAME TABLE ${full(object)} TO ${full(to)}`],
    notes: ['Foreign keys follow. Privileges granted on the table alone, and routines, triggers and events that name it, do not.', 'It waits for transactions that use the table, and others wait for it meanwhile.', facts()],
    open: (sql) => host.fillIn(object.db, sql, to.name),
  });
  if (end.failed || !end.done) return;
  host.notify(`${object.name} is now ${isMoved ? `${to.db}.` : ''}${to.name}`, 'good');
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
  const rows = h('input', { type: 'checkbox', checked: true });
  const keys = h('input', { type: 'checkbox', checked: true });
  const more = [h('label', { class: 'check' }, rows, h('span', { text: 'Copy the rows too' }))];
  if (table.foreignKeys.length) more.push(h('label', { class: 'check' }, keys, h('span', { text: `Copy its foreign keys (${table.foreignKeys.length}), named by the server` })));
  const to = await askName(`Copy ${object.name}`, object, { name: freeName(`${object.name}_copy`, taken), action: 'Review SQL …', more }, databases);
  if (!to) return undefined;
  const copy = copyOf(table, to, server, { rows: rows.checked, keys: keys.checked });
  const create = writeTable(copy, server);
  const columns = table.columns.filter(({ generated, rest }) => !generated && !/\bAS ROW (?:START|END)\b/i.test(rest)).map(({ name }) => quoteName(name)).join(', ');
  const statements = [`SET SESSION sql_mode = '${copyMode(server.mode)}'`, create, ...(rows.checked ? [`INSERT INTO ${full(to)} (${columns})\nSELECT ${columns} FROM ${full(object)}`] : [])];
  const drop = `DROP TABLE ${full(to)}`;
  const isVersioned = table.options.some(({ name }) => /SYSTEM VERSIONING/.test(name));
  const end = await review({
    ...common(host), title: `Copy ${object.name}`, action: 'Copy', db: to.db, statements,
    notes: [
      `Copied: columns, indexes, checks, options${table.partition ? ', partitions' : ''}${table.foreignKeys.length && keys.checked ? ', foreign keys' : ''}${rows.checked ? ', rows' : ''}.`,
      `Not copied: ${[triggers.length ? `triggers (${listed(triggers.map((one) => one.name))})` : 'triggers', 'privileges', ...(table.foreignKeys.length && !keys.checked ? ['foreign keys'] : []), ...(rows.checked ? [] : ['rows']), ...(isVersioned ? ['old versions of rows'] : []), ...(table.options.some(isDirectory) ? ['directories of the files'] : [])].join(', ')}; foreign keys of other tables still reference ${object.name}.`,
      rows.checked ? 'Rows are copied in one transaction. It may lock those that it reads, so that others wait to change them.' : '',
    ],
    restoring: rows.checked ? [drop] : [],
    restore: async ({ done, unknown, run }) => {
      if (!rows.checked || done < 2) return null;
      if (unknown) return { good: false, text: `The incomplete copy ${to.name} may still exist. Look at it, and drop it.` };
      await run(drop);
      return { good: true, text: `The incomplete copy ${to.name} was dropped.` };
    },
    open: (text) => host.fillIn(to.db, text, to.name),
  });
  if (end.failed || !end.done) return undefined;
  notify(`${object.name} copied to ${to.db === object.db ? '' : `${to.db}.`}${to.name}`, 'good');
  host.structured(to, null);
  return undefined;
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
