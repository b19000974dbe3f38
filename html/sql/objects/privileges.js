/**
 * Privileges of the account, from its grants: to tell an empty list from one that it may not see.
 * @module
 */

import { ask } from '../ask.js';

/** @typedef {ReturnType<typeof import('../api.js').createApi>} Api */
/** @typedef {{privileges: string[], db: string, name: string}} Grant `db`, `name`: `*` for all, a database's name as a pattern of LIKE */

const NAME = '(?:`(?:[^`]|``)*`|"(?:[^"]|"")*"|[^\\s.`"]+)';
const LINE = new RegExp(`^GRANT (.+?) ON (?:TABLE |FUNCTION |PROCEDURE |PACKAGE )?(${NAME})\\.(${NAME}) TO `, 'i');

/** Reads the lines of SHOW GRANTS; those that grant a role or are of another kind are left out. @param {string[]} lines @returns {Grant[]} */
export function readGrants(lines) {
  return lines.flatMap((line) => {
    const found = LINE.exec(line);
    if (!found) return [];
    const privileges = found[1].replace(/\([^)]*\)/g, '').split(',').map((word) => word.trim().toUpperCase());
    return [{ privileges, db: bare(found[2]), name: bare(found[3]) }];
  });
}

const bare = (text) => (/^[`"]/.test(text) ? text.slice(1, -1).replaceAll(text[0] + text[0], text[0]) : text);

/** True if a name is one that a pattern of LIKE means. @param {string} pattern @param {string} name */
function fits(pattern, name) {
  const source = pattern.replace(/\\([%_\\])|[%_]|[.*+?^${}()|[\]\\]/g, (sign, escaped) => {
    if (escaped) return escaped === '\\' ? '\\\\' : escaped;
    if (sign === '%') return '.*';
    return sign === '_' ? '.' : `\\${sign}`;
  });
  return new RegExp(`^${source}$`, 's').test(name);
}

/**
 * Reach of a privilege of the account: all of a database (of the server if none is named), parts of it, or nothing.
 * @param {Grant[]} grants @param {string} privilege in upper case @param {string} [db]
 * @returns {'all'|'some'|'none'}
 */
export function reach(grants, privilege, db = '*') {
  const having = grants.filter(({ privileges }) => privileges.some((one) => one === privilege || one === 'ALL' || one === 'ALL PRIVILEGES'));
  const here = having.filter((grant) => grant.db === '*' || (db !== '*' && fits(grant.db, db)));
  if (here.some(({ name }) => name === '*')) return 'all';
  return here.length ? 'some' : 'none';
}

/** @type {WeakMap<Api, Promise<Grant[]>>} */
const known = new WeakMap();

/** The lines of SHOW GRANTS of the page's own account, with those of the roles it is in. @param {Api} api @returns {Promise<string[]>} */
export async function ownGrantLines(api) {
  const role = String((await ask(api, { sql: 'SELECT CURRENT_ROLE()' }).catch(() => null))?.rows[0]?.[0] ?? 'NONE');
  const plain = 'SHOW GRANTS';
  // MariaDB adds those of the role by itself; MySQL wants to be told which.
  const { rows } = role.includes('@') ? await ask(api, { sql: `${plain} FOR CURRENT_USER() USING ${role}` }).catch(() => ask(api, { sql: plain })) : await ask(api, { sql: plain });
  return rows.map(([line]) => String(line));
}

/** The grants of the page's own account; none are known where the server does not tell. @param {Api} api @returns {Promise<Grant[]>} */
export function ownGrants(api) {
  const asked = known.get(api) ?? ownGrantLines(api).then(readGrants);
  known.set(api, asked);
  return asked.catch(() => { known.delete(api); return []; });
}
