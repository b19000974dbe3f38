/**
 * Dates and times that a filter compares with: a day, a month or a year is all of it.
 * @module
 */

import { isTimestamp, literal, quoteText } from './values.js';

/** @typedef {{from: string, to: string|null}} Span from its first moment up to the next day, month or year; `to` is null behind the last year */

/** A date with as many parts as were typed, and a time. */
const DATE = /^(\d{4})(?:([-/.])(\d{1,2})(?:\2(\d{1,2})(?:[ T]+(\d{1,2}):(\d{1,2})(?::(\d{1,2})(?:\.\d{0,6})?)?)?)?)?$/;
/** A date or time without signs between its parts. */
const DIGITS = /^(\d{4})(\d\d)(\d\d)(?:(\d\d)(\d\d)(\d\d)(?:\.\d{0,6})?)?$/;
const TIME = /^-?(?:\d{1,2} +)?\d{1,7}(?::\d{1,2}){0,2}(?:\.\d{0,6})?$/;

/** Years in which a TIMESTAMP has a day before and a day behind each of its times. */
const FIRST_YEAR = 1971;
const LAST_YEAR = 2037;

const LAST_OF_ALL = 9999;

const isTime = (type) => /^time\b/i.test(type);
const isDay = (type) => /^date\b/i.test(type);

const pad = (number, length = 2) => String(number).padStart(length, '0');

/**
 * The day, month or year that a value is; null for one time, or one day of a DATE. Throws where it is no date.
 * @param {string} value @param {string} type of the column @param {string} column
 * @returns {Span|null}
 */
export function spanOf(value, type, column) {
  const text = value.trim();
  if (isTime(type)) {
    if (TIME.test(text)) return null;
    throw new Error(`${column} holds times; “${value}” is not one. Try 08:30`);
  }
  const [, year, , month, day, hour, minute, second] = DATE.exec(text) ?? digitsOf(text);
  const isValid = year !== undefined && Number(month ?? 0) <= 12 && Number(day ?? 0) <= lastDay(Number(year), Number(month ?? 0))
    && Number(hour ?? 0) < 24 && Number(minute ?? 0) < 60 && Number(second ?? 0) < 60;
  if (!isValid) throw new Error(`${column} holds dates; “${value}” is not one. Try 2024-05-23, 2024-05 or 2024`);
  // A zero in them is a value of its own.
  if ([year, month, day].some((part) => Number(part) === 0) || hour !== undefined || (day !== undefined && isDay(type))) return null;
  return { from: dateOf(Number(year), Number(month ?? 1), Number(day ?? 1)), to: nextOf(Number(year), month && Number(month), day && Number(day)) };
}

/** The parts as DATE has them. @param {string} text @returns {(string|undefined)[]} */
function digitsOf(text) {
  const [all, year, month, day, ...time] = DIGITS.exec(text) ?? [];
  return [all, year, '', month, day, ...time];
}

/** A month of zero has 31. */
const lastDay = (year, month) => (month ? new Date(Date.UTC(2000 + (year % 400), month, 0)).getUTCDate() : 31);

const dateOf = (year, month, day) => `${pad(year, 4)}-${pad(month)}-${pad(day)}`;

/** The first day behind a day, a month or a year. */
function nextOf(year, month, day) {
  if (day && day < lastDay(year, month)) return dateOf(year, month, day + 1);
  if (month && month < 12) return dateOf(year, month + 1, 1);
  return year < LAST_OF_ALL ? dateOf(year + 1, 1, 1) : null;
}

/**
 * A comparison with the begin of a day. A TIMESTAMP is compared by what the clock shows, with a bound that an index is used
 * for: by an index alone a server takes one of two hours that look alike.
 * @param {string} name @param {'<'|'>='} operator @param {string} date @param {string} type
 */
function edge(name, operator, date, type) {
  const day = quoteText(date);
  const year = Number(date.slice(0, 4));
  if (!isTimestamp(type)) return `${name} ${operator} ${day}`;
  const shown = `CAST(${name} AS DATETIME(6)) ${operator} ${day}`;
  if (operator === '<') return year <= LAST_YEAR ? `${name} < ${day} + INTERVAL 1 DAY AND ${shown}` : shown;
  return year >= FIRST_YEAR ? `${name} >= ${day} - INTERVAL 1 DAY AND ${shown}` : shown;
}

/** Times of the span, or without it. @param {string} name @param {Span} span @param {string} type @param {boolean} isIn */
export function withinSql(name, { from, to }, type, isIn) {
  const within = [edge(name, '>=', from, type), ...(to === null ? [] : [edge(name, '<', to, type)])].join(' AND ');
  return isIn ? within : `NOT (${within})`;
}

/**
 * A comparison with a span: before it, or behind it, with it or without.
 * @param {string} name @param {'<'|'<='|'>'|'>='} op @param {Span} span @param {string} type
 */
export function besideSql(name, op, { from, to }, type) {
  if (op === '<' || op === '>=') return edge(name, op, from, type);
  if (to === null) return op === '<=' ? `${name} IS NOT NULL` : '0 = 1';
  return edge(name, op === '<=' ? '<' : '>=', to, type);
}

/** From a value to another, whose day is part of it. @param {string} name @param {[string, string]} values @param {string} type @param {string} column */
export function rangeSql(name, [least, most], type, column) {
  const [first, last] = [least, most].map((value) => spanOf(value, type, column));
  const value = (text) => literal(text.trim(), type);
  if (!first && !last) return `${name} BETWEEN ${value(least)} AND ${value(most)}`;
  return [first ? besideSql(name, '>=', first, type) : `${name} >= ${value(least)}`, last ? besideSql(name, '<=', last, type) : `${name} <= ${value(most)}`].join(' AND ');
}
