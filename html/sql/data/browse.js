/**
 * The statements that browse a table page by page: by key where that is exact, else by OFFSET.
 * @module
 */

import { isBinaryKind, kindOf } from '../core/types.js';
import { filterSql } from './filters.js';
import { classOf, isNumber, isTimestamp, literal, momentSql, quoteName, quoteText, wayOf } from './values.js';

/**
 * @typedef {{name: string, type: string, nullable: boolean}} Column
 * @typedef {{columns: Column[], indexes: {name: string, unique: boolean, columns: string[], visible?: boolean}[]}} Schema
 * @typedef {{name: string, descending: boolean}} SortKey
 * @typedef {{name: string, type: string, descending: boolean, nullable: boolean, way: ReturnType<typeof wayOf>}} Term
 * @typedef {{terms: Term[], byCursor: boolean, hasKey: boolean, why: string}} Order `why`: what makes it go by OFFSET
 * @typedef {(null|string|number)[]} Cursor the values of a row's terms
 * @typedef {{db: string, table: string, columns: Column[], order: Order, where?: string}} Source `where`: what rows must satisfy
 */

/** Name of a hidden column: the number by which an ENUM or SET is sorted, or the seconds since 1970 of a TIMESTAMP. */
const HIDDEN = 'postern_order_';

/**
 * The key by which the rows of a table are told apart: the primary one, else a unique one of columns that are never NULL.
 * One whose values can stand in a statement exactly goes before one that cannot.
 * @param {Schema} schema
 * @returns {{name: string, parts: SortKey[], byCursor: boolean}|null}
 */
export function keyOf({ columns, indexes }) {
  const keys = indexes.filter(({ unique }) => unique).flatMap((index) => {
    const parts = index.columns.map((part) => partOf(part, columns));
    const whole = parts.every((part) => part && !columnOf(columns, part.name).nullable);
    if (!whole || !parts.length) return [];
    const byCursor = parts.every((part) => wayOf(columnOf(columns, part?.name).type) !== 'offset');
    return [{ name: index.name, parts: /** @type {SortKey[]} */ (parts), byCursor, visible: index.visible !== false }];
  });
  const rank = (key) => (key.byCursor ? 0 : 8) + (key.visible ? 0 : 4) + (key.name === 'PRIMARY' ? 0 : 2);
  const [best] = keys.sort((a, b) => rank(a) - rank(b) || a.parts.length - b.parts.length);
  return best ? { name: best.name, parts: best.parts, byCursor: best.byCursor } : null;
}

function columnOf(columns, name) {
  return columns.find((column) => column.name === name);
}

/** The column that a part of an index is, whole; null for a prefix, an expression and what could be either. */
function partOf(part, columns) {
  const descends = part.endsWith(' DESC') && columnOf(columns, part.slice(0, -5));
  const prefix = /^(.*)\(\d+\)(?: DESC)?$/s.exec(part);
  if (prefix && columnOf(columns, prefix[1])) return null;
  if (columnOf(columns, part)) return descends ? null : { name: part, descending: false };
  return descends ? { name: part.slice(0, -5), descending: true } : null;
}

/**
 * The order in which rows are shown: what was asked for, then the key, so that no two rows are equal.
 * @param {Schema} schema
 * @param {SortKey[]} sort
 * @returns {Order}
 */
export function orderOf(schema, sort) {
  const key = keyOf(schema);
  // The last direction goes on through the key: an index on the column has the key behind it.
  const turned = sort.at(-1)?.descending ?? false;
  const rest = (key?.parts ?? []).filter(({ name }) => !sort.some((part) => part.name === name));
  const parts = [...sort, ...rest.map(({ name, descending }) => ({ name, descending: descending !== turned }))];
  const terms = parts.map(({ name, descending }) => {
    const { type, nullable } = columnOf(schema.columns, name);
    return { name, type, descending, nullable, way: wayOf(type) };
  });
  const why = whyOffset(key, terms);
  return { terms, byCursor: why === '', hasKey: key !== null, why };
}

function whyOffset(key, terms) {
  if (!key) return 'it has no key that identifies its rows';
  const inexact = terms.find(({ way }) => way === 'offset');
  return inexact ? `${inexact.name} is ${article(inexact.type)}, which cannot be compared exactly` : '';
}

function article(type) {
  const name = type.replace(/\(.*/s, '').toUpperCase();
  return `${/^[AEIOU]/.test(name) ? 'an' : 'a'} ${name}`;
}

/** Expression that a term is compared and sorted by. @param {Term} term */
function expression({ name, way }) {
  if (way === 'moment') return `UNIX_TIMESTAMP(${quoteName(name)})`;
  return way === 'number' ? `CAST(${quoteName(name)} AS UNSIGNED)` : quoteName(name);
}

/** A term's value in a statement. @param {Term} term @param {Cursor[number]} value */
const valueOf = (term, value) => (term.way === 'number' ? String(value) : literal(value, term.type));

/**
 * The columns that a page selects, and where in a row the values of its cursor are.
 * @param {Source} source
 * @returns {{names: string[], hidden: {name: string, sql: string}[], places: number[], moments: {column: string, place: number}[]}} `moments`:
 *   where the seconds since 1970 of the TIMESTAMP columns are, if there is a key to tell rows apart by
 */
export function selection({ columns, order }) {
  const names = columns.map(({ name }) => name);
  /** @type {{name: string, sql: string}[]} */
  const hidden = [];
  const hide = (term) => {
    const name = freeName(names, hidden.length);
    hidden.push({ name, sql: `${expression(term)} AS ${quoteName(name)}` });
    return names.length + hidden.length - 1;
  };
  const stamps = order.hasKey ? columns.filter(({ type }) => isTimestamp(type)) : [];
  const moments = stamps.map(({ name }) => ({ column: name, place: hide({ name, way: 'moment' }) }));
  const places = order.terms.map((term) => {
    if (term.way === 'moment' && order.byCursor) return moments.find(({ column }) => column === term.name)?.place ?? -1;
    return term.way === 'number' && order.byCursor ? hide(term) : names.indexOf(term.name);
  });
  return { names, hidden, places, moments };
}

function freeName(names, number) {
  let name = `${HIDDEN}${number}`;
  while (names.some((known) => known.toLowerCase() === name)) name += '_';
  return name;
}

/** True if the server shows fewer digits of the type's values than they have. @param {string} type */
export const isShortened = (type) => isFloat(type) && !/zerofill/i.test(type);

const isFloat = (type) => /^float\b/i.test(type);

/** A column as it is read: of a FLOAT the server shows six digits, and as a DOUBLE all. @param {Column} column */
function readAs({ name, type }) {
  return isShortened(type) ? `${quoteName(name)} * 1e0 AS ${quoteName(name)}` : quoteName(name);
}

/**
 * One page of rows.
 * @param {Source} source
 * @param {{after?: Cursor|null, until?: Cursor|null, limit: number, offset?: number}} range rows behind `after`, up to `until`
 * @returns {string}
 */
export function pageSql(source, { after = null, until = null, limit, offset = 0 }) {
  const { hidden } = selection(source);
  const { terms } = source.order;
  const conditions = [source.where, after && behind(terms, after), until && upTo(terms, until)];
  return `SELECT ${[...source.columns.map(readAs), ...hidden.map(({ sql }) => sql)].join(', ')}${from(source)}`
    + `${whereOf(conditions)}${orderBy(source)} LIMIT ${limit}${offset ? ` OFFSET ${offset}` : ''}`;
}

/** All rows in the order shown, for an export and to be seen. @param {Source} source */
export function wholeSql(source) {
  return `SELECT ${source.columns.map(readAs).join(', ')}${from(source)}${whereOf([source.where])}${orderBy(source)}`;
}

/** @param {Source} source */
export function countSql(source) {
  return `SELECT COUNT(*) AS \`rows\`${from(source)}${whereOf([source.where])}`;
}

/** Figures about all rows of a column; of long and binary values only their number. @param {Source} source @param {Column} column */
export function factsSql(source, column) {
  const name = quoteName(column.name);
  const kind = kindOf(column.type);
  const figures = ['COUNT(*)', `COUNT(*) - COUNT(${name})`];
  if (isBinaryKind(kind) || kind === 'json' || /text\b/i.test(column.type)) figures.push('NULL', 'NULL', 'NULL', 'NULL', 'NULL');
  else if (kind === 'number') figures.push(`COUNT(DISTINCT ${name})`, `MIN(${name})`, `MAX(${name})`, `SUM(${name})`, `AVG(${name})`);
  else figures.push(`COUNT(DISTINCT ${name})`, `MIN(${name})`, `MAX(${name})`, 'NULL', 'NULL');
  return `SELECT ${figures.map((figure, i) => `${figure} AS f${i}`).join(', ')}${from(source)}${whereOf([source.where])}`;
}

/** Values of a column that are listed with their counts, at most. */
export const MOST_VALUES = 200;

/** True if the values of a column can be listed: long texts and documents cannot. @param {string} type */
export function isListed(type) {
  const kind = classOf(type);
  if (kind === 'text' || kind === 'binary') return wayOf(type) === 'value' || /^tinytext\b/i.test(type);
  return kind !== 'json' && kind !== 'shape';
}

/**
 * The values of a column and the rows that have them, most frequent first; one more than are listed.
 * @param {Source} source @param {Column} column @param {string} search text within the values; empty for all
 * @param {string} [others] condition of further values that the search finds
 */
export function valuesSql(source, column, search, others = '') {
  const condition = search && [searchSql(column, search), others].filter(Boolean).join(' OR ');
  return `SELECT ${shownValue(column)} AS v, COUNT(*) AS n${from(source)}${whereOf([source.where, condition])}\nGROUP BY 1 ORDER BY 2 DESC, 1 LIMIT ${MOST_VALUES + 1}`;
}

/**
 * A value as a filter finds it again: an ENUM by its name, in the column's collation, and dates as they are shown: as dates a
 * mode of the server would take those with a zero month or day for others.
 * @param {Column} column
 */
function shownValue({ name, type }) {
  if (classOf(type) === 'choice' || /^(?:date|datetime|timestamp)\b/i.test(type)) return `CONCAT(${quoteName(name)})`;
  return isFloat(type) ? `${quoteName(name)} * 1e0` : quoteName(name);
}

/** @param {Column} column @param {string} search */
function searchSql({ name, type }, search) {
  const kind = classOf(type);
  // Shown as digits of bytes.
  if (kind === 'binary' || kind === 'bit') return `HEX(${quoteName(name)}) LIKE ${quoteText(`%${search.replace(kind === 'bit' ? /^0x0*/i : /^0x/i, '').replace(/[%_\\]/g, '')}%`)}`;
  const within = filterSql({ column: name, op: 'contains', value: search }, type);
  // The server spells them in another way than they are listed.
  return kind === 'float' && isNumber(search.trim()) ? `${within} OR ${filterSql({ column: name, op: '=', value: search }, type)}` : within;
}

/**
 * Figures of some columns, of all rows or of some in their order: the number of rows, then four of each column: values, sum, smallest and
 * largest one. Of one column the number of different values comes last.
 * @param {Source} source @param {Column[]} columns @param {{limit: number, offset: number}|null} range
 */
export function sumsSql(source, columns, range) {
  const figures = columns.flatMap((column) => {
    const name = quoteName(column.name);
    const read = isShortened(column.type) && !range ? `${name} * 1e0` : name;
    const kind = kindOf(column.type);
    const isPlain = !isBinaryKind(kind) && kind !== 'json' && !/text\b/i.test(column.type);
    return [`COUNT(${name})`, kind === 'number' ? `SUM(${read})` : 'NULL', ...(isPlain ? [`MIN(${read})`, `MAX(${read})`] : ['NULL', 'NULL'])];
  });
  const [alone] = columns;
  if (columns.length === 1 && !isBinaryKind(kindOf(alone.type)) && !/json|text\b/i.test(alone.type)) figures.push(`COUNT(DISTINCT ${quoteName(alone.name)})`);
  const chosen = range && `\nFROM (SELECT ${columns.map(readAs).join(', ')}${from(source)}${whereOf([source.where])}${orderBy(source)} LIMIT ${range.limit} OFFSET ${range.offset}) AS chosen`;
  return `SELECT COUNT(*) AS f, ${figures.map((figure, i) => `${figure} AS f${i}`).join(', ')}${chosen || from(source) + whereOf([source.where])}`;
}

const from = ({ db, table }) => `\nFROM ${quoteName(db)}.${quoteName(table)}`;

function whereOf(conditions) {
  const all = conditions.filter(Boolean);
  return all.length ? `\nWHERE ${all.map((one) => (all.length > 1 ? `(${one})` : one)).join(' AND ')}` : '';
}

// An ENUM and a SET are sorted by their number anyway, and by name an index is used: that of the column, not of what is read.
function orderBy({ table, order: { terms } }) {
  if (!terms.length) return '';
  const named = ({ name, type }) => (isShortened(type) ? `${quoteName(table)}.${quoteName(name)}` : quoteName(name));
  return `\nORDER BY ${terms.map((term) => `${named(term)}${term.descending ? ' DESC' : ''}`).join(', ')}`;
}

/** Rows behind the cursor, written out so that an index is used: `a > x OR a = x AND b > y`. @param {Term[]} terms @param {Cursor} cursor */
export function behind(terms, cursor) {
  return beyond(terms, cursor, false) || '0 = 1';
}

/** Rows up to the cursor, its own included. @param {Term[]} terms @param {Cursor} cursor */
function upTo(terms, cursor) {
  const before = beyond(terms, cursor, true);
  const itself = terms.map((term, i) => equal(term, cursor[i])).join(' AND ');
  return before ? `${before} OR ${itself}` : itself;
}

function beyond(terms, cursor, reversed) {
  return terms.flatMap((term, i) => {
    const step = past(term, cursor[i], term.descending !== reversed);
    const same = terms.slice(0, i).map((other, at) => equal(other, cursor[at]));
    return step ? [[...same, step].join(' AND ')] : [];
  }).join(' OR ');
}

/** Values that come later; NULL comes before all others, and in a descending order after them. */
function past(term, value, descending) {
  const sql = term.way === 'moment' ? quoteName(term.name) : expression(term);
  if (value === null) return descending ? '' : `${sql} IS NOT NULL`;
  const step = term.way === 'moment' ? momentSql(sql, descending ? '<' : '>', value) : `${sql} ${descending ? '<' : '>'} ${valueOf(term, value)}`;
  return descending && term.nullable ? `(${step} OR ${sql} IS NULL)` : step;
}

function equal(term, value) {
  if (term.way === 'moment') return value === null ? `${quoteName(term.name)} IS NULL` : momentSql(quoteName(term.name), '=', value);
  return value === null ? `${expression(term)} IS NULL` : `${expression(term)} = ${valueOf(term, value)}`;
}
