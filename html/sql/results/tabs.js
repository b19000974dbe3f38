/**
 * The tabs of the result area, as the ARIA tabs pattern has them.
 * @module
 */

import { fill, h, icon as iconOf, iconButton, marked } from '../../common/dom.js';
import { openMenu } from '../../common/menu.js';
import { Panes } from './panes.js';

/** Tabs from which on those that do not fit are listed, too. */
const FEW = 5;

let serial = 0;

/**
 * @typedef {object} Tab
 * @property {string} id
 * @property {HTMLElement} button
 * @property {HTMLElement} panel
 * @property {HTMLElement} holder of the button and its close button
 * @property {number} rank
 * @property {boolean} closable
 * @property {() => void} [onShow]
 * @property {() => void} [onClose]
 * @property {() => boolean|Promise<boolean>} [mayClose]
 */

/** A list of tabs and their panels. It may own tabs only, so the crosses are for the pointer; the key is Delete. */
export class Tabs {
  /** @type {Map<string, Tab>} */ #tabs = new Map();
  #onChange;
  #serial = 0;
  #prefix = `results-${(serial += 1)}`;
  #panes = new Panes();
  #sizes = new ResizeObserver(() => this.#fit());

  /** @param {(id: string|null) => void} onChange gets the id of the tab shown */
  constructor(onChange) {
    this.#onChange = onChange;
    this.active = null;
    this.list = h('div', { class: 'results-tabs', role: 'tablist', 'aria-label': 'Results', on: { keydown: (event) => this.#onKey(event) } });
    this.all = iconButton('chevron-down', 'All results', () => this.#openAll(), { 'aria-haspopup': 'menu', hidden: true });
    this.#sizes.observe(this.list);
    this.panels = h('div', { class: 'results-panels', on: { focusin: (event) => this.#onFocus(event) } });
  }

  has(id) {
    return this.#tabs.has(id);
  }

  /** The ids of all tabs. */
  get ids() {
    return [...this.#tabs.keys()];
  }

  /**
   * Adds a tab, before those whose `rank` is greater; one of the same id is replaced in its place.
   * @param {string} id
   * @param {{title: string, element: Node, hint?: string, count?: string, icon?: string, kind?: string, closable?: boolean, rank?: number,
   *   onShow?: () => void, onClose?: () => void, mayClose?: () => boolean|Promise<boolean>}} options `mayClose`: asked before a person
   *   closes it
   */
  add(id, { title, element, hint = '', count = '', icon, kind = '', closable = false, rank = 0, onShow, onClose, mayClose }) {
    const successor = this.#successor(id, rank);
    const wasActive = this.active === id;
    this.#discard(id);
    // The id may hold the name of a table, and that blanks, which would end the reference.
    const name = `${(this.#serial += 1)}-${id.replace(/\s/g, '_')}`;
    const names = { tab: `${this.#prefix}-tab-${name}`, panel: `${this.#prefix}-panel-${name}` };
    const button = h('button', {
      type: 'button', role: 'tab', id: names.tab, 'aria-controls': names.panel, 'aria-selected': 'false', tabindex: -1,
      class: kind, title: hint || null, 'aria-keyshortcuts': closable ? 'Delete' : null, on: { click: () => this.activate(id) },
    }, icon && iconOf(icon), h('span', { class: 'tab-title' }, marked(title)), count && h('span', { class: 'tab-count', text: count }));
    const holder = h('div', { class: 'results-tab', role: 'presentation' }, button, closable && this.#closer(id, title));
    const panel = h('div', { class: 'results-panel', role: 'tabpanel', id: names.panel, 'aria-labelledby': names.tab, hidden: true, data: { title } }, element);
    this.list.insertBefore(holder, successor?.holder ?? null);
    this.panels.append(panel);
    this.#sizes.observe(holder);
    this.#tabs.set(id, { id, button, panel, holder, rank, closable, onShow, onClose, mayClose });
    if (wasActive || this.active === null) this.activate(id);
  }

  /** The tab before which one of the rank belongs, in the order on the screen. */
  #successor(id, rank) {
    const known = this.#tabs.get(id);
    return this.#ordered().find((tab) => (known ? tab.holder === known.holder.nextSibling : tab.rank > rank));
  }

  #ordered() {
    return [...this.#tabs.values()].sort((a, b) => (a.holder.compareDocumentPosition(b.holder) & Node.DOCUMENT_POSITION_FOLLOWING ? -1 : 1));
  }

  #closer(id, title) {
    return h('button', {
      type: 'button', class: 'tab-close', tabindex: -1, 'aria-hidden': 'true', title: `Close ${title} (Delete)`, on: { click: () => this.close(id) },
    }, iconOf('close'));
  }

  #discard(id) {
    const tab = this.#tabs.get(id);
    if (!tab) return null;
    this.#tabs.delete(id);
    this.#panes.gone(id, this.active);
    tab.holder.remove();
    tab.panel.remove();
    tab.onClose?.();
    return tab;
  }

  /** Removes a tab, unless it holds what a person wants to keep. */
  async close(id) {
    const tab = this.#tabs.get(id);
    if (!tab?.mayClose || await tab.mayClose()) this.remove(id);
  }

  /** Removes a tab; where it was shown, a neighbour is shown instead. */
  remove(id) {
    const order = this.#ordered();
    const at = order.findIndex((tab) => tab.id === id);
    const hadFocus = order[at]?.holder.contains(document.activeElement) || order[at]?.panel.contains(document.activeElement);
    if (!this.#discard(id)) return;
    if (this.active !== id) {
      this.#draw();
      return this.#onChange(this.active);
    }
    const next = order[at - 1] ?? order[at + 1];
    this.active = null;
    if (next) this.activate(next.id);
    else this.#onChange(null);
    if (hadFocus) next?.button.focus();
  }

  /** Shows a tab. */
  activate(id) {
    const chosen = this.#tabs.get(id);
    if (!chosen) return;
    this.#panes.show(id, this.active);
    this.active = id;
    this.#draw();
    chosen.onShow?.();
    this.#onChange(id);
    this.#fit();
  }

  /** Keeps the tab that is shown whole in sight, and offers a list where not all fit. */
  #fit() {
    const { list, all } = this;
    // A few are quickly scrolled to, and a phone has no room for the button.
    all.hidden = this.#tabs.size < FEW || list.scrollWidth <= list.clientWidth + all.offsetWidth;
    this.#tabs.get(this.active ?? '')?.holder.scrollIntoView({ block: 'nearest', inline: 'nearest' });
  }

  #openAll() {
    openMenu(this.all, this.#ordered().map(({ id, button, panel }) => ({
      label: panel.dataset.title ?? '', icon: id === this.active ? 'check' : '', run: () => { this.activate(id); button.focus(); },
    })));
  }

  #draw() {
    const { ids } = this.#panes;
    const pair = ids.length ? this.ordered(ids) : [];
    const isSplit = pair.length === 2 && pair.includes(this.active ?? '');
    this.panels.classList.toggle('split', isSplit);
    for (const { id, button, panel } of this.#tabs.values()) {
      const shown = id === this.active;
      button.setAttribute('aria-selected', String(shown));
      button.tabIndex = shown ? 0 : -1;
      panel.hidden = !(shown || (isSplit && pair.includes(id)));
      panel.classList.toggle('second', isSplit && id === pair[1]);
      panel.classList.toggle('current', isSplit && shown);
    }
  }

  /** @param {string|null} id @returns {string} */
  titleOf(id) {
    return this.#tabs.get(id ?? '')?.panel.dataset.title ?? '';
  }

  /** Ids in the order of their tabs. @param {string[]} ids */
  ordered(ids) {
    return this.#ordered().map(({ id }) => id).filter((id) => ids.includes(id));
  }

  // Two of them side by side.

  get isSplit() {
    return this.panels.classList.contains('split');
  }

  /** The tabs that stand side by side. */
  get pair() {
    return this.#panes.ids;
  }

  /** Lays a tab beside the one that is shown; null lays none. @param {string|null} id */
  lay(id) {
    if (id === null || !this.active) this.#panes.end();
    else this.#panes.lay(this.active, id);
    this.#draw();
    if (id !== null) this.#tabs.get(id)?.onShow?.();
    if (this.active) this.activate(this.active);
  }

  /** The one with the focus is the one that the tools are for. */
  #onFocus({ target }) {
    const tab = this.isSplit && [...this.#tabs.values()].find(({ panel }) => panel.contains(target));
    if (tab && tab.id !== this.active) this.activate(tab.id);
  }

  /** Changes the title of a tab. @param {string} id @param {string} title */
  rename(id, title) {
    const tab = this.#tabs.get(id);
    const text = tab?.button.querySelector('span');
    if (text) fill(text, marked(title));
    if (tab) tab.panel.dataset.title = title;
    tab?.holder.querySelector('.tab-close')?.setAttribute('title', `Close ${title} (Delete)`);
  }

  /** Changes the figure in a tab. */
  setCount(id, count) {
    const button = this.#tabs.get(id)?.button;
    if (!button) return;
    button.querySelector('.tab-count')?.remove();
    if (count) button.append(h('span', { class: 'tab-count', text: count }));
  }

  /** Marks a tab as one that stays. */
  setPinned(id, pinned) {
    const button = this.#tabs.get(id)?.button;
    button?.querySelector('.tab-pin')?.remove();
    if (button && pinned) button.prepend(h('span', { class: 'tab-pin' }, iconOf('pin'), h('span', { class: 'visually-hidden', text: 'Pinned: ' })));
  }

  #onKey(event) {
    const order = this.#ordered();
    const at = order.findIndex((tab) => tab.button === document.activeElement);
    if (at < 0) return;
    if (event.key === 'Delete' && order[at].closable) this.close(order[at].id);
    else {
      const to = { ArrowLeft: at - 1, ArrowRight: at + 1, Home: 0, End: order.length - 1 }[event.key];
      if (to === undefined) return;
      const tab = order[(to + order.length) % order.length];
      this.activate(tab.id);
      tab.button.focus();
    }
    event.preventDefault();
  }
}
