/**
 * Statements that define an existing object again. No DOM.
 * @module
 */

import { unquoteIdentifier } from '../core/identifiers.js';
import { quoteName } from '../core/format.js';
import { isWord, significant } from '../core/scope.js';

/** @typedef {{kind: 'procedure'|'function'|'trigger'|'event', db: string, name: string, start: number, end: number}} Created `start`, `end`: where its name stands */

/** Kinds that MariaDB takes `OR REPLACE` for, and every server for a view. */
const REPLACEABLE = new Set(['view', 'procedure', 'function', 'package', 'package body', 'trigger', 'event']);
const KINDS = new Set(['PROCEDURE', 'FUNCTION', 'TRIGGER', 'EVENT']);

/**
 * The text of an object as one runs it after a change: in place of the object where the server can do that in one statement.
 * @param {{kind: string}} object @param {string} create what SHOW CREATE answered @param {boolean} mariadb
 */
export function editText({ kind }, create, mariadb) {
  if (!REPLACEABLE.has(kind) || (!mariadb && kind !== 'view')) return create;
  const [first, second] = significant(create);
  return first?.upper === 'CREATE' && second?.upper !== 'OR' ? `${create.slice(0, first.end)} OR REPLACE${create.slice(first.end)}` : create;
}

/**
 * The object that a statement creates; null where it is no routine, trigger or event.
 * @param {string} sql @param {string} db where it runs
 * @returns {Created|null}
 */
export function createdBy(sql, db) {
  const list = significant(sql);
  let at = list.findIndex(({ upper, type }) => type !== 'string' && KINDS.has(upper));
  if (list[0]?.upper !== 'CREATE' || at < 0) return null;
  const kind = /** @type {Created['kind']} */ (list[at].upper.toLowerCase());
  at += list[at + 1]?.upper === 'IF' && list[at + 2]?.upper === 'NOT' ? 4 : 1;
  const isQualified = list[at + 1]?.text === '.';
  const [first, last] = [list[at], list[isQualified ? at + 2 : at]];
  if (!isWord(first) || !isWord(last)) return null;
  return { kind, db: isQualified ? unquoteIdentifier(first.text) : db, name: unquoteIdentifier(last.text), start: first.start, end: last.end };
}

/** The statement for an object of another name. @param {string} sql @param {Created} created @param {string} name */
export const renamed = (sql, { start, end, db }, name) => `${sql.slice(0, start)}${quoteName(db)}.${quoteName(name)}${sql.slice(end)}`;

/**
 * The statements that grant again what was granted on a routine alone, which its DROP takes away.
 * @param {Created} object @param {Record<string, any>[]} rows `user`, `host` and `privileges` as mysql.procs_priv has them
 */
export function grantsSql({ kind, db, name }, rows) {
  return rows.map(({ user, host, privileges }) => {
    const list = String(privileges).toUpperCase().split(',').filter(Boolean);
    const granted = list.filter((one) => one !== 'GRANT').join(', ') || 'USAGE';
    return `GRANT ${granted} ON ${kind.toUpperCase()} ${quoteName(db)}.${quoteName(name)} TO ${quoteName(String(user))}@${quoteName(String(host))}${list.includes('GRANT') ? ' WITH GRANT OPTION' : ''}`;
  });
}
