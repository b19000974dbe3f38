// All statements of a large script, in slices, so that the page stays responsive.
import { splitScript, statements } from './lexer.js';
import { Slicer } from './slices.js';

/**
 * @param {string} text
 * @param {import('./lexer.js').Dialect} [dialect]
 * @returns {Promise<{start: number, end: number, sql: string}[]>}
 */
export async function scriptStatements(text, dialect) {
  const found = [];
  const slicer = new Slicer();
  for (const statement of statements(text, undefined, dialect)) {
    found.push(...single(statement, dialect));
    if (slicer.due) await slicer.rest();
  }
  return found;
}

/** Start of a piece that may belong to a program, which a delimiter holds together. */
const PROGRAM = /^(?:BEGIN\b(?!\s*(?:WORK\b|$))|DECLARE|IF|CASE|LOOP|REPEAT|WHILE|FOR|END|<<|\w+\s*:)|^(?:CREATE|ALTER|\/\*)[\s\S]*\b(?:PROCEDURE|FUNCTION|TRIGGER|EVENT|PACKAGE)\b/i;

/** Each statement of what stands before a delimiter, as the server would find them. @param {import('./lexer.js').Statement} statement @param {import('./lexer.js').Dialect} [dialect] @returns {import('./lexer.js').Statement[]} */
export function single(statement, dialect) {
  if (statement.delimiter === ';') return [statement];
  const parts = splitScript(statement.sql, dialect);
  if (parts.length < 2 || parts.some(({ sql }) => PROGRAM.test(sql))) return [statement];
  return parts.map((part) => ({ ...part, start: part.start + statement.start, end: part.end + statement.start }));
}
