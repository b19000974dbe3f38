/**
 * Steps of the form on a whole table, and what is wrong with a table before the server is asked. No DOM.
 * @module
 */

import { readType } from './changes.js';
import { blankColumn, blankForeignKey, blankIndex, blankPart, dropColumn, edited, optionOf, readTypeField } from './definition.js';
import { freeName, indexName } from './fieldtext.js';

/** @typedef {import('./definition.js').Table} Table */
/** @typedef {{list: import('./draft.js').List|'options'|'table', id: string, field: string, text: string}} Problem */

/** A table with fields of one part changed. @param {Table} table @param {import('./draft.js').List} list @param {string} id @param {Record<string, any>} fields @returns {Table} */
export function withPart(table, list, id, fields) {
  // An index of another kind needs the lengths of that kind.
  const fitted = (part) => (list === 'indexes' && fields.kind && !fields.parts ? { ...fields, parts: part.parts.map((one) => ({ ...one, length: lengthOf(table, one.column, fields.kind, one.length) })) } : fields);
  return { ...table, [list]: (/** @type {any[]} */ (table[list])).map((part) => (part.id === id ? edited(part, fitted(part)) : part)) };
}

/** A table without a part; indexes and foreign keys follow their columns. @param {Table} table @param {import('./draft.js').List} list @param {string[]} ids @returns {Table} */
export function without(table, list, ids) {
  const gone = new Set(ids);
  if (list !== 'columns') return { ...table, [list]: (/** @type {any[]} */ (table[list])).filter((part) => !gone.has(part.id)) };
  const names = new Set(table.columns.filter(({ id }) => gone.has(id)).map(({ name }) => name));
  return { ...ids.reduce(dropColumn, table), foreignKeys: table.foreignKeys.filter(({ columns }) => !columns.some((name) => names.has(name))) };
}

/** A table with another part. @param {Table} table @param {import('./draft.js').List} list @param {any} part @param {string} [after] id of its neighbour @returns {Table} */
export function withNew(table, list, part, after) {
  const parts = /** @type {any[]} */ ([...table[list]]);
  const at = after ? parts.findIndex(({ id }) => id === after) : -1;
  parts.splice(at < 0 ? parts.length : at + 1, 0, part);
  return { ...table, [list]: parts };
}

/** A column as a new one begins. */
export const newColumn = () => ({ ...blankColumn(), type: 'varchar(255)' });

/** A copy of a column. @param {Table} table @param {import('./definition.js').Column} column */
export function copyOfColumn(table, column) {
  return { ...column, id: blankColumn().id, was: null, name: freeName(`${column.name}_copy`, table.columns.map(({ name }) => name)), autoIncrement: false, text: null };
}

/** A table with other places of columns; it knows which ones the user moved. @param {Table} table @param {import('./definition.js').Column[]} columns @param {string[]} ids @returns {Table} */
function reordered(table, columns, ids) {
  if (columns.every((column, i) => column === table.columns[i])) return table;
  const names = columns.flatMap(({ id, was }) => (was !== null && ids.includes(id) ? [was] : []));
  return { ...table, columns, moved: [...new Set([...table.moved ?? [], ...names])] };
}

/** A table with columns moved by one place. @param {Table} table @param {string[]} ids @param {number} by @returns {Table} */
export function moved(table, ids, by) {
  const columns = [...table.columns];
  const chosen = columns.filter(({ id }) => ids.includes(id));
  for (const column of by < 0 ? chosen : chosen.reverse()) {
    const at = columns.indexOf(column);
    const to = at + by;
    if (to < 0 || to >= columns.length || ids.includes(columns[to].id)) continue;
    columns.splice(at, 1);
    columns.splice(to, 0, column);
  }
  return reordered(table, columns, ids);
}

/** A table with a column put before another one, or at the end. @param {Table} table @param {string} id @param {string|null} before @returns {Table} */
export function placed(table, id, before) {
  const column = table.columns.find((one) => one.id === id);
  if (!column || before === id) return table;
  const columns = table.columns.filter((one) => one !== column);
  const at = before === null ? -1 : columns.findIndex((one) => one.id === before);
  columns.splice(at < 0 ? columns.length : at, 0, column);
  return reordered(table, columns, [id]);
}

/** Types that an index needs a length for. */
const LONG = /^(?:tiny|medium|long)?(?:text|blob)\b|^json\b/i;
/** Characters of a long text that an index holds, unless told otherwise. */
const PREFIX = 100;

/** Characters of a column that an index holds: none for words and shapes. @param {Table} table @param {string|null} name @param {import('./definition.js').IndexKind} kind @param {number|null} [length] */
function lengthOf(table, name, kind, length = null) {
  if (kind === 'fulltext' || kind === 'spatial' || kind === 'vector') return null;
  const type = table.columns.find((column) => column.name === name)?.type ?? '';
  return length ?? (kind !== 'primary' && LONG.test(type) ? PREFIX : null);
}

/** An index of columns. @param {Table} table @param {string[]} names @param {import('./definition.js').IndexKind} kind @returns {import('./definition.js').Index} */
export function indexOf(table, names, kind) {
  const parts = names.map((name) => ({ ...blankPart(name), length: lengthOf(table, name, kind) }));
  return { ...blankIndex(), kind, parts, name: kind === 'primary' ? 'PRIMARY' : indexName(parts, table.indexes.map(({ name }) => name)) };
}

/** A table with an index of columns; a primary key takes the place of the present one. @param {Table} table @param {string[]} names @param {import('./definition.js').IndexKind} kind */
export function withIndex(table, names, kind) {
  if (kind !== 'primary') {
    const index = indexOf(table, names, kind);
    return { table: withNew(table, 'indexes', index), id: index.id };
  }
  const old = table.indexes.find((one) => one.kind === 'primary');
  const index = old ? edited(old, { parts: names.map((name) => blankPart(name)) }) : indexOf(table, names, kind);
  const indexes = old ? table.indexes.map((one) => (one === old ? index : one)) : [index, ...table.indexes];
  // Columns of a primary key are never NULL.
  const columns = table.columns.map((column) => (names.includes(column.name) && column.nullable ? edited(column, { nullable: false, default: column.default.kind === 'null' ? { kind: /** @type {const} */ ('none'), value: '' } : column.default }) : column));
  return { table: { ...table, indexes, columns }, id: index.id };
}

/** A foreign key of columns. @param {string[]} columns @param {import('./fieldtext.js').Key & {fits: boolean}|undefined} key @param {string} own database of the table */
export function foreignKeyOf(columns, key, own) {
  const known = key?.fits ? { refDb: key.db === own ? '' : key.db, refTable: key.table, refColumns: key.columns } : {};
  return { ...blankForeignKey(), columns, ...known };
}

/** Characters of a name. */
const LONGEST = 64;

/**
 * Faults that the form itself sees.
 * @param {Table} table @returns {Problem[]}
 */
export function problemsOf(table) {
  /** @type {Problem[]} */ const found = [];
  const add = (list, id, field, text) => found.push({ list, id, field, text });
  if (!table.name) add('table', 'name', 'name', 'Enter a name for the table.');
  for (const [list, parts] of Object.entries({ columns: table.columns, indexes: table.indexes, foreignKeys: table.foreignKeys, checks: table.checks })) {
    for (const { id, name } of parts) if ([...name].length > LONGEST) add(list, id, 'name', `A name has at most ${LONGEST} characters.`);
  }
  if ([...table.name].length > LONGEST) add('table', 'name', 'name', `A name has at most ${LONGEST} characters.`);
  const next = optionOf(table, 'AUTO_INCREMENT');
  if (next && !/^0*[1-9]\d*$/.test(next)) add('options', 'AUTO_INCREMENT', 'value', 'The next AUTO_INCREMENT must be a whole number above 0.');
  if (!table.columns.length) add('table', 'name', 'columns', 'A table needs at least one column.');
  const names = new Map();
  for (const { id, name, type, text } of table.columns) {
    if (!name) add('columns', id, 'name', 'Enter a name for the column.');
    else if (names.has(name.toLowerCase())) add('columns', id, 'name', `There are two columns named ${name}.`);
    names.set(name.toLowerCase(), id);
    const read = text === null ? readTypeField(type) : null;
    if (!type.trim()) add('columns', id, 'type', `Enter a type for ${name || 'the column'}.`);
    else if (read?.problem) add('columns', id, 'type', read.problem);
    else if (read?.fields.type) add('columns', id, 'type', `Enter only the type: ${read.fields.type}. The rest has fields of its own.`);
  }
  const unknown = (column) => column !== null && !names.has(column.toLowerCase());
  const indexes = new Set();
  for (const { id, name, parts, text } of table.indexes) {
    if (indexes.has(name.toLowerCase()) && name) add('indexes', id, 'name', `There are two indexes named ${name}.`);
    indexes.add(name.toLowerCase());
    // A part that was read and not changed names what the server knows.
    if (text !== null) continue;
    const lost = parts.find(({ column }) => unknown(column));
    if (!parts.length) add('indexes', id, 'parts', 'Enter the columns of the index.');
    else if (lost) add('indexes', id, 'parts', `The table has no column “${lost.column}”.`);
  }
  for (const { id, columns, refTable, refColumns, text } of table.foreignKeys) {
    if (text !== null) continue;
    const lost = columns.find(unknown);
    if (!columns.length) add('foreignKeys', id, 'columns', 'Enter the columns of the foreign key.');
    else if (lost !== undefined) add('foreignKeys', id, 'columns', `The table has no column “${lost}”.`);
    if (!refTable) add('foreignKeys', id, 'refTable', 'Enter the table that is referenced.');
    else if (refColumns.length !== columns.length) add('foreignKeys', id, 'refColumns', refColumns.length ? `Enter as many columns as on the other side: ${columns.length}.` : 'Enter the columns that are referenced.');
  }
  for (const { id, expression, text } of table.checks) if (text === null && !expression.trim()) add('checks', id, 'expression', 'Enter the condition.');
  return found;
}

/** @typedef {{name: string, type: string, charset: string, collation: string}} Typed empty where it is not known */

/** Columns of a table with the character sets that they take from it. @param {Table} table @returns {Typed[]} */
export function typedColumns(table) {
  return table.columns.map(({ name, type, charset, collation }) => ({ name, type, charset: charset || optionOf(table, 'DEFAULT CHARSET'), collation: collation || (charset ? '' : optionOf(table, 'COLLATE')) }));
}

/** Kinds of types that refer to their own kind alone; others are the server's to judge. @param {Typed} column */
function kindOf({ type, charset }) {
  const { word } = readType(type);
  if (/^(?:(?:tiny|small|medium|big)?int|integer)$/.test(word)) return 'integer';
  return /^(?:var)?char$/.test(word) && charset !== 'binary' ? 'text' : '';
}

/**
 * A sentence where a column of a foreign key cannot refer to another one; else empty.
 * @param {Typed} own @param {Typed} other @param {string} table that is referenced
 */
function misfit(own, other, table) {
  const there = `${table}.${other.name}`;
  const [kind, otherKind] = [kindOf(own), kindOf(other)];
  const [mine, theirs] = [readType(own.type), readType(other.type)];
  const word = (one) => (one === 'integer' ? 'int' : one);
  if (kind !== otherKind || (kind === 'integer' && (word(mine.word) !== word(theirs.word) || mine.unsigned !== theirs.unsigned))) {
    return `${own.name} is ${own.type}, and ${there} is ${other.type}: both need the same type and sign.`;
  }
  const plain = (name) => name.toLowerCase().replace(/^utf8mb3/, 'utf8');
  const differs = (one, two) => Boolean(one && two) && plain(one) !== plain(two);
  if (kind === 'text' && differs(own.charset, other.charset)) return `${own.name} has the character set ${own.charset}, and ${there} has ${other.charset}: both need the same one.`;
  return kind === 'text' && differs(own.collation, other.collation) ? `${own.name} has the collation ${own.collation}, and ${there} has ${other.collation}: both need the same one.` : '';
}

/**
 * Foreign keys whose columns do not fit the referenced ones, of those that are new or changed, or whose columns are.
 * @param {Table} table @param {(db: string, table: string) => Promise<Typed[]>} columnsOf none where the table is not known
 * @returns {Promise<Problem[]>}
 */
export async function misfits(table, columnsOf) {
  const own = typedColumns(table);
  const changed = new Set(table.columns.filter(({ text }) => text === null).map(({ name }) => name));
  /** @type {Problem[]} */ const found = [];
  for (const { id, columns, refDb, refTable, refColumns, text } of table.foreignKeys) {
    if (text !== null && !columns.some((name) => changed.has(name))) continue;
    const isOwn = refTable === table.name && (refDb === '' || refDb === table.db);
    const others = isOwn ? own : await columnsOf(refDb || table.db, refTable);
    const same = (name) => (one) => one.name.toLowerCase() === name.toLowerCase();
    for (const [i, name] of columns.entries()) {
      const [here, there] = [own.find(same(name)), others.find(same(refColumns[i] ?? ''))];
      const said = here && there ? misfit(here, there, refTable) : '';
      if (!said) continue;
      found.push({ list: 'foreignKeys', id, field: 'columns', text: said });
      break;
    }
  }
  return found;
}
