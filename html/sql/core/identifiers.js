// Quoting of identifiers and literals as the database reads them.
import { RESERVED } from './words.js';

/** Names that need no quotes; not with a digit in front, which reads as a number, nor with `$`, which MySQL gives up. */
const PLAIN = /^[A-Za-z_\u0080-\uffff][A-Za-z0-9_$\u0080-\uffff]*$/;

/**
 * Quotes an identifier with backquotes, only when it needs them.
 * @param {string} name
 */
export function quoteIdentifier(name) {
  if (PLAIN.test(name) && !RESERVED.has(name.toUpperCase())) return name;
  return `\`${name.replaceAll('`', '``')}\``;
}

/** The bare name of a possibly backquoted identifier. @param {string} text */
export function unquoteIdentifier(text) {
  if (!text.startsWith('`')) return text;
  const end = text.length > 1 && text.endsWith('`') ? -1 : undefined;
  return text.slice(1, end).replaceAll('``', '`');
}

/** The statement a double click on a table runs. @param {string} table @param {string[]} [columns] those that may be read, where not all may */
export function selectAll(table, columns) {
  return `SELECT ${columns?.map(quoteIdentifier).join(', ') ?? '*'} FROM ${quoteIdentifier(table)} LIMIT 100`;
}
