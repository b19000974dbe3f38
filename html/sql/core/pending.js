/**
 * Changes of rows that are not applied yet, as the browser keeps them while the page is loaded again. No DOM.
 * @module
 */

/**
 * @typedef {{op: 'update'|'delete'|'insert', base: any[]|null, moments?: Record<string, any>, set: [string, any][]}} PendingChange
 * @typedef {{db: string, table: string, columns: string[], key: string[], changes: PendingChange[], left: number, uncertain: boolean, server?: string}} PendingTable
 *   `left`: changes that are too large to be kept; `uncertain`: they were sent, and it is unknown whether they were made; `server`: its instance
 * @typedef {{tab: string, db: string, table: string, tables: PendingTable[], isWhole?: boolean}} Pending the changes of a data tab: the id of its
 *   query tab and the table that it shows; `isWhole`: false while more is being typed or written
 */

/** Characters that are kept for one window. */
export const MOST_PENDING = 1_000_000;

/** @param {number} count */
export const countText = (count) => `${count.toLocaleString('en')} ${count === 1 ? 'change' : 'changes'}`;

/** Describes changes: `3 changes in items, 1 change in orders`. @param {PendingTable[]} tables */
export const pendingText = (tables) => tables.map(({ table, changes }) => `${countText(changes.length)} in ${table}`).join(', ');

/** Stored changes that are well-formed. @param {any} value @returns {Pending[]} */
export function readPending(value) {
  if (!Array.isArray(value)) return [];
  const known = value.filter((one) => isPlace(one) && Array.isArray(one.tables)).map((one) => ({ ...one, tab: String(one.tab), tables: one.tables.filter(isTable) }));
  return known.filter(({ tables }) => tables.length);
}

const isPlace = (one) => typeof one?.db === 'string' && typeof one.table === 'string';

const isTexts = (list) => Array.isArray(list) && list.every((one) => typeof one === 'string');

const isTable = (one) => isPlace(one) && isTexts(one.columns) && isTexts(one.key) && Array.isArray(one.changes) && one.changes.every((change) => isChange(change, one.columns.length));

const isChange = (one, width) => ['update', 'delete', 'insert'].includes(one?.op) && Array.isArray(one.set) && one.set.every((pair) => Array.isArray(pair) && typeof pair[0] === 'string')
  && (one.op === 'insert' ? one.base === null : Array.isArray(one.base) && one.base.length === width);
