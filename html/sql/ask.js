/**
 * Statements that the page itself asks, to know something.
 * @module
 */

import { readQuery } from './core/stream.js';
import { ResultSet } from './core/resultset.js';

/** The server's message instead of an answer; `errno` is the database's own number, 0 where it has none; `code` is that of the answer. */
export class AskError extends Error {
  /** @param {string} message @param {number} [errno] @param {number} [code] */
  constructor(message, errno = 0, code = 400) {
    super(message);
    this.errno = errno;
    this.code = code;
  }
}

/**
 * Runs a statement; throws an error with what the server said.
 * @param {ReturnType<typeof import('./api.js').createApi>} api
 * @param {{sql: string, db?: string, session?: string, limit?: number, timeZone?: string, queryId?: string, signal?: AbortSignal}} query
 * @returns {Promise<ResultSet>}
 */
export async function ask(api, { sql, db, session, limit, timeZone, queryId, signal }) {
  const answer = await readQuery(await api.query({ sql, db, session, limit, timeZone, queryId, signal }), { sql, db, signal });
  signal?.throwIfAborted();
  if (answer.code !== 200) throw new AskError(answer.message, answer.error?.errno, answer.code);
  return answer.results[0] ?? new ResultSet();
}

/**
 * The rows of a statement as objects whose keys are the columns' names in lower case, with `-` and blanks as `_`.
 * @param {ReturnType<typeof import('./api.js').createApi>} api
 * @param {{sql: string, db?: string, limit?: number, signal?: AbortSignal}} query
 * @returns {Promise<Record<string, any>[]>}
 */
export async function askRows(api, query) {
  const { columns, rows } = await ask(api, query);
  const keys = columns.map((name) => name.toLowerCase().replace(/[^a-z0-9]+/g, '_'));
  return rows.map((row) => Object.fromEntries(keys.map((key, i) => [key, row[i]])));
}

/** A text whose quotes and backslashes mean nothing in any SQL mode. @param {string} text */
export function textOf(text) {
  const digits = Array.from(new TextEncoder().encode(text), (byte) => byte.toString(16).padStart(2, '0')).join('');
  return `_utf8mb4 X'${digits}'`;
}
