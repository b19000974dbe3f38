// The applications as groups of cards or rows. Those that nobody sees yet are made in the pauses between frames.
import { byId, h, icon } from '../../common/dom.js';
import { UNGROUPED, groupsOf } from '../core/listing.js';
import { remember, remembered } from '../core/memory.js';
import { Entry } from './entry.js';
import { setAttribute, setHidden, setText } from './text.js';

const CLOSED_KEY = 'postern.manage.closed';
/** Entries of the first frame: more than any window shows. Those of hundreds take longer than a frame. */
const FIRST = 60;
/** Entries whose content is made at once, however long that takes. */
const AT_ONCE = 8;
/** Time that making others may take between two frames, in ms: with the layout of what is new a frame stays under 50 ms. */
const SLICE_MS = 8;
/** From so many on, what is out of sight is left out of the layout. */
const MANY = 40;
/** Time between two updates of elapsed times, in ms. */
const TICK_MS = 1000;

/** The list. */
export class List {
  #actions;
  /** @type {Map<string, Entry>} */
  #entries = new Map();
  /** @type {Map<string, Group>} */
  #groups = new Map();
  /** @type {Set<string>} the names of the folded groups */
  #closed = new Set(remembered(CLOSED_KEY, /** @type {string[]} */ ([])));
  /** Work for the pauses between frames. @type {(() => void)[]} */
  #later = [];
  #isWaiting = false;
  #draws = 0;

  /** @param {import('./actions.js').Actions} actions */
  constructor(actions) {
    this.#actions = actions;
    this.element = byId('apps');
    setInterval(() => { for (const entry of this.#entries.values()) entry.tick(); }, TICK_MS);
  }

  /** True while the pointer or the focus is in the list. Nothing may move then. */
  get isHeld() {
    return this.element.matches(':hover') || this.element.contains(document.activeElement);
  }

  /**
   * Draws the list. A search only hides entries: removing and restoring hundreds takes longer than a frame.
   * @param {App[]} apps all, in their order
   * @param {{isTable: boolean, shown: Set<string>, around: (app: App) => Surroundings}} how
   */
  draw(apps, how) {
    const draw = this.#draws += 1;
    if (this.#entries.size > 0 || apps.length <= FIRST) return this.#drawAll(apps, how);
    this.#drawAll(groupsOf(apps).flatMap((group) => group.apps).slice(0, FIRST), how);
    setTimeout(() => { if (draw === this.#draws) this.#drawAll(apps, how); });
  }

  #drawAll(apps, { isTable, shown, around }) {
    setAttribute(this.element, 'class', `apps ${isTable ? 'as-table' : 'as-cards'}${apps.length >= MANY ? ' many' : ''}`);
    setHidden(byId('table-head'), !isTable || shown.size === 0);
    /** @type {Entry[]} */
    const returning = [];
    for (const app of apps) {
      const entry = this.#entry(app);
      entry.update(app, around(app));
      if (shown.has(app.id) && entry.element.hidden) returning.push(entry);
      else setHidden(entry.element, !shown.has(app.id));
    }
    for (const entry of returning.splice(0, FIRST)) setHidden(entry.element, false);
    this.#forget(new Set(apps.map(({ id }) => id)));
    const groups = groupsOf(apps);
    const isPlain = groups.every(({ name }) => name === '');
    this.#place(this.element, groups.map((group) => this.#group(group, isPlain, shown, apps.length).element));
    const unbuilt = apps.filter(({ id }) => !this.#entry({ id }).isBuilt);
    const inOrder = [...unbuilt.filter(({ id }) => shown.has(id)), ...unbuilt.filter(({ id }) => !shown.has(id))];
    for (const app of inOrder.splice(0, AT_ONCE)) this.#entry(app).build();
    this.#later = [...returning.map((entry) => () => setHidden(entry.element, false)), ...inOrder.map((app) => () => this.#entry(app).build())];
    this.#doSome();
  }

  /** @param {any} app @returns {Entry} */
  #entry(app) {
    let entry = this.#entries.get(app.id);
    if (!entry) this.#entries.set(app.id, entry = new Entry(app, this.#actions));
    return entry;
  }

  #forget(present) {
    for (const [id, entry] of this.#entries) {
      if (present.has(id)) continue;
      entry.close();
      entry.element.remove();
      this.#entries.delete(id);
    }
  }

  #group({ name, apps }, isPlain, shown, all) {
    let group = this.#groups.get(name);
    if (!group) this.#groups.set(name, group = new Group(name, () => this.#fold(name)));
    // A group with search results is open, even if it is folded.
    group.draw(apps.filter(({ id }) => shown.has(id)).length, { isPlain, isOpen: isPlain || shown.size < all || !this.#closed.has(name) });
    const entries = apps.map((app) => this.#entry(app));
    for (const entry of entries) setAttribute(entry.name, 'aria-level', isPlain ? '3' : '4');
    this.#place(group.list, entries.map(({ element }) => element));
    return group;
  }

  #fold(name) {
    if (!this.#closed.delete(name)) this.#closed.add(name);
    remember(CLOSED_KEY, [...this.#closed]);
    const group = this.#groups.get(name);
    group?.setOpen(!this.#closed.has(name));
  }

  /** Removes what does not belong, and moves only what is out of place: moving one would take its focus. */
  #place(host, elements) {
    const wanted = new Set(elements);
    for (const there of [...host.children]) if (!wanted.has(there)) there.remove();
    elements.forEach((element, i) => {
      if (host.children[i] !== element) host.insertBefore(element, host.children[i] ?? null);
    });
  }

  /** As much as there is time for; the rest after the next frame. */
  #doSome() {
    const began = performance.now();
    while (this.#later.length && performance.now() - began < SLICE_MS) this.#later.shift()?.();
    if (this.#isWaiting || !this.#later.length) return;
    this.#isWaiting = true;
    setTimeout(() => {
      this.#isWaiting = false;
      this.#doSome();
    });
  }
}

/** A heading that folds its applications away, and their list. */
class Group {
  constructor(name, onFold) {
    this.name = name;
    this.count = h('span', { class: 'dim figures' });
    this.button = h('button', { type: 'button', class: 'button quiet fold', 'aria-expanded': 'true', on: { click: onFold } }, icon('chevron-down'), h('span', { text: name || UNGROUPED }), this.count);
    this.head = h('h3', { class: 'group-head' }, this.button);
    this.list = h('ul', { class: 'group-list' });
    this.element = h('section', { class: 'group' }, this.head, this.list);
  }

  draw(count, { isPlain, isOpen }) {
    setHidden(this.head, isPlain);
    setAttribute(this.list, 'aria-label', isPlain ? 'Applications' : `Applications, ${this.name || UNGROUPED}`);
    setText(this.count, `(${count})`);
    setHidden(this.element, count === 0);
    this.setOpen(isOpen);
  }

  setOpen(isOpen) {
    setAttribute(this.button, 'aria-expanded', String(isOpen));
    setHidden(this.list, !isOpen);
  }
}
