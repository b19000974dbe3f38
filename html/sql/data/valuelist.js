/**
 * The values of a column with the number of their rows, to be ticked.
 * @module
 */

import { debounce, fill, h } from '../../common/dom.js';

/** Time after which counting stops, unless it is asked to go on, in ms. */
const SLOW_MS = 5_000;
/** Pause after typing before the server is asked, in ms. */
const PAUSE_MS = 250;

/** @typedef {import('./source.js').Counted} Counted */
/** @typedef {string|null} Value */

/**
 * @typedef {object} Of what is listed
 * @property {string[]} choices values that are known before
 * @property {(search: string, signal: AbortSignal) => Promise<Counted>} load
 * @property {(values: Value[], on: boolean) => void} tick
 * @property {() => void} apply
 */

/** The list, below a search field. */
export class ValueList {
  #of;
  /** @type {AbortController|null} */ #abort = null;
  /** All values, as far as they are listed. @type {Counted|null} */ #whole = null;
  /** @type {Counted} */ #shown;
  /** @type {Set<Value>} */ #ticked = new Set();
  /** Text that the value's field has, which narrows the list too. */
  #narrowed = '';
  /** Readable names of keys that were listed. @type {Map<string, string>} */
  names = new Map();
  #searchSoon = debounce(() => this.#load(), PAUSE_MS);

  /** @param {Of} of */
  constructor(of) {
    this.#of = of;
    this.search = h('input', { class: 'field', type: 'search', 'aria-label': 'Search in the values', placeholder: 'Search in the values', autocomplete: 'off', spellcheck: 'false', on: {
      input: () => this.#onSearch(), keydown: (event) => this.#onSearchKey(event) } });
    this.list = h('ul', { class: 'value-list', 'aria-label': 'Values', on: { keydown: (event) => this.#onKey(event) } });
    this.note = h('p', { class: 'dim value-note', role: 'status' });
    const all = (text, on) => h('button', { type: 'button', class: 'link', text, on: { click: () => of.tick(this.#shown.values.map(({ value }) => value), on) } });
    this.element = h('div', { class: 'value-counts' }, this.search, this.list,
      h('div', { class: 'value-tools' }, all('Tick all', true), all('Tick none', false), this.note));
    this.#shown = { values: of.choices.map((value) => ({ value, count: null })), isCut: false };
    this.#draw();
  }

  /** Counts, once. */
  open() {
    if (this.element.isConnected && !this.#whole && !this.#abort) this.#load();
  }

  /** Stops counting. */
  close() {
    this.#searchSoon.cancel();
    this.#abort?.abort();
    this.#abort = null;
  }

  /** @param {Value[]} values */
  set ticked(values) {
    this.#ticked = new Set(values);
    for (const box of this.#boxes) box.checked = this.#ticked.has(this.#valueOf(box));
  }

  /** @returns {HTMLInputElement[]} */
  get #boxes() {
    return [...this.list.querySelectorAll('input')];
  }

  #valueOf(box) {
    return this.#shown.values[Number(box.dataset.at)].value;
  }

  /** Lists only the values that hold a text. @param {string} text */
  narrow(text) {
    if (text.trim() === this.#narrowed) return;
    this.#narrowed = text.trim();
    if (this.search.value === '') this.#onSearch();
  }

  get #text() {
    return this.search.value.trim() || this.#narrowed;
  }

  /** @param {number} [patience] in ms */
  async #load(patience = SLOW_MS) {
    this.#abort?.abort();
    const abort = new AbortController();
    this.#abort = abort;
    // All are known first: of few values no server has to be asked again.
    const search = this.#whole ? this.#text : '';
    let isSlow = false;
    const timer = patience < Infinity ? setTimeout(() => { isSlow = true; abort.abort(); }, patience) : 0;
    this.#say('Counting …');
    try {
      const counted = await this.#of.load(search, abort.signal);
      if (abort !== this.#abort) return;
      for (const { value, text } of counted.values) if (value !== null && text) this.names.set(value, text);
      if (search) this.#show(counted);
      else {
        this.#whole = this.#withChoices(counted);
        this.#onSearch();
      }
    } catch (cause) {
      if (abort !== this.#abort) return;
      if (isSlow) this.#say('Not counted: it takes longer than 5 seconds.', 'Count anyway', Infinity);
      else this.#say(cause.message, 'Try again', patience);
    } finally {
      clearTimeout(timer);
    }
  }

  /** Choices that no row has follow the others. @param {Counted} counted @returns {Counted} */
  #withChoices({ values, isCut }) {
    const known = new Set(values.map(({ value }) => value));
    const others = isCut ? [] : this.#of.choices.filter((value) => !known.has(value));
    return { values: [...values, ...others.map((value) => ({ value, count: 0 }))], isCut };
  }

  #onSearch() {
    if (!this.#whole) return;
    const needle = this.#text.toLowerCase();
    const { values, isCut } = this.#whole;
    this.close();
    if (isCut && needle) this.#searchSoon();
    else this.#show({ values: needle ? values.filter(({ value, text }) => `${value ?? 'NULL'}\n${text ?? ''}`.toLowerCase().includes(needle)) : values, isCut });
  }

  /** @param {Counted} shown */
  #show(shown) {
    this.#shown = shown;
    this.#draw();
    const { length } = shown.values;
    const found = this.#text ? 'found' : '';
    if (shown.isCut) this.#say(`The ${length} most frequent values${found && ' found'}. Search for the others.`);
    else this.#say([length === 1 ? '1 value' : `${length} values`, found].filter(Boolean).join(' '));
  }

  #draw() {
    fill(this.list, this.#shown.values.map(({ value, count, text }, at) => {
      const box = h('input', { type: 'checkbox', tabindex: at === 0 ? 0 : -1, data: { at }, on: { change: () => this.#of.tick([value], box.checked), focus: () => this.#focused(box) } });
      box.checked = this.#ticked.has(value);
      return h('li', {}, h('label', {}, box, h('span', { class: value === null || value === '' ? 'dim' : null, text: textOf(value), title: value ?? 'NULL' }),
        text && h('span', { class: 'value-name', text: textOf(text), title: text }),
        count !== null && h('span', { class: 'value-count', text: count.toLocaleString('en') })));
    }));
  }

  /** Tab reaches the box that had the focus last. */
  #focused(box) {
    for (const one of this.#boxes) one.tabIndex = one === box ? 0 : -1;
  }

  /** @param {string} text @param {string} [label] of a button that counts again @param {number} [patience] */
  #say(text, label, patience) {
    const again = label && h('button', { type: 'button', class: 'button small', text: label, on: { click: () => this.#load(patience) } });
    // Its button goes, the focus stays in the panel.
    if (this.note.contains(document.activeElement)) this.search.focus();
    fill(this.note, h('span', { text }), again);
  }

  /** Filters by what is ticked, else by the value that has the focus. */
  #choose(box) {
    if (!this.#ticked.size) this.#of.tick([this.#valueOf(box)], true);
    this.#of.apply();
  }

  #onSearchKey(event) {
    if (event.key !== 'ArrowDown' && (event.key !== 'Enter' || event.isComposing)) return;
    event.preventDefault();
    this.#boxes.find((box) => box.tabIndex === 0)?.focus();
  }

  #onKey(event) {
    const boxes = this.#boxes;
    const at = boxes.indexOf(event.target);
    const to = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: boxes.length - 1, PageDown: Math.min(at + 8, boxes.length - 1), PageUp: Math.max(at - 8, 0) }[event.key];
    if (to === -1) this.search.focus();
    else if (to !== undefined) boxes[to]?.focus();
    else if (event.key === 'Enter') this.#choose(event.target);
    else return;
    event.preventDefault();
    event.stopPropagation();
  }
}

/** A value as it is listed. @param {Value} value */
function textOf(value) {
  if (value === null) return 'NULL';
  return value === '' ? '‹empty›' : value.replace(/\r\n?|\n/g, '⏎').replace(/^ +| +$/g, (blanks) => '·'.repeat(blanks.length));
}
