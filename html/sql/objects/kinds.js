/**
 * The kinds of object that a database has, and the statements about one. No DOM.
 * @module
 */

import { quoteIdentifier } from '../core/identifiers.js';

/** @typedef {'database'|'table'|'view'|'sequence'|'procedure'|'function'|'package'|'package body'|'trigger'|'event'} Kind */
/** @typedef {{kind: Kind, db: string, name: string, on?: string, system?: boolean, enabled?: boolean}} Named `on`: the table of a trigger; `enabled`: of an event, in its menu; `system`: a database of the server's own */

/** Name of a kind in panes and menus. @param {Kind} kind */
export const titleOf = (kind) => kind[0].toUpperCase() + kind.slice(1);

/** The name with that of its database, in backquotes where they are needed. @param {Named} object */
export function qualified({ kind, db, name }) {
  return kind === 'database' ? quoteIdentifier(name) : `${quoteIdentifier(db)}.${quoteIdentifier(name)}`;
}

/** @param {Named} object */
export const dropSql = (object) => `DROP ${object.kind.toUpperCase()} ${qualified(object)}`;

/** @param {Named} object */
export const truncateSql = (object) => `TRUNCATE TABLE ${qualified(object)}`;

/** @param {Named} object */
export const countSql = (object) => `SELECT COUNT(*) FROM ${quoteIdentifier(object.name)}`;

/** @param {Named} object */
export const showCreateSql = (object) => `SHOW CREATE ${object.kind.toUpperCase()} ${qualified(object)}`;

/**
 * The text that an object is made with, from what `showCreateSql` answers; null where the account may not read it.
 * @param {{columns: string[], rows: any[][]}} result
 * @returns {string|null}
 */
export function createText({ columns, rows }) {
  const at = columns.findIndex((name) => /^(?:create |sql original)/i.test(name));
  return rows[0]?.[at] ?? null;
}

/** Reason for which the account cannot see a text. @param {Kind} kind */
export function createDenied(kind) {
  if (kind === 'procedure' || kind === 'function') return 'The server shows its text only to its definer, and to accounts with SHOW_ROUTINE (MySQL), SHOW CREATE ROUTINE (MariaDB 11.3), or SELECT on the server’s own tables.';
  return `The server does not show the text of this ${kind} to this account.`;
}

/** Describes what is lost when an object is dropped. @param {Named} object */
export function consequence({ kind, on }) {
  switch (kind) {
    case 'database': return 'This removes the database with all tables, rows, views, routines, triggers and events. It cannot be undone.';
    case 'table': return 'This removes the table with all rows, indexes and triggers. It cannot be undone.';
    case 'view': return 'Rows are kept; statements that use the view will fail.';
    case 'sequence': return 'Its value is lost; statements that use it will fail.';
    case 'trigger': return `Writes to ${on || 'its table'} no longer run it.`;
    case 'event': return 'It no longer runs.';
    default: return 'Statements that call it will fail.';
  }
}
