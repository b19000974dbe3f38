/**
 * Figures of the selected cells in the status line. A click copies one.
 * @module
 */

import { copyText, debounce, fill, h } from '../../common/dom.js';
import { Figures, figuresOf } from '../core/sum.js';

/** Wait after a selection changes before its cells are added up, in milliseconds. */
const SETTLING_MS = 80;

/** Characters of a smallest or largest value that are shown. */
const SHOWN = 24;

/** @typedef {import('./gridmodel.js').GridModel} GridModel */
/** @typedef {import('./gridmodel.js').Area} Area */

/** The figures of one result area. */
export class Sums {
  #host;
  #notify;
  /** @type {GridModel|null} */ #model = null;
  /** @type {AbortController|null} */ #abort = null;
  /** Selection that the server was asked about. @type {{result: any, area: string}|null} */ #asked = null;
  #later = debounce(() => this.#start(), SETTLING_MS);

  /** @param {HTMLElement} host @param {Notify} notify */
  constructor(host, notify) {
    this.#host = host;
    this.#notify = notify;
  }

  /** Two cells at least are selected. @param {GridModel} model */
  show(model) {
    // Rows that are loaded meanwhile change nothing about it.
    if (this.#asked?.result === model.result && this.#asked.area === textOf(model)) return;
    this.#asked = null;
    this.#abort?.abort();
    this.#model = model;
    this.#later();
  }

  clear() {
    this.#abort?.abort();
    this.#later.cancel();
    this.#asked = null;
    this.#model = null;
    this.#host.hidden = true;
    fill(this.#host);
  }

  /** @returns {Promise<void>} */
  async #start() {
    const model = this.#model;
    if (!model) return undefined;
    const abort = (this.#abort = new AbortController());
    const area = model.selection;
    if (area.empty || (area.bottom - area.top + 1) * area.columns.length < 2) return this.clear();
    const held = { missing: 0 };
    try {
      const figures = await figuresOf(rowsOf(model, area, held), area.columns, model.result.types, abort.signal);
      this.#draw(figures, this.#part(model, area, held.missing, abort.signal));
    } catch (cause) {
      if (!abort.signal.aborted) throw cause;
    }
    return undefined;
  }

  /** Says which part of the rows is counted, where not all are here. @param {GridModel} model @param {Area} area @param {number} missing rows @param {AbortSignal} signal @returns {Node[]} */
  #part(model, area, missing, signal) {
    const { result, span } = model;
    const whole = span === 'columns' || span === 'all';
    const counted = area.bottom - area.top + 1 - missing;
    if (whole && result.truncated) return [note(`of the first ${counted.toLocaleString('en')} rows`)];
    if (missing === 0 && !(whole && model.goesOn)) return [];
    const text = note(`of ${counted.toLocaleString('en')} loaded ${counted === 1 ? 'row' : 'rows'}`);
    if (!('sums' in result)) return [text];
    const button = h('button', {
      type: 'button', class: 'link', text: whole ? 'All rows' : 'All selected', title: 'The database server counts. Changes that are not applied do not count.',
      on: { click: () => { this.#asked = { result, area: textOf(model) }; this.#ask(/** @type {any} */ (result), area, whole, signal, button); } },
    });
    return [text, button];
  }

  /** @param {import('../data/source.js').TableRows} result @param {Area} area @param {boolean} whole @param {AbortSignal} signal @param {HTMLButtonElement} button */
  async #ask(result, area, whole, signal, button) {
    button.disabled = true;
    button.textContent = 'Counting …';
    try {
      const { rows, columns, distinct } = await result.sums(area.columns, whole ? null : area, signal);
      const figures = new Figures(area.columns.map((column) => result.types[column] ?? ''));
      for (const [i, column] of columns.entries()) figures.addColumn({ cells: rows, ...column }, i);
      if (distinct !== null) figures.distinct = distinct;
      signal.throwIfAborted();
      this.#draw(figures.list, [note(`of ${whole ? 'all ' : ''}${rows.toLocaleString('en')} rows`)]);
    } catch (cause) {
      if (signal.aborted) return;
      this.#asked = null;
      button.disabled = false;
      button.textContent = 'Try again';
      this.#notify(cause.message, 'bad');
    }
  }

  /** @param {import('../core/sum.js').Figure[]} figures @param {Node[]} part */
  #draw(figures, part) {
    const focused = this.#host.contains(document.activeElement);
    fill(this.#host, figures.map((figure) => this.#figure(figure)), part);
    this.#host.hidden = false;
    if (focused) this.#host.querySelector('button')?.focus();
  }

  #figure({ name, label, text, raw }) {
    const shown = text.length > SHOWN && !/^[≈≥ \d,.-]+$/.test(text) ? `${text.slice(0, SHOWN)} …` : text;
    return h('button', {
      type: 'button', class: 'results-sum', data: { sum: name }, title: `${text.startsWith('≈') ? 'Rounded. ' : ''}Copy ${label.toLowerCase()}`,
      on: { click: () => this.#copy(label, raw) },
    }, h('span', { class: 'dim', text: label }), ` ${shown}`);
  }

  async #copy(label, raw) {
    if (await copyText(raw)) this.#notify(`Copied ${label.toLowerCase()}: ${raw.length > SHOWN ? `${raw.slice(0, SHOWN)} …` : raw}`, 'good');
    else this.#notify(`The browser blocked the clipboard: ${raw}`, 'warn');
  }
}

/** The selection as a text; of whole columns however many rows are loaded. @param {GridModel} model */
function textOf({ span, selection: { top, bottom, columns } }) {
  return JSON.stringify([span, ...(span === 'columns' || span === 'all' ? [] : [top, bottom]), columns]);
}

const note = (text) => h('span', { class: 'dim', text });

/** The rows of an area; none is given for one that is not here. @param {GridModel} model @param {Area} area @param {{missing: number}} held */
function* rowsOf(model, { top, bottom }, held) {
  for (let place = top; place <= bottom; place += 1) {
    const row = model.row(place);
    if (!row && !model.isGap(place)) held.missing += 1;
    yield row;
  }
}
