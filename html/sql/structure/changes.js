/**
 * Differences of two tables, as they count for what a change loses and locks. No DOM.
 * @module
 */

import { checkText, columnText, foreignKeyText, indexText, optionOf } from './definition.js';

/** @typedef {import('./definition.js').Table} Table */
/** @typedef {import('./definition.js').Column} Column */
/** @typedef {import('./definition.js').Index} Index */
/** @typedef {import('./definition.js').ForeignKey} ForeignKey */
/** @typedef {import('./definition.js').Check} Check */
/** @typedef {import('./definition.js').Server} Server */

/** True for a version of at least these numbers; an unknown one is new. @param {Partial<Server>} server @param {...number} least */
export function isSince(server, ...least) {
  const numbers = /^(?:5\.5\.5-)?(\d+)\.(\d+)(?:\.(\d+))?/.exec(server.version ?? '')?.slice(1).map(Number);
  if (!numbers) return true;
  for (const [i, wanted] of least.entries()) {
    if ((numbers[i] || 0) !== wanted) return (numbers[i] || 0) > wanted;
  }
  return true;
}

/**
 * Parts that are new, gone, and changed.
 * @template {{was: string|null, name: string}} P
 * @param {P[]} before @param {P[]} after @param {(was: P, now: P) => boolean} isSame
 * @returns {{added: P[], dropped: P[], changed: {was: P, now: P}[]}}
 */
export function partsChanged(before, after, isSame) {
  const old = new Map(before.map((part) => [part.name, part]));
  const pairs = after.map((now) => ({ was: now.was === null ? undefined : old.get(now.was), now }));
  const kept = new Set(pairs.map(({ was }) => was));
  return {
    added: pairs.filter(({ was }) => !was).map(({ now }) => now),
    dropped: before.filter((part) => !kept.has(part)),
    changed: pairs.flatMap(({ was, now }) => (was && !isSame(was, now) ? [{ was, now }] : [])),
  };
}

/** New names of kept columns by their old ones. @param {Table} before @param {Table} after @returns {Map<string, string>} */
export function columnRenames(before, after) {
  const names = new Set(before.columns.map((column) => column.name));
  return new Map(after.columns.flatMap(({ was, name }) => (was !== null && was !== name && names.has(was) ? [[was, name]] : [])));
}

/** An index with the new names of columns. @template {Index} I @param {I} index @param {Map<string, string>} renames @returns {I} */
export function withRenames(index, renames) {
  if (renames.size === 0) return index;
  return { ...index, parts: index.parts.map((part) => ({ ...part, column: part.column === null ? null : renames.get(part.column) ?? part.column })) };
}

/** Names of columns that are dropped while a new one takes the name: what uses it has to be made again. @param {Table} before @param {Table} after */
function replacedColumns(before, after) {
  const { added, dropped } = columnsChanged(before, after);
  const names = new Set(added.map((column) => column.name));
  return new Set(dropped.map((column) => column.name).filter((name) => names.has(name)));
}

/** @param {Table} before @param {Table} after @param {Partial<Server>} server */
export function indexesChanged(before, after, server) {
  const renames = columnRenames(before, after);
  const replaced = replacedColumns(before, after);
  const text = (index) => indexText(withRenames(index, renames), server);
  return partsChanged(before.indexes, after.indexes, (was, now) => text(was) === text(now) && !was.parts.some((part) => replaced.has(part.column ?? '')));
}

/** @param {Table} before @param {Table} after */
export function foreignKeysChanged(before, after) {
  const renames = columnRenames(before, after);
  const replaced = replacedColumns(before, after);
  const text = (key) => foreignKeyText({ ...key, columns: key.columns.map((column) => renames.get(column) ?? column), refDb: key.refDb === before.db ? '' : key.refDb });
  return partsChanged(before.foreignKeys, after.foreignKeys, (was, now) => text(was) === text(now) && !was.columns.some((column) => replaced.has(column)));
}

/** @param {Table} before @param {Table} after */
export const checksChanged = (before, after) => partsChanged(before.checks, after.checks, (was, now) => checkText(was) === checkText(now));

/** @param {Table} before @param {Table} after */
export const columnsChanged = (before, after) => partsChanged(before.columns, after.columns, (was, now) => columnText(was) === columnText(now));

/** @param {string} type */
export const isText = (type) => /^(?:(?:var)?char|(?:tiny|medium|long)?text|enum|set)\b/i.test(type);

/** Character set of a column of text: its own, that of its collation, or that of the table. @param {{charset: string, collation: string}} column @param {Table} table */
export const charsetOf = ({ charset, collation }, table) => (charset || (/^(?:[a-z0-9]+(?=_)|binary$)/i.exec(collation.replace(/^uca1400_.*/i, ''))?.[0] ?? optionOf(table, 'DEFAULT CHARSET'))).toLowerCase().replace(/^utf8$/, 'utf8mb3');

/** True where new columns of a table get another character set or collation. @param {Table} before @param {Table} after */
export const isCharsetChanged = (before, after) => ['DEFAULT CHARSET', 'COLLATE'].some((name) => optionOf(before, name) !== optionOf(after, name));

/**
 * The columns of a table with what they take from the table's character set written out, where that changes: a
 * column that is written anew for another reason keeps its own.
 * @param {Table} before @param {Table} after @returns {(column: Column, was?: Column) => Column} `was`: as it was read
 */
export function charsetKeeper(before, after) {
  const [charset, collation] = ['DEFAULT CHARSET', 'COLLATE'].map((name) => optionOf(before, name));
  const changes = isCharsetChanged(before, after);
  return (column, was = column) => {
    if (!isText(column.type) || column.charset || after.convert) return column;
    if (charset && charsetOf(column, before) !== charsetOf({ charset, collation }, before)) return column;
    // MySQL marks a collation that is written as chosen for the column, and shows the column differently from then on.
    if (!changes) return collation && column.collation === collation ? { ...column, collation: '' } : column;
    // A column whose own was taken away takes that of the table.
    if (!column.collation && (was.charset || was.collation)) return column;
    return { ...column, charset, collation: column.collation || collation };
  };
}

/**
 * The kept columns that need not move: the longest run of them in their old order. Of several, the one without the
 * columns that the user moved.
 * @param {Table} before @param {Table} after
 */
export function stayingColumns(before, after) {
  const place = new Map(before.columns.map((column, i) => [column.name, i]));
  const kept = after.columns.filter((column) => column.was !== null && place.has(column.was));
  const places = kept.map((column) => place.get(column.was ?? '') ?? 0);
  // The number of columns counts first.
  const weights = kept.map((column) => kept.length + 1 - Number(after.moved?.includes(column.was ?? '') ?? false));
  const lengths = [...weights];
  const links = places.map(() => -1);
  let last = -1;
  for (let i = 0; i < places.length; i += 1) {
    for (let j = 0; j < i; j += 1) {
      if (places[j] < places[i] && lengths[j] + weights[i] > lengths[i]) {
        lengths[i] = lengths[j] + weights[i];
        links[i] = j;
      }
    }
    if (last < 0 || lengths[i] > lengths[last]) last = i;
  }
  /** @type {Set<Column>} */
  const staying = new Set();
  for (; last >= 0; last = links[last]) staying.add(kept[last]);
  return staying;
}

/** Names of options with another value, new or gone. @param {Table} before @param {Table} after */
export function optionsChanged(before, after) {
  const names = new Set([...before.options, ...after.options].map((option) => option.name).filter(Boolean));
  const has = (table, name) => table.options.some((option) => option.name === name);
  return [...names].filter((name) => optionOf(before, name) !== optionOf(after, name) || has(before, name) !== has(after, name));
}

/** True where the table gets another engine. @param {Table} before @param {Table} after */
export const isEngineChanged = (before, after) => optionsChanged(before, after).includes('ENGINE') && optionOf(before, 'ENGINE').toLowerCase() !== optionOf(after, 'ENGINE').toLowerCase();

/** Parts of a type: its word, what stands in parentheses, and the attributes behind. @param {string} type */
export function readType(type) {
  const plain = type.replace(/\/\*[\s\S]*?\*\//g, '').replace(/\s+REF_SYSTEM_ID\s*=\s*\d+\s*$/i, '').trim();
  const [, word = '', , inner = '', more = ''] = /^([\w. ]*?\w)\s*(\(([\s\S]*)\))?\s*((?:unsigned|signed|zerofill|\s)*)$/i.exec(plain) ?? [];
  return { word: word.toLowerCase(), inner, unsigned: /unsigned|zerofill/i.test(more) };
}

/** Values of an ENUM or SET, with their quotes. @param {string} inner */
export const valuesOf = (inner) => inner.match(/'(?:[^'\\]|''|\\[\s\S])*'/g) ?? [];
