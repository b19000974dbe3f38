// One application in the list, as a card or as a row of the table: the same elements, laid out by the list's class.
import { fill, h } from '../../common/dom.js';
import { STATUSES } from '../core/status.js';
import { EntryView } from './entryview.js';
import { setAttribute } from './text.js';

/** An application in the list. `element` is its list item; until it is built there is its name alone. */
export class Entry {
  #actions;
  /** @type {App} */
  #app;
  /** @type {Surroundings} */
  #around = { isDead: false, isHere: false, trouble: null };
  /** @type {EntryView|null} */
  #view = null;

  /** @param {App} app @param {import('./actions.js').Actions} actions */
  constructor(app, actions) {
    this.#actions = actions;
    this.#app = app;
    const { id } = app;
    this.name = h('h3', { class: 'card-name', id: `name-${id}` });
    this.element = h('li', { class: 'card', data: { id }, 'aria-labelledby': `name-${id}` }, this.name);
  }

  get isBuilt() {
    return this.#view !== null;
  }

  /** Makes what is in it; the elements of hundreds take longer than a frame, so the list makes them one by one. */
  build() {
    if (this.#view) return;
    this.#view = new EntryView(this.element, this.#app, this.#actions);
    this.#view.update(this.#app, this.#around);
  }

  /** Draws what has changed. @param {App} app @param {Surroundings} around */
  update(app, around) {
    this.#app = app;
    this.#around = around;
    const name = String(app.name);
    // A narrow card breaks an address behind its colon, not in the middle of a number.
    if (this.name.textContent !== name) fill(this.name, name.split(/(?<=:)(?=.)/).flatMap((part, i) => (i ? [h('wbr'), part] : [part])));
    setAttribute(this.name, 'title', name);
    const { conn_status: status = 'idle' } = app;
    setAttribute(this.element, 'data-status', STATUSES.includes(status) ? status : 'idle');
    this.#view?.update(app, around);
  }

  /** Updates elapsed time and countdowns. */
  tick() {
    this.#view?.tick();
  }

  /** Ends what it does by itself: it has left the list. */
  close() {
    this.#view?.close();
  }
}
