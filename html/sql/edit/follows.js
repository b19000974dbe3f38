/**
 * Effects of foreign keys on rows of other tables when rows are deleted or their keys are changed.
 * @module
 */

import { ask } from '../ask.js';
import { literal, quoteName, quoteText } from '../data/values.js';

/** Rows whose followers are counted; of more, tables and rules are named. */
const MOST_ROWS = 500;

/** Followers that are counted at most. */
const MOST = 10_000;

/** Time the review waits for this list, in ms. */
const WAIT_MS = 5000;

/** Rules that change rows. */
const RULES = ['CASCADE', 'SET NULL', 'SET DEFAULT'];

/**
 * @typedef {{db: string, table: string, name: string, columns: string[], refColumns: string[], onDelete: string, onUpdate: string}} Rule
 * @typedef {{db: string, table: string, columns: {name: string, type: string}[]}} Parent
 */

/**
 * Effects of changes, a sentence for each key and rule.
 * @param {ReturnType<typeof import('../api.js').createApi>} api
 * @param {Parent} parent
 * @param {import('./changes.js').Change[]} changes
 * @returns {Promise<string[]>}
 */
export async function followsOf(api, parent, changes) {
  if (!changes.some(({ op }) => op !== 'insert')) return [];
  const signal = AbortSignal.timeout(WAIT_MS);
  try {
    const rules = await rulesOn(api, parent, signal);
    const found = await Promise.all(rules.flatMap((rule) => [followsOne(api, parent, rule, changes, 'delete', signal), followsOne(api, parent, rule, changes, 'update', signal)]));
    return found.filter(Boolean);
  } catch (cause) {
    return [`Could not check whether foreign keys change rows of other tables: ${signal.aborted ? 'the server took too long' : cause.message}`];
  }
}

/** The rules of keys that refer to a table and change the rows that do. @param {AbortSignal} signal @returns {Promise<Rule[]>} */
async function rulesOn(api, { db, table }, signal) {
  const sql = 'SELECT k.TABLE_SCHEMA, k.TABLE_NAME, k.CONSTRAINT_NAME, r.DELETE_RULE, r.UPDATE_RULE, k.COLUMN_NAME, k.REFERENCED_COLUMN_NAME\n'
    + 'FROM information_schema.KEY_COLUMN_USAGE k JOIN information_schema.REFERENTIAL_CONSTRAINTS r\n'
    + 'ON r.CONSTRAINT_SCHEMA = k.CONSTRAINT_SCHEMA AND r.CONSTRAINT_NAME = k.CONSTRAINT_NAME AND r.TABLE_NAME = k.TABLE_NAME\n'
    + `WHERE k.REFERENCED_TABLE_SCHEMA = ${quoteText(db)} AND k.REFERENCED_TABLE_NAME = ${quoteText(table)}\n`
    + 'ORDER BY k.TABLE_SCHEMA, k.TABLE_NAME, k.CONSTRAINT_NAME, k.ORDINAL_POSITION';
  const { rows } = await ask(api, { sql, db, signal });
  /** @type {Map<string, Rule>} */
  const rules = new Map();
  for (const [schema, of, name, onDelete, onUpdate, column, referenced] of rows.map((row) => row.map(String))) {
    const id = JSON.stringify([schema, of, name]);
    const rule = rules.get(id) ?? { db: schema, table: of, name, columns: [], refColumns: [], onDelete, onUpdate };
    rule.columns.push(column);
    rule.refColumns.push(referenced);
    rules.set(id, rule);
  }
  return [...rules.values()];
}

async function followsOne(api, parent, rule, changes, op, signal) {
  const action = op === 'delete' ? rule.onDelete : rule.onUpdate;
  if (!RULES.includes(action)) return '';
  const rows = touched(parent, rule, changes, op);
  if (!rows.length) return '';
  const count = rows.length > MOST_ROWS ? null : await countOf(api, parent, rule, rows, signal).catch(() => null);
  return count === 0 ? '' : sentence(parent, rule, op, action, count);
}

/** The values that other tables refer to of the rows that are deleted, or where these values are changed. */
function touched({ columns }, { refColumns }, changes, op) {
  const places = refColumns.map((name) => columns.findIndex((column) => column.name.toLowerCase() === name.toLowerCase()));
  const isMeant = (change) => change.op === op && (op === 'delete' || places.some((place) => place >= 0 && change.set.has(columns[place].name)));
  return changes.filter((change) => change.base && isMeant(change)).map(({ base }) => places.map((place) => base?.[place] ?? null)).filter((values) => !values.includes(null));
}

async function countOf(api, { columns }, rule, rows, signal) {
  const typeOf = (name) => columns.find((column) => column.name.toLowerCase() === name.toLowerCase())?.type ?? '';
  const literals = (values) => values.map((value, i) => literal(value, typeOf(rule.refColumns[i]))).join(', ');
  const names = rule.columns.map(quoteName).join(', ');
  const list = rows.map((values) => `(${literals(values)})`).join(', ');
  const sql = `SELECT COUNT(*) FROM (SELECT 1 FROM ${quoteName(rule.db)}.${quoteName(rule.table)} WHERE (${names}) IN (${list}) LIMIT ${MOST + 1}) AS found`;
  const found = await ask(api, { sql, db: rule.db, signal });
  return Number(found.rows[0]?.[0]);
}

/** Describes the effect; `count` is null if nobody counted. */
function sentence(parent, { db, table, name, columns }, op, action, count) {
  const of = db === parent.db ? table : `${db}.${table}`;
  const known = count === null ? 'rows' : `${count > MOST ? `more than ${MOST.toLocaleString('en')}` : count.toLocaleString('en')} ${count === 1 ? 'row' : 'rows'}`;
  const set = columns.join(', ');
  const does = action === 'SET NULL' ? `Sets ${set} to NULL in ${known} of ${of}` : action === 'SET DEFAULT' ? `Sets ${set} to its default in ${known} of ${of}`
    : op === 'delete' ? `Also deletes ${known} of ${of}, and rows their own keys lead to` : `Also changes ${set} in ${known} of ${of}`;
  return `${does} (${name}: ON ${op.toUpperCase()} ${action})`;
}
