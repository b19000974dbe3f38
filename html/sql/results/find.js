/**
 * Finding a text in a result.
 * @module
 */

import { debounce, fill, h, iconButton } from '../../common/dom.js';
import { Slicer } from '../core/slices.js';

/** Wait after a key press before the search begins, in milliseconds. */
const TYPING_MS = 120;

/** Matches kept at most. */
const MAX_FOUND = 10_000;

/** @typedef {{column: number, value: any, isNot: boolean}} Pick */

/**
 * Entries of a cell's menu: only the rows with its value, or all others. Rows of a table are filtered by the server instead.
 * @param {import('./grid.js').Grid} grid @param {(pick: Pick) => void} show
 * @returns {import('../../common/menu.js').MenuItem[]}
 */
export function valueEntries(grid, show) {
  const { model } = grid;
  const { row, column } = model.active;
  const value = model.value({ row, column });
  if (grid.options.sort || row < 0 || (value !== null && typeof value === 'object')) return [];
  return [
    { label: 'Only this value', icon: 'filter', run: () => show({ column, value, isNot: false }) },
    { label: 'Exclude this value', run: () => show({ column, value, isNot: true }) },
  ];
}

/** The bar above a grid. */
export class FindBar {
  #grid;
  #found = []; // places: row × slots + slot, ascending
  #at = -1;
  #seen = 0; // rows looked through
  /** Hidden columns with matches, and their number. @type {Set<number>} */ #away = new Set();
  #unseen = 0;
  #filters = false; // whether it asked for matching rows only
  /** Values that rows must have, or must not have. @type {Pick[]} */ #picks = [];
  /** @type {AbortController|null} */
  #search = null;

  /** @param {import('./grid.js').Grid} grid @param {{element: HTMLElement, hidden: HTMLElement}} place above all of it, with the foot before what is hidden */
  constructor(grid, place) {
    this.#grid = grid;
    const later = debounce(() => this.search(), TYPING_MS);
    this.column = h('select', { class: 'field find-column', 'aria-label': 'Columns to find in', on: { change: () => this.search() } });
    this.only = h('input', { type: 'checkbox', on: { change: () => this.search() } });
    // Rows of a table are filtered by the server; lines that are compared stay beside each other.
    this.onlyLine = h('label', { class: 'check', hidden: Boolean(grid.options.sort) }, this.only, h('span', { text: 'Only matching rows' }));
    this.figures = h('span');
    /** The line below the rows, where not all are shown. */
    this.foot = h('div', { class: 'result-hidden', role: 'status', hidden: true }, this.figures,
      h('button', { type: 'button', class: 'link', text: 'Show all rows', on: { click: () => this.#showAll() } }));
    this.input = h('input', {
      class: 'field', type: 'search', placeholder: 'Find in this result', 'aria-label': 'Find in this result', spellcheck: 'false',
      autocomplete: 'off', on: { input: later, keydown: (event) => this.#onKey(event, later) },
    });
    this.count = h('span', { class: 'find-count dim', 'aria-live': 'polite' });
    this.away = h('button', { type: 'button', class: 'link', hidden: true, title: 'Show the hidden columns that match', on: { click: () => this.#grid.show([...this.#away]) } });
    this.all = h('button', { type: 'button', class: 'link', text: 'Search all rows', hidden: true, title: 'Filter the table by this text on the server', on: { click: () => this.#grid.options.searchAll?.(this.input.value, this.#chosen) } });
    this.element = h('div', { class: 'find', role: 'search', hidden: true, on: { keydown: (event) => this.#onEscape(event) } }, this.input, this.column, this.onlyLine, this.count, this.all, this.away,
      iconButton('chevron-up', 'Previous match (Shift+Enter)', () => this.step(-1)),
      iconButton('chevron-down', 'Next match (Enter)', () => this.step(1)),
      iconButton('close', 'Close (Esc)', () => this.close()));
    place.element.prepend(this.element);
    place.hidden.before(this.foot);
  }

  open() {
    this.element.hidden = false;
    const { value } = this.column;
    const { result: { columns }, layout: { hidden } } = this.#grid.model;
    fill(this.column, h('option', { value: '', text: 'All columns' }), columns.map((name, i) => h('option', { value: i, text: hidden.includes(i) ? `${name} (hidden)` : name })));
    this.column.value = columns[value] === undefined ? '' : value;
    this.input.focus();
    this.input.select();
    if (this.input.value) this.search();
  }

  close() {
    this.#search?.abort();
    this.element.hidden = true;
    this.#found = [];
    this.#grid.highlight('');
    this.#grid.focus();
    this.#picks = [];
    this.#filter(null);
  }

  /** Shows only the rows with a value in a column, or without it, of those that are shown. @param {Pick} pick */
  async pick(pick) {
    this.#picks = pick.isNot ? [...this.#picks, pick] : [...this.#picks.filter(({ column }) => column !== pick.column), pick];
    await (this.isOpen ? this.search() : this.#filter(null));
    this.#grid.focus();
  }

  #showAll() {
    this.only.checked = false;
    this.#picks = [];
    if (this.isOpen) this.search();
    else this.#filter(null);
    this.#grid.focus();
  }

  /** The rows that are shown, in words. */
  get #wanted() {
    const { columns } = this.#grid.model.result;
    const picks = this.#picks.map(({ column, value, isNot }) => `${columns[column]} ${isNot ? '≠' : '='} ${value ?? 'NULL'}`);
    return [...(this.isOpen && this.only.checked && this.input.value ? [`“${this.input.value}”`] : []), ...picks].join(', ');
  }

  /** Says how many rows are shown, where not all are. */
  tell() {
    const { test, rowCount, result } = this.#grid.model;
    this.foot.hidden = !test;
    this.figures.textContent = test ? `${rowCount.toLocaleString('en')} of ${result.length.toLocaleString('en')} rows match ${this.#wanted}` : '';
  }

  /** @param {((value: any) => boolean)|null} matches */
  async #filter(matches) {
    const picks = this.#picks;
    if (!matches && !picks.length && !this.#filters) return;
    this.#filters = matches !== null || picks.length > 0;
    const column = this.#chosen;
    const isPicked = (row) => picks.every((pick) => (row[pick.column] === pick.value) !== pick.isNot);
    const isMatch = (row) => !matches || (column < 0 ? row.some(matches) : matches(row[column]));
    await this.#grid.filter(this.#filters ? (row) => isPicked(row) && isMatch(row) : null, `No row matches ${this.#wanted}.`);
  }

  /** Column to find in; -1 is all. */
  get #chosen() {
    return this.column.value === '' ? -1 : Number(this.column.value);
  }

  get isOpen() {
    return !this.element.hidden;
  }

  #onEscape(event) {
    if (event.key !== 'Escape' || event.isComposing) return;
    this.close();
    event.preventDefault();
    event.stopPropagation();
  }

  #onKey(event, later) {
    if (event.isComposing) return;
    if (event.key === 'Enter' || event.key === 'F3') {
      later.now();
      this.step(event.shiftKey ? -1 : 1);
    } else return;
    event.preventDefault();
    event.stopPropagation();
  }

  /** Looks through all rows, in slices; the first match after the active cell is shown. */
  async search() {
    this.#search?.abort();
    if (!this.isOpen) return; // closed while it waited for more keys
    const search = (this.#search = new AbortController());
    const needle = this.input.value.toLowerCase();
    this.#found = [];
    this.#at = -1;
    const column = this.#chosen;
    const matches = (value) => value !== null && value !== undefined && String(value).toLowerCase().includes(needle);
    this.#grid.highlight(needle, column);
    this.count.textContent = needle ? '…' : '';
    this.away.hidden = true;
    this.all.hidden = true;
    await this.#filter(needle && this.only.checked ? matches : null);
    if (!needle || search.signal.aborted) return;
    try {
      ({ found: this.#found, seen: this.#seen, away: this.#away, unseen: this.#unseen } = await places(this.#grid.model, matches, column, search.signal));
    } catch (cause) {
      if (search.signal.aborted) return;
      throw cause;
    }
    this.#showFirst();
  }

  #showFirst() {
    const { model } = this.#grid;
    const here = Math.max(0, model.active.row) * model.slots.length + model.slotOf(model.active.column);
    const next = this.#found.findIndex((place) => place >= here);
    this.#at = this.#found.length ? Math.max(0, next) : -1;
    this.#show();
  }

  /** @param {1|-1} by */
  step(by) {
    if (this.#found.length === 0) return;
    this.#at = (this.#at + by + this.#found.length) % this.#found.length;
    this.#show();
  }

  #show() {
    const total = this.#found.length;
    const more = total >= MAX_FOUND ? '+' : '';
    const where = this.#grid.model.isWhole ? '' : ` in ${this.#seen.toLocaleString('en')} loaded rows`;
    this.all.hidden = !where || !this.#grid.options.searchAll;
    this.count.title = where && 'Only part of the table is loaded. A column filter or WHERE searches all of it';
    this.count.textContent = total ? `${(this.#at + 1).toLocaleString('en')} of ${total.toLocaleString('en')}${more}${where}` : `no match${where}`;
    this.away.hidden = this.#unseen === 0;
    this.away.textContent = `${this.#unseen.toLocaleString('en')}${this.#unseen >= MAX_FOUND ? '+' : ''} in hidden columns: show`;
    if (total === 0) return;
    const { slots } = this.#grid.model;
    const place = this.#found[this.#at];
    this.#grid.moveTo({ row: Math.floor(place / slots.length), column: slots[place % slots.length] }, { focus: false });
  }
}

async function places(model, matches, only, signal) {
  const slicer = new Slicer(signal);
  const found = [];
  let seen = 0;
  const away = new Set();
  let unseen = 0;
  const { rowCount, slots, layout: { hidden } } = model;
  for (let row = 0; row < rowCount; row += 1) {
    const values = model.row(row) ?? [];
    if (values.length) seen += 1;
    for (const [slot, column] of slots.entries()) {
      if ((only < 0 || only === column) && matches(values[column])) found.push(row * slots.length + slot);
      if (found.length >= MAX_FOUND) return { found, seen, away, unseen };
    }
    for (const column of hidden) {
      if (unseen >= MAX_FOUND || (only >= 0 && only !== column) || !matches(values[column])) continue;
      away.add(column);
      unseen += 1;
    }
    if (slicer.due) await slicer.rest();
  }
  return { found, seen, away, unseen };
}
