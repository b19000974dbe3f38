/**
 * Guesses the form of a file of values: its encoding, its signs, whether it begins with names, and its columns' types.
 * @module
 */

import { isBlank, recordsOf } from './csv.js';

/** @typedef {import('./csv.js').Dialect} Dialect */
/** @typedef {import('./csv.js').Record} Record */

/** Delimiters that can be chosen. */
export const DELIMITERS = { ',': 'Comma ,', ';': 'Semicolon ;', '\t': 'Tab', '|': 'Bar |' };

/** Records looked at. */
const LOOKED_AT = 200;

/**
 * The signs between fields and around them: those by which most lines have the same number of fields.
 * @param {string} text @param {string} [name] of the file
 * @returns {Dialect}
 */
export function guessDialect(text, name = '') {
  const found = Object.keys(DELIMITERS).map((delimiter) => ({ delimiter, ...evenness(text, delimiter) }));
  const separator = /^sep=(.)\r?\n/i.exec(text)?.[1];
  const best = found.filter(({ width }) => width > 1).sort((a, b) => b.share - a.share || b.width - a.width)[0];
  const delimiter = separator ?? best?.delimiter ?? (/\.ts[vd]$|\.tab$/i.test(name) ? '\t' : ',');
  if (delimiter === '\t' && isBatch(text)) return { delimiter, quote: '', escape: '\\' };
  const quote = guessQuote(text, delimiter);
  const escape = guessEscape(text, delimiter, quote);
  return escape ? { delimiter, quote, escape } : { delimiter, quote };
}

/** True if a console's `--batch` is likely to have written it: the word NULL, or doubled backslashes, and no other use of those. */
function isBatch(text) {
  const pairs = text.match(/\\[^]/g) ?? [];
  if (!pairs.length || text.includes('\r\n') || /\b[A-Za-z]:\\(?!\\)/.test(text)) return false;
  return pairs.every((pair) => '\\0nt'.includes(pair[1])) && (pairs.includes('\\\\') || /(?:^|\t)NULL(?:\t|$)/m.test(text));
}

/** A server that writes \N for NULL writes these behind its escape, ends lines with LF, and nothing else has a backslash. */
function guessEscape(text, delimiter, quote) {
  const hasNull = recordsOf(text, { delimiter, quote }, LOOKED_AT).some(({ fields, quoted }) => fields.some((field, i) => field === '\\N' && !quoted?.[i]));
  if (!hasNull || text.includes('\r\n')) return '';
  const known = `\\0N\n${delimiter}${quote}`;
  return [...text.matchAll(/\\([^])/g)].every(([, char]) => known.includes(char)) ? '\\' : '';
}

function evenness(text, delimiter) {
  const records = recordsOf(text, { delimiter, quote: '"' }, LOOKED_AT).filter((record) => !isBlank(record));
  const counts = new Map();
  for (const { fields } of records) counts.set(fields.length, (counts.get(fields.length) ?? 0) + 1);
  const [width, times] = [...counts].sort((a, b) => b[1] - a[1] || b[0] - a[0])[0] ?? [1, 0];
  return { width, share: records.length ? times / records.length : 0 };
}

function guessQuote(text, delimiter) {
  if (text.includes('"')) return '"';
  const fields = recordsOf(text, { delimiter, quote: '' }, LOOKED_AT).flatMap((record) => record.fields);
  const single = fields.filter((field) => /^'.*'$/s.test(field)).length;
  return single > fields.length / 10 ? "'" : '"';
}

/** Types by the shape of a text; the narrowest one first. @type {[string, RegExp][]} */
const SHAPES = [
  ['int', /^[+-]?(?:0|[1-9]\d{0,17})$/],
  ['big', /^(?:0|[1-9]\d{0,18}|1[0-8]\d{18})$/],
  ['decimal', /^[+-]?(?:0|[1-9]\d*)\.\d+$/],
  ['float', /^[+-]?(?:\d+(?:\.\d*)?|\.\d+)e[+-]?\d+$/i],
  ['date', /^\d{4}-\d\d-\d\d$/],
  ['datetime', /^\d{4}-\d\d-\d\d[ T]\d\d:\d\d(?::\d\d(?:\.\d{1,6})?)?$/],
  ['time', /^-?\d{1,3}:\d\d:\d\d(?:\.\d{1,6})?$/],
  ['binary', /^0x(?:[0-9a-f]{2})+$/i],
];

/** The shape of a text. @param {string} text */
export const shapeOf = (text) => SHAPES.find(([, pattern]) => pattern.test(text))?.[0] ?? 'text';

/**
 * True if the first record has the names of the columns.
 * @param {Record[]} records
 * @param {string[]} known names of the table's columns
 */
export function guessHeader([first, ...rest], known = []) {
  if (!first) return false;
  const names = first.fields.map(plain);
  const met = names.filter((name) => known.some((one) => plain(one) === name)).length;
  if (met > 0 && met >= names.length / 2) return true;
  const areTexts = names.some(Boolean) && names.every((name) => shapeOf(name) === 'text');
  const namesAreNames = areTexts && names.every(Boolean) && new Set(names).size === names.length;
  if (!areTexts || !rest.length) return namesAreNames && known.length === 0;
  // Of texts alone nothing tells names from values but that files mostly have names, which are all there and differ.
  const values = (i) => rest.flatMap(({ fields }) => fields[i] || []);
  const differs = names.some((name, i) => name && values(i).length > 0 && values(i).every((value) => shapeOf(value) !== 'text'));
  return differs || (namesAreNames && known.length === 0);
}

/** A name without what people write differently. @param {string} name */
export const plain = (name) => name.trim().toLowerCase().replace(/[\s_-]+/g, '');

/** Text for NULL, judging by the values. @param {Record[]} records @returns {string} */
export function guessNull(records) {
  const bare = new Set(records.flatMap(({ fields, quoted }) => fields.filter((_, i) => !quoted?.[i])));
  // In small letters it may as well be a value, of JSON for one.
  const words = bare.has('') ? ['\\N', 'NULL'] : ['\\N', 'NULL', 'null'];
  return words.find((word) => bare.has(word)) ?? '';
}

/** Sizes up to which a VARCHAR is made, in characters; longer texts are TEXT or larger. */
const VARCHARS = [20, 50, 100, 255, 1000];

/**
 * The type of a column that takes these values.
 * @param {string[]} values without those that are NULL
 * @returns {string}
 */
export function guessType(values) {
  if (!values.length) return 'VARCHAR(255)';
  const shapes = new Set(values.map(shapeOf));
  const only = (...allowed) => [...shapes].every((shape) => allowed.includes(shape));
  if (only('int')) return intType(values);
  if (only('int', 'big')) return values.some((value) => value.startsWith('-')) ? 'DECIMAL(20,0)' : 'BIGINT UNSIGNED';
  const decimal = only('int', 'big', 'decimal') && decimalType(values);
  if (decimal) return decimal;
  // With more digits it would be another number.
  if (only('int', 'big', 'decimal', 'float') && values.every((value) => digitsOf(value) <= 17)) return 'DOUBLE';
  if (only('date')) return 'DATE';
  if (only('date', 'datetime')) return `DATETIME${fraction(values)}`;
  if (only('time')) return `TIME${fraction(values)}`;
  if (only('binary')) return longest(values) <= 2 + 2 * 255 ? 'VARBINARY(255)' : 'LONGBLOB';
  const room = longest(values) * 1.5;
  const size = VARCHARS.find((size) => room <= size);
  return size ? `VARCHAR(${size})` : room <= 16_000 ? 'TEXT' : 'LONGTEXT';
}

const longest = (values) => values.reduce((most, value) => Math.max(most, value.length), 0);

function intType(values) {
  const isSmall = values.every((value) => Math.abs(Number(value)) <= 1_000_000_000);
  return isSmall ? 'INT' : 'BIGINT';
}

/** Digits that matter of a number. @param {string} value */
const digitsOf = (value) => value.replace(/e.*$/i, '').replace(/^[+-]?[0.]*/, '').replace('.', '').length;

/** With room for larger numbers than were seen; nothing where no server has that many digits. */
function decimalType(values) {
  let [whole, scale] = [1, 0];
  for (const value of values) {
    const [before, after = ''] = value.replace(/^[+-]/, '').split('.');
    whole = Math.max(whole, before.length);
    scale = Math.max(scale, after.length);
  }
  const digits = Math.min(65, Math.max(10, whole + 4 + scale));
  return scale > 30 || whole + scale > 65 ? '' : `DECIMAL(${Math.max(digits, whole + scale)},${scale})`;
}

function fraction(values) {
  const digits = values.reduce((most, value) => Math.max(most, /\.(\d+)/.exec(value)?.[1].length ?? 0), 0);
  return digits ? `(${digits})` : '';
}

/** Names of columns that a table can have: none is empty, none comes twice. @param {string[]} names */
export function columnNames(names) {
  const taken = new Set();
  return names.map((name, i) => {
    const base = name.trim().replace(/\s+/g, ' ').slice(0, 60).trim() || `column_${i + 1}`;
    let free = base;
    for (let n = 2; taken.has(free.toLowerCase()); n += 1) free = `${base}_${n}`;
    taken.add(free.toLowerCase());
    return free;
  });
}
