/**
 * Values that a column would silently make others of, even where the server is strict: rounded, cut, taken for something else.
 * @module
 */

import { isNumber } from '../data/values.js';
import { choicesOf } from '../data/values.js';

/** @typedef {(text: string) => string} Objection why a column does not take a text as it is; empty where it does, or where the server says so itself */

const DATE = /^\d{4}([-/.])\d{1,2}\1\d{1,2}(?:[ T](\d{1,2}:\d{1,2}(?::\d{1,2}(?:\.\d*)?)?)?)?$/;
const COMPACT = /^\d{8}(\d{6}(?:\.\d*)?)?$/;
const TIME = /^-?(?:\d+ )?\d{1,3}:\d{1,2}(?::\d{1,2}(?:\.\d*)?)?$/;

const none = () => '';

/** @param {string} type as a schema has it @returns {Objection} */
export function objectionOf(type) {
  const base = type.replace(/[( ].*/s, '').toLowerCase();
  const sizes = (/^\w+\(([\d, ]+)\)/.exec(type)?.[1] ?? '').split(',').filter(Boolean).map(Number);
  switch (base) {
    case 'tinyint': case 'smallint': case 'mediumint': case 'int': case 'integer': case 'bigint': case 'bit': return (text) => (decimalsOf(text) > 0 ? 'not a whole number; would be rounded' : '');
    case 'decimal': case 'float': case 'double': return sizes.length === 2 ? decimals(sizes[1]) : none;
    case 'year': return (text) => (/^(?:\d{4}|0)$/.test(text.trim()) ? '' : 'not a four-digit year');
    case 'date': return dateOnly;
    case 'datetime': case 'timestamp': return (text) => (DATE.test(text) || COMPACT.test(text) ? fraction(text, sizes[0] ?? 0) : 'not a date and time (2024-12-31 10:00:00)');
    case 'time': return (text) => (TIME.test(text) || isNumber(text) ? fraction(text, sizes[0] ?? 0) : 'not a time (10:00:00)');
    case 'char': case 'varchar': return spaces(sizes[0] ?? 1);
    case 'enum': case 'set': return member(choicesOf(type));
    default: return none;
  }
}

/** Decimals that a number has; none where the text is no number. @param {string} text */
function decimalsOf(text) {
  if (/^[+-]?\d+$/.test(text) || !isNumber(text)) return 0;
  const [, whole, after = '', exponent = '0'] = /^[+-]?(\d*)\.?(\d*)(?:e(.*))?$/i.exec(text) ?? [];
  const digits = (whole + after).replace(/0+$/, '');
  return digits ? after.length - Number(exponent) - (whole.length + after.length - digits.length) : 0;
}

const decimals = (most) => (text) => (decimalsOf(text) > most ? `more than ${most} ${most === 1 ? 'decimal' : 'decimals'}; would be rounded` : '');

function dateOnly(text) {
  const time = DATE.exec(text)?.[2] ?? COMPACT.exec(text)?.[1] ?? '';
  if (!DATE.test(text) && !COMPACT.test(text)) return 'not a date (2024-12-31)';
  return /[1-9]/.test(time) ? 'has a time that the column cannot store' : '';
}

function fraction(text, most) {
  const digits = /\.(\d*)$/.exec(text.replace(/^\d{4}\.\d+\.\d+/, ''))?.[1].replace(/0+$/, '') ?? '';
  return digits.length > most ? `fractions of a second with more than ${most} digits, which the column cannot store` : '';
}

/** Spaces at the end are cut without an error. */
const spaces = (most) => (text) => {
  if (text.length <= most) return '';
  const tooLong = (part) => [...part].length > most;
  return tooLong(text) && !tooLong(text.replace(/ +$/, '')) ? `longer than ${most} characters; trailing spaces would be cut` : '';
};

/** A number is taken for a member's place. */
const member = (members) => (text) => (/^\s*\d+\s*$/.test(text) && !members.includes(text) ? 'not a valid value' : '');
