/**
 * Filters of columns as conditions of a statement.
 * @module
 */

import { Lexer } from '../core/lexer.js';
import { besideSql, rangeSql, spanOf, withinSql } from './times.js';
import { classOf, isNumber, isTimestamp, literal, quoteName, quoteText } from './values.js';

/** @typedef {'='|'!='|'<'|'<='|'>'|'>='|'between'|'contains'|'starts with'|'ends with'|'not contains'|'is empty'|'LIKE'|'IN'|'NOT IN'|'except'|'NULL'|'NOT NULL'} Operator
 *   `except`: as NOT IN, but rows with NULL stay unless it is one of the values; `not contains` keeps them too */
/**
 * @typedef {{column: string, op: Operator, value: string, off?: boolean, names?: string}} Filter `column`: empty for any; `off`: kept, but not used; `names`: how people know the rows that its keys refer to
 */

/** Operators that search within a text. @type {Operator[]} */
export const WITHIN = ['contains', 'starts with', 'ends with', 'not contains'];
/** Operators of texts alone. @type {Operator[]} */
const OF_TEXTS = [...WITHIN, 'is empty'];
/** Operators that compare whole values. @type {Operator[]} */
const COMPARING = ['=', '!=', '<', '<=', '>', '>=', 'between', 'LIKE', 'IN', 'NOT IN', 'except', 'NULL', 'NOT NULL'];

/** All operators. @type {Operator[]} */
export const OPERATORS = [...OF_TEXTS, ...COMPARING];

/** Operators that take a list of values. */
export const LISTS = new Set(['IN', 'NOT IN', 'except']);

/** True if the filter is used. @param {Filter} filter */
export const isOn = ({ off }) => !off;

/** The filters that a page has kept; entries of another form are skipped. @param {any[]} stored @returns {Filter[]} */
export function readFilters(stored) {
  const isFilter = (one) => typeof one?.column === 'string' && OPERATORS.includes(one.op);
  return stored.filter(isFilter).map(({ column, op, value, off, names }) => ({
    column, op, value: String(value ?? ''), ...(off === true && { off }), ...(typeof names === 'string' && { names }),
  }));
}

/** True if the operator takes a value. @param {Operator} op */
export const takesValue = (op) => op !== 'NULL' && op !== 'NOT NULL' && op !== 'is empty';

/** The operators for a column of the type, the usual one first: texts are looked into, other values compared. @param {string} type @returns {Operator[]} */
export function operatorsOf(type) {
  const kind = classOf(type);
  if (kind === 'shape') return ['NULL', 'NOT NULL'];
  if (kind === 'json' || (kind === 'text' && !IDENTITIES.test(type))) return OPERATORS;
  return kind === 'text' || kind === 'choice' ? [...COMPARING, ...OF_TEXTS] : COMPARING;
}

/** Types whose values are written as texts and are none. */
const IDENTITIES = /^(?:uuid|inet[46])\b/i;

/** The operator that a value asks for where a person chose none: a pattern is one. @param {string} type @param {string} value @returns {Operator} */
export function operatorFor(type, value) {
  const [usual, ...others] = operatorsOf(type);
  return value.includes('%') && others.includes('LIKE') ? 'LIKE' : usual;
}

/** Signs that are typed before a value. @type {Record<string, Operator>} */
const SIGNS = { '>=': '>=', '<=': '<=', '<>': '!=', '!=': '!=', '>': '>', '<': '<', '=': '=', '!': '!=' };

/**
 * The operator and the value that a text asks for where a person chose no operator: `>5`, `!a`, `1..5`, `NULL`.
 * @param {string} type of the column @param {string} text
 * @returns {{op: Operator, value: string}}
 */
export function typedOf(type, text) {
  const operators = operatorsOf(type);
  const isText = operators[0] === 'contains';
  const trimmed = text.trim();
  const [isNull, not] = /^(?:is )?(!|not )?null$/i.exec(trimmed) ?? [];
  // In small letters it is looked for in a text.
  if (isNull && (!isText || isNull.endsWith('NULL'))) return { op: not ? 'NOT NULL' : 'NULL', value: '' };
  if (operators.includes('between')) {
    const [, written] = /^between\s+(.+)$/is.exec(trimmed) ?? [];
    const [, least, most] = (isText ? WORDS : DOTS).exec(trimmed) ?? [];
    const range = written === undefined ? [] : readOr(written, rangeOf);
    if (range.length === 2 && range.every(Boolean)) return { op: 'between', value: listText(range) };
    if (least) return { op: 'between', value: listText([least, most]) };
  }
  const [sign] = /^(?:[<>!]=|<>|[<>=!])/.exec(trimmed) ?? [];
  if (sign && operators.includes(SIGNS[sign])) return { op: SIGNS[sign], value: trimmed.slice(sign.length).trim() };
  return { op: operatorFor(type, text), value: text };
}

/** Two values with two dots between them; of texts two words, so that paths are none. */
const DOTS = /^(.*[^.\s])\s*\.\.\s*([^.\s].*)$/s;
const WORDS = /^([\p{L}\p{N}_-]+)\.\.([\p{L}\p{N}_-]+)$/u;

/** @param {string} text @param {(text: string) => (string|null)[]} read */
function readOr(text, read) {
  try {
    return read(text);
  } catch {
    return [];
  }
}

/**
 * The condition of a filter; throws where its value is none of the column's.
 * @param {Filter} filter
 * @param {string} type of the column
 */
export function filterSql({ column, op, value }, type) {
  const name = quoteName(column);
  const compared = asText(type, op) ? `CAST(${name} AS CHAR)` : name;
  const span = SPANNED.has(op) && classOf(type) === 'date' ? spanOf(value, type, column) : null;
  if (span) return op === '=' || op === '!=' ? withinSql(name, span, type, op === '=') : besideSql(name, /** @type {any} */ (op), span, type);
  if (op === '=' && isWholeTime(value, type)) return shownAs(name, quoteText(value.trim()));
  if (op === '!=' && isWholeTime(value, type)) return `NOT (${shownAs(name, quoteText(value.trim()))})`;
  switch (op) {
    case 'NULL': return `${name} IS NULL`;
    case 'NOT NULL': return `${name} IS NOT NULL`;
    case 'IN': case 'NOT IN': case 'except': return listSql(column, compared, op, value, type);
    case 'between': return betweenSql(column, compared, value, type);
    case 'contains': return `${compared} LIKE ${patternOf(value, '%')}`;
    case 'not contains': return `${compared} NOT LIKE ${patternOf(value, '%')} OR ${name} IS NULL`;
    case 'starts with': return `${compared} LIKE ${patternOf(value, '')}`;
    case 'ends with': return `${compared} LIKE ${patternOf(value, '%', '')}`;
    case 'is empty': return `${compared} = ''`;
    case 'LIKE': return `${compared} LIKE ${quoteText(value)}`;
    default: return `${compared} ${op === '!=' ? '<>' : op} ${operand(value, column, type)}`;
  }
}

/** Operators that compare with one value, which may be a whole day. */
const SPANNED = new Set(['=', '!=', '<', '<=', '>', '>=']);

/** A JSON value is no text, nor is an address where a pattern is looked for. */
const asText = (type, op) => classOf(type) === 'json' || (IDENTITIES.test(type) && (op === 'LIKE' || OF_TEXTS.includes(op)));

/** The pattern of what holds a text, or begins or ends with it: signs of patterns in it stand for themselves in any SQL mode. @param {string} value @param {string} before @param {string} [after] */
export function patternOf(value, before, after = '%') {
  const special = /[%_\\]/.test(value);
  return `${quoteText(`${before}${special ? value.replace(/[!%_]/g, '!$&') : value}${after}`)}${special ? " ESCAPE '!'" : ''}`;
}

function betweenSql(column, compared, text, type) {
  const [least, most, ...more] = rangeOf(text);
  if (!least || !most || more.length) throw new Error('between needs two values, such as 1 and 5');
  const sql = classOf(type) === 'date' ? rangeSql(compared, [least, most], type, column)
    : `${compared} BETWEEN ${operand(least, column, type)} AND ${operand(most, column, type)}`;
  if (isTurned(least.trim(), most.trim(), type)) throw new Error(`No value is between ${least} and ${most}: the lower one comes first`);
  return sql;
}

/** True if a number or a date is above the other one. */
function isTurned(least, most, type) {
  const kind = classOf(type);
  if (kind === 'number' || kind === 'float') return Number(least) > Number(most);
  return kind === 'date' && [least, most].every((date) => /^\d{4}(?:-\d\d){0,2}$/.test(date)) && least > most && !least.startsWith(most);
}

/** The two values of between, as far as they are given. @param {string} text @returns {(string|null)[]} */
export function rangeOf(text) {
  const values = listOf(text);
  return values.length === 1 ? text.trim().split(/\s+and\s+/i) : values;
}

const WHOLE_TIME = /^[1-9]\d{3}-(?!00)\d\d-(?!00)\d\d \d\d:\d\d:\d\d(\.\d{1,6})?$/;

const isWholeTime = (value, type) => isTimestamp(type) && WHOLE_TIME.test(value.trim());

/** All rows that show this time: by an index a server finds those of one of two hours that look alike. */
function shownAs(name, time) {
  return `${name} >= ${time} - INTERVAL 1 DAY AND ${name} <= ${time} + INTERVAL 1 DAY AND CAST(${name} AS DATETIME(6)) = ${time}`;
}

/** The number of 32 bits that digits stand for, as the server compares it. */
function exactFloat(digits) {
  const exact = Math.fround(Number(digits));
  return Number.isFinite(exact) ? String(exact) : digits;
}

function operand(value, column, type) {
  const kind = classOf(type);
  if (kind === 'number' || kind === 'float') {
    if (!isNumber(value.trim())) throw new Error(`${column} holds numbers; “${value}” is not one`);
    return literal(/^float\b/i.test(type) ? exactFloat(value.trim()) : value.trim(), type);
  }
  if (kind === 'bit') {
    const bits = literal({ true: '1', false: '0' }[value.trim().toLowerCase()] ?? value.trim(), type);
    if (!isNumber(bits)) throw new Error(`${column} holds numbers; “${value}” is not one`);
    return bits;
  }
  if (kind === 'json' || kind === 'choice') return quoteText(value);
  return literal(kind === 'text' || kind === 'binary' ? value : value.trim(), type);
}

function listSql(column, compared, op, text, type) {
  const name = quoteName(column);
  const items = listOf(text);
  const values = items.filter((item) => item !== null);
  const some = values.length ? someOf(column, compared, op === 'IN', values, type) : '';
  const listsNull = items.length > values.length;
  if (!some && !listsNull) throw new Error(`${op} needs values separated by commas, such as 1, 2, 3`);
  const keepsNull = op === 'IN' ? listsNull : op === 'except' && !listsNull;
  const none = keepsNull ? `${name} IS NULL` : listsNull ? `${name} IS NOT NULL` : '';
  return [some, none].filter(Boolean).join(keepsNull ? ' OR ' : ' AND ');
}

/** One of the values, or none of them: days, months and years whole, others as they are. */
function someOf(column, compared, isIn, values, type) {
  const spans = classOf(type) === 'date' ? values.map((value) => spanOf(value, type, column)) : [];
  const single = values.filter((_, i) => !spans[i]);
  const within = spans.flatMap((span) => (span ? [withinSql(compared, span, type, isIn)] : []));
  return [...(single.length ? [oneOf(column, compared, isIn, single, type)] : []), ...within].join(isIn ? ' OR ' : ' AND ');
}

/** Times are those that the server shows, as for a single one. */
function oneOf(column, compared, isIn, values, type) {
  const name = quoteName(column);
  const operands = values.map((item) => operand(item, column, type)).join(', ');
  if (!values.every((item) => isWholeTime(item, type))) return `${compared} ${isIn ? 'IN' : 'NOT IN'} (${operands})`;
  const times = values.map((item) => item.trim()).sort();
  const shown = `${name} >= ${quoteText(times[0])} - INTERVAL 1 DAY AND ${name} <= ${quoteText(times.at(-1))} + INTERVAL 1 DAY AND CAST(${name} AS DATETIME(6)) IN (${operands})`;
  return isIn ? shown : `NOT (${shown})`;
}

/**
 * The values of a list: commas between them, in quotes where they hold some or have blanks at an end; NULL is itself.
 * @param {string} text
 * @returns {(string|null)[]}
 */
export function listOf(text) {
  const pattern = /\s*(?:'((?:[^']|'')*)'|"((?:[^"]|"")*)"|([^,'"][^,]*|))\s*(?:,|$)/gy;
  const items = [];
  while (pattern.lastIndex < text.length) {
    const found = pattern.exec(text);
    if (!found) throw new Error('a quote in the list is not closed, or text follows it before the next comma');
    const [, single, double, bare] = found;
    if (single !== undefined) items.push(single.replaceAll("''", "'"));
    else if (double !== undefined) items.push(double.replaceAll('""', '"'));
    else if (/^null$/i.test(bare.trim())) items.push(null);
    else if (bare.trim() !== '') items.push(bare.trim());
  }
  return items;
}

/** Values as a list that `listOf` reads. @param {(string|null)[]} items */
export const listText = (items) => items.map(itemText).join(', ');

function itemText(item) {
  if (item === null) return 'NULL';
  const isPlain = /^[^,'"]+$/.test(item) && item.trim() === item && !/^null$/i.test(item);
  return isPlain ? item : `'${item.replaceAll("'", "''")}'`;
}

/**
 * Condition from the filters and a condition written by hand.
 * @param {Filter[]} filters
 * @param {string} free
 * @param {{name: string, type: string}[]} columns
 */
export function whereSql(filters, free, columns) {
  const typeOf = (name) => columns.find((column) => column.name === name)?.type ?? 'text';
  const conditions = filters.filter(isOn).map((filter) => (filter.column === '' ? anySql(filter.value, columns) : filterSql(filter, typeOf(filter.column))));
  if (free.trim()) conditions.push(checkedFree(free));
  return conditions.length > 1 ? conditions.map((one) => `(${one})`).join(' AND ') : conditions.join('');
}

/** Kinds of columns that a text is looked for in as they are. */
const SEARCHED = new Set(['text', 'choice', 'json', 'number', 'float', 'year']);

/** A column as the grid shows it, where a text can be in that; empty where none is looked for. @param {string} name @param {string} type @param {string} text */
function shownSql(name, type, text) {
  const kind = classOf(type);
  if (kind === 'date') return /^[-\d:. ]+$/.test(text) ? `CAST(${name} AS CHAR)` : '';
  if (SEARCHED.has(kind) || !/^(?:0?x)?[\da-f]*$/i.test(text)) return '';
  const bits = Number(/\d+/.exec(type)?.[0] ?? 1);
  return `CONCAT('0x', ${kind === 'bit' ? `LPAD(HEX(${name} + 0), ${2 * Math.ceil(bits / 8)}, '0')` : `HEX(${name})`})`;
}

/** A text in any column as the grid shows it. @param {string} text @param {{name: string, type: string}[]} columns */
function anySql(text, columns) {
  return columns.flatMap(({ name, type }) => {
    if (SEARCHED.has(classOf(type))) return filterSql({ column: name, op: 'contains', value: text }, type);
    const shown = shownSql(quoteName(name), type, text);
    return shown ? `${shown} LIKE ${patternOf(text, '%')}` : [];
  }).join(' OR ') || '0 = 1';
}

/**
 * The condition without the word WHERE, in parentheses; throws where it would reach out of them. The line end closes a comment.
 * @param {string} text
 */
function checkedFree(text) {
  const sql = `(${text.trim().replace(/^where\b\s*/i, '')}\n)`;
  const lexer = new Lexer(sql);
  let depth = 0;
  for (let token = lexer.next(); token; token = lexer.next()) {
    if (token.kind === 'semicolon') throw new Error('a condition cannot contain a semicolon');
    if (token.kind === 'executable') throw new Error('a condition cannot contain /*! … */');
    if (token.kind === 'open') depth += 1;
    if (token.kind === 'close') depth -= 1;
    const isLast = token.end === sql.length;
    if (isLast && token.kind !== 'close') throw new Error('a quote or a comment is not closed');
    if (isLast && depth > 0) throw new Error('an opening parenthesis is not closed');
    if (!isLast && depth <= 0) throw new Error('a closing parenthesis was never opened');
  }
  return sql;
}

/** Words of a condition that mean the same in every time zone. */
const ZONELESS = /^(and|or|not|xor|in|is|null|like|between|true|false|div|mod|regexp|rlike|where)$/i;

/** True if rows are found by what a clock shows. @param {Filter[]} filters @param {string} free @param {{name: string, type: string}[]} columns */
export function dependsOnZone(filters, free, columns) {
  const stamps = columns.filter(({ type }) => isTimestamp(type)).map(({ name }) => name.toLowerCase());
  if (filters.some(({ column, op, off }) => !off && takesValue(op) && (column === '' ? stamps.length > 0 : stamps.includes(column.toLowerCase())))) return true;
  const others = columns.map(({ name }) => name.toLowerCase()).filter((name) => !stamps.includes(name));
  const lexer = new Lexer(free);
  for (let token = lexer.next(); token; token = lexer.next()) {
    const text = free.slice(token.start, token.end).replaceAll('`', '').toLowerCase();
    if (['word', 'name', 'quoted', 'variable'].includes(token.kind) && !ZONELESS.test(text) && !others.includes(text)) return true;
  }
  return false;
}

/** True if the value that a filter compares with can be in a row: a month or a year cannot. @param {Filter} filter @param {string} type of the column */
export const isWhole = ({ value }, type) => classOf(type) !== 'date' || !/^\s*\d{4}(?:[-/.]\d{1,2})?\s*$/.test(value);

/** A filter in few words, for its button. @param {Filter} filter */
export function filterText({ op, value }) {
  return takesValue(op) ? `${op} ${value === '' ? "''" : value}` : op;
}
