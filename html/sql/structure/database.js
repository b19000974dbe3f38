/**
 * Creates, changes, renames and copies databases.
 * @module
 */

import { notify } from '../../common/announce.js';
import { loadStyle } from '../../common/dom.js';
import { quoteName } from '../core/format.js';
import { ask, askRows, textOf } from '../ask.js';
import { createText, showCreateSql } from '../objects/kinds.js';
import { copyStatements, mentions, moveStatement, quotedText, versioned } from './copying.js';
import { withIds } from './facts.js';
import { form, untilMade } from './form.js';
import { review } from './review.js';

/** @typedef {import('../objects/replacing.js').Host & {open: (sql: string) => void}} Host */

/** Numbers of the server's errors by the field that they are about. */
const FIELDS = { 1007: 'name', 1102: 'name', 1059: 'name', 1044: 'name', 1115: 'charset', 1253: 'collation', 1273: 'collation' };

const styled = () => loadStyle(new URL('../asked.css', import.meta.url));

/** Character sets that the server has, with the default collation first, and the server's defaults. @param {Host} host */
async function charsets({ api }) {
  const [sets, all, [now]] = await Promise.all([
    askRows(api, { sql: 'SELECT CHARACTER_SET_NAME AS name, DEFAULT_COLLATE_NAME AS collation FROM information_schema.CHARACTER_SETS ORDER BY CHARACTER_SET_NAME' }),
    askRows(api, { sql: 'SELECT * FROM information_schema.COLLATION_CHARACTER_SET_APPLICABILITY' }),
    askRows(api, { sql: 'SELECT @@GLOBAL.character_set_server AS charset, @@GLOBAL.collation_server AS collation, @@SESSION.sql_mode AS mode' }),
  ]);
  const of = (charset) => [...new Set(all.filter((one) => one.character_set_name === charset).map((one) => String(one.full_collation_name ?? one.collation_name)))].sort();
  return { sets: sets.map(({ name }) => String(name)), first: new Map(sets.map(({ name, collation }) => [name, String(collation)])), of, now, isPlain: String(now.mode).includes('NO_BACKSLASH_ESCAPES') };
}

/** Properties of a database; its comment is undefined where the server has none. @param {Host} host @param {string} name */
async function databaseOf({ api }, name) {
  const [row] = await askRows(api, { sql: `SELECT * FROM information_schema.SCHEMATA WHERE SCHEMA_NAME = ${textOf(name)}` });
  if (!row) throw new Error(`There is no database ${name}, or this account does not see it.`);
  return { charset: String(row.default_character_set_name), collation: String(row.default_collation_name), comment: row.schema_comment === undefined ? undefined : String(row.schema_comment ?? '') };
}

/** @param {Host} host */
const options = (host) => ({ server: { mariadb: host.mariadb }, api: host.api, newId: host.newId, notify: host.notify, remember: host.remember, open: host.open });

/** Fields of a database. @param {any} known @param {boolean} named @param {boolean} commented */
const fieldsOf = (known, named, commented) => (values) => [
  ...(named ? [{ name: 'name', label: 'Name', maxLength: 64 }] : []),
  { name: 'charset', label: 'Character set', type: /** @type {const} */ ('select'), options: known.sets },
  { name: 'collation', label: 'Collation', type: /** @type {const} */ ('select'), options: known.of(values.charset), hint: 'Of tables created later; those that exist keep theirs.' },
  ...(commented ? [{ name: 'comment', label: 'Comment', maxLength: 1024 }] : []),
];
const followed = (known) => (values, name) => (name === 'charset' ? { ...values, collation: known.first.get(values.charset) ?? known.of(values.charset)[0] } : values);
const named = (values) => (String(values.name ?? '').trim() ? null : { field: 'name', text: 'Enter a name.' });
const faultOf = (end) => (end.error ? { field: FIELDS[end.error.errno], text: end.error.message } : null);

/** @param {() => Promise<string>} work @returns {Promise<string>} the database to go to; empty where nothing was made */
const told = (work) => styled().then(work).catch((error) => { notify(error.message, 'bad'); return ''; });

/** @param {string} _name @param {Host} host */
export const create = (_name, host) => told(async () => {
  const known = await charsets(host);
  const commented = host.mariadb && await hasComments(host);
  const made = await untilMade(
    (values, fault) => form({ title: 'New database', fields: fieldsOf(known, true, commented), values, fault, check: named, changed: followed(known) }),
    async ({ name, charset, collation, comment }) => {
      const sql = `CREATE DATABASE ${quoteName(name)} CHARACTER SET ${charset} COLLATE ${collation}${comment ? ` COMMENT ${quotedText(comment, known.isPlain)}` : ''}`;
      const end = await review({ ...options(host), title: `Create database ${name}`, statements: [sql], action: 'Create' });
      return { end, done: end.done === 1, fault: faultOf(end) };
    },
    { name: '', charset: known.now.charset, collation: known.now.collation, comment: '' });
  if (made) host.changed();
  return made?.name ?? '';
});

/** Databases have comments from MariaDB 10.5 on. @param {Host} host */
const hasComments = async ({ api }) => (await askRows(api, { sql: "SELECT * FROM information_schema.SCHEMATA WHERE SCHEMA_NAME = 'information_schema'" }))[0]?.schema_comment !== undefined;

/** @param {string} name @param {Host} host */
export const alter = (name, host) => told(async () => {
  const [known, old] = await Promise.all([charsets(host), databaseOf(host, name)]);
  const made = await untilMade(
    (values, fault) => form({ title: `Properties of ${name}`, fields: fieldsOf(known, false, old.comment !== undefined), values, fault, changed: followed(known), check: (now) => (['charset', 'collation', 'comment'].every((key) => now[key] === old[key]) ? { text: 'Nothing was changed.' } : null) }),
    async ({ charset, collation, comment }) => {
      const parts = [
        charset !== old.charset || collation !== old.collation ? `CHARACTER SET ${charset} COLLATE ${collation}` : '',
        comment !== old.comment ? `COMMENT ${quotedText(comment, known.isPlain)}` : '',
      ].filter(Boolean);
      const end = await review({
        ...options(host), title: `Change database ${name}`, statements: [`ALTER DATABASE ${quoteName(name)} ${parts.join(' ')}`], action: 'Change',
        notes: ['Tables and columns keep their character sets and collations.', 'Routines, triggers and events that exist keep the collation of the time when they were created.'],
      });
      return { end, done: end.done === 1, fault: faultOf(end) };
    }, old);
  if (made) host.changed();
  return '';
});

/** Objects of a database. @param {Host} host @param {string} name */
async function contentOf({ api }, name) {
  const db = textOf(name);
  const list = (sql) => askRows(api, { sql, limit: 20_000 });
  const [tables, routines, triggers, events] = await Promise.all([
    list(`SELECT TABLE_NAME AS name, TABLE_TYPE AS type FROM information_schema.TABLES WHERE TABLE_SCHEMA = ${db} ORDER BY TABLE_NAME`),
    list(`SELECT ROUTINE_NAME AS name, LOWER(ROUTINE_TYPE) AS kind FROM information_schema.ROUTINES WHERE ROUTINE_SCHEMA = ${db} ORDER BY ROUTINE_TYPE, ROUTINE_NAME`),
    list(`SELECT TRIGGER_NAME AS name FROM information_schema.TRIGGERS WHERE TRIGGER_SCHEMA = ${db} ORDER BY EVENT_OBJECT_TABLE, ACTION_TIMING, EVENT_MANIPULATION, ACTION_ORDER`),
    list(`SELECT EVENT_NAME AS name FROM information_schema.EVENTS WHERE EVENT_SCHEMA = ${db} ORDER BY EVENT_NAME`),
  ]);
  const kindOf = (type) => (type === 'VIEW' || type === 'SYSTEM VIEW' ? 'view' : type === 'SEQUENCE' ? 'sequence' : 'table');
  return [
    ...tables.map((one) => ({ kind: kindOf(one.type), name: String(one.name) })), ...routines.map((one) => ({ kind: String(one.kind), name: String(one.name) })),
    ...triggers.map((one) => ({ kind: 'trigger', name: String(one.name) })), ...events.map((one) => ({ kind: 'event', name: String(one.name) })),
  ];
}

/** Privileges that name a database, as a sentence; throws where the account cannot read them. @param {Host} host @param {string} name */
async function grantsOn({ api }, name) {
  const of = (column) => `SELECT COUNT(*) AS n FROM mysql.${column} WHERE Db = ${textOf(name)} OR Db = REPLACE(${textOf(name)}, '_', ${textOf('\\_')})`;
  try {
    const counts = await Promise.all(['db', 'tables_priv', 'columns_priv', 'procs_priv'].map((table) => askRows(api, { sql: of(table) })));
    return counts.reduce((sum, [{ n }]) => sum + Number(n), 0);
  } catch (error) {
    throw new Error(`This account cannot read the privileges that are granted in ${name}, which a new name would lose. That needs SELECT on the tables of mysql. The server says: ${error.message}`);
  }
}

const counted = (list, kind) => { const n = list.filter((one) => one.kind === kind).length; return n ? `${n} ${kind}${n === 1 ? '' : 's'}` : ''; };

/** @param {string} name @param {Host} host */
export const rename = (name, host) => told(async () => {
  const [old, content, grants] = await Promise.all([databaseOf(host, name), contentOf(host, name), grantsOn(host, name)]);
  const fixed = ['view', 'procedure', 'function', 'package', 'package body', 'trigger', 'event'].map((kind) => counted(content, kind)).filter(Boolean);
  if (grants) fixed.push(`${grants} grant${grants === 1 ? '' : 's'}`);
  if (fixed.length) throw new Error(`${name} cannot be renamed without loss: servers move only tables to another database, and it has ${fixed.join(', ')}. Copy it, check the copy, and drop ${name} then.`);
  const tables = content.map((one) => one.name);
  const made = await untilMade(
    (values, fault) => form({ title: `Rename database ${name}`, fields: [{ name: 'name', label: 'New name', maxLength: 64, hint: 'Servers cannot rename a database: a new one is created, and the tables move there.' }], values, fault, check: (values) => named(values) ?? (values.name === name ? { field: 'name', text: 'Enter another name.' } : null) }),
    async ({ name: to }) => {
      const statements = [`CREATE DATABASE ${quoteName(to)} CHARACTER SET ${old.charset} COLLATE ${old.collation}${old.comment ? ` COMMENT ${quotedText(old.comment)}` : ''}`, ...(tables.length ? [moveStatement(tables, name, to)] : [])];
      const end = await review({
        ...options(host), title: `Rename database ${name} to ${to}`, statements, action: 'Rename', losses: [`Programs, statements and settings that name ${name} will fail.`],
        notes: ['All tables move at once or none does. It waits for statements that use one of them.', 'The empty old database is dropped afterwards, in a step of its own.'],
        restoring: [`DROP DATABASE ${quoteName(to)}`],
        before: async () => {
          const [now, left] = [await contentOf(host, name), await grantsOn(host, name)];
          return left || JSON.stringify(now) !== JSON.stringify(content) ? `${name} has changed meanwhile. Close this and begin again.` : '';
        },
        restore: async ({ done, unknown, run }) => {
          if (!done || unknown) return null;
          const [{ n }] = await askRows(host.api, { sql: `SELECT COUNT(*) AS n FROM information_schema.TABLES WHERE TABLE_SCHEMA = ${textOf(to)}` });
          if (Number(n)) return { good: false, text: `${to} has tables, so it was not dropped. Look at both databases.` };
          await run(`DROP DATABASE ${quoteName(to)}`);
          return { good: true, text: `Nothing was moved, and ${to} was dropped again.` };
        },
      });
      return { end, done: end.done === statements.length, fault: faultOf(end) };
    }, { name });
  if (!made) return '';
  host.changed();
  const left = await contentOf(host, name);
  if (left.length) notify(`${name} was not dropped: it has new objects.`, 'warn');
  else {
    await review({ ...options(host), title: `Drop the empty database ${name}`, statements: [`DROP DATABASE ${quoteName(name)}`], action: 'Drop', notes: [`Its tables are in ${made.name} now.`],
      before: async () => ((await contentOf(host, name)).length ? `${name} has new objects.` : '') });
  }
  host.changed();
  return made.name;
});

/** @param {string} name @param {Host} host */
export const copy = (name, host) => told(async () => {
  const [old, content] = await Promise.all([databaseOf(host, name), contentOf(host, name)]);
  const { parts, unread } = await readParts(host, name, content);
  if (unread.length) throw new Error(`${name} cannot be copied whole: this account cannot read ${unread.slice(0, 5).join(', ')}${unread.length > 5 ? ` and ${unread.length - 5} more` : ''}.`);
  const naming = parts.filter(({ kind, text }) => !['table', 'sequence', 'view'].includes(kind) && mentions(text, name)).map((one) => `${one.kind} ${one.name}`);
  const historic = versioned(parts);
  const made = await untilMade(
    (values, fault) => form({
      title: `Copy database ${name}`, values, fault, check: (now) => named(now) ?? (now.name === name ? { field: 'name', text: 'Enter another name.' } : null),
      fields: [{ name: 'name', label: 'Name of the copy', maxLength: 64 }, { name: 'rows', label: 'With rows', type: /** @type {const} */ ('check'), hint: 'Without rows, tables are empty. Views, routines, triggers and events are copied either way.' }],
    }),
    async ({ name: to, rows }) => {
      const create = `CREATE DATABASE ${quoteName(to)} CHARACTER SET ${old.charset} COLLATE ${old.collation}${old.comment ? ` COMMENT ${quotedText(old.comment)}` : ''}`;
      const statements = copyStatements({ from: name, to, create, parts, rows });
      const end = await review({
        ...options(host), title: `Copy database ${name} to ${to}`, statements, action: 'Copy',
        losses: historic.length ? [`The history of these system-versioned tables is not copied, only the rows of now: ${historic.join(', ')}. Do not drop ${name} if you need it.`] : [],
        notes: [
          'Privileges are not copied.', counted(parts, 'event') ? 'Events are copied disabled, so that they do not run twice.' : '', rows && parts.length ? 'Each table is copied by itself: rows that are written meanwhile may be in one table of the copy and not in another.' : '',
          naming.length ? `These name ${name} in their text, and go on using it: ${naming.slice(0, 10).join(', ')}${naming.length > 10 ? ` and ${naming.length - 10} more` : ''}.` : '', `If it stops in the middle, drop ${to}; ${name} is only read.`,
        ].filter(Boolean),
      });
      return { end, done: end.done === statements.length, fault: faultOf(end) };
    }, { name: `${name}_copy`, rows: true });
  host.changed();
  return made?.name ?? '';
});

/** The texts of all parts. @param {Host} host @param {string} db @param {{kind: string, name: string}[]} content */
async function readParts({ api, mariadb }, db, content) {
  const columns = await askRows(api, { sql: `SELECT TABLE_NAME AS of_table, COLUMN_NAME AS name FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = ${textOf(db)} AND COALESCE(GENERATION_EXPRESSION, '') = '' ORDER BY TABLE_NAME, ORDINAL_POSITION`, limit: 1_000_000 });
  const of = new Map();
  for (const { of_table: table, name } of columns) (of.get(table) ?? of.set(table, []).get(table)).push(String(name));
  const parts = [];
  const unread = [];
  for (const { kind, name } of content) {
    const answer = await ask(api, { sql: showCreateSql(/** @type {any} */ ({ kind, db, name })), db }).catch(() => null);
    const made = answer && createText(answer);
    const text = made && kind === 'table' ? await withIds(api, db, name, made) : made;
    const value = (column) => { const at = answer?.columns.findIndex((one) => one.toLowerCase() === column) ?? -1; return at < 0 ? '' : String(answer?.rows[0]?.[at] ?? ''); };
    if (!text) { unread.push(`the ${kind} ${name}`); continue; }
    const old = ['table', 'sequence'].includes(kind) ? undefined : { text, mode: value('sql_mode'), collation: value('collation_connection'), client: '', database: '', zone: value('time_zone'), order: null, grants: [] };
    const next = kind === 'sequence' && mariadb ? String((await askRows(api, { sql: `SELECT next_not_cached_value AS n FROM ${quoteName(db)}.${quoteName(name)}` }))[0]?.n ?? '') : undefined;
    parts.push({ kind, name, text, old, columns: of.get(name), next });
  }
  return { parts, unread };
}
