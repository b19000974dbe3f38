// History of statements: newest first, capped in number and size, searched by words.

import { CUT } from './secrets.js';

/** The most entries kept. One day of steady work is a few hundred. */
export const MAX_ENTRIES = 500;
/** The longest statement kept, in characters; a longer one is cut, which its entry says. */
export const MAX_SQL = 20_000;
/** The most characters kept in all: storage is shared with the open tabs, and browsers give an origin about 5 million. */
export const MAX_TOTAL = 600_000;

/**
 * @typedef {{sql: string, cut?: boolean, db: string, at: number, ms: number, rows: number|null, error: string|null}} Entry
 */

/**
 * Adds an entry in front. The same statement run again in a row moves up instead of being listed twice.
 * @param {Entry[]} list
 * @param {Entry} entry
 * @returns {Entry[]} a new list within the caps
 */
export function addEntry(list, entry) {
  const next = shorten(entry);
  const same = list[0] && list[0].sql === next.sql && list[0].db === next.db;
  return trim([next, ...(same ? list.slice(1) : list)]);
}

function shorten(entry) {
  if (entry.sql.length <= MAX_SQL) return entry;
  return { ...entry, sql: entry.sql.slice(0, MAX_SQL) + CUT, cut: true };
}

function trim(list) {
  let total = 0;
  const kept = [];
  for (const entry of list) {
    total += entry.sql.length + (entry.error?.length ?? 0);
    if (kept.length >= MAX_ENTRIES || total > MAX_TOTAL) break;
    kept.push(entry);
  }
  return kept;
}

/**
 * Entries whose statement or database contains every word of `query`, in any case.
 * @param {Entry[]} list
 * @param {string} query
 */
export function searchHistory(list, query) {
  const words = query.toLowerCase().split(/\s+/).filter(Boolean);
  if (!words.length) return list;
  return list.filter((entry) => {
    const text = `${entry.sql}\n${entry.db}`.toLowerCase();
    return words.every((word) => text.includes(word));
  });
}

/** Keeps what looks like history from stored JSON, whatever else it holds. @param {unknown} value @returns {Entry[]} */
export function readHistory(value) {
  if (!Array.isArray(value)) return [];
  return trim(value.filter((entry) => entry && typeof entry.sql === 'string' && Number.isFinite(entry.at)).map((entry) => ({
    sql: entry.sql, cut: entry.cut === true, db: String(entry.db ?? ''), at: entry.at, ms: Number(entry.ms) || 0,
    rows: Number.isFinite(entry.rows) ? entry.rows : null, error: typeof entry.error === 'string' ? entry.error : null,
  })));
}
