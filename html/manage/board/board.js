// The list of applications: heading, search, order, cards and the empty state.
import { byId, fill, h } from '../../common/dom.js';
import { announce } from '../../common/announce.js';
import { ORDERS, SEARCH_FROM, matches, sorted, summary } from '../core/listing.js';
import { healthError } from '../core/status.js';
import { emptyState } from '../form/empty.js';
import { Card } from './card.js';

/** Time between two updates of elapsed times, in ms. */
const TICK_MS = 1000;
const ORDER_KEY = 'postern.manage.order';

/** Draws the applications of a store. */
export class Board {
  #store;
  #actions;
  #cards = new Map();
  #statuses = new Map();
  #failing = new Map();
  #order = rememberedOrder();
  #shownOrder = [];

  /** @param {import('./store.js').Store} store @param {import('./actions.js').Actions} actions */
  constructor(store, actions) {
    this.#store = store;
    this.#actions = actions;
    this.list = byId('apps');
    this.note = byId('note');
    this.search = byId('search', HTMLInputElement);
    this.#wire();
    setInterval(() => { for (const card of this.#cards.values()) card.tick(); }, TICK_MS);
  }

  #wire() {
    const sort = byId('sort', HTMLSelectElement);
    fill(sort, ORDERS.map(({ name, label }) => h('option', { value: name, text: label, selected: name === this.#order })));
    sort.addEventListener('change', () => this.#setOrder(sort.value));
    this.search.addEventListener('input', () => this.draw());
    this.search.addEventListener('keydown', (event) => { if (event.key === 'Escape') { this.search.value = ''; this.draw(); } });
  }

  #setOrder(order) {
    this.#order = order;
    this.#shownOrder = [];
    try { localStorage.setItem(ORDER_KEY, order); } catch { /* Not remembered where storage is forbidden. */ }
    this.draw();
  }

  /** Whether there is something to search. */
  get isSearchable() {
    return !byId('search-box').hidden;
  }

  /** Draws the store's content; nothing before the first answer. */
  draw() {
    const { apps } = this.#store;
    if (apps === null) return;
    this.#drawHead(apps);
    const query = this.isSearchable ? this.search.value.trim() : '';
    const shown = this.#inOrder(apps.filter((app) => query === '' || matches(app, query)));
    this.#drawCards(apps, shown);
    this.#drawNote(apps, shown, query);
    this.#tell(apps);
  }

  #drawHead(apps) {
    byId('heading').textContent = `Applications (${apps.length})`;
    byId('summary').textContent = summary(apps);
    byId('search-box').hidden = apps.length < SEARCH_FROM && this.search.value === '';
    byId('sort-box').hidden = apps.length < 2;
  }

  /** In the chosen order, except that cards stay put while one is hovered or focused. */
  #inOrder(apps) {
    const wanted = sorted(apps, this.#order);
    const held = this.list.matches(':hover') || this.list.contains(document.activeElement);
    if (!held || this.#shownOrder.length === 0) return wanted;
    const place = new Map(this.#shownOrder.map((id, i) => [id, i]));
    return wanted.map((app, i) => ({ app, at: place.get(app.id) ?? this.#shownOrder.length + i })).sort((a, b) => a.at - b.at).map(({ app }) => app);
  }

  #drawCards(apps, shown) {
    for (const app of apps) {
      const card = this.#cards.get(app.id);
      if (card) card.update(app);
      else this.#cards.set(app.id, new Card(app, this.#actions));
    }
    this.#forget(new Set(apps.map(({ id }) => id)), shown);
    const order = shown.map(({ id }) => id);
    if (order.join() === this.#shownOrder.join() && this.list.children.length === order.length) return;
    this.#shownOrder = order;
    this.#place(order.map((id) => this.#cards.get(id).element));
  }

  #forget(present, shown) {
    const wanted = new Set(shown.map(({ id }) => id));
    for (const [id, { element }] of this.#cards) {
      if (!wanted.has(id)) element.remove();
      if (!present.has(id)) this.#cards.delete(id);
    }
  }

  /** Moves only cards that are out of place: moving one would take its focus. */
  #place(elements) {
    elements.forEach((element, i) => {
      const there = this.list.children[i];
      if (there !== element) this.list.insertBefore(element, there ?? null);
    });
  }

  #drawNote(apps, shown, query) {
    const key = apps.length === 0 ? 'empty' : shown.length === 0 ? `none:${query}` : '';
    if (this.note.dataset.key === key) return;
    this.note.dataset.key = key;
    if (key === 'empty') fill(this.note, emptyState({ store: this.#store, actions: this.#actions }));
    else fill(this.note, key && h('p', { class: 'dim nothing', text: `No application matches “${query}”.` }));
  }

  /** Announces status changes that the user did not trigger. */
  #tell(apps) {
    for (const app of apps) {
      const { id, name, conn_status: status, connection } = app;
      const failing = healthError(app);
      if (failing && this.#failing.get(id) !== failing) announce(`${name} is connected, but ${failing}`, 'bad');
      this.#failing.set(id, failing);
      const before = this.#statuses.get(id);
      this.#statuses.set(id, status);
      if (before === undefined || before === status) continue;
      if (status === 'failed') announce(`${name} failed: ${connection?.error ?? ''}`, 'bad');
      else if (status === 'connected') announce(`${name} is connected`);
      else if (before === 'connected') announce(`${name}: ${status === 'idle' ? 'disconnected' : 'the tunnel is lost, connecting again'}`);
    }
  }
}

function rememberedOrder() {
  try {
    const order = localStorage.getItem(ORDER_KEY);
    return ORDERS.some(({ name }) => name === order) ? order : ORDERS[0].name;
  } catch {
    return ORDERS[0].name;
  }
}
