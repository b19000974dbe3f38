/**
 * Names of results.
 * @module
 */

import { sourceTable } from '../core/format.js';
import { unquoteIdentifier } from '../core/identifiers.js';

/** Characters of a statement that its result's name is made of, and that a tooltip shows. */
export const NAME_SOURCE = 1000;

/** Characters of a name. */
const NAME = 26;

/** The one table that a statement reads, else its beginning. @param {string} sql */
export function resultTitle(sql) {
  const source = sql.slice(0, NAME_SOURCE);
  const table = sourceTable(source);
  if (table) return unquoteIdentifier(/(?:`(?:[^`]|``)+`|[^`.\s]+)$/.exec(table)?.[0] ?? table);
  const text = source.replace(/\/\*[^]*?\*\/|(?:--\s|#).*/g, ' ').replace(/\s+/g, ' ').trim();
  return (text.length > NAME ? `${text.slice(0, NAME - 1)}…` : text) || 'Result';
}
