// The heading over the list, its search, order and view, and what is told of the list.
import { byId, fill, h, setIcon } from '../../common/dom.js';
import { announce } from '../../common/announce.js';
import { ORDERS, TABLE_FROM, countText, matches, sorted, summary } from '../core/listing.js';
import { remember, remembered } from '../core/memory.js';
import { relayTroubles } from '../core/relays.js';
import { healthError } from '../core/status.js';
import { List } from './list.js';
import { emptyState } from '../form/empty.js';
import { drawRelayBanners } from './relaybanner.js';
import { setText } from './text.js';

const ORDER_KEY = 'postern.manage.order';
const VIEW_KEY = 'postern.manage.view';
const VIEWS = ['table', 'cards'];

/** Draws the applications of a store. */
export class Board {
  #store;
  #actions;
  #list;
  #statuses = new Map();
  #failing = new Map();
  #order = oneOf(ORDERS.map(({ name }) => name), ORDER_KEY) ?? ORDERS[0].name;
  /** View chosen by the user; null while the number of applications decides. @type {string|null} */
  #view = oneOf(VIEWS, VIEW_KEY);
  /** @type {string[]} */
  #lastOrder = [];
  #isDead = false;

  /** @param {import('./store.js').Store} store @param {import('./actions.js').Actions} actions */
  constructor(store, actions) {
    this.#store = store;
    this.#actions = actions;
    this.#list = new List(actions);
    this.note = byId('note');
    this.search = byId('search', HTMLInputElement);
    this.view = byId('view', HTMLButtonElement);
    this.#wire();
  }

  #wire() {
    const sort = byId('sort', HTMLSelectElement);
    fill(sort, ORDERS.map(({ name, label }) => h('option', { value: name, text: label, selected: name === this.#order })));
    sort.addEventListener('change', () => this.#setOrder(sort.value));
    this.view.addEventListener('click', () => this.#setView(this.isTable ? 'cards' : 'table'));
    this.search.addEventListener('input', () => this.draw());
    this.search.addEventListener('keydown', (event) => { if (event.key === 'Escape') { this.search.value = ''; this.draw(); } });
  }

  #setOrder(order) {
    this.#order = order;
    this.#lastOrder = [];
    remember(ORDER_KEY, order);
    this.draw();
  }

  #setView(view) {
    this.#view = view;
    remember(VIEW_KEY, view);
    this.draw();
  }

  get isTable() {
    return (this.#view ?? ((this.#store.apps?.length ?? 0) >= TABLE_FROM ? 'table' : 'cards')) === 'table';
  }

  /** Tells whether the program answers; while it does not, all is grey. @param {boolean} isDead */
  setDead(isDead) {
    this.#isDead = isDead;
  }

  /** Draws the store's content; nothing before the first answer. */
  draw() {
    const { apps } = this.#store;
    if (apps === null) return;
    const query = this.search.value.trim();
    const ordered = this.#inOrder(apps);
    const shown = new Set(apps.filter((app) => query === '' || matches(app, query)).map(({ id }) => id));
    this.#drawHead(apps, shown.size);
    const troubles = relayTroubles(apps);
    drawRelayBanners(troubles, this.#actions);
    this.#list.draw(ordered, { isTable: this.isTable, shown, around: (app) => ({ isDead: this.#isDead, isHere: this.#actions.isHere(app), trouble: troubles.get(app.id) ?? null }) });
    this.#lastOrder = ordered.map(({ id }) => id);
    this.#drawNote(apps, shown.size, query);
    this.#tell(apps);
  }

  #drawHead(apps, shown) {
    setText(byId('heading'), `Applications (${countText(shown, apps.length)})`);
    setText(byId('summary'), summary(apps));
    byId('search-box').hidden = apps.length === 0;
    byId('sort-box').hidden = apps.length < 2;
    this.view.hidden = apps.length < 2;
    const label = this.isTable ? 'Show cards' : 'Show a table';
    if (this.view.title === label) return;
    this.view.title = label;
    this.view.setAttribute('aria-label', label);
    setIcon(this.view, this.isTable ? 'cards' : 'table');
  }

  /** In the chosen order, except that nothing moves while somebody points at the list or has the focus in it. */
  #inOrder(apps) {
    const wanted = sorted(apps, this.#order);
    if (!this.#list.isHeld || this.#lastOrder.length === 0) return wanted;
    const place = new Map(this.#lastOrder.map((id, i) => [id, i]));
    return wanted.map((app, i) => ({ app, at: place.get(app.id) ?? this.#lastOrder.length + i })).sort((a, b) => a.at - b.at).map(({ app }) => app);
  }

  #drawNote(apps, shown, query) {
    const key = apps.length === 0 ? 'empty' : shown === 0 ? `none:${query}` : '';
    if (this.note.dataset.key === key) return;
    this.note.dataset.key = key;
    if (key === 'empty') fill(this.note, emptyState({ actions: this.#actions }));
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
      else if (before === 'connected') announce(`${name}: ${status === 'idle' ? 'disconnected' : 'the tunnel is lost, reconnecting'}`);
    }
  }
}

function oneOf(names, key) {
  const name = remembered(key, '');
  return names.includes(name) ? name : null;
}
