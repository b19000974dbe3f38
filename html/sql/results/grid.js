/**
 * A grid for results of any size: only what is in sight is in the document.
 * @module
 */

import { fill, h, marked, plainMarked } from '../../common/dom.js';
import { viewCell } from '../core/cells.js';
import { GridModel } from './gridmodel.js';

/** Rows kept beyond the edges, so that a slow wheel shows no gaps. */
const SPARE_ROWS = 6;

/** Columns kept beyond the edges. */
const SPARE_COLUMNS = 2;

/** Height of a row by pointer type, in pixels: fingers need more. */
const ROW_HEIGHT = { fine: 24, coarse: 36, low: 32 };

/** As high as a row of text is in this window; in a low one fingers get by with less, so that some rows are seen. */
export function rowHeight() {
  if (!matchMedia('(pointer: coarse)').matches) return ROW_HEIGHT.fine;
  return matchMedia('(max-height: 420px)').matches ? ROW_HEIGHT.low : ROW_HEIGHT.coarse;
}

/** @typedef {import('./gridmodel.js').Position} Position */

/** A grid of one result. */
export class Grid {
  #rows = new Map(); // place → { element, number, cells: Map(column → cell), awaited, late }
  #headers = new Map();
  #range = { first: 0, last: -1, left: 0, right: -1 };
  #frame = 0;
  /** @type {AbortController|null} */
  #ordering = null;
  /** Order and rows that were asked for and are not shown yet. @type {{keys?: {column: number, descending: boolean}[], test?: ((row: any[]) => boolean)|null}} */
  #wanted = {};
  #observer;
  /** The cell that something else fills as long as it is set: it is edited. @type {Position|null} */
  held = null;

  /**
   * @param {import('../core/resultset.js').ResultSet} result
   * @param {{label: string, onActive?: (at: Position) => void,
   *   onOpen?: (at: Position, byKey?: boolean, byClick?: boolean) => void, onCopy?: (event: ClipboardEvent) => void,
   *   onMenu?: (cell: HTMLElement) => void, onSorted?: (text: string) => void, empty?: string, rowHeight?: () => number,
   *   toEnd?: () => void, sort?: (keys: {column: number, descending: boolean}[]) => Promise<any>, onSight?: (first: number, last: number) => void,
   *   onHeader?: (header: HTMLElement, column: number) => void, onCell?: (cell: HTMLElement, at: Position) => void,
   *   onRow?: (row: HTMLElement, number: HTMLElement, place: number) => void, onMove?: () => void,
   *   onKey?: (event: KeyboardEvent, at: Position) => boolean, onArranged?: () => void, onHeaderMenu?: (header: HTMLElement, column: number) => void, onFiltered?: () => void, onResized?: (column: number) => void,
   *   onRearrange?: (how: (columns: typeof import('./columns.js'), layout: import('./gridmodel.js').Layout) => import('./gridmodel.js').Layout) => void}} options
   *   `rowHeight`: of now, in pixels; asked again when the size of the grid changes; `toEnd`: who finds the last row, where not all are known; `sort`: who sorts, where it is not the grid itself; `onHeader`, `onCell`, `onRow`: add to what was drawn; `onMove`: the active
   *   cell is about to be another; `onKey`: takes a key in a cell before the grid does; `onRearrange`: moves columns by what the module can do
   */
  constructor(result, options) {
    this.options = options;
    this.model = new GridModel(result, { charWidth: characterWidth(), rowHeight: this.#rowHeight() });
    this.needle = '';
    /** Column in which it is marked; -1 is all. */
    this.marked = -1;
    const { model } = this;
    this.head = h('div', { class: 'grid-head', role: 'row', 'aria-rowindex': 1 });
    this.corner = h('div', { class: 'grid-corner', role: 'columnheader', 'aria-colindex': 1 }, h('span', { class: 'visually-hidden', text: 'Row number' }));
    this.head.append(this.corner);
    this.body = h('div', { class: 'grid-body', role: 'rowgroup' });
    this.canvas = h('div', { class: 'grid-canvas', role: 'presentation' }, this.head, this.body);
    this.element = h('div', {
      class: 'grid', role: 'grid', 'aria-label': options.label, 'aria-multiselectable': 'true',
      'aria-rowcount': model.rowCount + 1, 'aria-colcount': model.slots.length + 1,
    }, this.canvas);
    this.empty = h('p', { class: 'grid-empty', text: options.empty ?? emptyText(result), hidden: model.rowCount > 0 });
    this.body.append(this.empty);
    this.#resized();
    this.element.addEventListener('scroll', () => this.schedule(), { passive: true });
    this.#observer = new ResizeObserver(() => this.#fit());
    this.#observer.observe(this.element);
  }

  #rowHeight() {
    return this.options.rowHeight?.() ?? rowHeight();
  }

  /** The window may be another now: turned, enlarged, without a finger. What stands at the top stays there. */
  #fit() {
    const { model } = this;
    const height = this.#rowHeight();
    const { stuck } = model;
    model.stick(this.element.clientWidth);
    if (stuck !== model.stuck) this.render(true);
    if (height === model.rowHeight) return this.schedule();
    const top = this.offset / model.rowHeight;
    model.rowHeight = height;
    for (const { element } of this.#rows.values()) element.style.height = `${height}px`;
    this.#resized();
    this.offset = top * height;
    this.render(true);
    return undefined;
  }

  #resized() {
    const { model } = this;
    this.element.style.setProperty('--row', `${model.rowHeight}px`);
    model.stick(this.element.clientWidth);
    this.canvas.style.width = `${model.width}px`;
    this.body.style.height = `${Math.max(model.height, model.rowCount ? 0 : 80)}px`;
    this.corner.style.width = `${model.numberWidth}px`;
  }

  /** Rows came or went. `renew`: those in sight may be others; else only what was awaited is filled. */
  grew(renew = true) {
    const { model } = this;
    const { width } = model;
    const isFocused = this.element.contains(document.activeElement);
    const first = model.columnAt(this.element.scrollLeft + model.stuckWidth);
    const left = model.left(first);
    model.grew();
    this.empty.hidden = model.rowCount > 0;
    this.element.setAttribute('aria-rowcount', String(model.rowCount + 1));
    if (model.active.row < 0 && isFocused) model.active.row = -1;
    else model.active = model.clamp({ row: Math.max(0, model.active.row), column: model.active.column });
    model.anchor = model.clamp(model.anchor);
    this.#resized();
    // Visible cells stay in place when columns beside them become wider.
    if (this.element.scrollLeft > 0) this.element.scrollLeft += model.left(first) - left;
    if (renew || width !== model.width) {
      for (const row of this.#rows.values()) row.number.style.width = `${model.numberWidth}px`;
      this.render(true);
      // The element with the focus went, or shows another row.
      if (isFocused && !document.activeElement?.closest('.grid-header, .grid-cell.active')) this.focus();
      return undefined;
    }
    this.render();
    for (const [place, row] of this.#rows) if (row.awaited && model.row(place)) this.#fillRow(place, row, new Set(row.cells.keys()), false, true);
    return undefined;
  }

  /** Shows that the result has more rows. */
  grow() {
    const wider = this.model.grow();
    if (this.model.test && !this.#ordering) this.#arrangeRows({});
    this.element.setAttribute('aria-rowcount', String(this.model.rowCount + 1));
    this.#resized();
    if (wider) this.#renumber();
    else this.schedule();
  }

  /** The result has all its rows. @param {string} label */
  finish(label) {
    this.model.widen();
    this.empty.textContent = this.options.empty ?? emptyText(this.model.result);
    this.element.setAttribute('aria-label', label);
    this.grow();
    if (this.model.sortKeys.length) this.#sort(this.model.sortKeys);
    else if (this.model.test) this.#arrangeRows({});
    else this.#renumber();
  }

  #renumber() {
    for (const { number } of this.#rows.values()) number.style.width = `${this.model.numberWidth}px`;
    this.render(true);
  }

  /** Draws before the next frame, however often it is asked. */
  schedule() {
    if (this.#frame) return;
    this.#frame = requestAnimationFrame(() => {
      this.#frame = 0;
      this.render();
    });
  }

  /** Frees what outlives the element. */
  dispose() {
    cancelAnimationFrame(this.#frame);
    this.#observer.disconnect();
    this.#ordering?.abort();
  }

  // Visible rows and columns.

  /** Height of the part that shows rows. */
  get view() {
    return Math.max(0, this.element.clientHeight - this.head.offsetHeight);
  }

  get offset() {
    return this.model.offsetAt(this.element.scrollTop, this.view);
  }

  /** Scrolls to an offset in unscaled pixels. */
  set offset(value) {
    const most = Math.max(0, this.model.rowCount * this.model.rowHeight - this.view);
    this.element.scrollTop = this.model.scrollFor(Math.min(Math.max(0, value), most), this.view);
    this.schedule();
  }

  get pageRows() {
    return Math.max(1, Math.floor(this.view / this.model.rowHeight) - 1);
  }

  #visible() {
    const { model, element } = this;
    const top = Math.floor(this.offset / model.rowHeight);
    const bottom = Math.ceil((this.offset + this.view) / model.rowHeight);
    const first = Math.max(0, top - SPARE_ROWS);
    const last = Math.min(model.rowCount - 1, bottom + SPARE_ROWS);
    const left = Math.max(model.stuck, model.slotAt(element.scrollLeft + model.stuckWidth) - SPARE_COLUMNS);
    const right = Math.min(model.slots.length - 1, model.slotAt(element.scrollLeft + element.clientWidth) + SPARE_COLUMNS);
    return { top, bottom, first, last, left, right };
  }

  /** Brings the document in line with the window. `renew` fills every cell anew. */
  render(renew = false) {
    if (this.element.clientHeight === 0) return;
    const range = this.#visible();
    const sideways = renew || range.left !== this.#range.left || range.right !== this.#range.right;
    this.#range = range;
    const { slots, stuck, active } = this.model;
    const columns = new Set([...slots.slice(0, stuck), ...slots.slice(range.left, range.right + 1), active.column]);
    if (sideways) this.#renderHead(columns, renew);
    this.#renderRows(range, columns, sideways, renew);
    this.options.onSight?.(range.first, range.last);
  }

  /** Rows that left the window come back with other content: moving an element is dearer than filling it. */
  #renderRows({ top, bottom, first, last }, columns, sideways, renew) {
    const { active } = this.model;
    const places = within(first, last, active.row);
    const free = [...this.#rows.keys()].filter((place) => !places.has(place));
    const base = this.model.scaled ? this.element.scrollTop - this.offset : 0;
    for (const place of places) {
      const known = this.#rows.get(place);
      const row = known ?? this.#takeRow(place, free);
      row.element.style.transform = `translateY(${base + place * this.model.rowHeight}px)`;
      // Rows out of sight get their columns in the next frame: all at once would take this one too long.
      const waits = Boolean(known) && sideways && !renew && place !== active.row && (place < top || place > bottom);
      if (!waits && (!known || sideways || row.late)) this.#fillRow(place, row, columns, renew, !known);
      row.late = waits;
    }
    for (const place of free) this.#drop(place);
    if ([...this.#rows.values()].some(({ late }) => late)) this.schedule();
  }

  #takeRow(place, free) {
    const old = free.pop();
    const row = this.#rows.get(old) ?? this.#makeRow();
    this.#rows.delete(old);
    this.#rows.set(place, row);
    row.element.setAttribute('aria-rowindex', place + 2);
    return row;
  }

  #makeRow() {
    const number = h('div', { class: 'grid-number', role: 'rowheader', 'aria-colindex': 1 });
    number.style.width = `${this.model.numberWidth}px`;
    const element = h('div', { class: 'grid-row', role: 'row' }, number);
    element.style.height = `${this.model.rowHeight}px`;
    this.body.append(element);
    return { element, number, cells: new Map(), awaited: false, late: false };
  }

  #drop(place) {
    this.#rows.get(place).element.remove();
    this.#rows.delete(place);
  }

  #fillRow(place, row, columns, renew, refill) {
    const free = [...row.cells.keys()].filter((column) => !columns.has(column));
    row.awaited = !this.model.row(place);
    if (renew || refill) row.number.textContent = this.model.numberAt(place);
    for (const column of columns) {
      const known = row.cells.get(column);
      const cell = known ?? this.#takeCell(row, column, free);
      if (!known || renew) this.#placeCell(cell, column);
      if (!known || renew || refill) this.#fillCell(cell, place, column);
    }
    if (renew || refill) this.options.onRow?.(row.element, row.number, place);
    for (const column of free) {
      row.cells.get(column).remove();
      row.cells.delete(column);
    }
    this.#markRow(place, row);
  }

  #takeCell(row, column, free) {
    const old = free.pop();
    const cell = row.cells.get(old) ?? h('div', { role: 'gridcell', tabindex: -1 });
    row.cells.delete(old);
    row.cells.set(column, cell);
    if (!cell.parentNode) row.element.append(cell);
    return cell;
  }

  /** Puts a cell or header in its slot; frozen ones stand beside each other, in their order. */
  #placeCell(cell, column) {
    const { model } = this;
    const slot = model.slotOf(column);
    cell.setAttribute('aria-colindex', slot + 2);
    cell.style.left = `${model.left(column)}px`;
    cell.style.width = `${model.widths[column]}px`;
    const isStuck = slot < model.stuck;
    cell.style.order = isStuck ? String(slot + 1) : '';
    cell.toggleAttribute('data-stuck', isStuck);
    cell.toggleAttribute('data-edge', slot === model.stuck - 1);
  }

  #fillCell(cell, place, column) {
    if (this.held && this.held.row === place && this.held.column === column) return;
    if (!this.model.row(place)) {
      cell.dataset.look = this.model.isGap(place) ? 'gap' : 'awaited';
      cell.replaceChildren();
      this.options.onCell?.(cell, { row: place, column });
      return;
    }
    const { look, parts, note } = viewCell(this.model.value({ row: place, column }), this.model.kinds[column]);
    if (cell.dataset.look !== look) cell.dataset.look = look;
    cell.toggleAttribute('data-noted', Boolean(note));
    cell.toggleAttribute('data-right', this.model.kinds[column] === 'number');
    const marks = this.needle !== '' && (this.marked < 0 || this.marked === column);
    if (!note && !marks && parts.length === 1 && !parts[0].mark) {
      cell.textContent = parts[0].text;
    } else {
      const shown = this.#content(parts, look, marks);
      // The note keeps its place at the edge however little of the text has room.
      cell.replaceChildren(...(note ? [h('span', { class: 'cut' }, shown), h('span', { class: 'note', text: note })] : shown));
    }
    this.options.onCell?.(cell, { row: place, column });
  }

  #content(parts, look, marks) {
    if (look === 'null' || look === 'empty') return [parts[0].text];
    return parts.flatMap(({ text, mark }) => (mark ? [h('span', { class: 'unseen', text })] : marks ? this.#found(text) : [text]));
  }

  /** The text with what is searched for marked. */
  #found(text) {
    const at = this.needle ? text.toLowerCase().indexOf(this.needle) : -1;
    if (at < 0) return [text];
    const end = at + this.needle.length;
    return [text.slice(0, at), h('mark', { text: text.slice(at, end) }), ...this.#found(text.slice(end))];
  }

  // Header.

  #renderHead(columns, renew) {
    for (const [column, header] of this.#headers) {
      if (columns.has(column) && !renew) continue;
      if (columns.has(column)) this.#fillHeader(header, column);
      else {
        header.remove();
        this.#headers.delete(column);
      }
    }
    for (const column of columns) if (!this.#headers.has(column)) this.#addHeader(column);
    this.#markHead();
  }

  #addHeader(column) {
    const header = h('div', { class: 'grid-header', role: 'columnheader', tabindex: -1 });
    this.#headers.set(column, header);
    header.append(h('span', { class: 'grid-name' }), h('span', { class: 'grid-sort', 'aria-hidden': 'true' }), h('span', { class: 'grid-resizer', 'aria-hidden': 'true' }));
    this.head.append(header);
    this.#fillHeader(header, column);
  }

  #fillHeader(header, column) {
    const { result, sortKeys, kinds } = this.model;
    const at = sortKeys.findIndex((key) => key.column === column);
    const key = sortKeys[at];
    this.#placeCell(header, column);
    header.classList.toggle('numeric', kinds[column] === 'number');
    const { type = result.types[column] ?? '', comment = '' } = /** @type {any} */ (result).describe?.(column) ?? {};
    header.title = plainMarked([result.columns[column], type, comment].filter(Boolean).join('\n'));
    if (key) header.setAttribute('aria-sort', key.descending ? 'descending' : 'ascending');
    else header.removeAttribute('aria-sort');
    const sign = key ? `${key.descending ? '▼' : '▲'}${sortKeys.length > 1 ? at + 1 : ''}` : '';
    const [name, sort] = header.children; // the third, the resizer, may be holding the pointer
    fill(name, marked(result.columns[column]));
    sort.textContent = sign;
    this.options.onHeader?.(header, column);
  }

  // Selection and focus.

  /** Draws the selection and sets the tab stop. */
  mark() {
    this.#markHead();
    for (const [place, row] of this.#rows) this.#markRow(place, row);
  }

  #markHead() {
    const { active, rectangle, span } = this.model;
    for (const [column, header] of this.#headers) {
      header.tabIndex = active.row < 0 && column === active.column ? 0 : -1;
      const whole = span === 'columns' || span === 'all';
      const slot = this.model.slotOf(column);
      header.classList.toggle('selected', whole && slot >= rectangle.left && slot <= rectangle.right);
    }
  }

  #markRow(place, row) {
    const { active, rectangle } = this.model;
    const inside = place >= rectangle.top && place <= rectangle.bottom;
    row.element.classList.toggle('current', place === active.row);
    row.number.classList.toggle('selected', inside && this.model.span !== 'columns');
    for (const [column, cell] of row.cells) {
      const slot = this.model.slotOf(column);
      const selected = inside && slot >= rectangle.left && slot <= rectangle.right;
      const isActive = place === active.row && column === active.column;
      const name = `grid-cell${selected ? ' selected' : ''}${isActive ? ' active' : ''}`;
      if (cell.className === name) continue;
      cell.className = name;
      cell.setAttribute('aria-selected', String(selected));
      cell.tabIndex = isActive ? 0 : -1;
    }
  }

  /**
   * Moves the active cell, shows it and follows it with the focus where the grid has it.
   * @param {Position} to
   * @param {{extend?: boolean, span?: 'cells'|'rows'|'columns'|'all', focus?: boolean}} [how]
   */
  moveTo(to, { focus = this.element.contains(document.activeElement), ...how } = {}) {
    this.options.onMove?.();
    this.model.moveTo(to, how);
    this.reveal(this.model.active, how.span);
    this.render();
    this.mark();
    if (focus) this.focus();
    this.options.onActive?.(this.model.active);
  }

  /** Focuses the active cell. */
  focus() {
    this.#ensureActive();
    this.activeElement?.focus({ preventScroll: true });
  }

  /** The active cell, which stays in the document when scrolled away since it holds the focus. */
  #ensureActive() {
    const { row, column } = this.model.active;
    const known = row < 0 ? this.#headers.has(column) : this.#rows.get(row)?.cells.has(column);
    if (known) return;
    this.#range = { first: 0, last: -1, left: 0, right: -1 };
    this.render();
    this.mark();
  }

  get activeElement() {
    const { row, column } = this.model.active;
    return row < 0 ? this.#headers.get(column) : this.#rows.get(row)?.cells.get(column);
  }

  /** Scrolls just enough to show the position; not along a selected row or column. */
  reveal({ row, column }, span = 'cells') {
    const { model, element } = this;
    if (row >= 0 && span !== 'columns' && span !== 'all') {
      const top = row * model.rowHeight;
      if (top < this.offset) this.offset = top;
      else if (top + model.rowHeight > this.offset + this.view) this.offset = top + model.rowHeight - this.view;
    }
    if (span === 'rows' || span === 'all' || model.slotOf(column) < model.stuck) return;
    const [left, right] = [model.left(column) - model.stuckWidth, model.left(column) + model.widths[column]];
    if (left < element.scrollLeft) element.scrollLeft = left;
    else if (right > element.scrollLeft + element.clientWidth) element.scrollLeft = Math.min(left, right - element.clientWidth);
  }

  /** The cell at a point of the window, clamped to the grid. */
  positionAt(x, y) {
    const box = this.element.getBoundingClientRect();
    const inside = x - box.left;
    const column = this.model.columnAt(inside < this.model.stuckWidth ? inside : inside + this.element.scrollLeft);
    const row = Math.floor((y - box.top - this.head.offsetHeight + this.offset) / this.model.rowHeight);
    return { row: Math.min(Math.max(0, row), this.model.rowCount - 1), column };
  }

  // Sorting and searching.

  /** Sorts by a column, as after a click on its header. */
  sortBy(column, adding) {
    return this.sortWith(this.model.nextKeys(column, adding));
  }

  /** @param {{column: number, descending: boolean}[]} keys */
  async sortWith(keys) {
    if (this.options.sort) return this.options.sort(keys);
    return this.#sort(keys);
  }

  async #sort(keys) {
    return await this.#arrangeRows({ keys }) && this.options.onSorted?.(this.#sortText(keys));
  }

  /**
   * Shows only rows that pass a test; null shows all. The active row stays active where it is among them.
   * @param {((row: any[]) => boolean)|null} test
   * @param {string} [empty] text where none is
   */
  async filter(test, empty) {
    this.empty.textContent = (test && empty) || emptyText(this.model.result);
    await this.#arrangeRows({ test });
  }

  /** Brings order and rows in line; false where newer wishes came meanwhile. */
  async #arrangeRows(wanted) {
    this.#ordering?.abort();
    const ordering = (this.#ordering = new AbortController());
    const { keys, test } = (this.#wanted = { ...this.#wanted, ...wanted });
    const { model } = this;
    const { active } = model;
    const index = active.row < 0 ? -1 : model.indexAt(active.row);
    if (keys || test !== undefined) this.element.setAttribute('aria-busy', 'true');
    try {
      if (keys) await model.sort(keys, ordering.signal);
      if (test !== undefined) await model.filter(test, ordering.signal);
      if (!keys && test === undefined) await model.filterMore(ordering.signal);
    } catch (cause) {
      if (ordering.signal.aborted) return false;
      this.#ordering = null;
      throw cause;
    }
    this.#ordering = null;
    this.#wanted = {};
    this.element.removeAttribute('aria-busy');
    if (test !== undefined) this.#filtered(active === model.active ? model.placeOf(index) : -1);
    else if (model.test) this.grew();
    else this.render(true);
    if (model.test || test !== undefined) this.options.onFiltered?.();
    return true;
  }

  /** Other rows are shown. @param {number} row place of the one that was active before; -1 where it is not shown */
  #filtered(row) {
    const { model } = this;
    const isFocused = this.element.contains(document.activeElement);
    if (row >= 0) model.moveTo({ row, column: model.active.column });
    this.grew();
    this.reveal(model.active);
    this.render();
    this.mark();
    if (isFocused) this.focus();
  }

  #sortText(keys) {
    if (keys.length === 0) return 'original order';
    return `sorted by ${keys.map((key) => `${this.model.result.columns[key.column]} ${key.descending ? 'descending' : 'ascending'}`).join(', ')}`;
  }

  resizeColumn(column, width) {
    this.model.resize(column, width);
    this.#resized();
    this.render(true);
    this.options.onResized?.(column);
  }

  fitColumn(column) {
    this.model.fitColumn(column);
    this.#resized();
    this.render(true);
    this.options.onResized?.(column);
  }

  /** Hides, moves and freezes columns. @param {import('./gridmodel.js').Layout} layout */
  arrange(layout) {
    this.options.onMove?.();
    const isFocused = this.element.contains(document.activeElement);
    this.model.arrange(layout);
    this.element.setAttribute('aria-colcount', String(this.model.slots.length + 1));
    this.#resized();
    this.render(true);
    this.mark();
    if (isFocused) this.focus();
    this.options.onActive?.(this.model.active);
    this.options.onArranged?.();
  }

  get isConnected() {
    return this.element.isConnected;
  }

  /** Asks the result area for the list of columns. */
  openColumns() {
    this.element.dispatchEvent(new CustomEvent('open-columns', { bubbles: true }));
  }

  /** Shows columns that are hidden. @param {number[]} columns */
  show(columns) {
    const { layout } = this.model;
    const hidden = layout.hidden.filter((column) => !columns.includes(column));
    if (hidden.length < layout.hidden.length) this.arrange({ ...layout, hidden });
  }

  /** Widths, order and columns as a person set them, kept for results of the same statement. */
  get arrangement() {
    const { widths, sized, sortKeys, layout, result } = this.model;
    return { columns: result.columns.join('\n'), sized: [...sized].map((column) => [column, widths[column]]), sortKeys, layout };
  }

  set arrangement({ columns, sized, sortKeys, layout }) {
    if (columns !== this.model.result.columns.join('\n')) return;
    for (const [column, width] of sized) this.resizeColumn(column, width);
    this.model.sortKeys = sortKeys;
    this.arrange(layout);
  }

  /** Highlights a text in all cells, or in those of a column; an empty text removes the highlight. @param {string} text @param {number} [column] */
  highlight(text, column = -1) {
    this.needle = text.toLowerCase();
    this.marked = column;
    this.render(true);
  }
}

/** The places from `first` to `last`, plus the one that must stay. */
function within(first, last, also) {
  const numbers = new Set();
  for (let i = first; i <= last; i += 1) numbers.add(i);
  if (also >= 0) numbers.add(also);
  return numbers;
}

let measured = 0;

/** Width of a character in the grid's font, in pixels. */
function characterWidth() {
  if (measured) return measured;
  const probe = h('span', { class: 'grid-probe', 'aria-hidden': 'true', text: '0'.repeat(50) });
  document.body.append(probe);
  measured = probe.getBoundingClientRect().width / 50 || 7.25;
  probe.remove();
  return measured;
}

/** Text where there are no rows. @param {any} result */
function emptyText({ cancelled }) {
  return cancelled ? 'Cancelled before any rows.' : 'No rows returned.';
}
