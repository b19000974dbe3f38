// Live log of an application's visitors: requests, or statements of a database. Only requested while it is open.
import { fill, h, iconButton } from '../../common/dom.js';
import { COLUMNS, holds, joined, visitOf } from '../core/visits.js';
import { setText } from './text.js';

/** Time between two questions, in ms, as the contract has it. */
const ASK_MS = 2_000;
/** So near to the end, in px, it follows what comes. */
const NEAR_END = 24;

/**
 * Opens the log. `element` is to be put under the application; `close` ends the asking.
 * @param {{what: 'requests'|'statements', app: App, ask: (after: number) => Promise<any>, epoch: () => string, onClose: () => void}} options
 *   `epoch` changes when the server may count anew
 * @returns {{element: HTMLElement, close: () => void}}
 */
export function openVisitLog(options) {
  const log = new VisitLog(options);
  return { element: log.element, close: () => log.close() };
}

class VisitLog {
  #what;
  #ask;
  #onClose;
  #after = 0;
  /** Lines so far: the server's own numbers begin anew with each connection. */
  #count = 0;
  #epoch;
  #lastEpoch = '';
  #timer = 0;
  #isOpen = true;
  #isPaused = false;
  /** @type {import('../core/visits.js').Visit[]} */
  #visits = [];
  /** Visits that arrived while the log was paused. @type {import('../core/visits.js').Visit[]} */
  #held = [];

  constructor({ what, app, ask, epoch, onClose }) {
    this.#what = what;
    this.#ask = ask;
    this.#epoch = epoch;
    this.#onClose = onClose;
    const label = what === 'requests' ? 'Requests' : 'Statements';
    this.filter = h('input', { class: 'field', type: 'search', placeholder: 'Filter', 'aria-label': `Filter the ${what} of ${app.name}`, autocomplete: 'off', spellcheck: 'false', on: { input: () => this.#redraw() } });
    this.pause = h('button', { type: 'button', class: 'button', 'aria-pressed': 'false', text: 'Pause', on: { click: () => this.#togglePause() } });
    this.state = h('span', { class: 'dim figures' });
    this.rows = h('tbody');
    this.box = h('div', { class: 'log-rows', tabindex: '0', role: 'region', 'aria-label': `${label} of ${app.name}` },
      h('table', {}, h('thead', {}, h('tr', {}, COLUMNS[what].map((text) => h('th', { scope: 'col', text })))), this.rows));
    this.element = h('section', { class: 'log', data: { log: what }, 'aria-label': `${label} of ${app.name}` },
      h('div', { class: 'log-head' }, h('h4', { text: label }), this.state, h('span', { class: 'grow' }), this.filter, this.pause, iconButton('close', `Close the ${what} of ${app.name}`, () => this.close())), this.box);
    this.element.addEventListener('keydown', (event) => { if (event.key === 'Escape' && event.target !== this.filter) this.close(); });
    this.#look();
  }

  async #look() {
    clearTimeout(this.#timer);
    const began = performance.now();
    try {
      // The log is not requested while nobody sees it: in a background tab, or if a search hides the application.
      if (!document.hidden && (this.element.checkVisibility() || this.#count === 0)) {
        const isAnew = this.#epoch() !== this.#lastEpoch;
        this.#lastEpoch = this.#epoch();
        if (isAnew) this.#after = 0;
        this.#take(await this.#ask(this.#after), isAnew);
      }
    } catch (error) {
      setText(this.state, error.status === 404 ? 'is not told by this version' : `not fresh: ${error.message}`);
    }
    if (this.#isOpen) this.#timer = setTimeout(() => this.#look(), Math.max(ASK_MS - (performance.now() - began), 0));
  }

  #take(answer, isAnew) {
    if (!this.#isOpen) return;
    const listed = (Array.isArray(answer?.[this.#what]) ? answer[this.#what] : []).filter((entry) => entry !== null && typeof entry === 'object');
    const last = Number(answer?.last);
    if (Number.isFinite(last)) this.#after = last;
    // Asked from the beginning, the server may tell again what it told; what was seen of an earlier connection stays.
    const seen = new Set(isAnew ? [...this.#visits, ...this.#held].map(({ key }) => key) : []);
    const more = listed.map((entry) => visitOf(this.#what, entry)).filter(({ key }) => !seen.has(key)).map((visit) => ({ ...visit, n: ++this.#count }));
    if (this.#isPaused) this.#held = joined(this.#held, more);
    else this.#add(more);
    this.#tell();
  }

  /** Adds rows under those that are there, which stay as they are. */
  #add(more) {
    const before = this.#visits;
    this.#visits = joined(before, more);
    const last = before[before.length - 1]?.n ?? -1;
    const isAtEnd = this.box.scrollHeight - this.box.scrollTop - this.box.clientHeight < NEAR_END;
    const oldest = this.#visits[0]?.n ?? 0;
    while (this.rows.firstElementChild && Number(/** @type {HTMLElement} */ (this.rows.firstElementChild).dataset.n) < oldest) this.rows.firstElementChild.remove();
    this.rows.append(...this.#visits.filter((visit) => visit.n > last && this.#fits(visit)).map(row));
    if (isAtEnd) this.box.scrollTop = this.box.scrollHeight;
  }

  #fits(visit) {
    const query = this.filter.value.trim();
    return query === '' || holds(visit, query);
  }

  #redraw() {
    fill(this.rows, this.#visits.filter((visit) => this.#fits(visit)).map(row));
    this.#tell();
  }

  #tell() {
    const [shown, all] = [this.rows.childElementCount, this.#visits.length];
    const text = all === 0 ? `no ${this.#what} yet` : shown === all ? String(all) : `${shown} of ${all}`;
    setText(this.state, this.#isPaused ? `${text} · paused${this.#held.length ? `, ${this.#held.length} more` : ''}` : text);
  }

  #togglePause() {
    this.#isPaused = !this.#isPaused;
    this.pause.setAttribute('aria-pressed', String(this.#isPaused));
    setText(this.pause, this.#isPaused ? 'Go on' : 'Pause');
    if (!this.#isPaused) {
      this.#add(this.#held);
      this.#held = [];
    }
    this.#tell();
  }

  close() {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    clearTimeout(this.#timer);
    this.element.remove();
    this.#onClose();
  }
}

function row({ n, cells, isBad }) {
  return h('tr', { class: isBad ? 'is-bad' : '', data: { n: String(n) } }, cells.map((text) => h('td', { text, title: text })));
}
