/**
 * Finding a text in a result.
 * @module
 */

import { debounce, h, iconButton } from '../../common/dom.js';
import { Slicer } from '../core/slices.js';

/** Wait after a key press before the search begins, in milliseconds. */
const TYPING_MS = 120;

/** Matches kept at most. */
const MAX_FOUND = 10_000;

/** The bar above a grid. */
export class FindBar {
  #grid;
  #found = []; // places: row × slots + slot, ascending
  #at = -1;
  #seen = 0; // rows looked through
  /** Hidden columns with matches, and their number. @type {Set<number>} */ #away = new Set();
  #unseen = 0;
  /** @type {AbortController|null} */
  #search = null;

  /** @param {import('./grid.js').Grid} grid */
  constructor(grid) {
    this.#grid = grid;
    const later = debounce(() => this.search(), TYPING_MS);
    this.input = h('input', {
      class: 'field', type: 'search', placeholder: 'Find in this result', 'aria-label': 'Find in this result', spellcheck: 'false',
      autocomplete: 'off', on: { input: later, keydown: (event) => this.#onKey(event, later) },
    });
    this.count = h('span', { class: 'find-count dim', 'aria-live': 'polite' });
    this.away = h('button', { type: 'button', class: 'link', hidden: true, title: 'Show the hidden columns that match', on: { click: () => this.#grid.show([...this.#away]) } });
    this.element = h('div', { class: 'find', role: 'search', hidden: true }, this.input, this.count, this.away,
      iconButton('chevron-up', 'Previous match (Shift+Enter)', () => this.step(-1)),
      iconButton('chevron-down', 'Next match (Enter)', () => this.step(1)),
      iconButton('close', 'Close (Esc)', () => this.close()));
  }

  open() {
    this.element.hidden = false;
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
  }

  get isOpen() {
    return !this.element.hidden;
  }

  #onKey(event, later) {
    if (event.isComposing) return;
    if (event.key === 'Escape') this.close();
    else if (event.key === 'Enter' || event.key === 'F3') {
      later.now();
      this.step(event.shiftKey ? -1 : 1);
    } else return;
    event.preventDefault();
    event.stopPropagation();
  }

  /** Looks through all rows, in slices; the first match after the active cell is shown. */
  async search() {
    this.#search?.abort();
    const search = (this.#search = new AbortController());
    const needle = this.input.value.toLowerCase();
    this.#found = [];
    this.#at = -1;
    this.#grid.highlight(needle);
    this.count.textContent = needle ? '…' : '';
    this.away.hidden = true;
    if (!needle) return;
    try {
      ({ found: this.#found, seen: this.#seen, away: this.#away, unseen: this.#unseen } = await places(this.#grid.model, needle, search.signal));
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

async function places(model, needle, signal) {
  const slicer = new Slicer(signal);
  const found = [];
  let seen = 0;
  const away = new Set();
  let unseen = 0;
  const { rowCount, slots, layout: { hidden } } = model;
  const matches = (value) => value !== null && value !== undefined && String(value).toLowerCase().includes(needle);
  for (let row = 0; row < rowCount; row += 1) {
    const values = model.row(row) ?? [];
    if (values.length) seen += 1;
    for (const [slot, column] of slots.entries()) {
      if (matches(values[column])) found.push(row * slots.length + slot);
      if (found.length >= MAX_FOUND) return { found, seen, away, unseen };
    }
    for (const column of hidden) {
      if (unseen >= MAX_FOUND || !matches(values[column])) continue;
      away.add(column);
      unseen += 1;
    }
    if (slicer.due) await slicer.rest();
  }
  return { found, seen, away, unseen };
}
