/**
 * Data of a result's chart: columns, scales, samples.
 * @module
 */

import { kindOf } from './types.js';

/** Points drawn at most: more are not told apart on a screen. */
export const MAX_POINTS = 1000;

/** Series drawn at most: as many as there are colours that are told apart. */
export const MAX_SERIES = 6;

/**
 * The columns that can be drawn, and a sensible first choice.
 * @param {{columns: string[], types: string[], rows?: any[][]}} result
 * @returns {{labels: number[], numbers: number[], splits: number[], label: number, split: number, values: number[], type: 'bar'|'line'}}
 *   `label` is -1 for the row number; `split` is a column of which each value has a line of its own, -1 for none
 */
export function chartColumns({ columns, types, rows = [] }) {
  const kinds = columns.map((_, i) => kindOf(types[i]));
  const all = columns.map((_, i) => i);
  const numbers = all.filter((i) => kinds[i] === 'number');
  const label = labelColumn(kinds, numbers);
  const values = numbers.filter((i) => i !== label);
  const telling = values.filter((i) => !isKey(columns[i]));
  const ordered = label === -1 || kinds[label] === 'date' || kinds[label] === 'number';
  const splits = all.filter((i) => kinds[i] === 'text' && i !== label);
  return {
    splits,
    split: splits.length === 1 && values.length > 0 && repeats(rows, label) ? splits[0] : -1,
    labels: all.filter((i) => !['binary', 'geometry'].includes(kinds[i])),
    numbers,
    label,
    values: (telling.length ? telling : values).slice(0, 3),
    type: ordered ? 'line' : 'bar',
  };
}

/** True if a label stands for several rows, as a date does that has one for each status. */
function repeats(rows, label) {
  if (label < 0) return false;
  return new Set(rows.map((row) => row[label])).size < rows.length;
}

/**
 * A line for each value of a column: those with the most rows, up to `most`. Values that meet at one label are added up.
 * @param {any[][]} rows
 * @param {{label: number, split: number, value: number}} columns
 * @returns {{labels: string[], series: {name: string, values: Array<number|null>}[], left: number, summed: boolean}} `left`: how many values have no line
 */
export function splitSeries(rows, { label, split, value }, most = MAX_SERIES) {
  const counts = new Map();
  for (const row of rows) counts.set(textOf(row[split]), (counts.get(textOf(row[split])) ?? 0) + 1);
  const drawn = [...counts].sort((a, b) => b[1] - a[1]).slice(0, most).map(([name]) => name);
  const places = new Map();
  for (const row of rows) if (!places.has(textOf(row[label]))) places.set(textOf(row[label]), places.size);
  const series = [...counts.keys()].filter((name) => drawn.includes(name)).map((name) => ({ name, values: /** @type {Array<number|null>} */ (Array(places.size).fill(null)) }));
  const byName = new Map(series.map((one) => [one.name, one.values]));
  let summed = false;
  for (const row of rows) {
    const [values, at, number] = [byName.get(textOf(row[split])), places.get(textOf(row[label])), toNumber(row[value])];
    if (!values || number === null) continue;
    summed ||= values[at] !== null;
    values[at] = (values[at] ?? 0) + number;
  }
  return { labels: [...places.keys()], series, left: counts.size - drawn.length, summed };
}

const textOf = (value) => (value === null || value === undefined ? 'NULL' : String(value));

/** A day, with a time behind it where there is one. */
const DATE = /^(\d{4})-(\d\d-\d\d)(?:[ T](\d\d:\d\d)(:\d\d(?:\.\d+)?)?)?$/;

/**
 * Labels of an axis, without what all have in common: dates of one day become times, those of one year lose it, and
 * midnights the time.
 * @param {string[]} labels
 */
export function axisLabels(labels) {
  const parts = labels.map((label) => DATE.exec(label));
  if (!labels.length || parts.some((part) => !part)) return labels;
  const all = /** @type {RegExpExecArray[]} */ (parts);
  const same = (of) => all.every((part) => of(part) === of(all[0]));
  const days = all.every((part) => !part[3] || (part[3] === '00:00' && !/[1-9]/.test(part[4] ?? '')));
  if (days) return all.map((part) => `${part[1]}-${part[2]}`);
  if (all.length > 1 && same((part) => part[1] + part[2])) return all.map((part) => part[3] + (same((one) => one[4]) ? '' : (part[4] ?? '')));
  return all.map((part) => (same((one) => one[1]) ? `${part[2]} ${part[3] ?? ''}`.trim() : `${part[1]}-${part[2]}`));
}

function labelColumn(kinds, numbers) {
  const pick = (kind) => kinds.indexOf(kind);
  const candidates = [pick('date'), pick('text'), pick('time')].filter((i) => i >= 0);
  if (candidates.length) return candidates[0];
  return numbers.length > 1 ? numbers[0] : -1;
}

const isKey = (name) => /(^|_)id$/i.test(name);

/** A cell as a number; null where it is none. Digits beyond a double's do not matter on a screen. */
export function toNumber(value) {
  if (value === null || value === undefined || value === '') return null;
  const number = Number(value);
  return Number.isFinite(number) ? number : null;
}

/**
 * Row indexes to draw: all, or of each of the equal groups the rows with the least and the greatest value.
 * @param {Array<Array<number|null>>} series
 * @param {number} length rows
 * @param {number} [most]
 */
export function sampleRows(series, length, most = MAX_POINTS) {
  if (length <= most) return Array.from({ length }, (_, i) => i);
  const groups = Math.max(1, Math.floor(most / (2 * Math.max(1, series.length))));
  const kept = new Set([0, length - 1]);
  for (let group = 0; group < groups; group += 1) {
    const from = Math.floor((group * length) / groups);
    const to = Math.floor(((group + 1) * length) / groups);
    for (const values of series) extremes(values, from, to).forEach((i) => kept.add(i));
  }
  return [...kept].sort((a, b) => a - b);
}

function extremes(values, from, to) {
  let [low, high] = [-1, -1];
  for (let i = from; i < to; i += 1) {
    const value = values[i];
    if (value === null) continue;
    if (low < 0 || value < values[low]) low = i;
    if (high < 0 || value > values[high]) high = i;
  }
  return low < 0 ? [] : [low, high];
}

/**
 * Round numbers that span the values, about `count` of them.
 * @returns {number[]} ascending; the first and last enclose the values
 */
export function ticks(least, most, count = 5) {
  const span = most - least || Math.abs(most) || 1;
  const step = niceStep(span / count);
  const first = Math.floor(least / step);
  const last = Math.max(Math.ceil(most / step), first + 1);
  return Array.from({ length: last - first + 1 }, (_, i) => Number(((first + i) * step).toPrecision(15)));
}

function niceStep(rough) {
  const power = 10 ** Math.floor(Math.log10(rough));
  const factor = [1, 2, 2.5, 5, 10].find((nice) => nice * power >= rough * 0.999) ?? 10;
  return factor * power;
}

/** Units of an axis, each from the size that it is used for. */
const UNITS = [{ least: 1e12, scale: 1e12, suffix: ' T' }, { least: 1e9, scale: 1e9, suffix: ' G' }, { least: 1e6, scale: 1e6, suffix: ' M' }, { least: 1e4, scale: 1e3, suffix: ' k' }];

/** A number short enough for an axis. */
export function formatTick(value) {
  const size = Math.abs(value);
  if (size >= 1e15 || (size > 0 && size < 1e-4)) return value.toExponential(1);
  const { scale, suffix } = UNITS.find(({ least }) => size >= least) ?? { scale: 1, suffix: '' };
  return `${Number((value / scale).toPrecision(6))}${suffix}`;
}

/**
 * A sentence for those who do not see the drawing.
 * @param {string} name of the series
 * @param {Array<number|null>} values
 */
export function describeSeries(name, values) {
  const present = values.filter((value) => value !== null);
  if (present.length === 0) return `${name}: no values`;
  let [least, most, sum] = [Infinity, -Infinity, 0];
  for (const value of present) {
    if (value < least) least = value;
    if (value > most) most = value;
    sum += value;
  }
  const mean = Number((sum / present.length).toPrecision(6));
  return `${name}: ${present.length.toLocaleString('en')} values, lowest ${least}, highest ${most}, mean ${mean}`;
}
