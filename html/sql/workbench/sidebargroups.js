// Below the tables in the sidebar: sequences, routines, triggers and events, in groups that are asked for when they are opened.
import { fill, h, icon, query, queryAll } from '../../common/dom.js';
import { entryRow } from './sidebarrows.js';

/** @typedef {import('../objects/kinds.js').Named & {hint?: string}} Entry */
/** @typedef {{items: Entry[], missing: string}} Loaded `missing`: what the account may not see of it */

const GROUPS = { sequences: 'Sequences', routines: 'Routines', triggers: 'Triggers', events: 'Events' };
/** Entries of a group that are drawn; the filter finds the others. */
const DRAWN = 200;

/** The groups of one database. */
export class SidebarGroups {
  #load;
  #changed;
  /** @type {string|null} */
  #db = null;
  /** Groups that are open, in any database. */
  #open = new Set();
  /** @type {Map<string, Loaded|string>} what was loaded, or why it was not */
  #known = new Map();
  #words = [];
  /** True if objects may be created in the database. */
  mayCreate = false;

  /** @param {(db: string, group: string) => Promise<Loaded>} load @param {() => void} changed the entries are others now */
  constructor(load, changed) {
    this.#load = load;
    this.#changed = changed;
    this.element = h('div', { class: 'sidebar-groups', hidden: true });
    this.element.addEventListener('click', (event) => {
      const head = /** @type {HTMLElement} */ (event.target).closest('.group-head');
      if (head instanceof HTMLElement) this.#toggle(head.dataset.group ?? '');
    });
  }

  /** A database, or the list of them, is shown from now on, afresh. @param {string|null} db */
  enter(db) {
    if (db !== this.#db) this.element.hidden = true;
    this.#db = db;
    this.#known.clear();
  }

  /** The tables are there: the groups go below them. @param {any[]} sequences */
  show(sequences) {
    this.element.hidden = this.#db === null;
    if (this.#db === null) return;
    const db = this.#db;
    this.#known.set('sequences', { items: sequences.map(({ name }) => ({ kind: 'sequence', db, name })), missing: '' });
    for (const group of this.#open) this.#fetch(group);
    this.#draw();
  }

  /** Shows what holds all words of a text. @param {string} text */
  filter(text) {
    this.#words = text.toLowerCase().split(/\s+/).filter(Boolean);
    if (!this.element.hidden) this.#draw();
  }

  /** Object of an entry; none if it is not one of a group. @param {string} kind @param {string} name @returns {Entry|undefined} */
  objectOf(kind, name) {
    for (const loaded of this.#known.values()) {
      const found = typeof loaded === 'string' ? undefined : loaded.items.find((item) => item.kind === kind && item.name === name);
      if (found) return found;
    }
    return undefined;
  }

  /** True if a key meant the head of a group. @param {HTMLElement} head @param {string} key */
  key(head, key) {
    const group = head.dataset.group ?? '';
    const turns = (key === 'ArrowRight' && !this.#open.has(group)) || (key === 'ArrowLeft' && this.#open.has(group));
    if (turns) this.#toggle(group);
    return turns || key === 'ArrowRight';
  }

  /** Leads from an entry to the head of its group; false where it is in none. @param {HTMLElement} entry */
  leave(entry) {
    const head = this.element.contains(entry) && query(entry.closest('.group') ?? this.element, '.group-head');
    if (head) head.focus();
    return Boolean(head);
  }

  #toggle(group) {
    if (this.#open.delete(group)) return this.#draw();
    this.#open.add(group);
    return this.#fetch(group);
  }

  async #fetch(group) {
    const db = this.#db;
    if (db === null || typeof this.#known.get(group) === 'object') return this.#draw();
    this.#known.delete(group);
    this.#draw();
    /** @type {Loaded|string} */
    const loaded = await this.#load(db, group).catch((error) => String(error.message));
    if (db !== this.#db) return undefined;
    this.#known.set(group, loaded);
    return this.#draw();
  }

  #draw() {
    const focused = /** @type {HTMLElement|null} */ (this.element.contains(document.activeElement) ? document.activeElement : null);
    const { group, name, kind } = focused?.dataset ?? {};
    fill(this.element, Object.keys(GROUPS).map((one) => this.#group(one)));
    if (focused) queryAll(this.element, '.row-main, .group-head').find(({ dataset }) => dataset.group === group && dataset.name === name && dataset.kind === kind)?.focus();
    this.#changed();
  }

  #group(group) {
    const loaded = this.#known.get(group);
    const items = typeof loaded === 'object' ? loaded.items : [];
    if (group === 'sequences' && !items.length) return null;
    const found = items.filter(({ name }) => this.#words.every((word) => name.toLowerCase().includes(word)));
    const open = this.#open.has(group);
    const count = typeof loaded !== 'object' ? '' : found.length === items.length ? items.length.toLocaleString('en') : `${found.length.toLocaleString('en')} of ${items.length.toLocaleString('en')}`;
    const head = h('button', { type: 'button', class: 'group-head', tabindex: '-1', 'aria-expanded': String(open), data: { group } },
      icon(open ? 'chevron-down' : 'chevron-right'), h('span', { text: GROUPS[group] }), h('span', { class: 'row-figures', text: count }));
    return h('div', { class: 'group' }, h('div', { class: 'group-line' }, head, this.#fresh(group)), open && this.#entries(GROUPS[group], loaded, found));
  }

  /** The button that creates in a group. */
  #fresh(group) {
    const one = { routines: 'routine', triggers: 'trigger', events: 'event' }[group];
    if (!this.mayCreate || !one) return null;
    return h('button', { type: 'button', class: 'group-new', tabindex: '-1', title: `New ${one} …`, 'aria-label': `New ${one}`, 'aria-haspopup': group === 'routines' ? 'menu' : null, data: { fresh: group } }, icon('plus'));
  }

  #entries(label, loaded, found) {
    if (loaded === undefined) return h('p', { class: 'group-note dim', text: 'Loading …' });
    if (typeof loaded === 'string') return h('p', { class: 'group-note bad', role: 'alert', text: loaded });
    const none = loaded.items.length ? 'Nothing matches.' : `No ${label.toLowerCase()}${loaded.missing ? ' visible to this account' : ' here'}.`;
    const rest = found.length > DRAWN ? `${(found.length - DRAWN).toLocaleString('en')} more; filter to find them.` : '';
    const said = [found.length ? '' : none, rest, loaded.missing].filter(Boolean).join(' ');
    return [found.length > 0 && h('ul', { class: 'sidebar-list', 'aria-label': `${label} of ${this.#db}` }, found.slice(0, DRAWN).map((entry) => entryRow(entry))), said && h('p', { class: 'group-note dim', text: said })];
  }
}
