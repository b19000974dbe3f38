/**
 * The ALTER statements from a table as it is to how it should be. No DOM.
 * @module
 */

import { charsetKeeper, checksChanged, columnsChanged, foreignKeysChanged, indexesChanged, isEngineChanged, isSince, optionsChanged, stayingColumns, withRenames, columnRenames } from './changes.js';
import { checkText, columnText, foreignKeyText, forSession, indexText, optionOf, optionText, quoted } from './definition.js';
import { foreignKeyLocking } from './locking.js';

export { faultOf } from './faults.js';
export { lockingOf } from './locking.js';
export { prepare, risks } from './risks.js';

/** @typedef {import('./definition.js').Table} Table */
/** @typedef {import('./definition.js').Column} Column */
/** @typedef {import('./definition.js').Index} Index */
/** @typedef {import('./definition.js').Server} Server */
/** @typedef {Server & {algorithm?: string, lock?: string}} Wanted */

/** Name of a table as a statement has it. @param {{db: string, name: string}} table */
export const tableName = ({ db, name }) => `${db ? `${quoted(db)}.` : ''}${quoted(name)}`;

/**
 * The statements that change a table, in order.
 * @param {Table} before as parsed @param {Table} after @param {Wanted} server `algorithm`, `lock`: what to send, if anything
 * @returns {string[]}
 */
export function alterTable(before, after, server) {
  const { clauses, sooner, later, partition } = clausesOf(before, after, server);
  const isRenamed = tableName(before) !== tableName(after);
  if (!clauses.length && !later.length && !partition) return isRenamed ? [`RENAME TABLE ${tableName(before)} TO ${tableName(after)}`] : [];
  if (isRenamed) clauses.push(`RENAME TO ${tableName(after)}`);
  const statement = (/** @type {Table} */ of, /** @type {string[]} */ list, /** @type {{algorithm?: string, lock?: string}} */ { algorithm, lock }, end = '') => {
    const tail = [algorithm && `ALGORITHM=${algorithm}`, lock && `LOCK=${lock}`].filter(Boolean);
    const text = `ALTER TABLE ${tableName(of)}${[...list, ...tail].map((one) => `\n  ${one}`).join(',')}${end && `\n${end}`}`;
    // Without it, the server changes no table that keeps its history.
    return forSession(isVersioned(before) && isVersioned(after) ? `SET STATEMENT system_versioning_alter_history = KEEP FOR ${text}` : text, server);
  };
  const statements = [...server.first ?? [], ...(sooner.length ? [statement(before, sooner, {})] : []), ...(clauses.length || partition ? [statement(before, clauses, server, partition)] : [])];
  if (!later.length) return statements;
  // A foreign key of the same name can only be added when the old one is gone; rows are checked then, by a copy.
  const wanted = server.algorithm && server.algorithm !== 'COPY' ? foreignKeyLocking(server) : server;
  return [...statements, statement(after, later, wanted)];
}

/** True for a table that keeps its history (MariaDB). @param {Table} table */
const isVersioned = (table) => table.options.some((option) => option.name === 'WITH SYSTEM VERSIONING');

/** @param {Table} before @param {Table} after @param {Server} server @returns {{clauses: string[], sooner: string[], later: string[], partition: string}} `sooner`, `later`: of statements before and behind */
function clausesOf(before, after, server) {
  const drops = [];
  const adds = [];
  const keys = [];
  const later = foreignKeyClauses(before, after, drops, keys);
  // No server gives a table with foreign keys another engine.
  const sooner = isEngineChanged(before, after) ? drops.splice(0) : [];
  indexClauses(before, after, server, drops, adds);
  adds.push(...keys);
  checkClauses(before, after, server, drops, adds);
  for (const period of before.others) if (!after.others.includes(period)) drops.push(`DROP ${/^PERIOD FOR (?:`(?:[^`]|``)*`|\S+)/i.exec(period)?.[0] ?? period}`);
  for (const period of after.others) if (!before.others.includes(period)) adds.push(`ADD ${period}`);
  const clauses = [...drops, ...columnClauses(before, after, server), ...adds, ...optionClauses(before, after)];
  const partition = before.partition === after.partition ? '' : after.partition || 'REMOVE PARTITIONING';
  return { clauses, sooner, later, partition };
}

// Columns.

/** Types of bytes. */
const BYTES = /^(?:(?:var)?binary|(?:tiny|medium|long)?blob|bit)\b/i;

/**
 * Refuses to write a column anew whose default was not read whole: MariaDB shows bytes that are no text as “?”.
 * @param {Column} was @param {Column} now
 */
function assertReadable(was, now) {
  const { kind, value } = was.default;
  const isBroken = kind === 'text' && (value.includes('\uFFFD') || (BYTES.test(was.type) && /[?\x80-\uFFFF]/.test(value)));
  if (isBroken && now.default.kind === 'text' && now.default.value === value) {
    throw new Error(`${was.name}: the server does not show its default whole (bytes that are no text look like “?”), and this change would replace it. Enter the default again as bytes, such as x'00ff27'.`);
  }
}

/** @param {Table} before @param {Table} after @param {Server} server @returns {string[]} */
function columnClauses(before, after, server) {
  const old = new Map(before.columns.map((column) => [column.name, column]));
  const previous = (column) => (column.was === null ? undefined : old.get(column.was));
  const { dropped } = columnsChanged(before, after);
  const clauses = dropped.map((column) => `DROP COLUMN ${quoted(column.name)}`);
  const staying = stayingColumns(before, after);
  const keepsCharset = charsetKeeper(before, after);
  let appended = after.columns.length;
  while (appended > 0 && !previous(after.columns[appended - 1])) appended -= 1;
  after.columns.forEach((column, i) => {
    const was = previous(column);
    const place = staying.has(column) || i >= appended ? '' : i === 0 ? ' FIRST' : ` AFTER ${quoted(after.columns[i - 1].name)}`;
    const kept = keepsCharset(column, was);
    const text = columnText(kept);
    const isRenamed = was && !place && columnText({ ...was, name: column.name }) === columnText(column) && isSince(server, ...server.mariadb ? [10, 5, 2] : [8, 0, 3]);
    if (was && !isRenamed && (place || columnText(was) !== columnText(column))) assertReadable(was, column);
    if (!was) clauses.push(`ADD COLUMN ${columnText(column)}${place}`);
    else if (columnText(was) === columnText(column)) {
      if (place) clauses.push(`MODIFY COLUMN ${kept.charset === column.charset ? was.text ?? text : text}${place}`);
    } else if (was.name === column.name) clauses.push(`MODIFY COLUMN ${text}${place}`);
    else if (isRenamed) {
      clauses.push(`RENAME COLUMN ${quoted(was.name)} TO ${quoted(column.name)}`);
    } else clauses.push(`CHANGE COLUMN ${quoted(was.name)} ${text}${place}`);
  });
  return clauses;
}

// Indexes, foreign keys and checks.

/** @param {Table} before @param {Table} after @param {Server} server @param {string[]} drops @param {string[]} adds */
function indexClauses(before, after, server, drops, adds) {
  const { added, dropped, changed } = indexesChanged(before, after, server);
  const renames = columnRenames(before, after);
  const drop = (index) => drops.push(index.kind === 'primary' ? 'DROP PRIMARY KEY' : `DROP INDEX ${quoted(index.name)}`);
  dropped.forEach(drop);
  for (const { was, now } of changed) {
    const same = sameIndex(withRenames(was, renames), withRenames(now, renames), server);
    if (same) adds.push(...same);
    else {
      drop(was);
      adds.push(`ADD ${indexText(now, server)}`);
    }
  }
  adds.push(...added.map((index) => `ADD ${indexText(index, server)}`));
}

/** Clauses that change an index in place; null if it has to be built anew. @param {Index} was @param {Index} now @param {Server} server */
function sameIndex(was, now, server) {
  if (was.kind === 'primary') return null;
  if (indexText({ ...was, name: now.name, invisible: now.invisible }, server) !== indexText(now, server)) return null;
  const clauses = [];
  if (was.name !== now.name) {
    if (server.mariadb && !isSince(server, 10, 5, 2)) return null;
    clauses.push(`RENAME INDEX ${quoted(was.name)} TO ${quoted(now.name)}`);
  }
  if (was.invisible !== now.invisible) {
    // Neither server finds an index by a name that the same statement gives it.
    const state = server.mariadb ? ['NOT IGNORED', 'IGNORED'] : ['VISIBLE', 'INVISIBLE'];
    if (clauses.length) return null;
    clauses.push(`ALTER INDEX ${quoted(now.name)} ${state[Number(now.invisible)]}`);
  }
  // Without a difference, it is one of a column that another one replaces.
  return clauses.length ? clauses : null;
}

/** @param {Table} before @param {Table} after @param {string[]} drops @param {string[]} adds @returns {string[]} clauses of a second statement */
function foreignKeyClauses(before, after, drops, adds) {
  const { added, dropped, changed } = foreignKeysChanged(before, after);
  for (const key of [...dropped, ...changed.map(({ was }) => was)]) drops.push(`DROP FOREIGN KEY ${quoted(key.name)}`);
  const names = new Set(before.foreignKeys.map((key) => key.name));
  const later = [];
  for (const key of [...changed.map(({ now }) => now), ...added]) (names.has(key.name) ? later : adds).push(`ADD ${foreignKeyText(key)}`);
  return later;
}

/** @param {Table} before @param {Table} after @param {Server} server @param {string[]} drops @param {string[]} adds */
function checkClauses(before, after, server, drops, adds) {
  const { added, dropped, changed } = checksChanged(before, after);
  const drop = (check) => drops.push(`DROP ${server.mariadb ? 'CONSTRAINT' : 'CHECK'} ${quoted(check.name)}`);
  dropped.forEach(drop);
  for (const { was, now } of changed) {
    if (checkText({ ...now, enforced: was.enforced }) === checkText(was)) adds.push(`ALTER CHECK ${quoted(was.name)} ${now.enforced ? '' : 'NOT '}ENFORCED`);
    else {
      drop(was);
      adds.push(`ADD ${checkText(now)}`);
    }
  }
  adds.push(...added.map((check) => `ADD ${checkText(check)}`));
}

// Options.

/** Clauses that take an option away, where that is not `DEFAULT`. */
const WITHOUT = { COMMENT: "COMMENT=''", CONNECTION: "CONNECTION=''", COMPRESSION: "COMPRESSION=''", ENCRYPTION: "ENCRYPTION='N'", 'WITH SYSTEM VERSIONING': 'DROP SYSTEM VERSIONING', UNION: 'UNION=()' };
const ZERO = new Set(['MIN_ROWS', 'MAX_ROWS', 'AVG_ROW_LENGTH', 'KEY_BLOCK_SIZE', 'CHECKSUM', 'DELAY_KEY_WRITE', 'AUTOEXTEND_SIZE']);
/** Options that the server never takes back by itself. */
const LASTING = new Set(['AUTO_INCREMENT', 'ENGINE', 'TABLESPACE', 'DATA DIRECTORY', 'INDEX DIRECTORY']);

/** @param {Table} before @param {Table} after @returns {string[]} */
function optionClauses(before, after) {
  const clauses = [];
  const changed = optionsChanged(before, after);
  for (const name of changed) {
    const option = after.options.find((one) => one.name === name);
    if (name === 'DEFAULT CHARSET' || name === 'COLLATE') continue;
    if (!option && LASTING.has(name)) continue;
    if (!option) clauses.push(WITHOUT[name] ?? `${name}=${ZERO.has(name) ? 0 : 'DEFAULT'}`);
    else if (name === 'WITH SYSTEM VERSIONING') clauses.push('ADD SYSTEM VERSIONING');
    else clauses.push(optionText({ ...option, text: '' }));
  }
  if (changed.includes('DEFAULT CHARSET') || changed.includes('COLLATE')) {
    const [charset, collation] = ['DEFAULT CHARSET', 'COLLATE'].map((name) => optionOf(after, name));
    clauses.push([charset && `${after.convert ? 'CONVERT TO' : 'DEFAULT'} CHARACTER SET ${charset}`, collation && `COLLATE ${collation}`].filter(Boolean).join(' '));
  }
  return clauses.filter(Boolean);
}
