/**
 * Figures of selected cells: their number, sum, mean, smallest and largest value.
 * @module
 */

import { canonical, Sum } from './numerals.js';
import { Slicer } from './slices.js';
import { comparisonFor } from './sort.js';
import { isBinaryKind, kindOf } from './types.js';

/** Different values counted at most; each is held until the end. */
const MOST_DISTINCT = 1_000_000;

/** Cells between two looks at the clock. */
const STRIDE = 256;

/** @typedef {{name: string, label: string, text: string, raw: string}} Figure `raw`: as it is copied */
/** @typedef {{cells: number, count: number, sum: any, least: any, most: any}} ColumnFigures figures of a column as the server gives them; null where it has none */

/** True if the server holds values of the type as binary fractions. @param {string} type */
export const isFloat = (type) => /^(float|double|real)\b/i.test(type);

/** Collects cells of some columns. Where numbers are among them, only those are added and compared. */
export class Figures {
  #types;
  #kinds;
  #compared;
  #numbers = new Sum();
  #cells = 0;
  #nulls = 0;
  /** @type {Set<any>|null} */ #distinct = new Set();
  #distinctCount = -1;
  /** @type {{key: any, value: any}|null} */ #least = null;
  /** @type {{key: any, value: any}|null} */ #most = null;
  #order;

  /** @param {string[]} types of the columns */
  constructor(types) {
    this.#types = types;
    this.#kinds = types.map((type) => kindOf(type));
    const kinds = new Set(this.#kinds);
    /** Kind of the values that are compared; none where several kinds have no common order. */
    this.#compared = kinds.has('number') ? 'number' : kinds.size === 1 && !isBinaryKind(this.#kinds[0]) ? this.#kinds[0] : '';
    this.#order = comparisonFor(this.#compared);
  }

  /** @param {any} value @param {number} column counts those that were given */
  add(value, column) {
    this.#cells += 1;
    const kind = this.#kinds[column];
    // Objects stand for values that only the server knows, such as defaults.
    if (value === null || value === undefined || typeof value === 'object') {
      this.#nulls += 1;
      return;
    }
    if (this.#distinct && this.#distinct.size < MOST_DISTINCT) this.#distinct.add(kind !== 'number' ? String(value) : Number.isSafeInteger(value) ? String(value) : canonical(value));
    if (kind === 'number') this.#numbers.add(value, isFloat(this.#types[column]));
    if (kind === this.#compared) this.#compare(value);
  }

  /** @param {ColumnFigures} figures @param {number} column */
  addColumn({ cells, count, sum, least, most }, column) {
    this.#distinct = null;
    this.#cells += cells;
    this.#nulls += cells - count;
    if (this.#kinds[column] === 'number' && sum !== null) {
      this.#numbers.add(sum, isFloat(this.#types[column]));
      this.#numbers.count += count - 1;
    }
    if (this.#kinds[column] !== this.#compared) return;
    for (const value of [least, most]) if (value !== null) this.#compare(value);
  }

  /** Number of different values, where the server counted them. @param {number} count */
  set distinct(count) {
    this.#distinctCount = count;
  }

  #compare(value) {
    const { prepare, compare } = this.#order;
    const key = prepare(value);
    if (!this.#least || compare(key, this.#least.key) < 0) this.#least = { key, value };
    if (!this.#most || compare(key, this.#most.key) > 0) this.#most = { key, value };
  }

  /** @returns {Figure[]} */
  get list() {
    const numbers = this.#numbers;
    const different = this.#distinct ? this.#distinct.size : this.#distinctCount;
    const isMany = this.#distinct !== null && different >= MOST_DISTINCT;
    const figures = [figure('count', 'Count', String(this.#cells - this.#nulls))];
    if (this.#nulls) figures.push(figure('nulls', 'NULL', String(this.#nulls)));
    if (different >= 0) figures.push(figure('distinct', 'Different', String(different), isMany ? '≥ ' : ''));
    if (numbers.count) {
      const { mean } = numbers;
      if (numbers.count < this.#cells - this.#nulls) figures.push(figure('numbers', 'Numbers', String(numbers.count)));
      figures.push(figure('sum', 'Sum', numbers.text, numbers.isApproximate ? '≈ ' : ''), figure('mean', 'Mean', mean.text, mean.isApproximate ? '≈ ' : ''));
    }
    const isNumber = this.#compared === 'number';
    const told = (name, label, { value }) => (isNumber ? figure(name, label, String(value)) : { name, label, text: String(value), raw: String(value) });
    if (this.#least && this.#most) figures.push(told('min', 'Min', this.#least), told('max', 'Max', this.#most));
    return figures;
  }
}

/** @returns {Figure} */
const figure = (name, label, raw, sign = '') => ({ name, label, text: sign + grouped(raw), raw });

/** A numeral with a sign between thousands. @param {string} text */
export function grouped(text) {
  const [, sign, whole, rest] = /^(-?)(\d+)((?:\.\d+)?)$/.exec(text) ?? [];
  return whole === undefined ? text : `${sign}${whole.replace(/\B(?=(?:\d{3})+$)/g, ',')}${rest}`;
}

/**
 * Figures of the cells of some columns.
 * @param {Iterable<any[]|undefined>} rows those that are not here count for nothing
 * @param {number[]} columns
 * @param {string[]} types of all columns
 * @param {AbortSignal} [signal]
 * @returns {Promise<Figure[]>}
 */
export async function figuresOf(rows, columns, types, signal) {
  const slicer = new Slicer(signal);
  const figures = new Figures(columns.map((column) => types[column] ?? ''));
  let steps = 0;
  for (const row of rows) {
    for (const [i, column] of columns.entries()) {
      if (row) figures.add(row[column], i);
      steps += 1;
      if (steps % STRIDE === 0 && slicer.due) await slicer.rest();
    }
  }
  return figures.list;
}
