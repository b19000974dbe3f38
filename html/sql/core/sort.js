/**
 * Sorts rows as a person expects: numbers as numbers however they arrived, text by the locale, NULL as the
 * server does (before everything ascending, after everything descending).
 * @module
 */

import { Slicer } from './slices.js';
import { kindOf } from './types.js';

/** Rows sorted at one go before the runs are merged in slices. */
const RUN = 512;

/** Steps between two looks at the clock. */
const STRIDE = 1024;

/** Significant digits that a double holds without loss. */
const EXACT_DIGITS = 15;

/**
 * The order of the rows, as indexes. Stable; the rows themselves stay where they are.
 * @param {Array<Array<any>>} rows
 * @param {string[]} types database type of each column
 * @param {{column: number, descending: boolean}[]} keys most significant first
 * @param {{signal?: AbortSignal}} [options]
 * @returns {Promise<Uint32Array>}
 */
export async function sortRows(rows, types, keys, { signal } = {}) {
  const slicer = new Slicer(signal);
  const columns = [];
  for (const { column, descending } of keys) {
    const { prepare, compare } = comparisonFor(kindOf(types[column]));
    const values = await prepared(rows, column, prepare, slicer);
    columns.push({ values, compare, sign: descending ? -1 : 1 });
  }
  return mergeSort(rows.length, (a, b) => compareBy(columns, a, b), slicer);
}

async function prepared(rows, column, prepare, slicer) {
  const values = new Array(rows.length);
  for (let i = 0; i < rows.length; i += 1) {
    const value = rows[i][column];
    values[i] = value === null || value === undefined ? null : prepare(value);
    if (i % STRIDE === 0 && slicer.due) await slicer.rest();
  }
  return values;
}

function compareBy(columns, a, b) {
  for (const { values, compare, sign } of columns) {
    const [x, y] = [values[a], values[b]];
    if (x === y) continue;
    const order = x === null ? -1 : y === null ? 1 : compare(x, y);
    if (order !== 0) return order * sign;
  }
  return 0;
}

/** Bottom-up: short runs with the engine's own sort, then merges that pause. */
async function mergeSort(length, compare, slicer) {
  let from = Uint32Array.from({ length }, (_, i) => i);
  let to = new Uint32Array(length);
  for (let start = 0; start < length; start += RUN) {
    from.subarray(start, start + RUN).sort(compare);
    if (slicer.due) await slicer.rest();
  }
  for (let width = RUN; width < length; width *= 2) {
    for (let start = 0; start < length; start += 2 * width) {
      await merge(from, to, start, Math.min(start + width, length), Math.min(start + 2 * width, length), compare, slicer);
    }
    [from, to] = [to, from];
  }
  return from;
}

async function merge(from, to, start, middle, end, compare, slicer) {
  let [left, right] = [start, middle];
  for (let at = start; at < end; at += 1) {
    const takeLeft = left < middle && (right >= end || compare(from[left], from[right]) <= 0);
    to[at] = takeLeft ? from[left++] : from[right++];
    if (at % STRIDE === 0 && slicer.due) await slicer.rest();
  }
}

const collator = new Intl.Collator(undefined, { numeric: true });

/** Comparison of values of a kind: `prepare` makes a key of a value. @param {string} kind @returns {{prepare: (value: any) => any, compare: (a: any, b: any) => number}} */
export function comparisonFor(kind) {
  switch (kind) {
    case 'number':
      return { prepare: numberKey, compare: compareNumbers };
    case 'time':
      return { prepare: seconds, compare: (a, b) => a - b };
    case 'text':
    case 'json':
      return { prepare: String, compare: collator.compare };
    default: // dates and hex strings: the order of their characters is their order
      return { prepare: String, compare: compareCharacters };
  }
}

/** A number where a double holds it exactly, else its digits. */
function numberKey(value) {
  if (typeof value === 'number') return value;
  const text = String(value);
  const digits = text.replace(/[^0-9]/g, '').replace(/^0+/, '');
  return digits.length <= EXACT_DIGITS || !isPlain(text) ? orderable(Number(text)) : decimal(text);
}

/** NaN would compare with nothing and spoil the order. */
const orderable = (number) => (Number.isNaN(number) ? -Infinity : number);

function compareNumbers(a, b) {
  if (typeof a === 'number' && typeof b === 'number') return a - b;
  return compareParsed(typeof a === 'number' ? decimalOf(a) : a, typeof b === 'number' ? decimalOf(b) : b);
}

/** A double's digits; BigInt writes the large ones out. */
function decimalOf(number) {
  if (!Number.isFinite(number)) return { negative: number < 0, whole: '9'.repeat(400), fraction: '' };
  const text = String(number);
  if (isPlain(text)) return decimal(text);
  return decimal(Math.abs(number) >= 1 ? String(BigInt(Math.trunc(number))) : number.toFixed(100));
}

const isPlain = (text) => /^[-+]?\d*\.?\d*$/.test(text);

/**
 * Compares two plain decimal numerals of any length exactly.
 * @param {string} a
 * @param {string} b
 * @returns {number} negative, 0 or positive
 */
export function compareDecimals(a, b) {
  return compareParsed(decimal(a), decimal(b));
}

function decimal(text) {
  const [, sign, whole, fraction = ''] = /^([-+]?)0*(\d*)(?:\.(\d*))?$/.exec(text) ?? ['', '', '', ''];
  const digits = fraction.replace(/0+$/, '');
  return { negative: sign === '-' && (whole !== '' || digits !== ''), whole, fraction: digits };
}

function compareParsed(x, y) {
  if (x.negative !== y.negative) return x.negative ? -1 : 1;
  const order = x.whole.length - y.whole.length || compareCharacters(x.whole, y.whole) || compareCharacters(x.fraction, y.fraction);
  return x.negative ? -order : order;
}

const compareCharacters = (a, b) => (a < b ? -1 : a > b ? 1 : 0);

/** `-838:59:59.5` in seconds; the hours have one to three digits, so characters do not order it. */
function seconds(value) {
  const [, sign, h, m, s] = /^(-?)(\d+):(\d+):(\d+(?:\.\d+)?)$/.exec(value) ?? [];
  const total = Number(h) * 3600 + Number(m) * 60 + Number(s);
  return orderable(sign === '-' ? -total : total);
}
