/**
 * Two results beside each other, row by row, with their differences marked.
 * @module
 */

import { fill, h, icon, iconButton, queryAll } from '../../common/dom.js';
import { openPanel } from '../../common/popup.js';
import { CHANGED, LEFT_ONLY, RIGHT_ONLY, SAME, align, findKey, isSame, pairsOf } from '../core/diff.js';
import { originOf } from '../core/origin.js';
import { ResultSet } from '../core/resultset.js';
import { keyOf } from '../data/browse.js';
import { ResultView } from './resultview.js';

/** Columns listed at once to match rows by. */
const MOST_LISTED = 300;

/** Rows of a table that are loaded to be compared, at most. */
const MOST_ROWS = 100_000;

/** Characters of a value that are told as the other one. */
const TOLD = 60;

/** Signs beside the numbers of rows, and their words. */
const SIGNS = { changed: '≠', only: '+', gap: '−' };

/** Rows as they were when the comparison began. */
class Side extends ResultSet {
  title = '';
  /** Sentences about what is compared of it. @type {string[]} */ remarks = [];
  /** True if it has further rows, which are not compared. */
  isPart = false;
  /** Loads all rows of a table, up to a number. @type {((most: number, signal: AbortSignal) => Promise<any[][]|null>)|null} */ whole = null;
  /** @type {Uint32Array|null} */ order = null;
  /** @type {{column: number, descending: boolean}[]} */ sortKeys = [];

  /** @override */
  get signWidth() {
    return 16;
  }
}

/**
 * The rows of a tab, to be compared.
 * @param {{grid: import('./grid.js').Grid, run?: any}} view
 * @param {string} title
 * @returns {Side}
 */
export function sideOf({ grid: { model } }, title) {
  /** @type {any} */
  const result = model.result;
  const { columns, types, sql, db, pager, truncated, cancelled } = result;
  const rows = pager ? pager.loaded : result.rows;
  const count = rows.length.toLocaleString('en');
  const isPart = pager ? !(pager.ended && pager.held === pager.rowCount) : truncated || cancelled;
  const remarks = [model.test && `All rows of ${title} are compared, also those that Find hides`, result.edits?.size > 0 && `Changes of ${title} that are not applied do not count`].filter(Boolean);
  if (isPart) remarks.unshift(pager ? `Of ${title} only the ${count} loaded rows are compared` : `Of ${title} only the first ${count} rows are compared; run it with a higher row limit for more`);
  const whole = pager && isPart ? (most, signal) => result.every(most, signal) : null;
  return Object.assign(new Side(), { title, remarks, isPart, whole, columns, types, rows, count: rows.length, sql, db, order: pager ? null : model.order, sortKeys: pager ? [] : model.sortKeys });
}

/** The content of the tab. */
export class Comparison {
  #sides;
  #deps;
  /** @type {ResultView[]} */ #views;
  #pairs;
  /** Places in the pairs of the columns that rows are matched by; none matches by position. @type {number[]} */ #key = [];
  /** @type {import('../core/diff.js').Alignment|null} */ #alignment = null;
  /** Side whose order the lines have. */
  #lead = 0;
  #abort = new AbortController();
  /** @type {AbortController|null} */ #work = null;
  /** True while one side follows the other. */
  #follows = false;
  /** Scroll positions that were set and are not to be followed. @type {({top: number, left: number}|null)[]} */ #echo = [null, null];
  #current = 0;
  /** Lines that are shown, where not all are. @type {Int32Array|null} */ #lines = null;

  /**
   * @param {Side[]} sides left and right
   * @param {{notify: Notify, announce: Announce, schemaOf: import('../core/origin.js').SchemaOf}} deps
   */
  constructor(sides, deps) {
    this.#sides = sides;
    this.#deps = deps;
    if (sides[0].title === sides[1].title) sides[1].title += ' (second)';
    this.#pairs = pairsOf(sides[0], sides[1]);
    this.#views = sides.map((side, i) => this.#viewOf(side, i));
    this.by = h('button', { type: 'button', class: 'button small', 'aria-haspopup': 'dialog', on: { click: () => this.#openKey() } });
    this.only = h('input', { type: 'checkbox', on: { change: () => this.#show() } });
    this.summary = h('span', { class: 'compare-summary', role: 'status', text: 'Comparing …' });
    this.reached = h('span', { class: 'find-count dim', 'aria-live': 'polite' });
    this.note = h('p', { class: 'compare-note dim', hidden: true });
    this.more = h('button', { type: 'button', class: 'button small', text: 'Load all and compare', hidden: !sides.some(({ whole }) => whole), on: { click: () => this.#loadAll() } });
    this.element = h('div', { class: 'compare', on: { keydown: (event) => this.#onKey(event), focusin: (event) => this.#onFocus(event) } },
      h('div', { class: 'compare-bar' }, this.summary, this.by, this.more,
        h('label', { class: 'check' }, this.only, h('span', { text: 'Only differences' })),
        h('span', { class: 'compare-steps' }, this.reached,
          iconButton('chevron-up', 'Previous difference (Shift+F7)', () => this.step(-1)), iconButton('chevron-down', 'Next difference (F7)', () => this.step(1)))),
      this.note,
      h('div', { class: 'compare-sides' }, this.#views.map((view, i) => h('section', { class: 'compare-side', 'aria-label': sides[i].title }, h('div', { class: 'compare-title', text: sides[i].title, title: sides[i].sql }), view.element))));
    this.#arrange();
    this.#begin();
  }

  /** The side that the tools are for. */
  get #view() {
    return this.#views[this.#current];
  }

  get grid() {
    return this.#view.grid;
  }

  get copying() {
    return this.#view.copying;
  }

  /** Opens the find bar. */
  find() {
    return this.#view.find();
  }

  get run() {
    return {};
  }

  get title() {
    return this.#sides[this.#current].title;
  }

  /** @param {HTMLElement} button @param {boolean} [byKey] */
  openColumns(button, byKey) {
    return this.#view.openColumns(button, byKey);
  }

  focus() {
    this.grid.focus();
  }

  /** The tab is in front again. */
  shown() {
    for (const { grid } of this.#views) grid.schedule();
  }

  dispose() {
    this.#abort.abort();
    this.#work?.abort();
    for (const view of this.#views) view.dispose();
  }

  /** @param {Side} side @param {number} i */
  #viewOf(side, i) {
    const { notify, announce, schemaOf } = this.#deps;
    const view = new ResultView(side, {
      title: side.title, run: {}, notify, announce, schemaOf, why: 'Rows that are compared cannot be edited.',
      arranged: (layout) => this.#followLayout(i, layout),
      grid: {
        label: `Rows of ${side.title}`, empty: 'No differences.',
        sort: (keys) => this.#sort(i, keys),
        onCell: (cell, at) => this.#markCell(i, cell, at),
        onRow: (row, number, place) => this.#markRow(i, row, number, place),
        onResized: (column) => this.#followWidth(i, column),
      },
    });
    Object.assign(view.grid.model, { order: side.order, sortKeys: side.sortKeys });
    const { options } = view.grid;
    const { onActive } = options;
    options.onActive = (at) => { onActive?.(at); this.#followActive(i, at); };
    view.grid.element.addEventListener('scroll', () => this.#followScroll(i), { passive: true });
    return view;
  }

  /** Compared columns stand beside each other and are equally wide. */
  #arrange() {
    const of = (i) => this.#pairs.map((pair) => (i === 0 ? pair.left : pair.right));
    for (const [i, { grid: { model } }] of this.#views.entries()) {
      const other = this.#views[1 - i].grid.model;
      for (const [at, column] of of(i).entries()) model.resize(column, Math.max(model.widths[column], other.widths[of(1 - i)[at]]));
    }
    this.#follows = true;
    for (const [i, { grid }] of this.#views.entries()) {
      const compared = of(i);
      grid.arrange({ ...grid.model.layout, order: [...compared, ...grid.model.layout.order.filter((column) => !compared.includes(column))] });
    }
    this.#follows = false;
  }

  // Matching.

  async #begin() {
    const [left, right] = this.#sides;
    try {
      const wanted = await Promise.all(this.#sides.map((side) => this.#keyOf(side)));
      this.#key = await findKey(left, right, this.#pairs, wanted, this.#abort.signal);
      await this.#align();
    } catch (cause) {
      if (!this.#abort.signal.aborted) throw cause;
    }
  }

  /** Loads the rest of tables, and compares again. */
  async #loadAll() {
    const { notify, announce } = this.#deps;
    const { signal } = this.#abort;
    this.more.disabled = true;
    this.summary.textContent = 'Loading …';
    try {
      for (const side of this.#sides) {
        const rows = await side.whole?.(MOST_ROWS, signal);
        if (rows === null) notify(`${side.title} has more than ${MOST_ROWS.toLocaleString('en')} rows. Filter both tables, and compare part by part.`, 'warn');
        if (!rows) continue;
        Object.assign(side, { rows, count: rows.length, isPart: false, whole: null });
        side.remarks.shift();
      }
      this.more.hidden = !this.#sides.some(({ whole }) => whole);
      await this.#begin();
      announce(this.summary.textContent ?? '');
    } catch (cause) {
      if (signal.aborted) return;
      this.#tell();
      notify(`Not all rows were loaded: ${cause.message}`, 'bad');
    } finally {
      this.more.disabled = false;
    }
  }

  /** The key of the table that a side is of, where its columns are compared. @param {Side} side @returns {Promise<number[]>} */
  async #keyOf(side) {
    const origin = originOf(side);
    const schema = origin?.db ? await this.#deps.schemaOf(origin.db, origin.table).catch(() => null) : null;
    const parts = (schema?.columns && schema.indexes && keyOf(schema)?.parts) || [];
    const i = this.#sides.indexOf(side);
    const key = parts.map(({ name }) => this.#pairs.findIndex((pair) => side.columns[i === 0 ? pair.left : pair.right] === name));
    return key.includes(-1) ? [] : key;
  }

  async #align() {
    this.#work?.abort();
    const work = (this.#work = new AbortController());
    const sides = this.#sides.map((side, i) => ({ columns: side.columns, types: side.types, rows: side.rows, order: this.#views[i].grid.model.order }));
    const [first, second] = this.#lead === 0 ? sides : [sides[1], sides[0]];
    const pairs = this.#lead === 0 ? this.#pairs : this.#pairs.map(({ left, right, ...pair }) => ({ ...pair, left: right, right: left }));
    this.element.setAttribute('aria-busy', 'true');
    try {
      const found = await align(first, second, pairs, this.#key, work.signal);
      this.#alignment = this.#lead === 0 ? found : turned(found);
    } catch (cause) {
      if (work.signal.aborted) return;
      throw cause;
    }
    this.element.removeAttribute('aria-busy');
    this.#show();
  }

  /** Shows all lines, or those that differ. */
  #show() {
    const all = this.#alignment;
    if (!all) return;
    const { differing } = all;
    const only = this.only.checked;
    const active = this.grid.model.active.row;
    const line = Math.max(0, this.#lineAt(active));
    const isFocused = this.grid.element.contains(document.activeElement);
    this.#lines = only ? differing : null;
    // Both sides first: a cell that is drawn is marked by the other side's value.
    for (const [i, { grid }] of this.#views.entries()) {
      const indexes = i === 0 ? all.lefts : all.rights;
      grid.model.lines = only ? differing.map((one) => indexes[one]) : indexes;
    }
    for (const { grid } of this.#views) {
      const row = only ? differing.findIndex((one) => one >= line) : line;
      const { model } = grid;
      if (model.rowCount) model.moveTo({ row: row < 0 ? model.rowCount - 1 : row, column: model.active.column });
      grid.grew();
      grid.mark();
    }
    this.grid.reveal(this.grid.model.active);
    if (isFocused) this.grid.focus();
    this.#tell();
  }

  #tell() {
    const { changed, leftOnly, rightOnly, repeated, differing } = /** @type {import('../core/diff.js').Alignment} */ (this.#alignment);
    const [left, right] = this.#sides;
    const figure = (count, text) => count > 0 && `${count.toLocaleString('en')} ${text}`;
    const text = [figure(changed, 'changed'), figure(leftOnly, `only in ${left.title}`), figure(rightOnly, `only in ${right.title}`)].filter(Boolean).join(', ');
    const none = this.#sides.some(({ isPart }) => isPart) ? `No differences in the ${left.rows.length.toLocaleString('en')} rows compared` : 'No differences';
    this.summary.textContent = this.#pairs.length ? text || none : `No column is in both: nothing is compared${text && ` (${text})`}`;
    const names = this.#key.map((i) => this.#pairs[i].name).join(', ');
    fill(this.by, icon('key'), names ? `Matched by ${names}` : 'Matched by position');
    const alone = (side, i) => side.columns.filter((_, column) => !this.#pairs.some((pair) => (i === 0 ? pair.left : pair.right) === column));
    const notes = [
      ...this.#sides.flatMap(({ remarks }) => remarks),
      ...this.#sides.map((side, i) => { const list = alone(side, i); return list.length ? `Not compared, only in ${side.title}: ${list.slice(0, 8).join(', ')}${list.length > 8 ? ' …' : ''}` : ''; }),
      repeated > 0 && `${repeated.toLocaleString('en')} ${repeated === 1 ? 'row has' : 'rows have'} the key of another row: these are matched in their order`,
    ].filter(Boolean).join('. ');
    this.note.textContent = notes && `${notes}.`;
    this.note.hidden = notes === '';
    this.reached.textContent = '';
    for (const button of queryAll(this.element, '.compare-steps button')) button.toggleAttribute('disabled', differing.length === 0);
  }

  #openKey() {
    openPanel(this.by, 'Match rows', () => {
      const boxes = this.#pairs.slice(0, MOST_LISTED).map((_, i) => {
        const box = h('input', { type: 'checkbox', on: { change: () => this.#setKey(boxes.flatMap(({ checked }, at) => (checked ? [at] : []))) } });
        box.checked = this.#key.includes(i);
        return box;
      });
      return [
        h('fieldset', {}, h('legend', { text: 'Rows belong together if these are equal' }),
          h('div', { class: 'compare-keys' }, boxes.map((box, i) => h('label', { class: 'check' }, box, h('span', { text: this.#pairs[i].name }))))),
        h('p', { class: 'dim', text: 'With no column, rows belong together by their position.' }),
      ];
    });
  }

  /** @param {number[]} key */
  #setKey(key) {
    this.#key = key;
    this.#align();
  }

  // Marks.

  /** @param {number} row @returns {number} */
  #lineAt(row) {
    return this.#lines ? this.#lines[row] ?? -1 : row;
  }

  /** Partner of a column on the other side; none where it is not compared. @param {number} i @param {number} column */
  #partner(i, column) {
    const pair = this.#pairs.find((one) => (i === 0 ? one.left : one.right) === column);
    return pair && { column: i === 0 ? pair.right : pair.left, kind: pair.kind };
  }

  /** @param {number} i @param {number} row @returns {keyof typeof SIGNS|''} */
  #stateOf(i, row) {
    const state = this.#alignment?.states[this.#lineAt(row)] ?? SAME;
    if (state === CHANGED) return 'changed';
    if (state === LEFT_ONLY) return i === 0 ? 'only' : 'gap';
    return state === RIGHT_ONLY ? (i === 0 ? 'gap' : 'only') : '';
  }

  /** @param {number} i @param {HTMLElement} cell @param {import('./gridmodel.js').Position} at */
  #markCell(i, cell, { row, column }) {
    let state = this.#stateOf(i, row);
    const partner = state === 'changed' ? this.#partner(i, column) : undefined;
    const other = partner && this.#views[1 - i].grid.model.value({ row, column: partner.column });
    if (state === 'changed' && (!partner || isSame(this.#views[i].grid.model.value({ row, column }), other, partner.kind))) state = '';
    if (state) cell.dataset.diff = state;
    else delete cell.dataset.diff;
    const words = state === 'changed' ? `${told(other)} in ${this.#sides[1 - i].title}` : '';
    if (words) cell.setAttribute('aria-label', `${cell.textContent}, differs: ${words}`);
    else cell.removeAttribute('aria-label');
    if (words) cell.title = words;
    else cell.removeAttribute('title');
  }

  /** @param {number} i @param {HTMLElement} row @param {HTMLElement} number @param {number} place */
  #markRow(i, row, number, place) {
    const state = this.#stateOf(i, place);
    if (state) row.dataset.diff = state;
    else delete row.dataset.diff;
    const words = { changed: 'changed', only: `only in ${this.#sides[i].title}`, gap: `not in ${this.#sides[i].title}`, '': '' }[state];
    if (state) number.dataset.sign = SIGNS[state];
    else delete number.dataset.sign;
    const text = number.textContent ? `Row ${number.textContent}` : 'No row';
    number.setAttribute('aria-label', words ? `${text}, ${words}` : text);
    number.title = words;
  }

  // Going on to the next difference.

  /** @param {1|-1} by */
  step(by) {
    const all = this.#alignment;
    if (!all || !all.differing.length) return;
    const line = this.#lineAt(this.grid.model.active.row);
    const { differing } = all;
    // The first one counts as the next where the focus has not been on it.
    const here = this.reached.textContent === '' ? line - 1 + (by < 0 ? 1 : 0) : line;
    let at = by > 0 ? differing.findIndex((one) => one > here) : differing.findLastIndex((one) => one < here);
    if (at < 0) at = by > 0 ? 0 : differing.length - 1;
    const row = this.#lines ? at : differing[at];
    const { model } = this.grid;
    const changed = model.slots.find((column) => this.#differsAt(row, column));
    this.grid.moveTo({ row, column: changed ?? model.active.column });
    this.reached.textContent = `${(at + 1).toLocaleString('en')} of ${differing.length.toLocaleString('en')}`;
  }

  #differsAt(row, column) {
    const partner = this.#partner(this.#current, column);
    const [here, there] = [this.#view.grid.model, this.#views[1 - this.#current].grid.model];
    return partner !== undefined && this.#stateOf(this.#current, row) === 'changed' && !isSame(here.value({ row, column }), there.value({ row, column: partner.column }), partner.kind);
  }

  #onKey(event) {
    if (event.key !== 'F7' || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    event.stopPropagation();
    this.step(event.shiftKey ? -1 : 1);
  }

  #onFocus({ target }) {
    const at = this.#views.findIndex(({ element }) => element.contains(target));
    if (at >= 0) this.#current = at;
  }

  // One side follows the other.

  #followScroll(i) {
    const here = this.#views[i].grid.element;
    const echo = this.#echo[i];
    this.#echo[i] = null;
    if (echo && echo.top === here.scrollTop && echo.left === here.scrollLeft) return;
    const there = this.#views[1 - i].grid.element;
    const [top, left] = [there.scrollTop, there.scrollLeft];
    there.scrollTop = here.scrollTop;
    there.scrollLeft = here.scrollLeft;
    if (there.scrollTop !== top || there.scrollLeft !== left) this.#echo[1 - i] = { top: there.scrollTop, left: there.scrollLeft };
  }

  #followActive(i, { row, column }) {
    if (this.#follows) return;
    const { grid } = this.#views[1 - i];
    const partner = this.#partner(i, column);
    grid.model.moveTo({ row, column: partner?.column ?? grid.model.active.column });
    grid.render();
    grid.mark();
  }

  #followWidth(i, column) {
    const partner = this.#partner(i, column);
    if (this.#follows || !partner) return;
    this.#follows = true;
    this.#views[1 - i].grid.resizeColumn(partner.column, this.#views[i].grid.model.widths[column]);
    this.#follows = false;
  }

  /** @param {number} i @param {import('./gridmodel.js').Layout} layout */
  #followLayout(i, { order, hidden, frozen }) {
    if (this.#follows) return;
    const { grid } = this.#views[1 - i];
    const { layout } = grid.model;
    const of = (columns) => columns.flatMap((column) => this.#partner(i, column)?.column ?? []);
    const isAlone = (column) => !this.#partner(1 - i, column);
    this.#follows = true;
    grid.arrange({ order: [...of(order), ...layout.order.filter(isAlone)], hidden: [...of(hidden), ...layout.hidden.filter(isAlone)], frozen: [...of(frozen), ...layout.frozen.filter(isAlone)] });
    this.#follows = false;
  }

  /** Sorts both sides by the same columns. @param {number} i @param {{column: number, descending: boolean}[]} keys */
  async #sort(i, keys) {
    const theirs = keys.flatMap(({ column, descending }) => { const partner = this.#partner(i, column); return partner ? [{ column: partner.column, descending }] : []; });
    const models = this.#views.map(({ grid }) => grid.model);
    await models[i].sort(keys, this.#abort.signal);
    await models[1 - i].sort(theirs, this.#abort.signal);
    this.#lead = i;
    await this.#align();
    this.#deps.announce(keys.length ? `sorted by ${keys.map(({ column, descending }) => `${this.#sides[i].columns[column]} ${descending ? 'descending' : 'ascending'}`).join(', ')}` : 'original order');
  }
}

/** An alignment whose left side is the right one. @param {import('../core/diff.js').Alignment} of @returns {import('../core/diff.js').Alignment} */
const turned = (of) => ({
  ...of, lefts: of.rights, rights: of.lefts, leftOnly: of.rightOnly, rightOnly: of.leftOnly,
  states: of.states.map((state) => (state === LEFT_ONLY ? RIGHT_ONLY : state === RIGHT_ONLY ? LEFT_ONLY : state)),
});

/** A value in words. */
function told(value) {
  if (value === null || value === undefined) return 'NULL';
  const text = String(value);
  return text === '' ? 'empty' : text.length > TOLD ? `${text.slice(0, TOLD)} …` : text;
}
