/**
 * Statements about accounts, roles and privileges. No DOM.
 * @module
 */

import { quoteName } from '../core/format.js';
import { accountName } from '../objects/redefine.js';
import { quotedText } from './copying.js';

/** @typedef {{user: string, host: string, role: boolean}} Account */
/** @typedef {{mariadb: boolean, isPlain: boolean}} Server `isPlain`: a backslash is an ordinary character in a text */
/** @typedef {'server'|'database'|'table'|'column'|'procedure'|'function'} Level */
/** @typedef {{level: Level, db: string, name: string, columns: string[]}} Place */

/** Ways of signing in that take a password; others know the account by something else. */
const BY_PASSWORD = /^(?:mysql_native_password|caching_sha2_password|sha256_password|ed25519|parsec)$/;

/** @param {string} plugin */
export const takesPassword = (plugin) => BY_PASSWORD.test(plugin);

/** @param {Account} account @param {Server} server */
export const nameOf = ({ user, host, role }, { mariadb }) => accountName(user, host, mariadb && role);

/** @param {{user: string, host: string, plugin: string, password: string}} account @param {Server} server */
export function createUser({ user, host, plugin, password }, server) {
  const name = accountName(user, host);
  if (!takesPassword(plugin)) return `CREATE USER ${name} IDENTIFIED ${server.mariadb ? 'VIA' : 'WITH'} ${plugin}`;
  const secret = quotedText(password, server.isPlain);
  if (!server.mariadb) return `CREATE USER ${name} IDENTIFIED WITH ${plugin} BY ${secret}`;
  return plugin === 'mysql_native_password' ? `CREATE USER ${name} IDENTIFIED BY ${secret}` : `CREATE USER ${name} IDENTIFIED VIA ${plugin} USING PASSWORD(${secret})`;
}

/** @param {Account} account @param {string} password @param {Server} server */
export function setPassword(account, password, server) {
  const secret = quotedText(password, server.isPlain);
  return server.mariadb ? `SET PASSWORD FOR ${nameOf(account, server)} = PASSWORD(${secret})` : `ALTER USER ${nameOf(account, server)} IDENTIFIED BY ${secret}`;
}

/** A password of letters, digits and signs that no shell or SQL takes for more. @param {(length: number) => Uint32Array} [random] */
export function newPassword(random = (length) => crypto.getRandomValues(new Uint32Array(length))) {
  const kinds = ['ABCDEFGHJKLMNPQRSTUVWXYZ', 'abcdefghijkmnopqrstuvwxyz', '23456789', '-_.+'];
  const all = kinds.join('');
  const numbers = random(48);
  // One of each kind, then all of them in an order of their own.
  const signs = Array.from({ length: 24 }, (_, i) => { const from = kinds[i] ?? all; return from[numbers[i] % from.length]; });
  return signs.map((sign, i) => ({ sign, by: numbers[24 + i] })).sort((a, b) => a.by - b.by).map(({ sign }) => sign).join('');
}

const OF_COLUMNS = new Set(['SELECT', 'INSERT', 'UPDATE', 'REFERENCES']);
const OF_DATABASES = new Set(['EVENT', 'CREATE TEMPORARY TABLES', 'LOCK TABLES']);
const NONE = new Set(['USAGE', 'PROXY', 'GRANT OPTION']);

/**
 * Privileges that can be granted at a level.
 * @param {{privilege: string, context: string}[]} known what SHOW PRIVILEGES answers @param {Level} level
 * @returns {string[]}
 */
export function privilegesAt(known, level) {
  const list = known.map(({ privilege, context }) => ({ name: privilege.toUpperCase(), of: new Set(context.split(',').map((one) => one.trim())) })).filter(({ name }) => !NONE.has(name));
  const has = ({ of }, ...contexts) => contexts.some((context) => of.has(context));
  const fits = {
    server: () => true,
    database: (one) => OF_DATABASES.has(one.name) || has(one, 'Databases', 'Tables', 'Functions', 'Procedures'),
    table: (one) => has(one, 'Tables') && !OF_DATABASES.has(one.name),
    column: (one) => OF_COLUMNS.has(one.name),
    procedure: (one) => has(one, 'Procedures'),
    function: (one) => has(one, 'Functions'),
  }[level];
  return list.filter(fits).map(({ name }) => name).sort();
}

/** A name of a database as GRANT takes it, where `_` and `%` would mean others too. @param {string} name */
const exactly = (name) => quoteName(name.replace(/[_%\\]/g, (sign) => `\\${sign}`));

/** @param {Place} place */
function placeOf({ level, db, name }) {
  switch (level) {
    case 'server': return '*.*';
    case 'database': return `${exactly(db)}.*`;
    case 'procedure': case 'function': return `${level.toUpperCase()} ${quoteName(db)}.${quoteName(name)}`;
    default: return `${quoteName(db)}.${quoteName(name)}`;
  }
}

/** @param {Account} account @param {Place} place @param {string[]} privileges @param {boolean} grantable @param {Server} server */
export function grantSql(account, place, privileges, grantable, server) {
  const of = place.level === 'column' ? ` (${place.columns.map(quoteName).join(', ')})` : '';
  return `GRANT ${privileges.map((one) => `${one}${of}`).join(', ')} ON ${placeOf(place)} TO ${nameOf(account, server)}${grantable ? ' WITH GRANT OPTION' : ''}`;
}

/** Parts of a list, whose parentheses and quotes hold together. @param {string} text */
function listed(text) {
  return (text.match(/(?:`(?:[^`]|``)*`|\((?:`(?:[^`]|``)*`|[^`)])*\)|[^,`(])+/g) ?? []).map((one) => one.trim()).filter(Boolean);
}

const NAME = '(?:`(?:[^`]|``)*`|\'(?:[^\']|\'\')*\'|"(?:[^"]|"")*"|[^\\s`\'"@]+)';
const WHO = `${NAME}(?:@${NAME})?`;
const GRANT = new RegExp(`^GRANT (.+) ON ((?:(?:TABLE|FUNCTION|PROCEDURE|PACKAGE(?: BODY)?) )?(?:\\*|${NAME})\\.(?:\\*|${NAME})|${WHO}) TO (${WHO})(.*)$`, 's');
const ROLE = new RegExp(`^GRANT ((?:${WHO})(?:, ?${WHO})*) TO (${WHO})(.*)$`, 's');

/**
 * A line of SHOW GRANTS as what can be revoked; null where there is nothing.
 * @param {string} line
 * @returns {{privileges: string[], on: string, from: string}|null} `on`: empty of a role
 */
export function readGrant(line) {
  const found = GRANT.exec(line);
  if (found) {
    const [, list, on, from, rest] = found;
    const privileges = [...listed(list).filter((one) => one !== 'USAGE'), ...(/WITH\b.*\bGRANT OPTION/.test(rest) && list !== 'PROXY' ? ['GRANT OPTION'] : [])];
    return privileges.length ? { privileges, on, from } : null;
  }
  const role = ROLE.exec(line);
  return role ? { privileges: listed(role[1]), on: '', from: role[2] } : null;
}

/** Statements that revoke. @param {{on: string, from: string}} grant @param {string[]} privileges @returns {string[]} */
export function revokeSql({ on, from }, privileges) {
  if (!on) return [`REVOKE ${privileges.join(', ')} FROM ${from}`];
  // ALL PRIVILEGES stands alone in a list.
  const all = privileges.filter((one) => /^ALL PRIVILEGES$/.test(one));
  const rest = privileges.filter((one) => !all.includes(one));
  return [all, rest].filter((one) => one.length).map((one) => `REVOKE ${one.join(', ')} ON ${on} FROM ${from}`);
}
