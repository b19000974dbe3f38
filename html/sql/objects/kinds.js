/**
 * The kinds of object that a database has, and the statements about one. No DOM.
 * @module
 */

import { quoteIdentifier } from '../core/identifiers.js';
import { significant } from '../core/scope.js';

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
  const of = (about) => rows[0]?.[columns.findIndex((name) => about.test(name))] ?? null;
  const text = of(/^(?:create |sql original)/i);
  return text && /\bNO_BACKSLASH_ESCAPES\b/.test(of(/^sql_mode$/i)) ? withPlainComment(text) : text;
}

/** A routine up to its comment, behind its parameters. */
const UP_TO_COMMENT = /^(?: RETURNS [^\n]*)?(?:\n {4}(?!COMMENT)[A-Z ]+)*\n {4}COMMENT (?=')/;

/** The text of a routine or event for its own SQL mode, in which a backslash is an ordinary character: servers write its comment as in others. @param {string} sql */
function withPlainComment(sql) {
  const list = significant(sql);
  const kind = list.findIndex(({ upper, type }) => type !== 'string' && /^(?:PROCEDURE|FUNCTION|EVENT)$/.test(upper));
  let at = list.findIndex(({ upper }, i) => i > kind && ['COMMENT', 'DO'].includes(upper)) + 1;
  if (list[kind]?.upper !== 'EVENT') {
    let depth = 0;
    const end = list.findIndex(({ text }, i) => i > kind && (depth += Number(text === '(') - Number(text === ')')) === 0 && text === ')');
    const head = end < 0 ? null : UP_TO_COMMENT.exec(sql.slice(list[end].end));
    at = head ? list.findIndex(({ start }) => start === list[end].end + head[0].length) : 0;
  }
  const comment = list[at];
  if (kind < 0 || at < 1 || !comment?.text.startsWith("'") || list[at - 1].upper !== 'COMMENT') return sql;
  const plain = comment.text.replace(/\\([\s\S])/g, (_, sign) => ({ n: '\n', r: '\r', "'": "''" })[sign] ?? sign);
  return `${sql.slice(0, comment.start)}${plain}${sql.slice(comment.end)}`;
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
