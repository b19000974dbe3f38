/**
 * Values for a column: reading what a person types, and the reasons against a value.
 * @module
 */

import { choicesOf, classOf, isNumber } from '../data/values.js';

/** Characters up to which a text without line ends is edited in its cell. */
const IN_CELL = 150;

/** Bytes of the whole numbers. */
const INTEGERS = { tinyint: 1, smallint: 2, mediumint: 3, int: 4, integer: 4, bigint: 8 };

/**
 * @typedef {'number'|'float'|'date'|'datetime'|'time'|'year'|'choice'|'choices'|'boolean'|'bit'|'json'|'binary'|'text'} FieldKind
 * @typedef {object} Field
 * @property {string} name
 * @property {string} type as the schema has it
 * @property {string} base the type without what stands in parentheses and behind
 * @property {FieldKind} kind
 * @property {boolean} nullable
 * @property {string} fixed why no value can be given; empty where one can
 * @property {boolean} auto whether the server counts it up
 * @property {boolean} required whether a new row must have a value
 * @property {string[]} choices of an ENUM or SET
 * @property {number[]} sizes the numbers in the type's parentheses
 */

/** @param {any} column of a schema @param {any} schema @returns {Field} */
export function fieldOf(column, schema) {
  const { name, type, nullable, extra = '' } = column;
  const base = type.replace(/[( ].*/s, '').toLowerCase();
  const generated = Boolean(column.generated) || /\b(VIRTUAL|STORED|PERSISTENT)\b/i.test(extra ?? '');
  const auto = /auto_increment/i.test(extra ?? '');
  const kind = kindOf(base, type, isJson(schema, name));
  return {
    name, type, base, kind, nullable: nullable === true,
    fixed: generated ? `${name} is computed by the server` : '', auto,
    required: !nullable && !auto && !generated && (column.default === null || column.default === undefined),
    choices: kind === 'choice' || kind === 'choices' ? choicesOf(type) : [],
    sizes: (/\(([\d, ]+)\)/.exec(type)?.[1] ?? '').split(',').filter(Boolean).map(Number),
  };
}

/** MariaDB's JSON is a text that a condition checks. */
function isJson(schema, name) {
  return (schema.create_statement ?? '').includes(`json_valid(\`${name.replaceAll('`', '``')}\`)`);
}

/** @returns {FieldKind} */
function kindOf(base, type, json) {
  if (base === 'enum') return 'choice';
  if (base === 'set') return 'choices';
  if (/^tinyint\(1\)/i.test(type) || /^bit\(1\)/i.test(type)) return 'boolean';
  if (base === 'date' || base === 'time') return base;
  if (base === 'timestamp' || base === 'datetime') return 'datetime';
  const kind = json ? 'json' : classOf(type);
  return kind === 'shape' ? 'binary' : /** @type {FieldKind} */ (kind);
}

/** Reason for which a column does not take a value; empty if it does. @param {Field} field @param {any} value */
export function refusal({ name, fixed, nullable, required }, value) {
  if (fixed) return fixed;
  if (value === null && !nullable) return `${name} is NOT NULL`;
  return typeof value === 'object' && value !== null && 'text' in value && required ? `${name} has no default` : '';
}

/** Text in a new row for a column without a value. @param {Field|undefined} field */
export function initialOf(field) {
  if (field?.fixed) return 'computed';
  if (field?.auto) return 'auto';
  return field?.required ? 'required' : 'DEFAULT';
}

/** True if a value is edited in a panel of its own. @param {Field} field @param {any} value */
export function needsPanel({ kind }, value) {
  if (kind === 'json' || kind === 'binary') return true;
  const text = value === null ? '' : String(value);
  return kind === 'text' && (text.length > IN_CELL || /[\u0000-\u0008\n-\u001f]/.test(text));
}

/** A value as a person edits it. @param {Field} field @param {any} value */
export function textOf({ base }, value) {
  if (value === null || typeof value === 'object') return '';
  if (base === 'bit') return `b'${bitsOf(value).toString(2)}'`;
  return String(value);
}

/** The number that a BIT stands for. @param {any} value as the API gives it */
export const bitsOf = (value) => BigInt(/^0x[0-9a-f]+$/i.test(String(value)) ? value : 0);

/** Words for what is true or not. */
const TRUTH = { true: '1', false: '0' };

/**
 * Reads typed text as a value of the column.
 * @param {Field} field
 * @param {string} text
 * @returns {{value: string, problem: string}} `problem`: what speaks against it
 */
export function read(field, text) {
  const { kind, base } = field;
  const typed = kind === 'text' || kind === 'json' || kind === 'choice' || kind === 'choices' ? text : text.trim();
  const value = kind === 'boolean' ? TRUTH[typed.toLowerCase()] ?? typed : typed;
  if (base === 'bit') return readBits(field, value);
  if (kind === 'choice') return readChoice(field, value);
  if (kind === 'choices') return readSet(field, value);
  if (value === '' && kind !== 'text' && kind !== 'binary') return { value, problem: emptyProblem(field) };
  return { value, problem: problemOf(field, value) };
}

function emptyProblem({ name, nullable, base }) {
  return `${name} is ${article(base)}, which cannot be empty${nullable ? '; Ctrl+0 sets NULL' : ''}`;
}

const article = (base) => `${/^[aeiou]/.test(base) ? 'an' : 'a'} ${base.toUpperCase()}`;

/** @param {Field} field @param {string} value */
function problemOf(field, value) {
  const { kind, name, base, sizes } = field;
  const size = sizes[0] ?? 0;
  switch (kind) {
    case 'number':
    case 'boolean':
    case 'float':
      return numberProblem(field, value);
    case 'year':
      return /^\d{1,4}$/.test(value) ? '' : `${name} holds years; “${value}” is not one`;
    case 'date':
    case 'datetime':
    case 'time':
      return momentProblem(field, value);
    case 'json':
      return jsonProblem(name, value);
    case 'binary':
      if (!/^0x([0-9a-f]{2})*$/i.test(value)) return `${name} holds bytes: 0x, then two hex digits each`;
      return size && /binary/.test(base) && value.length / 2 - 1 > size ? `${name} holds at most ${size} bytes; these are ${value.length / 2 - 1}` : '';
    default: {
      const length = size && /char/.test(base) ? [...value].length : 0;
      return length > size ? `${name} holds at most ${size.toLocaleString('en')} characters; these are ${length.toLocaleString('en')}` : '';
    }
  }
}

/** Digits in groups of three, as thousands are written; with one comma it may be a decimal one. @param {string} text */
export const isGrouped = (text) => /^\s*[+-]?[1-9]\d{0,2}(?:,\d{3})+\s*$/.test(text);

function numberProblem({ name, base, type, sizes }, value) {
  if (isGrouped(value)) return `${name}: “${value}” can be ${value.replaceAll(',', '')}${value.split(',').length > 2 ? '' : ` or ${value.replace(',', '.')}`}. Type it without the comma`;
  if (!isNumber(value)) return `${name} holds numbers; “${value}” is not one`;
  const bytes = INTEGERS[base];
  if (bytes) return integerProblem(name, bytes, /\bunsigned\b/i.test(type), value);
  const digits = /^(decimal|numeric|dec|fixed)$/.test(base) ? /\.(\d*?)0*$/.exec(value)?.[1].length ?? 0 : 0;
  const kept = sizes[1] ?? 0;
  return digits > kept ? `${name} keeps ${kept} digits after the point; ${digits} would be rounded` : '';
}

function integerProblem(name, bytes, unsigned, value) {
  if (!/^[+-]?\d+$/.test(value)) return `${name} holds whole numbers; ${value} would be rounded`;
  const most = 1n << BigInt(8 * bytes - (unsigned ? 0 : 1));
  const number = BigInt(value.replace('+', ''));
  const least = unsigned ? 0n : -most;
  return number < least || number >= most ? `${name} holds numbers from ${least} to ${most - 1n}` : '';
}

const MOMENTS = {
  date: [/^\d{4}-\d{1,2}-\d{1,2}$/, 'dates such as 2024-05-31'],
  datetime: [/^\d{4}-\d{1,2}-\d{1,2}([ T]([01]?\d|2[0-3]):[0-5]\d(:[0-5]\d(\.\d{0,6})?)?)?$/, 'datetimes such as 2024-05-31 23:59:59'],
  time: [/^-?(\d{1,3}:[0-5]\d(:[0-5]\d(\.\d{0,6})?)?)$/, 'times such as 23:59:59'],
};

function momentProblem({ kind, name, sizes }, value) {
  const kept = sizes[0] ?? 0;
  const [pattern, such] = MOMENTS[kind];
  if (!pattern.test(value)) return `${name} holds ${such}; “${value}” is not one`;
  if (kind !== 'time' && !isDay(value)) return `${name} holds ${such}; there is no ${/^[\d-]+/.exec(value)?.[0]}`;
  const digits = /\.(\d*?)0*$/.exec(value)?.[1].length ?? 0;
  return digits > kept ? `${name} keeps ${kept} digits of a second; ${digits} would be rounded` : '';
}

/** True if a date is in the calendar; months and days that are 0 are the server's to judge. @param {string} text */
function isDay(text) {
  const [year, month, day] = text.split(/\D/).map(Number);
  const leap = (year % 4 === 0 && year % 100 !== 0) || year % 400 === 0;
  const most = month === 2 ? 28 + Number(leap) : [4, 6, 9, 11].includes(month) ? 30 : 31;
  return month <= 12 && day <= most;
}

function jsonProblem(name, value) {
  try {
    JSON.parse(value);
    return '';
  } catch (cause) {
    return `${name} holds JSON: ${cause.message}`;
  }
}

function readChoice({ name, choices }, text) {
  const value = choices.find((one) => one === text) ?? choices.find((one) => equalFold(one, text));
  return value === undefined ? { value: text, problem: `“${text}” is not a value of ${name}` } : { value, problem: '' };
}

/** Values with commas between them, in the column's order. @param {Field} field @param {string} text */
function readSet(field, text) {
  const values = text === '' ? [] : text.split(',').map((one) => readChoice(field, field.choices.includes(one) ? one : one.trim()));
  const problem = values.find((one) => one.problem)?.problem ?? '';
  return { value: problem ? text : field.choices.filter((one) => values.some(({ value }) => value === one)).join(','), problem };
}

const equalFold = (a, b) => a.toLowerCase() === b.toLowerCase();

/** `5`, `b'101'`, `0b101` or `0x05`, as the API gives a BIT. */
function readBits({ name, sizes }, text) {
  const size = sizes[0] ?? 1;
  const digits = /^(?:0b|b')([01]+)'?$/i.exec(text)?.[1];
  if (!digits && !/^(\d+|0x[0-9a-f]+)$/i.test(text)) return { value: text, problem: `${name} holds bits, such as b'101', 5 or 0x05` };
  const number = BigInt(digits ? `0b${digits}` : text);
  const value = `0x${number.toString(16).toUpperCase().padStart(2 * Math.ceil(size / 8), '0')}`;
  return { value, problem: number >> BigInt(size) ? `${name} has ${size} ${size === 1 ? 'bit' : 'bits'}; ${text} needs more` : '' };
}

/** The date in a text, where a calendar can show it. @param {string} text */
export function dateIn(text) {
  const [found = ''] = /^\d{4}-\d\d-\d\d/.exec(text) ?? [];
  return /^0000|-00/.test(found) ? '' : found;
}

/** A text with another date in it: the time, to the microsecond, stays. @param {Field} field @param {string} text @param {string} date */
export function withDate({ kind }, text, date) {
  const time = /^\d{4}-\d{1,2}-\d{1,2}(.*)$/s.exec(text)?.[1] ?? '';
  return kind === 'date' ? date : date + (time || ' 00:00:00');
}
