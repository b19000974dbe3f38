/**
 * Values and names as a statement has them, by the type of a column.
 * @module
 */

import { quoteName } from '../core/format.js';

export { quoteName };

/**
 * Characters up to which a text is sorted by the whole of it: beyond `max_sort_length`, 1024 bytes, a server sorts texts as
 * equal that it compares as different.
 */
const SORTED_TEXT = 255;
const SORTED_BYTES = 1000;

/** @typedef {'number'|'float'|'date'|'bit'|'choice'|'year'|'text'|'binary'|'json'|'shape'} TypeClass */

/** @type {[RegExp, TypeClass][]} */
const CLASSES = [
  [/^(tinyint|smallint|mediumint|int|integer|bigint|decimal|numeric|dec|fixed)\b/i, 'number'],
  [/^(float|double|real)\b/i, 'float'],
  [/^(date|datetime|timestamp|time)\b/i, 'date'],
  [/^bit\b/i, 'bit'],
  [/^(enum|set)\b/i, 'choice'],
  [/^year\b/i, 'year'],
  [/^json\b/i, 'json'],
  [/^(geometry|point|linestring|polygon|multi\w+|geometrycollection|geomcollection|vector)\b/i, 'shape'],
  [/(blob|binary)\b/i, 'binary'],
];

/** @param {string} type as a schema has it, such as `bigint(20) unsigned` @returns {TypeClass} */
export function classOf(type) {
  // The values of an ENUM may read like anything.
  const found = CLASSES.find(([pattern]) => pattern.test(type.replace(/\(.*/s, '')));
  return found ? found[1] : 'text';
}

/** True if the server shows the type's values by its clock, which shows one hour of autumn twice. @param {string} type */
export const isTimestamp = (type) => /^timestamp\b/i.test(type);

/**
 * Seconds since 1970 of a row's TIMESTAMP columns, by column, as the server told them: they tell apart what looks alike.
 * @type {WeakMap<any[], Record<string, null|string|number>>}
 */
export const momentsOf = new WeakMap();

/** Largest step back of a clock since 1970, and an hour more, in seconds. */
const CLOCK_STEP = 4 * 3600;

/** Last second that every server converts. */
const LAST_SECOND = 2 ** 31 - 1;

/**
 * A comparison of a TIMESTAMP by its seconds since 1970, with a bound that an index is used for: the bound may be wrong by a
 * step of the clock, since servers compare it by what the clock shows.
 * @param {string} name @param {'='|'<'|'>'} operator @param {string|number} moment
 */
export function momentSql(name, operator, moment) {
  const seconds = Math.floor(Number(moment));
  const from = seconds - CLOCK_STEP;
  const to = seconds + CLOCK_STEP;
  return [
    ...(operator !== '<' && from > 0 ? [`${name} >= FROM_UNIXTIME(${from})`] : []),
    ...(operator !== '>' && to <= LAST_SECOND ? [`${name} <= FROM_UNIXTIME(${to})`] : []),
    `UNIX_TIMESTAMP(${name}) ${operator} ${moment}`,
  ].join(' AND ');
}

/**
 * Part of a column of this type in a cursor: its value, its number, its seconds since 1970, or none.
 * @param {string} type
 * @returns {'value'|'number'|'moment'|'offset'}
 */
export function wayOf(type) {
  if (isTimestamp(type)) return 'moment';
  const kind = classOf(type);
  if (kind === 'choice' || kind === 'year') return 'number';
  if (kind === 'number' || kind === 'date' || /^(uuid|inet[46])$/i.test(type)) return 'value';
  const length = Number(/^(?:var)?(?:char|binary)\((\d+)\)/i.exec(type)?.[1] ?? Infinity);
  if (kind === 'text') return length <= SORTED_TEXT ? 'value' : 'offset';
  return kind === 'binary' && length <= SORTED_BYTES ? 'value' : 'offset';
}

const NUMBER = /^[+-]?(\d+(\.\d*)?|\.\d+)(e[+-]?\d+)?$/i;

/** True if the text is a number as SQL has it. @param {string} text */
export const isNumber = (text) => NUMBER.test(text);

/**
 * A value of a column as it stands in a statement.
 * @param {null|string|number|boolean} value as the API gives it: what is binary as `0x…`
 * @param {string} type
 */
export function literal(value, type) {
  if (value === null) return 'NULL';
  const kind = classOf(type);
  const text = String(value);
  if ((kind === 'number' || kind === 'float' || kind === 'year') && NUMBER.test(text)) return text;
  if (kind === 'bit') return bits(text);
  if (kind === 'binary' && /^0x([0-9a-f]{2})*$/i.test(text)) return `X'${text.slice(2)}'`;
  // Strict modes take no text with a zero month or day for a date, yet the number, in which the year 0000 would be 2000.
  if (kind === 'date' && (/^0000-00-00(?:$| 00:00:00)/.test(text) || /^(?!0000)\d{4}-(?:00-\d\d|\d\d-00)/.test(text))) return text.replace(/[-: ]/g, '');
  return quoteText(text);
}

function bits(text) {
  if (/^0x[0-9a-f]+$/i.test(text)) return BigInt(text).toString();
  if (/^0?b'?[01]+'?$/i.test(text)) return BigInt(`0b${text.replace(/[^01]/g, '').slice(text.startsWith('0b') ? 1 : 0)}`).toString();
  return NUMBER.test(text) ? text : quoteText(text);
}

/** A text in quotes; by its bytes where a mode of the server decides how it is read, or where nobody could. @param {string} text */
export function quoteText(text) {
  if (!/[\\\u0000-\u001f\u007f]/.test(text)) return `'${text.replaceAll("'", "''")}'`;
  const bytes = new TextEncoder().encode(text);
  return `_utf8mb4 X'${Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('')}'`;
}

/** Characters that a schema writes with a backslash. @type {Record<string, string>} */
const ESCAPED = { n: '\n', r: '\r', 0: '\0' };

/** The values of an ENUM or SET. @param {string} type */
export function choicesOf(type) {
  const list = /^(?:enum|set)\((.*)\)/is.exec(type)?.[1] ?? '';
  return [...list.matchAll(/'((?:[^']|'')*)'/g)].map(([, text]) => text.replace(/''|\\([^])/g, (pair, sign) => (pair === "''" ? "'" : ESCAPED[sign] ?? sign)));
}
