/**
 * Statistics of the values of one column.
 * @module
 */

import { Slicer } from './slices.js';
import { comparisonFor } from './sort.js';
import { isBinaryKind, kindOf } from './types.js';

/** Different values counted at most; each is held until the end. */
const MOST_DISTINCT = 1_000_000;

/** Characters of a value that are told. */
const TOLD = 200;

/** Values between two looks at the clock. */
const STRIDE = 256;

/**
 * Figures about the values, as pairs of label and text.
 * @param {Iterable<any>} values
 * @param {string} type of the column
 * @param {AbortSignal} [signal]
 * @returns {Promise<[string, string][]>}
 */
export async function factsOf(values, type, signal) {
  const slicer = new Slicer(signal);
  const kind = kindOf(type);
  const { prepare, compare } = comparisonFor(kind);
  const distinct = new Set();
  let [rows, nulls, empty, sum] = [0, 0, 0, 0];
  /** @type {{key: any, value: any}|null} */ let least = null;
  /** @type {{key: any, value: any}|null} */ let most = null;
  let [shortest, longest] = [Infinity, 0];
  for (const value of values) {
    rows += 1;
    if (rows % STRIDE === 0 && slicer.due) await slicer.rest();
    if (value === null || value === undefined) {
      nulls += 1;
      continue;
    }
    const text = String(value);
    if (text === '') empty += 1;
    if (distinct.size < MOST_DISTINCT) distinct.add(text);
    const key = prepare(value);
    if (!least || compare(key, least.key) < 0) least = { key, value };
    if (!most || compare(key, most.key) > 0) most = { key, value };
    sum += kind === 'number' ? Number(value) : 0;
    shortest = Math.min(shortest, text.length);
    longest = Math.max(longest, text.length);
  }
  const count = rows - nulls;
  const figure = (number) => number.toLocaleString('en');
  /** @type {[string, string|false][]} */
  const facts = [
    ['Rows', figure(rows)],
    ['NULL', nulls ? `${figure(nulls)} (${share(nulls, rows)})` : '0'],
    ['Empty text', (kind === 'text' || empty > 0) && figure(empty)],
    ['Different values', figure(distinct.size) + (distinct.size >= MOST_DISTINCT ? ' or more' : '')],
    ['Smallest', least !== null && told(least.value)],
    ['Largest', most !== null && told(most.value)],
    ['Mean', kind === 'number' && count > 0 && `≈ ${Number((sum / count).toPrecision(12)).toLocaleString('en', { maximumSignificantDigits: 12 })}`],
    ['Length', kind === 'text' && count > 0 && `${figure(shortest)} to ${figure(longest)} characters`],
  ];
  return /** @type {[string, string][]} */ (facts.filter(([label, text]) => text !== false && !(isBinaryKind(kind) && ['Smallest', 'Largest'].includes(label))));
}

const share = (part, all) => `${((100 * part) / all).toLocaleString('en', { maximumFractionDigits: 1 })} %`;

function told(value) {
  const text = String(value);
  return text.length > TOLD ? `${text.slice(0, TOLD)} …` : text;
}
