/**
 * Differences of two results: which rows belong together, and which values differ.
 * @module
 */

import { canonical } from './numerals.js';
import { Slicer } from './slices.js';
import { kindOf } from './types.js';

/** Rows between two looks at the clock. */
const STRIDE = 64;

/** Columns that are tried as a key. */
const MOST_TRIED = 30;

/** States of a line. */
export const SAME = 0;
export const CHANGED = 1;
export const LEFT_ONLY = 2;
export const RIGHT_ONLY = 3;

/** @typedef {{left: number, right: number, kind: string, name: string}} Pair columns that are compared with each other */
/** @typedef {{columns: string[], types: string[], rows: any[][], order: Uint32Array|null}} Side `order`: of its rows, where they are sorted */

/**
 * @typedef {object} Alignment lines of both sides beside each other
 * @property {Int32Array} lefts row of the left side; -1 where it has none
 * @property {Int32Array} rights
 * @property {Uint8Array} states
 * @property {Int32Array} differing lines that are not the same on both sides
 * @property {number} changed
 * @property {number} leftOnly
 * @property {number} rightOnly
 * @property {number} repeated rows whose key another row of their side has
 */

/**
 * Columns of the same name, else of the same place where no name is common.
 * @param {{columns: string[], types: string[]}} left
 * @param {{columns: string[], types: string[]}} right
 * @returns {Pair[]} in the order of the left side
 */
export function pairsOf(left, right) {
  const partner = new Map();
  const taken = new Set();
  for (const fold of [(name) => name, (name) => name.toLowerCase()]) {
    for (const [i, name] of left.columns.entries()) {
      const at = partner.has(i) ? -1 : right.columns.findIndex((other, j) => !taken.has(j) && fold(other) === fold(name));
      if (at < 0) continue;
      partner.set(i, at);
      taken.add(at);
    }
  }
  if (!partner.size && left.columns.length === right.columns.length) for (const i of left.columns.keys()) partner.set(i, i);
  return [...partner].sort(([a], [b]) => a - b).map(([i, j]) => ({ left: i, right: j, name: left.columns[i], kind: commonKind(kindOf(left.types[i]), kindOf(right.types[j])) }));
}

const commonKind = (a, b) => (a === b ? a : a === 'number' || b === 'number' ? 'number' : 'text');

/** A text that is the same for equal values; null for NULL. @param {any} value @param {string} kind */
function keyOf(value, kind) {
  if (value === null || value === undefined) return null;
  if (kind === 'number') return canonical(value);
  const text = String(value);
  return kind === 'date' || kind === 'time' ? text.replace(/(\.\d*?)0+$/, '$1').replace(/\.$/, '') : text;
}

/** True if two values are equal, however they are written; NULL is equal to NULL alone. @param {any} a @param {any} b @param {string} kind */
export function isSame(a, b, kind) {
  return a === b || keyOf(a, kind) === keyOf(b, kind);
}

const rowKey = (row, columns, kinds) => JSON.stringify(columns.map((column, i) => keyOf(row[column], kinds[i])));

/** True if no two rows have the same values in some columns, and none is NULL. */
async function isUnique(rows, columns, kinds, slicer) {
  const seen = new Set();
  for (const [i, row] of rows.entries()) {
    const key = rowKey(row, columns, kinds);
    if (seen.has(key) || columns.some((column) => row[column] === null)) return false;
    seen.add(key);
    if (i % STRIDE === 0 && slicer.due) await slicer.rest();
  }
  return true;
}

/**
 * Columns that tell the rows of both sides apart: those wanted, else the first that does; none where no column does.
 * @param {Side} left @param {Side} right @param {Pair[]} pairs
 * @param {number[][]} wanted keys by the places of their columns in `pairs`, best first
 * @param {AbortSignal} [signal]
 * @returns {Promise<number[]>} places in `pairs`
 */
export async function findKey(left, right, pairs, wanted, signal) {
  const slicer = new Slicer(signal);
  const tried = [...wanted.filter((key) => key.length), ...pairs.slice(0, MOST_TRIED).map((_, i) => [i])];
  for (const key of tried) {
    const kinds = key.map((i) => pairs[i].kind);
    if (await isUnique(left.rows, key.map((i) => pairs[i].left), kinds, slicer) && await isUnique(right.rows, key.map((i) => pairs[i].right), kinds, slicer)) return key;
  }
  return [];
}

/**
 * Lays the rows of two sides beside each other.
 * @param {Side} left its order leads
 * @param {Side} right
 * @param {Pair[]} pairs
 * @param {number[]} key places in `pairs`; without one rows belong together by their places
 * @param {AbortSignal} [signal]
 * @returns {Promise<Alignment>}
 */
export async function align(left, right, pairs, key, signal) {
  const slicer = new Slicer(signal);
  const [many, few] = [left.rows.length, right.rows.length];
  const { partner, repeated } = key.length ? await byKey(left, right, pairs, key, slicer) : byPlace(left, right);
  const taken = new Uint8Array(few);
  for (const at of partner) if (at >= 0) taken[at] = 1;
  const followers = rightOnly(right, taken);
  const lefts = new Int32Array(many + few);
  const rights = new Int32Array(many + few);
  const states = new Uint8Array(many + few);
  const counts = [0, 0, 0, 0];
  let line = 0;
  const put = (a, b, state) => {
    [lefts[line], rights[line], states[line]] = [a, b, state];
    counts[state] += 1;
    line += 1;
  };
  const follow = (place) => { for (const index of followers.get(place) ?? []) put(-1, index, RIGHT_ONLY); };
  follow(-1);
  for (let place = 0; place < many; place += 1) {
    const index = left.order?.[place] ?? place;
    const other = partner[index];
    if (other < 0) put(index, -1, LEFT_ONLY);
    else {
      const [a, b] = [left.rows[index], right.rows[other]];
      put(index, other, pairs.every((pair) => isSame(a[pair.left], b[pair.right], pair.kind)) ? SAME : CHANGED);
      follow(other);
    }
    if (place % STRIDE === 0 && slicer.due) await slicer.rest();
  }
  const used = states.slice(0, line);
  const differing = new Int32Array(line - counts[SAME]);
  let at = 0;
  for (let i = 0; i < line; i += 1) if (used[i] !== SAME) differing[at++] = i;
  return { lefts: lefts.slice(0, line), rights: rights.slice(0, line), states: used, differing, changed: counts[CHANGED], leftOnly: counts[LEFT_ONLY], rightOnly: counts[RIGHT_ONLY], repeated };
}

function byPlace(left, right) {
  const partner = new Int32Array(left.rows.length).fill(-1);
  const length = Math.min(left.rows.length, right.rows.length);
  for (let place = 0; place < length; place += 1) partner[left.order?.[place] ?? place] = right.order?.[place] ?? place;
  return { partner, repeated: 0 };
}

/** Rows of the same key belong together in their order. */
async function byKey(left, right, pairs, key, slicer) {
  const kinds = key.map((i) => pairs[i].kind);
  const columns = (side) => key.map((i) => pairs[i][side]);
  /** Next row of the right side with the same key. */
  const next = new Int32Array(right.rows.length).fill(-1);
  const first = new Map();
  let repeated = 0;
  for (let place = right.rows.length - 1; place >= 0; place -= 1) {
    const index = right.order?.[place] ?? place;
    const of = rowKey(right.rows[index], columns('right'), kinds);
    const known = first.get(of);
    if (known !== undefined) {
      next[index] = known;
      repeated += 1;
    }
    first.set(of, index);
    if (place % STRIDE === 0 && slicer.due) await slicer.rest();
  }
  const partner = new Int32Array(left.rows.length).fill(-1);
  const seen = new Set();
  for (let place = 0; place < left.rows.length; place += 1) {
    const index = left.order?.[place] ?? place;
    const of = rowKey(left.rows[index], columns('left'), kinds);
    if (seen.has(of)) repeated += 1;
    seen.add(of);
    const other = first.get(of) ?? -1;
    partner[index] = other;
    if (other >= 0) first.set(of, next[other]);
    if (place % STRIDE === 0 && slicer.due) await slicer.rest();
  }
  return { partner, repeated };
}

/** Rows that only the right side has, by the row with a partner that they follow; -1 is the start. @returns {Map<number, number[]>} */
function rightOnly({ rows, order }, taken) {
  const followers = new Map();
  let after = -1;
  for (let place = 0; place < rows.length; place += 1) {
    const index = order?.[place] ?? place;
    if (taken[index]) after = index;
    else if (followers.has(after)) followers.get(after).push(index);
    else followers.set(after, [index]);
  }
  return followers;
}
