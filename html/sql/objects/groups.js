/**
 * Objects of a database beside its tables, as the groups of the sidebar list them. Loaded when a group is opened.
 * @module
 */

import { askRows, textOf } from '../ask.js';
import { ownGrants, reach } from './privileges.js';

/** @typedef {import('./kinds.js').Named & {hint: string}} Listed `hint`: what stands beside the name */

const QUERIES = {
  routines: (db) => `SELECT ROUTINE_NAME AS name, LOWER(ROUTINE_TYPE) AS kind, CONCAT_WS(' ', LOWER(ROUTINE_TYPE), DTD_IDENTIFIER) AS hint FROM information_schema.ROUTINES WHERE ROUTINE_SCHEMA = ${db} ORDER BY ROUTINE_NAME, ROUTINE_TYPE`,
  triggers: (db) => `SELECT TRIGGER_NAME AS name, 'trigger' AS kind, CONCAT_WS(' ', LOWER(ACTION_TIMING), LOWER(EVENT_MANIPULATION)) AS hint, EVENT_OBJECT_TABLE AS of_table FROM information_schema.TRIGGERS WHERE TRIGGER_SCHEMA = ${db} ORDER BY TRIGGER_NAME`,
  events: (db) => `SELECT EVENT_NAME AS name, 'event' AS kind, LOWER(STATUS) AS hint FROM information_schema.EVENTS WHERE EVENT_SCHEMA = ${db} ORDER BY EVENT_NAME`,
};

/** The privileges by which the server shows what is in a group. */
const SHOWN_BY = {
  routines: ['EXECUTE', 'ALTER ROUTINE', 'CREATE ROUTINE', 'SHOW_ROUTINE', 'SHOW CREATE ROUTINE'],
  triggers: ['TRIGGER'],
  events: ['EVENT'],
};

/**
 * Lists a group.
 * @param {import('./privileges.js').Api} api @param {string} db @param {string} group
 * @returns {Promise<{items: Listed[], missing: string}>} `missing`: what the account may not see of it, empty where it sees all
 */
export async function loadGroup(api, db, group) {
  const [rows, grants] = await Promise.all([askRows(api, { sql: QUERIES[group](textOf(db)), limit: MAX_LISTED }), ownGrants(api)]);
  const items = rows.map(({ name, kind, hint, of_table: on }) => ({ db, name, kind, hint: [hint, on].filter(Boolean).join(' '), on }));
  return { items, missing: missingFrom(grants, group, db) };
}

/** Objects of one group that are listed at most. */
const MAX_LISTED = 20_000;

/** @param {import('./privileges.js').Grant[]} grants @param {string} group @param {string} db */
export function missingFrom(grants, group, db) {
  const names = SHOWN_BY[group];
  if (!grants.length || names.some((name) => reach(grants, name, db) === 'all')) return '';
  return `This account has no ${names[0]} privilege on all of ${db}; the server may hide some.`;
}
