/**
 * The ALGORITHM and LOCK that a change of a table needs, by kind and version of the server. No DOM.
 * @module
 */

import { charsetKeeper, charsetOf, checksChanged, columnsChanged, foreignKeysChanged, indexesChanged, isCharsetChanged, isEngineChanged, isSince, isText, optionsChanged, readType, stayingColumns, valuesOf } from './changes.js';
import { checkText, indexText, optionOf } from './definition.js';

/** @typedef {import('./definition.js').Table} Table */
/** @typedef {import('./definition.js').Column} Column */
/** @typedef {import('./definition.js').Server} Server */
/**
 * @typedef {{algorithm: string, lock: string, blocks: 'nothing'|'writes'|'unknown', says: string}} Locking
 *   `algorithm`, `lock`: empty where none is sent; `blocks`: what others cannot do while it runs
 * @typedef {0|1|2|3|4|5} Need how much a change takes: INSTANT, NOCOPY, INPLACE, the last two with LOCK=SHARED, COPY
 */

const [INSTANT, NOCOPY, INPLACE, NOCOPY_SHARED, INPLACE_SHARED, COPY] = /** @type {Need[]} */ ([0, 1, 2, 3, 4, 5]);

const MOMENT = ' At its start and end it needs the table alone for a moment: it waits for open transactions that used the table, and new statements wait behind it.';
const UNKNOWN = { algorithm: '', lock: '', blocks: /** @type {const} */ ('unknown'), says: 'The server decides: it may copy the table while others can only read it, or wait.' };

const says = { INSTANT: 'the server only changes the description of the table.', NOCOPY: 'the server may build indexes, and does not copy the table.', INPLACE: 'the server may build the table or its indexes anew, which takes time and space on disk.', COPY: 'the server copies every row into a new table.' };

/** @param {string} algorithm @param {string} lock @returns {Locking} */
function choice(algorithm, lock) {
  const shared = lock === 'SHARED';
  return { algorithm, lock, blocks: shared ? 'writes' : 'nothing', says: `${shared ? 'Others can only read until it is done' : 'Others read and write meanwhile'}: ${says[algorithm]}${MOMENT}` };
}

/**
 * Choices of ALGORITHM and LOCK for a change, the least blocking first. A server that cannot do one refuses it with
 * error 1845 or 1846 and changes nothing; the next one is for then.
 * @param {Table} before @param {Table} after @param {Server} server @returns {Locking[]}
 */
export function lockingOf(before, after, server) {
  if (before.temporary) return [{ algorithm: '', lock: '', blocks: 'nothing', says: 'Nobody else uses a temporary table.' }];
  const need = needOf(before, after, server);
  if (need === null) return [{ algorithm: '', lock: '', blocks: 'nothing', says: `Only the name changes.${MOMENT}` }];
  const choices = [...choicesFrom(need, server, isOnline(before, after)), UNKNOWN];
  if (!foreignKeysChanged(before, after).changed.some(({ was, now }) => was.name === now.name)) return choices;
  const second = foreignKeyLocking(server);
  const more = ` A second statement adds the foreign key again${second.blocks === 'writes' ? '; others can only read while it runs' : ''}.`;
  return choices.map((one) => ({ ...one, blocks: one.blocks === 'nothing' ? second.blocks : one.blocks, says: one.says + more }));
}

/** False for changes during whose copy nobody may write. @param {Table} before @param {Table} after */
function isOnline(before, after) {
  const counts = (table) => new Set(table.columns.filter((column) => column.autoIncrement).map((column) => column.was));
  const isVersioned = (table) => table.options.some((option) => option.name === 'WITH SYSTEM VERSIONING');
  const old = counts(before);
  return ![...counts(after)].some((name) => !old.has(name)) && (isVersioned(after) || !isVersioned(before));
}

/** Choices that a server of that version has, from the least blocking that may do. @param {Need} need @param {Server} server @param {boolean} [online] */
export function choicesFrom(need, server, online = true) {
  /** @type {[Need, Locking][]} */
  const all = server.mariadb
    ? [[INSTANT, choice('INSTANT', '')], [NOCOPY, choice('NOCOPY', 'NONE')], [INPLACE, choice('INPLACE', 'NONE')], [NOCOPY_SHARED, choice('NOCOPY', 'SHARED')], [INPLACE_SHARED, choice('INPLACE', 'SHARED')]]
    : [[INSTANT, choice('INSTANT', '')], [INPLACE, choice('INPLACE', 'NONE')], [INPLACE_SHARED, choice('INPLACE', 'SHARED')]];
  if (!server.mariadb && !isSince(server, 8, 0, 12)) all.shift();
  const list = all.filter(([what]) => what >= need).map(([, one]) => one);
  const firstShared = list.findIndex((one) => one.lock === 'SHARED');
  if (online && copiesOnline(server)) list.splice(firstShared < 0 ? list.length : firstShared, 0, choice('COPY', 'NONE'));
  return [...list, choice('COPY', 'SHARED')];
}

/** True where others may write while a table is copied. @param {Server} server */
const copiesOnline = (server) => server.mariadb && isSince(server, 11, 2);

/** ALGORITHM and LOCK for a foreign key that is added alone, in a second statement. @param {Server} server */
export const foreignKeyLocking = (server) => choice('COPY', copiesOnline(server) ? 'NONE' : 'SHARED');

/** The most that a part of the change needs; null where only the name of the table changes. @param {Table} before @param {Table} after @param {Server} server @returns {Need|null} */
function needOf(before, after, server) {
  const options = optionsChanged(before, after);
  // Some servers take any ALGORITHM for these, and copy all the same.
  if (before.partition !== after.partition || isEngineChanged(before, after)) return COPY;
  const needs = [...columnNeeds(before, after, server), ...indexNeeds(before, after, server), ...foreignKeyNeeds(before, after, server), ...checkNeeds(before, after), ...options.map((name) => optionNeed(name, after, server))];
  if (before.others.join() !== after.others.join()) needs.push(COPY);
  if (after.convert && options.some((name) => name === 'DEFAULT CHARSET' || name === 'COLLATE')) needs.push(...before.columns.map((column) => conversionNeed(column, before, after, server)));
  if (!needs.length) return null;
  const need = /** @type {Need} */ (Math.max(...needs));
  if (IN_PLACE_BY_DESCRIPTION.test(engineOf(before))) return need === INSTANT && !needsNewRows(before, after) ? INSTANT : COPY;
  if (need < COPY && needsNewRows(before, after) && before.indexes.some((index) => index.kind === 'fulltext')) return server.mariadb ? INPLACE_SHARED : COPY;
  return need;
}

/** Engines that copy the table for all but its description. */
const IN_PLACE_BY_DESCRIPTION = /^(?:myisam|aria|memory|heap|csv|archive|blackhole|merge|mrg_myisam)$/;

const engineOf = (table) => optionOf(table, 'ENGINE').toLowerCase();

/** True where rows are stored differently. @param {Table} before @param {Table} after */
function needsNewRows(before, after) {
  const { added, dropped, changed } = columnsChanged(before, after);
  return [...added, ...dropped].some((column) => !isVirtual(column)) || changed.some(({ was, now }) => was.nullable !== now.nullable);
}

const isVirtual = (column) => column.generated !== null && !column.generated.stored;

// Columns.

/** @param {Table} before @param {Table} after @param {Server} server @returns {Need[]} */
function columnNeeds(before, after, server) {
  const { added, dropped, changed } = columnsChanged(before, after);
  const staying = stayingColumns(before, after);
  const moved = after.columns.some((column) => column.was !== null && !added.includes(column) && !staying.has(column));
  const keepsCharset = charsetKeeper(before, after);
  // With another character set of the table, both sides are compared as they are written out.
  const isDefault = isCharsetChanged(before, after);
  const whole = changed.map(({ was, now }) => (isDefault ? { was: keepsCharset(was), now: keepsCharset(now, was) } : { was, now }));
  const needs = whole.map(({ was, now }) => changeNeed(was, now, before, after, server));
  // MariaDB writes indexes anew where both the table and a column get another collation.
  if (server.mariadb && isDefault && whole.some(({ was, now }) => was.charset !== now.charset || was.collation !== now.collation)) needs.push(NOCOPY);
  // MySQL moves columns at once only together with others that come or go.
  if (moved) needs.push(server.mariadb || added.length || dropped.length ? INSTANT : INPLACE);
  const lastKept = after.columns.findLastIndex((column) => !added.includes(column));
  for (const column of added) needs.push(addNeed(column, after.columns.indexOf(column) > lastKept, before, server));
  if (dropped.length) needs.push(server.mariadb || isSince(server, 8, 0, 29) ? INSTANT : INPLACE);
  const gone = new Set(dropped.map((column) => column.name));
  if (before.indexes.some((index) => index.parts.some((part) => gone.has(part.column ?? '')) && after.indexes.some((one) => one.was === index.name))) needs.push(INPLACE);
  const hasGenerated = before.columns.some((column) => column.generated);
  if (server.mariadb && added.some((column) => !isVirtual(column)) && (added.some(isVirtual) || (hasGenerated && dropped.length))) needs.push(COPY);
  if (optionOf(before, 'ROW_FORMAT').toUpperCase() === 'COMPRESSED' && needsNewRows(before, after)) needs.push(INPLACE);
  return needs;
}

/** @param {Column} column @param {boolean} isLast @param {Table} before @param {Server} server @returns {Need} */
function addNeed(column, isLast, before, server) {
  if (column.generated) return column.generated.stored || !isLast ? COPY : INSTANT;
  if (column.autoIncrement) return INPLACE_SHARED;
  // Of a function, each row gets a value of its own.
  if (column.default.kind === 'expression' && (!server.mariadb || /[(`]/.test(column.default.value))) return COPY;
  if (server.mariadb) {
    return isLast || !before.columns.some((one) => one.generated) ? INSTANT : COPY;
  }
  return isSince(server, 8, 0, 29) || (isLast && isSince(server, 8, 0, 12)) ? INSTANT : INPLACE;
}

/** @param {Column} was @param {Column} now @param {Table} before @param {Table} after @param {Server} server @returns {Need} */
function changeNeed(was, now, before, after, server) {
  const isIndexed = before.indexes.some((index) => index.parts.some((part) => part.column === was.name));
  /** @type {Need[]} */
  const needs = [INSTANT];
  if (was.name !== now.name && !server.mariadb && !isSince(server, 8, 0, 28)) needs.push(INPLACE);
  if (was.generated?.expression !== now.generated?.expression || was.generated?.stored !== now.generated?.stored) {
    needs.push(server.mariadb && isVirtual(was) && isVirtual(now) && !isIndexed ? INSTANT : COPY);
  }
  if (was.type !== now.type) needs.push(typeNeed(was.type, now.type, BYTES[charsetOf(was, before)] ?? 1, server));
  if (was.nullable !== now.nullable) needs.push(INPLACE);
  if (was.charset !== now.charset || was.collation !== now.collation) needs.push(charsetNeed(was, now, before, after, isIndexed, server));
  if (now.autoIncrement && !was.autoIncrement) needs.push(COPY);
  if (was.autoIncrement && !now.autoIncrement && !server.mariadb) needs.push(COPY);
  return /** @type {Need} */ (Math.max(...needs));
}

/** @param {Column} was @param {Column} now @param {Table} before @param {Table} after @param {boolean} isIndexed @param {Server} server @returns {Need} */
function charsetNeed(was, now, before, after, isIndexed, server) {
  const [from, to] = [charsetOf(was, before), charsetOf(now, after)];
  const { word, inner } = readType(now.type);
  if (from === to && was.collation === now.collation) return isIndexed && !server.mariadb ? INPLACE : INSTANT;
  if (word === 'enum' || word === 'set') return server.mariadb ? COPY : INSTANT;
  if (from !== to && (from !== 'utf8mb3' || to !== 'utf8mb4')) return COPY;
  // The length of a longer text is kept in two bytes.
  if (from !== to && word === 'varchar' && Number(inner) * 3 <= 255 && Number(inner) * 4 > 255) return COPY;
  if (!server.mariadb) return isIndexed ? COPY : INPLACE;
  if (isIndexed && word.endsWith('text')) return COPY;
  const order = ({ collation }) => collation.replace(/^utf8(?:mb[34])?_/, '');
  return isIndexed && order(was) !== order(now) && (from === to || (order(was) && order(now))) ? NOCOPY : INSTANT;
}

/** @param {Column} column @param {Table} before @param {Table} after @param {Server} server @returns {Need} */
function conversionNeed(column, before, after, server) {
  if (!isText(column.type)) return INSTANT;
  const [charset, collation] = ['DEFAULT CHARSET', 'COLLATE'].map((name) => optionOf(after, name));
  const was = { ...column, charset: charsetOf(column, before), collation: column.collation || optionOf(before, 'COLLATE') };
  const { word } = readType(column.type);
  // A shorter type is replaced by a longer one, so that each text fits.
  if (/^(?:tiny|medium)?text$/.test(word) && (BYTES[charset.toLowerCase()] ?? 1) > (BYTES[was.charset] ?? 1)) return COPY;
  const need = changeNeed(was, { ...column, charset, collation }, before, after, server);
  return need === INPLACE && /^char$|text$/.test(word) ? INPLACE_SHARED : need;
}

const INTEGERS = ['tinyint', 'smallint', 'mediumint', 'int', 'bigint'];
const SYSTEM_ID = /\s+(?:REF_SYSTEM_ID\s*=\s*\d+|\/\*[^*]*\*\/)\s*$/i;

/** Most bytes that a sign takes, where it is not one. */
export const BYTES = { utf8mb4: 4, utf8mb3: 3, utf8: 3, utf16: 4, utf16le: 4, utf32: 4, ucs2: 2, gb18030: 4, big5: 2, gbk: 2, gb2312: 2, sjis: 2, cp932: 2, euckr: 2, ujis: 3, eucjpms: 3 };

/** @param {string} from @param {string} to @param {number} width bytes of a sign @param {Server} server @returns {Need} */
function typeNeed(from, to, width, server) {
  if (/COMPRESSED/.test(from) !== /COMPRESSED/.test(to)) return COPY;
  const [was, now] = [readType(from), readType(to)];
  if (was.word !== now.word || was.unsigned !== now.unsigned) return COPY;
  // REF_SYSTEM_ID is only told.
  if (from.replace(SYSTEM_ID, '') === to.replace(SYSTEM_ID, '')) return INSTANT;
  // Their number of digits is only shown.
  if (INTEGERS.includes(was.word)) return INSTANT;
  if (was.word === 'enum' || was.word === 'set') {
    const [old, values] = [valuesOf(was.inner), valuesOf(now.inner)];
    const bytes = (list) => (was.word === 'enum' ? (list.length > 255 ? 2 : 1) : Math.min(8, 2 ** Math.ceil(Math.log2(Math.ceil(list.length / 8) || 1))));
    return old.every((value, i) => value === values[i]) && bytes(old) === bytes(values) ? INSTANT : COPY;
  }
  if (was.word === 'varchar' || was.word === 'varbinary') {
    const [old, length] = [Number(was.inner), Number(now.inner)];
    if (length < old) return COPY;
    // The length is kept in one byte or in two. MariaDB finds out which of short ones.
    const bytes = was.word === 'varbinary' ? 1 : width;
    const grows = old * bytes <= 255 && length * bytes > 255;
    if (grows && (!server.mariadb || old * bytes >= 128)) return COPY;
    return server.mariadb ? INSTANT : INPLACE;
  }
  return COPY;
}

// Indexes, foreign keys, checks and options.

/** @param {Table} before @param {Table} after @param {Server} server @returns {Need[]} */
function indexNeeds(before, after, server) {
  const { added, dropped, changed } = indexesChanged(before, after, server);
  const virtual = new Set(after.columns.filter(isVirtual).map((column) => column.name));
  const newColumns = columnsChanged(before, after).added.filter((column) => !isVirtual(column)).length > 0;
  const plain = server.mariadb ? NOCOPY : INPLACE;
  const needs = dropped.map((index) => (index.kind === 'primary' && !added.some((one) => one.kind === 'primary') ? COPY : plain));
  const build = (index) => {
    if (index.kind === 'primary') return INPLACE;
    if (index.kind === 'fulltext') return server.mariadb && before.indexes.some((one) => one.kind === 'fulltext') ? NOCOPY_SHARED : INPLACE_SHARED;
    if (index.kind === 'spatial') return server.mariadb ? NOCOPY_SHARED : INPLACE_SHARED;
    if (index.kind === 'vector') return COPY;
    if (index.parts.some((part) => part.expression !== null)) return INPLACE_SHARED;
    return newColumns && !index.parts.every((part) => virtual.has(part.column ?? '')) ? INPLACE : plain;
  };
  needs.push(...added.map(build));
  for (const { was, now } of changed) {
    const isState = was.kind !== 'primary' && indexText({ ...was, name: now.name, invisible: now.invisible, comment: now.comment }, server) === indexText(now, server);
    needs.push(isState ? (server.mariadb ? INSTANT : INPLACE) : build(now));
  }
  return needs;
}

/** @param {Table} before @param {Table} after @param {Server} server @returns {Need[]} */
function foreignKeyNeeds(before, after, server) {
  const { added, dropped, changed } = foreignKeysChanged(before, after);
  const names = new Set(before.foreignKeys.map((key) => key.name));
  const now = [...added, ...changed.map((pair) => pair.now)].filter((key) => !names.has(key.name));
  return [...now.map(() => COPY), ...[...dropped, ...changed].map(() => (server.mariadb ? INSTANT : INPLACE))];
}

/** @param {Table} before @param {Table} after @returns {Need[]} */
function checkNeeds(before, after) {
  const { added, dropped, changed } = checksChanged(before, after);
  const loosened = ({ was, now }) => !now.enforced && checkText({ ...was, enforced: false }) === checkText(now);
  return [...added.map((check) => (check.enforced ? COPY : INSTANT)), ...dropped.map(() => INSTANT), ...changed.map((pair) => (loosened(pair) ? INSTANT : COPY))];
}

/** @param {string} name @param {Table} after @param {Server} server @returns {Need} */
function optionNeed(name, after, server) {
  if (name === 'WITH SYSTEM VERSIONING') return after.options.some((option) => option.name === name) ? COPY : INPLACE_SHARED;
  if (/^(?:ROW_FORMAT|KEY_BLOCK_SIZE|ENGINE|TABLESPACE|ENCRYPTION)$/.test(name)) return INPLACE;
  return server.mariadb ? INSTANT : INPLACE;
}
