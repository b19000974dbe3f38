/**
 * The answer of `POST /api/script`: how each statement ended, while they run.
 * @module
 */

import { tokens } from './lexer.js';
import { Slicer } from './slices.js';

/** Most characters of statements that go together: the server reads so much before it runs the first. */
const MAX_TEXT = 1_000_000;

/** Statements that never return rows, by their first word. */
const WITHOUT_ROWS = new Set(['INSERT', 'REPLACE', 'UPDATE', 'DELETE', 'CREATE', 'DROP', 'ALTER', 'TRUNCATE', 'RENAME', 'COMMIT', 'ROLLBACK', 'SAVEPOINT', 'START', 'SET', 'LOCK', 'UNLOCK', 'GRANT', 'REVOKE']);

/** Words that can make these statements return rows. */
const WITH_ROWS = /\b(?:RETURNING|STATEMENT)\b/i;

/**
 * @typedef {{statement: number, offset: number, line: number, kind: string, code: number, duration: string, affected_rows?: number, last_insert_id?: number,
 *   rows?: number, info?: string, in_transaction?: boolean, warnings?: {level: string, code: number|null, message: string}[], message?: string, error?: DbError}} Outcome
 * @typedef {{end: true, statements: number, failed: number, offset: number, line: number, delimiter: string, not_run: number|null, cancelled: boolean, code?: number, message?: string,
 *   stopped?: 'lost'|'cancelled'|'failed'|'exit'|'unreadable', reason?: string}} End
 */

/** True if a statement can go together with others: nothing of its answer is shown but how it ended. @param {string} sql */
function isSilent(sql) {
  if (WITH_ROWS.test(sql)) return false;
  for (const { type, start, end } of tokens(sql.slice(0, 2000))) {
    if (type !== 'comment') return WITHOUT_ROWS.has(sql.slice(start, end).toUpperCase());
  }
  return false;
}

/** Number of statements from `index` on that are sent together. Fewer than two means that they are not, unless one is large. @param {string[]} statements @param {number} index */
export function togetherFrom(statements, index) {
  let size = 0;
  let count = 0;
  while (index + count < statements.length && isSilent(statements[index + count])) {
    size += statements[index + count].length;
    if (count && size > MAX_TEXT) break;
    count += 1;
  }
  return count > 1 || size > MAX_TEXT ? count : 0;
}

/**
 * Reads to the end, in slices. The line at the end is returned; null where it did not come.
 * @param {Response} response
 * @param {(outcome: Outcome) => void} onOutcome
 * @returns {Promise<End|null>}
 */
export async function readOutcomes(response, onOutcome) {
  const reader = /** @type {ReadableStream<Uint8Array>} */ (response.body).getReader();
  const decoder = new TextDecoder();
  const slicer = new Slicer();
  let rest = '';
  let end = null;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return end;
    const lines = (rest + decoder.decode(value, { stream: true })).split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) {
      const told = JSON.parse(line);
      if (told.end) end = told;
      else onOutcome(told);
      if (slicer.due) await slicer.rest();
    }
  }
}
