// Position in a statement that the server's message names.
import { tokens } from './lexer.js';
import { unquoteIdentifier } from './identifiers.js';

/**
 * @param {string} sql the statement as sent
 * @param {string} message the server's text
 * @param {number} [offset] where the reason stands, where that is known
 * @returns {{start: number, end: number}|null} offsets in `sql`
 */
export function errorSpan(sql, message, offset) {
  if (offset !== undefined && offset <= sql.length) return wordAt(sql, offset);
  return syntaxSpan(sql, message) ?? nameSpan(sql, message) ?? lineSpan(sql, message);
}

/** An offset in bytes of UTF-8 as one in characters of the page. @param {string} sql @param {number|undefined} bytes */
export function offsetOf(sql, bytes) {
  if (bytes === undefined || bytes === null) return undefined;
  return new TextDecoder().decode(new TextEncoder().encode(sql).subarray(0, bytes)).length;
}

/** `… near 'TEXT' at line N`: TEXT is the rest of the statement, cut after some 80 characters; empty at its end. */
function syntaxSpan(sql, message) {
  const match = /near '([\s\S]*)' at line (\d+)/.exec(message);
  if (!match) return null;
  const near = match[1];
  if (near === '') return wordBefore(sql, sql.trimEnd().length);
  const from = lineStart(sql, Number(match[2]));
  const at = find(sql, near, from);
  return at < 0 ? null : wordAt(sql, at);
}

function find(sql, near, from) {
  for (const text of [near, near.slice(0, 40), near.split('\n')[0]]) {
    const at = text === '' ? -1 : sql.indexOf(text, from);
    if (at >= 0) return at;
  }
  return -1;
}

/** `Unknown column 'x'`, `Table 'db.x' doesn't exist`, `FUNCTION db.x does not exist`: the last part of the name. */
function nameSpan(sql, message) {
  const match = /(?:Unknown (?:column|table|database)|Column|Table) '([^']+)'/i.exec(message) ?? /(?:FUNCTION|PROCEDURE) ([^\s']+) does not exist/i.exec(message);
  if (!match) return null;
  const name = match[1].replace(/^.*\./s, '').toLowerCase();
  for (const { type, start, end } of tokens(sql)) {
    const word = type === 'identifier' || type === 'keyword';
    if (word && unquoteIdentifier(sql.slice(start, end)).toLowerCase() === name) return { start, end };
  }
  return null;
}

function lineSpan(sql, message) {
  const match = /at line (\d+)/.exec(message);
  if (!match) return null;
  const start = lineStart(sql, Number(match[1]));
  const end = sql.indexOf('\n', start);
  return { start, end: end < 0 ? sql.length : end };
}

function lineStart(sql, line) {
  let at = 0;
  for (let n = 1; n < line; n += 1) {
    const next = sql.indexOf('\n', at);
    if (next < 0) return at;
    at = next + 1;
  }
  return at;
}

function wordAt(sql, at) {
  const length = /^[\w$\u0080-\uffff]+|^\s*\S/.exec(sql.slice(at, at + 80))?.[0].length ?? 1;
  return { start: at, end: Math.min(sql.length, at + length) };
}

function wordBefore(sql, end) {
  const word = /[\w$\u0080-\uffff]+$|\S$/.exec(sql.slice(Math.max(0, end - 80), end));
  return { start: end - (word?.[0].length ?? 0), end };
}
