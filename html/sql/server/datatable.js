/**
 * A table that is sorted by its headers, searched, and filled again and again without losing the focus.
 * @module
 */

import { fill, h, icon, marked, queryAll } from '../../common/dom.js';
import { listedText } from '../core/entries.js';

/** Rows that are drawn; the search finds the others. */
const DRAWN = 1000;

/**
 * @typedef {object} Column
 * @property {string} key of the row's member that is sorted by
 * @property {string} title
 * @property {boolean} [number] sorted and aligned as numbers
 * @property {boolean} [plain] not sorted by
 * @property {boolean} [wide] its texts may take several lines
 * @property {boolean} [rest] takes what the others leave, in one line
 * @property {string} [stays] in sight, however far one scrolls: at the `start` or the `end`
 * @property {(row: any) => any} [cell] a node or text; the member itself where there is none
 */

/** A table. A row's `id` tells it from others, its `text` is what is searched, `look` a class, `changed` the keys of the cells to be marked. */
export class DataTable {
  /** @type {any[]} */ #rows = [];
  /** Rows that are still to come. */
  #awaited = 0;
  #columns;
  #words = [];
  /** @type {(row: any) => boolean} */ #only = () => true;
  #sort;
  #unit;
  #pressed = false;
  /** True if rows came while it was pressed. */
  #due = false;

  /** @param {{label: string, unit: string, columns: Column[], sort?: {key: string, down: boolean}}} options `unit`: what a row is */
  constructor({ label, unit, columns, sort = { key: '', down: false } }) {
    this.#unit = unit;
    this.#columns = columns;
    this.#sort = sort;
    this.head = h('tr', {});
    this.body = h('tbody', {});
    this.count = h('p', { class: 'server-count dim', role: 'status' });
    this.element = h('div', { class: 'server-table', tabindex: '0', role: 'region', 'aria-label': label }, h('table', { 'aria-label': label }, h('thead', {}, this.head), this.body));
    this.#drawHead();
    // A pressed element must still be there when it is let go.
    this.element.addEventListener('pointerdown', () => {
      this.#pressed = true;
      const released = () => setTimeout(() => {
        this.#pressed = false;
        if (this.#due) this.#draw();
      });
      for (const type of ['pointerup', 'pointercancel']) addEventListener(type, released, { once: true });
    });
  }

  /** @param {any[]} rows @param {number} [awaited] how many more are to come */
  set(rows, awaited = 0) {
    this.#rows = rows;
    this.#awaited = awaited;
    this.element.setAttribute('aria-busy', String(awaited > 0));
    if (this.#pressed) this.#due = true;
    else this.#draw();
  }

  /** Shows rows that hold all words. @param {string} text */
  search(text) {
    this.#words = text.toLowerCase().split(/\s+/).filter(Boolean);
    this.#draw();
  }

  /** Shows rows of a kind alone. @param {(row: any) => boolean} only */
  only(only) {
    this.#only = only;
    this.#draw();
  }

  /** True if a person marks text in it, which a new drawing would take away. */
  get isMarked() {
    const selection = getSelection();
    return selection !== null && !selection.isCollapsed && this.element.contains(selection.anchorNode);
  }

  #drawHead() {
    fill(this.head, this.#columns.map(({ key, title, number, plain, stays }) => {
      const sorted = this.#sort.key === key;
      const order = sorted ? (this.#sort.down ? 'descending' : 'ascending') : plain ? null : 'none';
      const button = h('button', { type: 'button', data: { sort: key }, on: { click: () => this.#sortBy(key, number) } }, title, sorted && icon(this.#sort.down ? 'sort-desc' : 'sort-asc'));
      return h('th', { scope: 'col', class: look({ number, stays }), 'aria-sort': order }, plain ? h('span', { text: title }) : button);
    }));
  }

  /** Numbers begin with the greatest. */
  #sortBy(key, number) {
    const down = this.#sort.key === key ? !this.#sort.down : Boolean(number);
    this.#sort = { key, down };
    this.#drawHead();
    this.#draw();
    queryAll(this.head, 'button').find(({ dataset }) => dataset.sort === key)?.focus();
  }

  #shown() {
    const found = this.#rows.filter((row) => this.#only(row) && this.#words.every((word) => row.text.includes(word)));
    const { key, down } = this.#sort;
    if (!key) return found;
    const number = this.#columns.find((column) => column.key === key)?.number;
    const value = (row) => (number ? Number(row[key] ?? -Infinity) : String(row[key] ?? ''));
    const sign = down ? -1 : 1;
    return found.map((row) => ({ row, by: value(row) })).sort((a, b) => sign * (typeof a.by === 'number' && typeof b.by === 'number' ? a.by - b.by || 0 : String(a.by).localeCompare(String(b.by), 'en', { numeric: true }))).map(({ row }) => row);
  }

  #draw() {
    this.#due = false;
    const focused = this.body.contains(document.activeElement) ? /** @type {HTMLElement} */ (document.activeElement) : null;
    const { row, act } = focused?.dataset ?? {};
    const found = this.#shown();
    fill(this.body, found.slice(0, DRAWN).map((one) => this.#row(one)));
    const text = listedText({ found: found.length, all: this.#rows.length, awaited: this.#awaited, drawn: DRAWN, unit: this.#unit });
    if (this.count.textContent !== text) this.count.textContent = text;
    if (!focused) return;
    const same = queryAll(this.body, 'button').find(({ dataset }) => dataset.row === row && dataset.act === act);
    (same ?? this.element).focus();
  }

  #row(row) {
    return h('tr', { class: row.look }, this.#columns.map(({ key, number, wide, rest, stays, cell }) => {
      const changed = row.changed?.has(key);
      const content = cell ? cell(row) : row[key];
      return h('td', { class: look({ number, wide, rest, changed, stays }) },
        content instanceof Node ? content : String(content ?? ''), changed && h('span', { class: 'visually-hidden', text: ' (changed)' }));
    }));
  }
}

/** The classes of a cell. @param {Record<string, any>} is */
function look({ stays, ...is }) {
  return [...Object.keys(is).filter((name) => is[name]), stays && `stays-${stays}`].filter(Boolean).join(' ') || null;
}

/** True if the content is text, which needs no label. @param {Node|string} content */
const isText = (content) => typeof content === 'string' || (content.textContent ?? '').trim() !== '';

/** A button in a row; the focus comes back to it. @param {string} act @param {any} row @param {string} label @param {() => void} run @param {Node|string} content @param {string} [look] */
export function rowButton(act, row, label, run, content, look = 'link') {
  return h('button', { type: 'button', class: look, 'aria-label': (isText(content) ? null : label) || null, title: label || null, data: { row: String(row.id), act }, on: { click: run } }, typeof content === 'string' ? marked(content) : content);
}
