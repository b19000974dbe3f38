/**
 * The list of rows that a foreign key can refer to, found letter by letter.
 * @module
 */

import { fill, h } from '../../common/dom.js';
import { closePopup, openPopup } from '../../common/popup.js';
import { ask } from '../ask.js';
import { read } from './fields.js';
import { MOST_LISTED, candidates, rowsSql } from './readable.js';

/** Pause after a letter before the server is asked, and the time that it may take, in ms. */
const PAUSE_MS = 150;
const WAIT_MS = 5000;

/** Errors of an account that may not read the table, or not at all. */
const DENIED = new Set([1044, 1142, 1143, 1356]);

let serial = 0;

/**
 * @typedef {'down'|'right'|'left'|'stay'|'all'} Move `all`: for all selected cells
 * @typedef {object} Options
 * @property {ReturnType<typeof import('../api.js').createApi>} api
 * @property {import('./readable.js').Key} key
 * @property {() => Promise<import('./readable.js').Schema>} schema of the table that it refers to
 * @property {import('./readable.js').KeptReadables} readables
 * @property {import('./fields.js').Field} field
 * @property {any} value
 * @property {string} label
 * @property {string} [typed] what was typed already
 * @property {boolean} nullable whether all columns of the key take NULL
 * @property {(values: any[]|null, move: Move) => void} chosen gets a value for each column of the key; null sets NULL
 * @property {(text: string, move: Move) => void} entered gets a typed value for the column alone
 * @property {(typed?: string) => void} plain the rows cannot be read: gets what was typed
 */

/** Opens the list under a cell. @param {HTMLElement} cell @param {Options} options */
export function openReference(cell, options) {
  new ReferenceList(cell, options).open();
}

class ReferenceList {
  #cell;
  #of;
  /** @type {string} */ #readable = '';
  /** @type {import('./readable.js').Schema|null} */ #schema = null;
  #failed = false;
  /** Rows that are listed: the values of the key, and a text. @type {{values: any[]|null, text: string}[]} */ #rows = [];
  #at = -1;
  /** The text that the listed rows are of; null before the first answer. @type {string|null} */ #listed = null;
  #timer = 0;
  #abort = new AbortController();
  /** The step that Enter or Tab asked for, before the answer came. @type {Move|null} */ #awaited = null;
  #isDone = false;
  #id = `reference-${(serial += 1)}`;

  /** @param {HTMLElement} cell @param {Options} options */
  constructor(cell, options) {
    this.#cell = cell;
    this.#of = options;
    const { key, label, value } = options;
    this.input = h('input', {
      class: 'field', role: 'combobox', 'aria-expanded': 'true', 'aria-controls': this.#id, 'aria-autocomplete': 'list', 'aria-label': label, autocomplete: 'off', spellcheck: 'false',
      placeholder: value === null || typeof value === 'object' ? 'Find a row' : String(value), on: { input: () => this.#later(PAUSE_MS) },
    });
    this.list = h('div', { id: this.#id, class: 'reference-list', role: 'listbox', 'aria-label': `Rows of ${key.table}` });
    this.note = h('p', { class: 'dim', 'aria-live': 'polite' });
    this.by = h('select', { class: 'field', 'aria-label': 'Column shown beside the key', on: { change: () => this.#show(this.by.value) } });
    this.element = h('div', { class: 'menu panel reference', role: 'dialog', 'aria-modal': 'false', 'aria-label': `Rows of ${key.table}`, on: { keydown: (event) => this.#onKey(event) } },
      this.input, this.list, this.note, h('label', { class: 'reference-by dim' }, 'Show ', this.by));
  }

  open() {
    if (!openPopup(this.#cell, this.element)) return;
    const parent = /** @type {Node} */ (this.element.parentNode);
    new MutationObserver((_, watcher) => {
      if (this.element.isConnected) return;
      watcher.disconnect();
      this.#cell.removeAttribute('aria-expanded');
      this.#left();
    }).observe(parent, { childList: true });
    this.#cell.removeAttribute('aria-expanded'); // a cell opens nothing by itself
    this.input.value = this.#of.typed ?? '';
    // At once, so that no letter is lost.
    this.input.focus();
    this.#begin();
  }

  async #begin() {
    const { key, readables } = this.#of;
    try {
      const schema = await this.#of.schema();
      if (this.#isDone) return;
      if (!key.refColumns.every((name) => schema.columns?.some((column) => column.name === name))) return this.#plain();
      this.#schema = schema;
      this.#readable = readables.read(key, schema);
      fill(this.by, h('option', { value: '', text: '(key only)' }), candidates(schema, key.refColumns).map((name) => h('option', { value: name, text: name })));
      this.by.value = this.#readable;
      this.#later(0);
    } catch {
      this.#plain();
    }
    return undefined;
  }

  /** Shows another column beside the key, also next time. @param {string} column */
  #show(column) {
    this.#readable = column;
    this.#of.readables.write(this.#of.key, column);
    this.#later(0);
  }

  /** Goes on in a plain field. */
  #plain() {
    if (this.#isDone) return;
    const { value } = this.input;
    const typed = value === '' ? this.#of.typed : value;
    this.#end(() => this.#of.plain(typed));
  }

  /** Closed from outside: a typed number is taken, as in any cell; a word that was looked for is not. */
  #left() {
    clearTimeout(this.#timer);
    this.#abort.abort();
    if (!this.#isDone && this.#isValue && this.#awaited === null) this.#of.entered(this.input.value, 'stay');
    this.#isDone = true;
  }

  /** True if the typed text can only be a key. */
  get #isValue() {
    const { field } = this.#of;
    return this.input.value.trim() !== '' && field.kind === 'number' && read(field, this.input.value).problem === '';
  }

  #later(ms) {
    clearTimeout(this.#timer);
    this.#abort.abort();
    this.#abort = new AbortController();
    if (this.#schema) this.#timer = setTimeout(() => this.#load(this.#abort), ms);
  }

  /** @param {AbortController} abort */
  async #load(abort) {
    const { api, key, value, nullable } = this.#of;
    const text = this.input.value.trim();
    const timer = setTimeout(() => abort.abort(new Error(`the server took longer than ${WAIT_MS / 1000} s; enter the key itself`)), WAIT_MS);
    this.list.setAttribute('aria-busy', 'true');
    try {
      const { rows } = await ask(api, { sql: rowsSql(key, this.#readable, text, value, /** @type {import('./readable.js').Schema} */ (this.#schema)), db: key.db, signal: abort.signal });
      if (abort !== this.#abort) return undefined;
      const width = key.refColumns.length;
      this.#rows = rows.slice(0, MOST_LISTED).map((row) => ({ values: row.slice(0, width), text: this.#readable ? String(row[width] ?? 'NULL') : '' }));
      if (nullable && text === '') this.#rows.push({ values: null, text: '' });
      this.#listed = text;
      this.#failed = false;
      this.note.textContent = rows.length > MOST_LISTED ? `The first ${MOST_LISTED} rows: type to find others` : rows.length ? '' : text ? `No row of ${key.table} matches “${text}”` : `${key.table} has no rows`;
      this.#draw();
    } catch (cause) {
      if (abort !== this.#abort || this.#isDone) return undefined;
      if (DENIED.has(/** @type {any} */ (cause).errno)) return this.#plain();
      this.#rows = [];
      this.#failed = true;
      this.#listed = text;
      this.#draw();
      this.note.textContent = `Could not list the rows of ${key.table}: ${abort.signal.reason instanceof Error && abort.signal.aborted ? abort.signal.reason.message : cause.message}`;
    } finally {
      clearTimeout(timer);
      if (abort === this.#abort) this.list.removeAttribute('aria-busy');
    }
    if (this.#awaited) this.#take(this.#awaited);
    return undefined;
  }

  #draw() {
    const { value } = this.#of;
    const isNow = ({ values }) => (values === null ? value === null : value !== null && String(values[this.#place]) === String(value));
    fill(this.list, this.#rows.map((row, i) => h('div', { role: 'option', id: `${this.#id}-${i}`, class: row.values === null ? 'special' : null, 'aria-selected': 'false', data: { now: isNow(row) ? '' : 'no' }, on: {
      pointerdown: (event) => event.preventDefault(), click: () => this.#choose(row, 'down'),
    } }, h('span', { class: 'reference-key', text: row.values === null ? 'NULL' : row.values.map(String).join(', ') }), h('span', { class: 'reference-text', text: row.text }))));
    const now = this.input.value.trim() === '' ? this.#rows.findIndex(isNow) : -1;
    this.#mark(now);
  }

  /** Place of the column within the key. */
  get #place() {
    return this.#of.key.columns.indexOf(this.#of.field.name);
  }

  #mark(at) {
    this.#at = at;
    const options = [...this.list.children];
    for (const [i, option] of options.entries()) option.setAttribute('aria-selected', String(i === at));
    if (at < 0) this.input.removeAttribute('aria-activedescendant');
    else this.input.setAttribute('aria-activedescendant', `${this.#id}-${at}`);
    options[at]?.scrollIntoView({ block: 'nearest' });
  }

  #onKey(event) {
    if (event.isComposing || event.target !== this.input) {
      if (event.key !== 'Escape') event.stopPropagation();
      return;
    }
    const count = this.#rows.length;
    const to = { ArrowDown: this.#at + 1, ArrowUp: this.#at < 0 ? count - 1 : this.#at - 1 }[event.key];
    if (event.key === 'Escape') return void (this.#isDone = true); // the popup closes
    event.stopPropagation();
    if (to !== undefined && count) this.#mark((to + count) % count);
    else if (event.key === 'Enter') this.#take(event.ctrlKey || event.metaKey ? 'all' : 'down');
    else if (event.key === 'Tab' && this.input.value.trim() !== '') this.#take(event.shiftKey ? 'left' : 'right');
    else return;
    event.preventDefault();
  }

  /** Takes the marked row, a typed key, or else the first row that matches. @param {Move} move */
  #take(move) {
    const text = this.input.value.trim();
    if (this.#at >= 0 && this.#listed === text) return this.#choose(this.#rows[this.#at], move);
    const exact = this.#listed === text ? this.#rows.find(({ values }) => values && String(values[this.#place]) === text) : undefined;
    if (exact) return this.#choose(exact, move);
    if (this.#isValue || (this.#failed && text !== '')) return this.#end(() => this.#of.entered(this.input.value, move));
    if (text === '') return this.#end(() => {});
    if (this.#listed !== text) return void (this.#awaited = move);
    this.#awaited = null;
    const [first] = this.#rows;
    if (first) return this.#choose(first, move);
    return undefined; // the note says that no row matches
  }

  #choose({ values }, move) {
    this.#end(() => this.#of.chosen(values, move));
  }

  #end(act) {
    this.#isDone = true;
    closePopup(true);
    act();
  }
}
