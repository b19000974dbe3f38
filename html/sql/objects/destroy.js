/**
 * Drops and empties objects through the review, after the name was typed: what they have for a consequence stands there.
 * @module
 */

import { askRows, textOf } from '../ask.js';
import { consequence, dropSql, truncateSql } from './kinds.js';
import { referencesTo, usesOf } from './tablefacts.js';

/** @typedef {Pick<import('../structure/review.js').ReviewOptions, 'api'|'newId'|'notify'|'remember'|'transactions'> & {mariadb: boolean, fillIn: (db: string, sql: string, name: string) => void}} Host */

/**
 * Drops or empties an object. Resolves with the statement that was run, or null where nothing was.
 * @param {'drop'|'truncate'} what @param {import('./kinds.js').Named} object @param {Host} host
 * @returns {Promise<string|null>}
 */
export async function destroy(what, object, host) {
  const { kind, db, name } = object;
  const { api, fillIn, mariadb, newId, notify, remember, transactions } = host;
  const isDrop = what === 'drop';
  const isUsed = isDrop && (kind === 'table' || kind === 'view');
  const { review } = await import('../structure/review.js');
  const { done, ran } = await review({
    api, newId, notify, remember, transactions, server: { mariadb },
    title: `${isDrop ? 'Drop' : 'Truncate'} ${kind} ${name}`, action: isDrop ? 'Drop' : 'Truncate', typed: name, db: kind === 'database' ? '' : db,
    statements: [isDrop ? dropSql(object) : truncateSql(object)], open: (sql) => fillIn(db, sql, name),
    losses: [isDrop ? consequence(object) : 'This removes every row, resets AUTO_INCREMENT and runs no triggers. It cannot be rolled back.'],
    notes: [foreignKeys(object, { api, mariadb }), ...(isUsed ? [usesOf({ api, mariadb, db, table: name })] : [])],
  });
  return done ? ran[0] : null;
}

/** References to it, as sentences. @returns {Promise<string[]>} */
async function foreignKeys({ kind, db, name }, { api, mariadb }) {
  if (kind === 'database') return databaseContents(api, name);
  if (kind !== 'table') return [];
  const list = (await referencesTo({ api, db, table: name, mariadb }, true)).filter((one) => one.db !== db || one.name !== name);
  const by = (one) => `${one.db === db ? '' : `${one.db}.`}${one.name} (foreign key ${one.fk})`;
  return list.length ? [`The server refuses this while foreign keys reference the table: ${list.map(by).join(', ')}.`] : [];
}

/** @returns {Promise<string[]>} */
async function databaseContents(api, name) {
  const db = textOf(name);
  const [[tables], [routines], others] = await Promise.all([
    askRows(api, { sql: `SELECT COUNT(*) AS n, COALESCE(SUM(TABLE_TYPE = 'VIEW'), 0) AS views FROM information_schema.TABLES WHERE TABLE_SCHEMA = ${db}` }),
    askRows(api, { sql: `SELECT COUNT(*) AS n FROM information_schema.ROUTINES WHERE ROUTINE_SCHEMA = ${db}` }),
    askRows(api, { sql: `SELECT DISTINCT CONCAT(TABLE_SCHEMA, '.', TABLE_NAME) AS name FROM information_schema.KEY_COLUMN_USAGE WHERE REFERENCED_TABLE_SCHEMA = ${db} AND TABLE_SCHEMA <> ${db} LIMIT 20` }),
  ]);
  const count = (n, one) => `${Number(n).toLocaleString('en')} ${one}${Number(n) === 1 ? '' : 's'}`;
  return [`Visible to this account: ${count(tables.n - tables.views, 'table')}, ${count(tables.views, 'view')} and ${count(routines.n, 'routine')}.`,
    ...(others.length ? [`Foreign keys of other databases reference it: ${others.map((one) => one.name).join(', ')}. The server may refuse.`] : [])];
}
