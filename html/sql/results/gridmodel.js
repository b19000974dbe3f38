/**
 * State of the grid without a document: order, widths, selection and the arithmetic of scrolling.
 * @module
 */

import { widthInCharacters } from '../core/cells.js';
import { Slicer } from '../core/slices.js';
import { sortRows } from '../core/sort.js';
import { isBinaryKind, isHex, kindOf } from '../core/types.js';

/** Rows looked at, from all over the result, to choose a column's first width; fewer where there are many columns. */
const WIDTH_SAMPLE = 100;
const WIDTH_CELLS = 6000;

/** Rows looked at when a person asks for a column to fit. */
const FIT_SAMPLE = 2000;

/** Narrowest and widest column, in pixels. */
export const MIN_WIDTH = 36;
const MAX_WIDTH = 4000;

/** Width of a window, in pixels, in which one frozen column at most stays in sight. */
const NARROW = 480;

/** Padding, border and sort mark of a cell, in pixels. */
const CELL_EXTRA = 22;

/**
 * The tallest element that browsers lay out truly, in pixels: Firefox ends at 17.8 million, Chromium at 33.5.
 * Beyond it the scroll position is scaled.
 */
const MAX_HEIGHT = 15_000_000;

/** Rows tested between two looks at the clock. */
const STRIDE = 64;

/** @typedef {{row: number, column: number}} Position `row` is -1 in the header; `column` counts those of the result */

/**
 * @typedef {object} Layout the arrangement of columns, by their numbers in the result
 * @property {number[]} order all columns
 * @property {number[]} hidden
 * @property {number[]} frozen columns that stand first and stay in sight
 */

/** @typedef {{top: number, bottom: number, columns: number[], empty: boolean}} Area rows, ends included, and columns as they stand */

/** One result as the grid shows it. */
export class GridModel {
  #charWidth;
  /** Left edges, by slot. @type {number[]} */ #lefts = [];
  /** Slot of each column; -1 where it is hidden. @type {number[]} */ #slotOf = [];
  /** Rows whose widths were taken note of. @type {any[][]|null} */ #measured = null;
  /** Rows of the result that were tested. */ #tested = 0;

  /**
   * @param {import('../core/resultset.js').ResultSet} result
   * @param {{charWidth: number, rowHeight: number}} metrics in pixels
   */
  constructor(result, { charWidth, rowHeight }) {
    this.result = result;
    this.rowHeight = rowHeight;
    this.#charWidth = charWidth;
    this.kinds = result.columns.map((_, i) => kindOf(result.types[i]));
    this.widths = result.columns.map((_, i) => this.#fit(i, this.#sampled, 40));
    /** Columns whose width a person chose. @type {Set<number>} */ this.sized = new Set();
    /** Columns that are shown, as they stand. @type {number[]} */ this.slots = [];
    /** Slots that a person froze, and those that stay in sight: as many as there is room for. */
    this.frozen = 0;
    this.stuck = 0;
    /** @type {Layout} */ this.layout = { order: result.columns.map((_, i) => i), hidden: [], frozen: [] };
    this.#place();
    /** @type {Uint32Array|null} */ this.order = null;
    /** @type {{column: number, descending: boolean}[]} */ this.sortKeys = [];
    /** Test of rows that are shown. @type {((row: any[]) => boolean)|null} */ this.test = null;
    /** Rows that are shown, by their numbers in the result; -1 is a gap. All are shown where it is null. @type {number[]|Int32Array|null} */
    this.lines = null;
    /** @type {Position} */ this.active = { row: this.rowCount ? 0 : -1, column: 0 };
    /** @type {Position} */ this.anchor = { ...this.active };
    /** @type {'cells'|'rows'|'columns'|'all'} */ this.span = 'cells';
  }

  get rowCount() {
    return this.lines ? this.lines.length : this.result.length;
  }

  get columnCount() {
    return this.result.columns.length;
  }

  /** The row shown at a place. @param {number} place */
  row(place) {
    return this.result.at(this.indexAt(place));
  }

  /** Number in the result of the row at a place, from 0; -1 in a gap. @param {number} place */
  indexAt(place) {
    return this.lines ? this.lines[place] ?? -1 : inOrder(this.order, place);
  }

  /** Place of a row; -1 where it is not shown. @param {number} index its number in the result */
  placeOf(index) {
    const { lines, order } = this;
    if (lines) return lines.indexOf(index);
    return order && index < order.length ? order.indexOf(index) : index;
  }

  /** True if no row stands at a place, but one of another result beside it. @param {number} place */
  isGap(place) {
    return this.lines !== null && this.lines[place] === -1;
  }

  /** Rows that are shown, without gaps. */
  get shownCount() {
    let count = this.rowCount;
    for (const index of this.lines ?? []) if (index < 0) count -= 1;
    return count;
  }

  /** Number of the row at a place, as it is shown: of some rows of a result their own. @param {number} place */
  numberAt(place) {
    if (!this.lines) return String(place + 1);
    return this.isGap(place) ? '' : String(this.indexAt(place) + 1);
  }

  value({ row, column }) {
    return this.row(row)?.[column] ?? null;
  }

  // Slots: the places of columns on the screen.

  /** @param {Layout} layout shows one column at least */
  arrange(layout) {
    this.layout = layout;
    this.#place();
    this.active = this.clamp(this.active);
    this.anchor = this.clamp(this.anchor);
  }

  #place() {
    const { order, hidden, frozen } = this.layout;
    const [away, ahead] = [new Set(hidden), new Set(frozen)];
    const shown = order.filter((column) => !away.has(column));
    const first = shown.filter((column) => ahead.has(column));
    this.slots = [...first, ...shown.filter((column) => !ahead.has(column))];
    this.frozen = first.length;
    this.#slotOf = this.widths.map(() => -1);
    for (const [slot, column] of this.slots.entries()) this.#slotOf[column] = slot;
    this.#measure();
  }

  /** Slot of a column; -1 where it is hidden. @param {number} column */
  slotOf(column) {
    return this.#slotOf[column] ?? -1;
  }

  /** The column some slots away; at most the one at the end. @param {number} column @param {number} by */
  next(column, by) {
    return this.slots[Math.min(Math.max(this.slotOf(column) + by, 0), this.slots.length - 1)];
  }

  /** Keeps frozen columns in sight as far as they leave half of the width. @param {number} width of the window, in pixels */
  stick(width) {
    const most = width < NARROW ? 1 : this.frozen;
    let count = 0;
    while (count < Math.min(most, this.frozen) && this.#lefts[count] + this.widths[this.slots[count]] <= width / 2) count += 1;
    this.stuck = count;
  }

  /** Width of what stays in sight: the numbers of rows and frozen columns. */
  get stuckWidth() {
    return this.#lefts[this.stuck] ?? this.width;
  }

  // Widths.

  get #sampled() {
    return Math.max(20, Math.min(WIDTH_SAMPLE, Math.floor(WIDTH_CELLS / this.columnCount)));
  }

  #fit(column, sample, most) {
    const { sample: rows, columns } = this.result;
    const step = Math.max(1, rows.length / sample);
    // Half of the sample are the first rows, which are seen first.
    const at = (i) => (2 * i < sample ? i : Math.floor(i * step));
    const values = Array.from({ length: Math.min(sample, rows.length) }, (_, i) => rows[at(i)][column]);
    if (rows.length) values.push(rows[rows.length - 1][column]); // counters are longest at their end
    return this.#pixels(widthInCharacters(columns[column], values, this.kinds[column], { most }));
  }

  #pixels(characters) {
    return Math.min(MAX_WIDTH, Math.max(MIN_WIDTH, Math.ceil(characters * this.#charWidth) + CELL_EXTRA));
  }

  fitColumn(column) {
    this.resize(column, this.#fit(column, FIT_SAMPLE, 240));
  }

  resize(column, width) {
    this.sized.add(column);
    this.widths[column] = Math.round(Math.min(MAX_WIDTH, Math.max(MIN_WIDTH, width)));
    this.#measure();
  }

  /** Rows came or went: numbers and keys that came are shown whole. */
  grew() {
    const { latest } = this.result;
    if (latest !== this.#measured) this.widths = this.widths.map((width, i) => this.#widthFor(i, latest, width));
    this.#measured = latest;
    this.#measure();
  }

  #widthFor(column, rows, width) {
    const kind = this.kinds[column];
    const isPlain = kind === 'number' || kind === 'date' || kind === 'time';
    if (!rows.length || this.sized.has(column) || !(isPlain || this.result.isKey(column))) return width;
    let values = rows.map((row) => row[column]);
    // Of texts without signs the longest is the widest.
    if (isPlain) values = [values.reduce((longest, value) => (String(value).length > String(longest).length ? value : longest))];
    return Math.max(width, this.#pixels(widthInCharacters(this.result.columns[column], values, kind)));
  }

  /** Takes note of rows that came; true where the column of row numbers became wider. */
  grow() {
    const before = this.#lefts[0];
    this.#measure();
    return this.#lefts[0] !== before;
  }

  /** Makes columns wider that rows which came later need; none becomes narrower. */
  widen() {
    this.widths = this.widths.map((width, i) => (this.sized.has(i) ? width : Math.max(width, this.#fit(i, this.#sampled, 40))));
    this.#measure();
  }

  #measure() {
    let left = this.numberWidth;
    this.#lefts = this.slots.map((column) => (left += this.widths[column]) - this.widths[column]);
    this.width = left;
  }

  /** Width of the column of row numbers. */
  get numberWidth() {
    return Math.max(36, Math.ceil(String(this.result.length).length * this.#charWidth) + 18) + (this.result.signWidth ?? 0);
  }

  /** Distance of a column that is shown from the left edge of the canvas. @param {number} column */
  left(column) {
    return this.#lefts[this.slotOf(column)];
  }

  /** The slot at a distance from the left edge of the canvas. */
  slotAt(x) {
    let [low, high] = [0, this.slots.length - 1];
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (this.#lefts[middle] <= x) low = middle;
      else high = middle - 1;
    }
    return low;
  }

  /** The column at a distance from the left edge of the canvas. */
  columnAt(x) {
    return this.slots[this.slotAt(x)];
  }

  // Scrolling. `view` is the height of the rows' part of the window.

  get height() {
    return Math.min(this.rowCount * this.rowHeight, MAX_HEIGHT);
  }

  get scaled() {
    return this.rowCount * this.rowHeight > MAX_HEIGHT;
  }

  /** Top of the window within the rows, in pixels of unscaled height. */
  offsetAt(scrollTop, view) {
    if (!this.scaled) return scrollTop;
    return (scrollTop * (this.rowCount * this.rowHeight - view)) / (MAX_HEIGHT - view);
  }

  /** The scroll position that shows an offset. */
  scrollFor(offset, view) {
    if (!this.scaled) return offset;
    return (offset * (MAX_HEIGHT - view)) / (this.rowCount * this.rowHeight - view);
  }

  // Order.

  /**
   * Sort keys after a header is clicked: ascending, descending, original order.
   * @param {number} column
   * @param {boolean} adding keeps the other columns
   */
  nextKeys(column, adding) {
    const present = this.sortKeys.find((key) => key.column === column);
    const next = present ? (present.descending ? null : { column, descending: true }) : { column, descending: false };
    if (!adding) return next ? [next] : [];
    const others = this.sortKeys.filter((key) => key.column !== column);
    if (!next) return others;
    return present ? this.sortKeys.map((key) => (key === present ? next : key)) : [...others, next];
  }

  async sort(keys, signal) {
    const { rows, types } = this.result;
    const order = keys.length ? await sortRows(rows, types, keys, { signal }) : null;
    signal?.throwIfAborted();
    const lines = this.test && await this.#matching(this.test, order, 0, signal);
    this.order = order;
    this.sortKeys = keys;
    if (lines) this.lines = lines;
  }

  /** Shows only rows that pass a test, in their order; null shows all. @param {((row: any[]) => boolean)|null} test @param {AbortSignal} [signal] */
  async filter(test, signal) {
    const lines = test && await this.#matching(test, this.order, 0, signal);
    this.test = test;
    this.lines = lines;
  }

  /** Tests the rows that came since. @param {AbortSignal} [signal] */
  async filterMore(signal) {
    if (!this.test || !Array.isArray(this.lines)) return;
    const more = await this.#matching(this.test, this.order, this.#tested, signal);
    for (const index of more) this.lines.push(index);
  }

  async #matching(test, order, from, signal) {
    const slicer = new Slicer(signal);
    const lines = [];
    let place = from;
    for (; place < this.result.length; place += 1) {
      const index = inOrder(order, place);
      if (test(this.result.at(index) ?? [])) lines.push(index);
      if (place % STRIDE === 0 && slicer.due) await slicer.rest();
    }
    signal?.throwIfAborted();
    this.#tested = place;
    return lines;
  }

  // Selection: one rectangle between the anchor and the active cell.

  /** @param {Position} to @param {{extend?: boolean, span?: 'cells'|'rows'|'columns'|'all'}} [how] */
  moveTo(to, { extend = false, span } = {}) {
    this.active = this.clamp(to);
    if (!extend) this.anchor = { ...this.active };
    this.span = span ?? (extend ? this.span : 'cells');
  }

  /** The position itself, or the nearest that is shown. @param {Position} at @returns {Position} */
  clamp({ row, column }) {
    return { row: Math.min(Math.max(row, -1), this.rowCount - 1), column: this.#shown(column) };
  }

  #shown(column) {
    const { slots, layout } = this;
    if (this.slotOf(column) >= 0) return column;
    if (!(column >= 0 && column < this.columnCount)) return column > 0 ? slots[slots.length - 1] : slots[0];
    const at = layout.order.indexOf(column);
    const isShown = (one) => this.slotOf(one) >= 0;
    return layout.order.slice(at).find(isShown) ?? layout.order.slice(0, at).findLast(isShown) ?? slots[0];
  }

  /** The selected rectangle, by slots, ends included; `empty` while the header is active or there are no rows. */
  get rectangle() {
    const { anchor, active, span } = this;
    const whole = { row: span === 'columns' || span === 'all', column: span === 'rows' || span === 'all' };
    const [top, bottom] = whole.row ? [0, this.rowCount - 1] : ordered(anchor.row, active.row);
    const [left, right] = whole.column ? [0, this.slots.length - 1] : ordered(this.slotOf(anchor.column), this.slotOf(active.column));
    const last = active.row < 0 && !whole.row ? -1 : bottom;
    return { top: Math.max(0, top), bottom: last, left, right, empty: last < 0 };
  }

  /** The selected rows and columns. @returns {Area} */
  get selection() {
    const { top, bottom, left, right, empty } = this.rectangle;
    return { top, bottom, columns: this.slots.slice(left, right + 1), empty };
  }

  isSelected(row, column) {
    const { top, bottom, left, right } = this.rectangle;
    const slot = this.slotOf(column);
    return row >= top && row <= bottom && slot >= left && slot <= right;
  }

  /** An area as a table for `writeTable`. @param {Area} area */
  tableOf({ top, bottom, columns: chosen, empty }) {
    const { columns, types } = this.result;
    const pick = (list) => chosen.map((column) => list[column]);
    return { columns: pick(columns), types: pick(types), rows: empty ? [] : this.#rows(top, bottom, pick) };
  }

  /** True if all rows are here and known: a table that is browsed holds those near the ones in sight. */
  get isWhole() {
    const { pager } = /** @type {any} */ (this.result);
    return !pager || (pager.ended && pager.held === this.rowCount);
  }

  /** True if rows may follow that are not known yet. */
  get goesOn() {
    return /** @type {any} */ (this.result).pager?.ended === false;
  }

  /** True if all rows of an area are here: of a table that is browsed only some are. */
  holds({ top, bottom }) {
    for (let place = top; place <= bottom; place += 1) if (!this.row(place) && !this.isGap(place)) return false;
    return true;
  }

  *#rows(top, bottom, pick) {
    for (let place = top; place <= bottom; place += 1) if (!this.isGap(place)) yield pick(this.row(place));
  }

  /** All rows of the columns that are shown. @returns {Area} */
  get everything() {
    return { top: 0, bottom: this.rowCount - 1, columns: this.slots, empty: this.rowCount === 0 };
  }

  /** True if a cell shows less than its value, so that the viewer has more. */
  hasMore(position) {
    /** @type {any} */
    const value = this.value(position);
    const kind = this.kinds[position.column];
    if (value === null) return false;
    if (isBinaryKind(kind)) return isHex(value) && (kind !== 'bit' || value.length > 18);
    return kind === 'json' || String(value).length > 100 || /[\r\n]/.test(String(value));
  }
}

/** Rows that came after the sorting stand behind the sorted ones. @param {Uint32Array|null} order @param {number} place */
const inOrder = (order, place) => (order && place < order.length ? order[place] : place);

const ordered = (a, b) => (a < b ? [a, b] : [b, a]);
