/**
 * Writes changes: reviews and sends them, and handles those that the server refuses.
 * @module
 */

import { momentsOf } from '../data/values.js';
import { openText } from './words.js';

/** Changes that the server takes at once. */
const MOST = 5000;

/**
 * @typedef {import('./changes.js').Changes} Changes
 * @typedef {object} Job
 * @property {Changes} changes
 * @property {{db: string, table: string, timeZone?: string}} of
 * @property {(id: string) => string} nameOf a row in words
 * @property {typeof import('./review.js').showReview} showReview
 * @property {typeof import('./review.js').showConflict} showConflict
 * @property {() => Promise<string[]>} [follows] what foreign keys do to rows of other tables
 * @property {() => string[]} [transactions] the page's own tabs that have a transaction open
 */

/**
 * @typedef {object} Outcome
 * @property {number} applied how many changes were written
 * @property {string[]} ids of them
 * @property {(any[]|null)[]|null} rows each as read again; null where they are to be loaded
 */

/** A refusal that is to be shown; `id`: the row that it is about. */
export class Refusal extends Error {
  /** @param {string} message @param {string|null} id @param {Outcome|null} outcome what was written all the same */
  constructor(message, id, outcome) {
    super(message);
    this.id = id;
    this.outcome = outcome;
  }
}

/**
 * Reviews and applies; null where that was left. Throws a Refusal.
 * @param {ReturnType<typeof import('../api.js').createApi>} api
 * @param {Job} job
 * @param {{changed: () => void, took: (id: string, row: any[]|null) => void, applying: (queryId: string) => void, refused: (lost: boolean) => void}} on `changed`: a change
 *   went in the review; `took`: a row as it is now takes the place of the one that was read; `refused`: nothing runs any
 *   more; `lost`: it is unknown whether the changes were made
 * @returns {Promise<Outcome|null>}
 */
export async function reviewAndApply(api, { changes, of, nameOf, showReview, showConflict, follows, transactions }, on) {
  for (;;) {
    const { ids, changes: list } = changes.requests();
    if (!ids.length) return null;
    if (ids.length > MOST) throw new Refusal(`${ids.length.toLocaleString('en')} changes are too many at once: the limit is ${MOST.toLocaleString('en')}. Undo some, and make them after the others`, null, null);
    const body = { db: of.db, table: of.table, changes: list, time_zone: of.timeZone };
    let written = false;
    try {
      const [review, following] = await Promise.all([api.edit({ ...body, review: true }), follows?.() ?? []]);
      const choice = await showReview({ ...review, uncompared: changes.hasUncompared, follows: following, open: transactions?.() ?? [] }, of.table);
      if (typeof choice === 'number') {
        changes.revert([ids[choice]]);
        on.changed();
        continue;
      }
      if (choice !== 'apply') return null;
      const query = crypto.randomUUID?.() ?? `edit-${Date.now()}-${Math.random()}`;
      on.applying(query);
      written = true;
      const { rows, moments } = await api.edit({ ...body, query_id: query });
      return { applied: ids.length, ids, rows: rowsOf(rows, moments, changes.columns) };
    } catch (error) {
      on.refused(written && isLost(error));
      if (!await settled(error, ids, written)) return null;
    }
  }

  /** Returns true to continue after a refusal: the review is shown again then. */
  async function settled(error, ids, written) {
    const { kind, change = -1, row = null, moments = {} } = /** @type {any} */ (error.body?.error ?? {});
    const id = ids[change] ?? null;
    const done = Number(error.body?.applied ?? 0);
    const outcome = done > 0 ? { applied: done, ids: ids.slice(0, done), rows: null } : null;
    const known = id === null ? undefined : changes.get(id);
    if (kind !== 'changed' || !known?.base || outcome) throw new Refusal(written && isLost(error) ? lostText(error.message) : kind === 'locked' ? lockedText(error.message, transactions?.() ?? []) : error.message, id, outcome);
    const now = row && asRow(row, moments, changes.columns);
    const choice = await showConflict({ change: known, columns: changes.columns, now, name: nameOf(known.id) });
    if (!choice) throw new Refusal(error.message, id, null);
    if (choice === 'theirs') changes.drop([known.id]);
    else changes.rebase(known.id, now);
    on.took(known.id, now);
    return changes.size > 0;
  }
}

/** True if it is unknown whether the changes were made. */
const isLost = (error) => error.unreachable || error.body?.error?.kind === 'unknown' || [502, 504].includes(error.status) && !error.body?.error;

const lostText = (message) => `${message}. It is unknown whether the changes were made; they are kept here. Reload the rows and check before you apply them again`;

/** It may be the page's own transaction that is in the way. @param {string} message @param {string[]} open */
const lockedText = (message, open) => (open.length ? `${message}. ${openText(open)}` : message);

/** The rows as arrays; null where one is not whole. */
function rowsOf(rows, moments, columns) {
  const whole = rows.every((row) => row === null || columns.every((name) => Object.hasOwn(row, name)));
  return whole ? rows.map((row, i) => row && asRow(row, moments?.[i] ?? {}, columns)) : null;
}

/** A row as it is now; what was left out for its size is undefined. */
function asRow(row, moments, columns) {
  const values = columns.map((name) => (Object.hasOwn(row, name) ? row[name] : undefined));
  momentsOf.set(values, moments);
  return values;
}
