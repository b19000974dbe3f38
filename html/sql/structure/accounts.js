/**
 * Creates, changes and drops accounts and roles, and grants and revokes. Passwords are masked wherever they are seen or kept.
 * @module
 */

import { loadStyle } from '../../common/dom.js';
import { askRows, textOf } from '../ask.js';
import { errorWithoutSecrets, withoutSecrets } from '../core/secrets.js';
import { accountName } from '../objects/redefine.js';
import { createUser, grantSql, nameOf, newPassword, privilegesAt, readGrant, revokeSql, setPassword, takesPassword } from './accountsql.js';
import { form, untilMade } from './form.js';
import { review } from './review.js';

/** @typedef {import('./accountsql.js').Account & {name: string, admin: boolean, own: boolean, plugin: string}} Listed */
/** @typedef {import('../server/parts.js').Deps & {admins: number, accounts: Listed[], changed: (name?: string) => void}} Host `changed`: with the name of an account that is new; `admins`: accounts that may create accounts and grant */

const OWN = 'This page itself uses this account.';
/** Accounts that servers make for themselves. */
const OF_SERVER = /^(?:mysql\.(?:sys|session|infoschema)|mariadb\.sys)$/;
const LAST = 'It is the last account that may create accounts and grant privileges.';

/** @param {Host} host @param {() => Promise<any>} work */
async function told(host, work) {
  try {
    await loadStyle(new URL('../asked.css', import.meta.url));
    await work();
  } catch (error) {
    host.notify(error.message, 'bad');
  }
}

/** @param {Host} host @returns {Promise<import('./accountsql.js').Server & {plugins: string[], first: string}>} */
async function serverOf({ api, mariadb }) {
  const [[{ mode }], plugins, [fallback]] = await Promise.all([
    askRows(api, { sql: 'SELECT @@SESSION.sql_mode AS mode' }),
    askRows(api, { sql: "SELECT PLUGIN_NAME AS name FROM information_schema.PLUGINS WHERE PLUGIN_TYPE = 'AUTHENTICATION' AND PLUGIN_STATUS = 'ACTIVE' ORDER BY PLUGIN_NAME" }),
    mariadb() ? [{ plugin: 'mysql_native_password' }] : askRows(api, { sql: 'SELECT @@GLOBAL.authentication_policy AS plugin' }).catch(() => [{ plugin: '' }]),
  ]);
  // Hashes of the first are readable, and the second signs in nobody.
  const names = plugins.map(({ name }) => String(name)).filter((name) => !['mysql_old_password', 'mysql_no_login', 'mysqlx_cache_cleaner'].includes(name));
  const asked = String(fallback?.plugin ?? '').split(',')[0].replace(/^\*:?/, '');
  const first = [asked, 'caching_sha2_password', 'mysql_native_password'].find((name) => names.includes(name)) ?? names[0];
  return { mariadb: mariadb(), isPlain: String(mode).includes('NO_BACKSLASH_ESCAPES'), plugins: names, first };
}

/** The review, in which no password is seen. @param {Host} host @param {any} options @param {string} [made] name of the account that is new then */
async function reviewed(host, options, made) {
  const end = await review({
    server: { mariadb: host.mariadb() }, api: host.api, newId: host.newId, notify: host.notify, shown: withoutSecrets,
    remember: ({ sql, ms, error }) => { const kept = withoutSecrets(sql); host.remember({ sql: kept, ms, error: errorWithoutSecrets(sql, kept, error) ?? '' }); }, ...options,
  });
  if (end.ran.length) host.changed(end.failed ? undefined : made);
  return end;
}

/** Sentences before a change that can lock somebody out. @param {Listed} account @param {Host} host */
const warnings = ({ own, admin, user }, { admins }) => [OF_SERVER.test(user) && 'It belongs to the server itself, which needs it.', own && OWN, admin && admins <= 1 && LAST].filter(Boolean);

/** Objects that run with the rights of an account, as a sentence. @param {Listed} account @param {Host} host @returns {Promise<string[]>} */
async function definedBy({ user, host }, { api }) {
  const who = textOf(`${user}@${host}`);
  const [{ n }] = await askRows(api, { sql: `SELECT (SELECT COUNT(*) FROM information_schema.ROUTINES WHERE DEFINER = ${who}) + (SELECT COUNT(*) FROM information_schema.VIEWS WHERE DEFINER = ${who}) + (SELECT COUNT(*) FROM information_schema.TRIGGERS WHERE DEFINER = ${who}) + (SELECT COUNT(*) FROM information_schema.EVENTS WHERE DEFINER = ${who}) AS n` });
  return Number(n) ? [`${Number(n).toLocaleString('en')} views, routines, triggers or events have it as their definer. They will fail.`] : [];
}

const passwordFields = () => [
  { name: 'password', label: 'Password', type: /** @type {const} */ ('password'), button: { label: 'Generate', run: () => ({ password: newPassword(), seen: true }) }, hint: 'Never shown in the SQL, and never kept. Copy a generated one now.' },
  { name: 'seen', label: 'Show it', type: /** @type {const} */ ('check') },
];

/** @param {Host} host */
export const createAccount = (host) => told(host, async () => {
  const server = await serverOf(host);
  await untilMade(
    (values, fault) => form({
      title: 'New account', values, fault,
      fields: (now) => [
        { name: 'user', label: 'User', maxLength: 80 }, { name: 'host', label: 'Host', maxLength: 255, hint: '% is any host. localhost is this server itself.' },
        { name: 'plugin', label: 'Signs in by', type: 'select', options: server.plugins }, ...(takesPassword(now.plugin) ? passwordFields() : []),
      ],
      check: ({ user, host: from, plugin, password }) => {
        if (!user) return { field: 'user', text: 'Enter a user name.' };
        if (!from) return { field: 'host', text: 'Enter a host: % is any host.' };
        return takesPassword(plugin) && !password ? { field: 'password', text: 'Enter a password, or generate one.' } : null;
      },
    }),
    async (values) => {
      const end = await reviewed(host, { title: `Create account ${values.user}@${values.host}`, statements: [createUser(/** @type {any} */ (values), server)], action: 'Create', notes: ['It has no privileges yet. Grant them afterwards.'] }, `${values.user}@${values.host}`);
      return { end, done: end.done === 1, fault: faultOf(end) };
    }, { user: '', host: '%', plugin: server.first, password: '', seen: false });
});

/** Names of a database that are offered at most. */
const MOST_NAMES = 20_000;

/** Numbers of the server's errors by the field that they are about. */
const FIELDS = { 1396: 'user', 1819: 'password', 1372: 'password', 1470: 'user', 1524: 'plugin' };
const faultOf = ({ error }) => (error ? { field: FIELDS[error.errno], text: errorWithoutSecrets(error.statement, withoutSecrets(error.statement), error.message) ?? '' } : null);

/** @param {Host} host */
export const createRole = (host) => told(host, async () => {
  await untilMade(
    (values, fault) => form({ title: 'New role', values, fault, fields: [{ name: 'user', label: 'Name', maxLength: 80 }], check: ({ user }) => (user ? null : { field: 'user', text: 'Enter a name.' }) }),
    async ({ user }) => {
      const end = await reviewed(host, { title: `Create role ${user}`, statements: [`CREATE ROLE ${accountName(user, host.mariadb() ? '' : '%', host.mariadb())}`], action: 'Create' }, host.mariadb() ? user : `${user}@%`);
      return { end, done: end.done === 1, fault: faultOf(end) };
    }, { user: '' });
});

/** @param {Listed} account @param {Host} host */
export const changePassword = (account, host) => told(host, async () => {
  const server = await serverOf(host);
  await untilMade(
    (values, fault) => form({ title: `Password of ${account.name}`, values, fault, fields: passwordFields, check: ({ password }) => (password ? null : { field: 'password', text: 'Enter a password, or generate one.' }) }),
    async ({ password }) => {
      const end = await reviewed(host, { title: `Change the password of ${account.name}`, statements: [setPassword(account, password, server)], action: 'Change', losses: account.own ? [`${OWN} postern was started with the old password: start it again with the new one.`] : [], notes: ['Its open connections stay.'] });
      return { end, done: end.done === 1, fault: faultOf(end) };
    }, { password: '', seen: false });
});

/** Locks, unlocks, or makes the password expire. @param {Listed} account @param {'lock'|'unlock'|'expire'} what @param {Host} host */
export const setState = (account, what, host) => told(host, async () => {
  const [verb, clause, note] = {
    lock: ['Lock', 'ACCOUNT LOCK', 'Its open connections stay; it cannot sign in any more.'], unlock: ['Unlock', 'ACCOUNT UNLOCK', ''],
    expire: ['Expire the password of', 'PASSWORD EXPIRE', 'It must set a new password when it signs in next.'],
  }[what];
  await reviewed(host, { title: `${verb} ${account.name}`, statements: [`ALTER USER ${nameOf(account, { mariadb: host.mariadb(), isPlain: false })} ${clause}`], action: verb.split(' ')[0], losses: what === 'unlock' ? [] : warnings(account, host), notes: note ? [note] : [] });
});

/** @param {Listed} account @param {Host} host */
export const renameAccount = (account, host) => told(host, async () => {
  await untilMade(
    (values, fault) => form({ title: `Rename ${account.name}`, values, fault, fields: [{ name: 'user', label: 'User', maxLength: 80 }, { name: 'host', label: 'Host', maxLength: 255 }], check: ({ user, host: from }) => (user === account.user && from === account.host ? { text: 'Nothing was changed.' } : null) }),
    async ({ user, host: from }) => {
      const end = await reviewed(host, { title: `Rename ${account.name}`, statements: [`RENAME USER ${accountName(account.user, account.host)} TO ${accountName(user, from)}`], action: 'Rename', losses: account.own ? [`${OWN} postern was started with the old name: start it again with the new one.`] : [], notes: ['Its privileges stay.', definedBy(account, host)] }, `${user}@${from}`);
      return { end, done: end.done === 1, fault: faultOf(end) };
    }, { user: account.user, host: account.host });
});

/** @param {Listed} account @param {Host} host */
export const dropAccount = (account, host) => told(host, async () => {
  const kind = account.role ? 'ROLE' : 'USER';
  await reviewed(host, { title: `Drop ${account.name}`, typed: account.name, statements: [`DROP ${kind} ${nameOf(account, { mariadb: host.mariadb(), isPlain: false })}`], action: 'Drop', losses: ['Its privileges are lost. This cannot be undone.', ...warnings(account, host)], notes: [definedBy(account, host), account.role ? 'Accounts that have this role lose its privileges.' : 'Its open connections stay until they end.'] });
});

/** Grants or revokes roles. @param {Listed} account @param {Listed[]} has roles that it has @param {Host} host */
export const changeRoles = (account, has, host) => told(host, async () => {
  const server = { mariadb: host.mariadb(), isPlain: false };
  const roles = host.accounts.filter((one) => one.role && one.name !== account.name);
  if (!roles.length) throw new Error('There are no roles. Create one first.');
  const named = new Map(roles.map((one) => [one.name, nameOf(one, server)]));
  const before = new Set(has.map((one) => one.name));
  const who = nameOf(account, server);
  await untilMade(
    (values, fault) => form({ title: `Roles of ${account.name}`, values, fault, fields: [{ name: 'roles', label: 'Roles', type: 'checks', options: roles.map(({ name }) => name) }, ...(account.role ? [] : [{ name: 'all', label: server.mariadb ? 'Make the first one the default role' : 'Make all of them default roles', type: /** @type {const} */ ('check'), hint: 'A default role is active after signing in; others must be set with SET ROLE.' }])] }),
    async ({ roles: chosen, all }) => {
      const added = chosen.filter((name) => !before.has(name));
      const gone = [...before].filter((name) => !chosen.includes(name));
      const first = chosen.length ? named.get(chosen[0]) : 'NONE';
      const statements = [
        ...added.map((name) => `GRANT ${named.get(name)} TO ${who}`), ...gone.map((name) => `REVOKE ${named.get(name)} FROM ${who}`),
        ...(all ? [server.mariadb ? `SET DEFAULT ROLE ${first} FOR ${who}` : `SET DEFAULT ROLE ${chosen.length ? 'ALL' : 'NONE'} TO ${who}`] : []),
      ];
      if (!statements.length) throw new Error('Nothing was changed.');
      const end = await reviewed(host, { title: `Roles of ${account.name}`, statements, action: 'Change', losses: gone.length ? warnings(account, host) : [] });
      return { end, done: end.done === statements.length, fault: faultOf(end) };
    }, { roles: [...before], all: false });
});

const LEVELS = [{ value: 'server', label: 'Whole server' }, { value: 'database', label: 'Database' }, { value: 'table', label: 'Table or view' }, { value: 'column', label: 'Columns' }, { value: 'procedure', label: 'Procedure' }, { value: 'function', label: 'Function' }];

/** Names of a database that privileges can be granted on, each list asked for once. @param {Host} host */
function namesOf({ api }) {
  /** @type {Map<string, Promise<string[]>>} */ const known = new Map();
  const once = (sql) => {
    const asked = known.get(sql) ?? askRows(api, { sql, limit: MOST_NAMES }).then((rows) => rows.map(({ name }) => String(name)));
    known.set(sql, asked);
    asked.catch(() => known.delete(sql));
    return asked;
  };
  return {
    /** @param {string} level @param {string} db */
    objects: (level, db) => once(level === 'procedure' || level === 'function'
      ? `SELECT ROUTINE_NAME AS name FROM information_schema.ROUTINES WHERE ROUTINE_SCHEMA = ${textOf(db)} AND ROUTINE_TYPE = '${level.toUpperCase()}' ORDER BY 1`
      : `SELECT TABLE_NAME AS name FROM information_schema.TABLES WHERE TABLE_SCHEMA = ${textOf(db)} ORDER BY 1`),
    /** @param {string} db @param {string} table */
    columns: (db, table) => once(`SELECT COLUMN_NAME AS name FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = ${textOf(db)} AND TABLE_NAME = ${textOf(table)} ORDER BY ORDINAL_POSITION`),
  };
}

/** Privileges of somebody who reads and changes nothing. */
const READING = ['SELECT', 'SHOW VIEW'];

const parted = (columns) => String(columns).split(',').map((one) => one.trim()).filter(Boolean);
const has = (list, name) => list.some((one) => one.toLowerCase() === name.toLowerCase());

/** A name that the server does not have; a list that is cut off or cannot be read refuses nothing. @param {ReturnType<typeof namesOf>} names @param {import('./form.js').Values} values */
async function unknownName(names, { level, db, name, columns }) {
  const table = String(name).trim();
  const objects = await names.objects(level, db).catch(() => []);
  const what = level === 'procedure' || level === 'function' ? level : 'table or view';
  if (objects.length < MOST_NAMES && !has(objects, table)) return { field: 'name', text: `${db} has no ${what} ${table} that this account sees.` };
  if (level !== 'column') return null;
  const known = await names.columns(db, table).catch(() => []);
  const wrong = known.length ? parted(columns).filter((one) => !has(known, one)) : [];
  return wrong.length ? { field: 'columns', text: `${table} has no column ${wrong.join(', ')}.` } : null;
}

/** @param {Listed} account @param {Host} host */
export const grant = (account, host) => told(host, async () => {
  const { api } = host;
  const [known, databases] = await Promise.all([askRows(api, { sql: 'SHOW PRIVILEGES' }), api.databases()]);
  const server = { mariadb: host.mariadb(), isPlain: false };
  const names = namesOf(host);
  const current = host.database?.() ?? '';
  await untilMade(
    (values, fault) => form({
      title: `Grant to ${account.name}`, values, fault,
      fields: ({ level }) => [
        { name: 'level', label: 'On', type: 'select', options: LEVELS },
        ...(level === 'server' ? [] : [{ name: 'db', label: 'Database', type: /** @type {const} */ ('select'), options: databases }]),
        ...(['server', 'database'].includes(level) ? [] : [{ name: 'name', label: level === 'procedure' || level === 'function' ? 'Name' : 'Table or view', maxLength: 64, list: (now) => names.objects(now.level, now.db) }]),
        ...(level === 'column' ? [{ name: 'columns', label: 'Columns', hint: 'Names, separated by commas.', several: true, list: (now) => names.columns(now.db, String(now.name).trim()) }] : []),
        { name: 'privileges', label: 'Privileges', type: 'checks', presets: [{ label: 'Read', values: READING }, { label: 'All' }], options: privilegesAt(/** @type {any} */ (known), level) },
        { name: 'grantable', label: 'May grant them to others', type: 'check' },
      ],
      changed: (now, name) => (name === 'level' ? { ...now, privileges: now.privileges.filter((one) => privilegesAt(/** @type {any} */ (known), now.level).includes(one)) } : now),
      check: (entered) => {
        const { level, db, name, columns, privileges, grantable } = entered;
        if (level !== 'server' && !db) return { field: 'db', text: 'Choose a database.' };
        if (!['server', 'database'].includes(level) && !name) return { field: 'name', text: 'Enter the name.' };
        if (level === 'column' && !columns) return { field: 'columns', text: 'Enter the columns.' };
        if (!privileges.length && !grantable) return { field: 'privileges', text: 'Choose privileges.' };
        return ['server', 'database'].includes(level) ? null : unknownName(names, entered);
      },
    }),
    async ({ level, db, name, columns, privileges, grantable }) => {
      const place = { level, db, name: String(name).trim(), columns: parted(columns) };
      const end = await reviewed(host, { title: `Grant to ${account.name}`, statements: [grantSql(account, place, privileges.length ? privileges : ['USAGE'], grantable, server)], action: 'Grant', notes: level === 'server' ? ['This is for all databases, also those created later.'] : [] });
      return { end, done: end.done === 1, fault: end.error ? { field: { 1146: 'name', 1305: 'name', 1054: 'columns', 1049: 'db' }[end.error.errno], text: end.error.message } : null };
    }, { level: 'database', db: databases.find((one) => one === current) ?? databases.find((one) => !['information_schema', 'mysql', 'performance_schema', 'sys'].includes(one)) ?? databases[0] ?? '', name: '', columns: '', privileges: [], grantable: false });
});

/** Revokes parts of a line of SHOW GRANTS. @param {Listed} account @param {string} line @param {Host} host */
export const revoke = (account, line, host) => told(host, async () => {
  const found = readGrant(line);
  if (!found) throw new Error('This line grants nothing that can be revoked.');
  await untilMade(
    (values, fault) => form({ title: `Revoke from ${account.name}`, values, fault, fields: [{ name: 'privileges', label: found.on ? `On ${found.on}` : 'Roles', type: 'checks', options: found.privileges }], check: ({ privileges }) => (privileges.length ? null : { field: 'privileges', text: 'Choose what to revoke.' }) }),
    async ({ privileges }) => {
      const statements = revokeSql(found, privileges);
      const end = await reviewed(host, { title: `Revoke from ${account.name}`, statements, action: 'Revoke', losses: found.on === '*.*' || !found.on ? warnings(account, host) : account.own ? [OWN] : [] });
      return { end, done: end.done === statements.length, fault: faultOf(end) };
    }, { privileges: found.privileges.length === 1 ? found.privileges : [] });
});

/** True if a line of SHOW GRANTS grants something. @param {string} line */
export const isRevocable = (line) => readGrant(line) !== null;
