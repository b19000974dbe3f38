/**
 * Shared parts of the server's pages: the line of tools, and asking again and again.
 * @module
 */

import { fill, h, icon, iconButton } from '../../common/dom.js';

/**
 * @typedef {object} Deps
 * @property {ReturnType<typeof import('../api.js').createApi>} api
 * @property {Notify} notify
 * @property {() => string} newId
 * @property {() => boolean} readOnly
 * @property {() => boolean} mariadb
 * @property {(outcome: {sql: string, ms: number, error: string}) => void} remember
 * @property {() => string} user
 * @property {() => string} [database] the one that is looked at
 * @property {(db: string) => void} browse
 * @property {(db: string, table: string) => void} openSchema
 * @property {(sql: string, title: string) => void} fillIn
 * @property {() => void} close
 */
/** @typedef {{element: HTMLElement, close: () => void}} Page */

/** Seconds between two looks that are offered; 0 is none. */
const PAUSES = [2, 5, 10, 30, 0];
let serial = 0;

/**
 * The frame of a page: tools, what is to be known, the content. `load` is called at once, by a press, and again and again.
 * @param {{label: string, load: (signal: AbortSignal) => Promise<void>, table?: import('./datatable.js').DataTable, again?: number, tools?: (Node|null)[], content?: Node[]}} options
 *   `again`: seconds between two looks; none where a page is not looked at again by itself
 */
export function frame({ label, load, table, again, tools = [], content = [] }) {
  const search = h('input', { class: 'field server-search', type: 'search', placeholder: 'Search', 'aria-label': `Search ${label.toLowerCase()}`, autocomplete: 'off', spellcheck: 'false' });
  search.addEventListener('input', () => table?.search(search.value));
  const said = h('div', { class: 'server-notes' });
  const failed = h('div', { class: 'server-failed', role: 'alert' });
  const looks = new Looks(load, failed, () => table?.isMarked ?? false);
  const pause = again === undefined ? null : pauseField(again, looks);
  const element = h('div', { class: 'server-page' },
    h('div', { class: 'server-tools', role: 'toolbar', 'aria-label': label }, table && search, tools, h('span', { class: 'grow' }), table?.count, pause, iconButton('refresh', 'Refresh', () => looks.now())),
    failed, said, table?.element, content);
  looks.start(again ?? 0);
  return {
    element, refresh: () => looks.now(), close: () => looks.end(),
    /** Says what is to be known, each thing once. @param {(string|false|null|undefined|'')[]} lines */
    say: (...lines) => fill(said, lines.filter(Boolean).map((text) => h('p', { class: 'server-note' }, icon('info'), h('span', { text: String(text) })))),
  };
}

function pauseField(again, looks) {
  const id = `server-pause-${(serial += 1)}`;
  const select = h('select', { class: 'field', id }, PAUSES.map((seconds) => h('option', { value: seconds, text: seconds ? `every ${seconds} s` : 'paused' })));
  select.value = String(again);
  select.addEventListener('change', () => looks.start(Number(select.value)));
  return h('label', { class: 'server-pause', for: id }, h('span', { text: 'Refresh' }), select);
}

/** Looks again and again, one look at a time, while the page is seen and nothing is open over it. */
class Looks {
  #load;
  #failed;
  #waits;
  #abort = new AbortController();
  #timer = 0;
  #seconds = 0;
  #busy = false;

  /** @param {(signal: AbortSignal) => Promise<void>} load @param {HTMLElement} failed @param {() => boolean} waits */
  constructor(load, failed, waits) {
    this.#load = load;
    this.#failed = failed;
    this.#waits = waits;
  }

  /** @param {number} seconds between two looks, 0 for none but the first */
  start(seconds) {
    this.#seconds = seconds;
    this.now();
  }

  async now() {
    if (this.#busy) return;
    clearTimeout(this.#timer);
    this.#busy = true;
    try {
      await this.#load(this.#abort.signal);
      fill(this.#failed);
    } catch (error) {
      if (!this.#abort.signal.aborted) fill(this.#failed, h('p', { class: 'bad' }, icon('error'), h('span', { text: error.message })));
    } finally {
      this.#busy = false;
      this.#later();
    }
  }

  #later() {
    clearTimeout(this.#timer);
    if (!this.#seconds || this.#abort.signal.aborted) return;
    const hindered = () => document.hidden || this.#waits() || document.querySelector('dialog[open]') !== null;
    this.#timer = setTimeout(() => (hindered() ? this.#later() : this.now()), this.#seconds * 1000);
  }

  end() {
    clearTimeout(this.#timer);
    this.#abort.abort();
  }
}

/** A switch among the tools. @param {string} label @param {(on: boolean) => void} change */
export function check(label, change) {
  const input = h('input', { type: 'checkbox' });
  input.addEventListener('change', () => change(input.checked));
  return h('label', { class: 'check server-check' }, input, h('span', { text: label }));
}

/** Searched text of a row. @param {...any} values */
export const textOfRow = (...values) => values.filter((value) => value !== null && value !== undefined).join(' ').toLowerCase();
