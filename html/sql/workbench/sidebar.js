// The sidebar: databases, then the tables of one, with a live filter and pages of 50.
import { byId, debounce, fill, focusedIn, h, icon, iconButton, marked, query, queryAll } from '../../common/dom.js';
import { isSystem, ownFirst } from '../core/entries.js';
import { SidebarGroups } from './sidebargroups.js';
import { entryRow } from './sidebarrows.js';

/** Entries on one page of the list: of tables, and of databases. */
const PAGE = 50;
const DATABASE_PAGE = 500;
/** Delay of the details after which the names are shown first, in ms. */
const DETAILS_LATE_MS = 200;
/** The sidebar in `#sidebar`. */
export class Sidebar {
  #catalogue;
  #on;
  #db = null;
  #names = [];
  #tables = [];
  #page = 0;
  #turn = 0;
  #selected = '';
  /** The database that the active tab runs in. */
  #tabDb = '';
  #use;
  #groups;
  /** True if the last request failed because nobody answered. */
  #unreached = false;

  /**
   * @param {import('./catalogue.js').Catalogue} catalogue
   * @param {{openDatabase: (db: string) => void, useDatabase: (db: string) => void, openTable: (db: string, table: string) => void,
   *   runTable: (db: string, table: string) => void, openData: (db: string, table: string, focus?: boolean) => void,
   *   openObject: (object: import('../objects/kinds.js').Named) => void, menu: (button: HTMLElement, object: import('../objects/kinds.js').Named) => void,
   *   loadGroup: (db: string, group: string) => Promise<import('./sidebargroups.js').Loaded>, openDump: (db: string) => void, isReadOnly: () => boolean, menuNew: (button: HTMLElement, db: string, group: string) => void, newDatabase: () => void, fresh: (db: string, kind: 'table'|'view') => void, mayCreate: (db: string) => boolean, announce: (text: string) => void}} on
   */
  constructor(catalogue, on) {
    this.#catalogue = catalogue;
    this.#on = on;
    this.host = byId('sidebar-content');
    this.#use = h('button', { type: 'button', class: 'button use-database', text: 'Use in this tab', hidden: true, on: { click: () => this.#on.useDatabase(this.#db) } });
    this.filter = h('input', { class: 'field', type: 'search', id: 'filter', placeholder: 'Filter', 'aria-label': 'Filter', autocomplete: 'off', spellcheck: 'false' });
    this.head = h('div', { class: 'sidebar-head' });
    this.list = h('ul', { class: 'sidebar-list', id: 'sidebar-list' });
    this.note = h('div', { class: 'sidebar-note' });
    this.pager = h('div', { class: 'pager', role: 'group', 'aria-label': 'Pages' });
    this.#groups = new SidebarGroups((db, group) => this.#on.loadGroup(db, group), () => this.#oneTabStop());
    this.body = h('div', { class: 'sidebar-body' }, this.list, this.note, this.#groups.element);
    fill(this.host, this.head, h('div', { class: 'sidebar-filter' }, icon('search'), this.filter), this.body, this.pager, h('p', { class: 'sidebar-where', id: 'where' }));
    this.#listen();
  }

  #listen() {
    const settle = debounce(() => this.#on.announce(`${this.#matching().length} match`), 500);
    this.filter.addEventListener('input', () => { this.#page = 0; this.#render(); settle(); });
    this.filter.addEventListener('keydown', (event) => this.#filterKey(event));
    this.body.addEventListener('keydown', (event) => this.#listKey(event));
    this.body.addEventListener('click', (event) => this.#click(event));
    this.body.addEventListener('contextmenu', (event) => this.#contextMenu(event));
    this.list.addEventListener('dblclick', (event) => this.#doubleClick(event));
  }

  /** The database whose tables are shown, or null. */
  get db() {
    return this.#db;
  }

  /** Sets the database of the active tab; browsing another database does not change it. @param {string} db */
  setTabDatabase(db) {
    this.#tabDb = db;
    this.#use.hidden = this.#db === null || this.#db === db;
    this.#use.title = `This tab uses ${db || 'no database'}; switch it to ${this.#db}`;
  }

  /** True if it waits for a server that did not answer. */
  get unreached() {
    return this.#unreached;
  }

  /** Shows the list of databases. @param {boolean} [fresh] asks the server again */
  async showDatabases(fresh = false) {
    const turn = this.#enter(null);
    this.#head();
    await this.#load(turn, async () => { this.#names = ownFirst(await this.#catalogue.databases(fresh)); });
  }

  /** Shows the list of databases; the tables of the only one that is not the server's own. */
  async showFirst() {
    await this.showDatabases();
    const own = this.#names.filter((name) => !isSystem(name));
    if (this.#db === null && own.length === 1) this.#open(own[0], 1);
  }

  /** Shows the tables of a database. @param {string} db @param {boolean} [fresh] */
  async showTables(db, fresh = false) {
    const turn = this.#enter(db);
    this.#head();
    await this.#load(turn, async () => {
      const names = setTimeout(() => this.#showNames(turn, db), DETAILS_LATE_MS);
      try {
        this.#tables = await this.#catalogue.tables(db, fresh);
      } finally {
        clearTimeout(names);
      }
    });
  }

  /** Shows a database's tables by name while their details are on the way. */
  async #showNames(turn, db) {
    try {
      const names = await this.#catalogue.tableNames(db);
      if (turn !== this.#turn || this.#tables.length || !this.list.hasAttribute('aria-busy')) return;
      this.#tables = names.map((name) => ({ name, kind: 'table' }));
      this.#render();
    } catch {
      // The request for the details reports the same error.
    }
  }

  /** Asks the server again for what is shown. */
  refresh() {
    return this.#db === null ? this.showDatabases(true) : this.showTables(this.#db, true);
  }

  #enter(db) {
    const moved = db !== this.#db;
    this.#db = db;
    this.#turn += 1;
    this.#unreached = false;
    this.#groups.mayCreate = db !== null && !this.#on.isReadOnly() && !isSystem(db);
    this.#groups.enter(db);
    if (moved) {
      this.filter.value = '';
      this.#page = 0;
      this.#tables = [];
      this.#selected = '';
    }
    return this.#turn;
  }

  async #load(turn, request) {
    if (!this.#matching().length) this.#say('Loading …');
    this.list.setAttribute('aria-busy', 'true');
    try {
      await request();
      if (turn !== this.#turn) return;
      // The list has been loaded now, even if it is empty.
      this.list.removeAttribute('aria-busy');
      this.#render();
      this.#groups.show(this.#tables.filter(({ kind }) => kind === 'sequence'));
    } catch (error) {
      if (turn === this.#turn) this.#fail(error);
    } finally {
      if (turn === this.#turn) this.list.removeAttribute('aria-busy');
    }
  }

  #fail(error) {
    this.#unreached = error.unreachable === true || error.status >= 502;
    const again = h('button', { type: 'button', class: 'button', text: 'Try again', on: { click: () => this.refresh() } });
    fill(this.note, h('p', { class: 'bad', text: error.message }), again);
    this.note.hidden = false;
  }

  #head() {
    const focused = focusedIn(this.head);
    const refresh = iconButton('refresh', this.#db === null ? 'Refresh databases' : 'Refresh tables', () => { this.#catalogue.changes += 1; this.refresh(); });
    if (this.#db === null) {
      fill(this.head, h('h2', { id: 'sidebar-title', text: 'Databases' }), !this.#on.isReadOnly() && iconButton('plus', 'New database', () => this.#on.newDatabase()), refresh);
      this.filter.placeholder = 'Filter databases';
    } else {
      const back = h('button', { type: 'button', class: 'button quiet back', on: { click: () => this.#back() } }, icon('back'), 'Databases');
      const dump = iconButton('download', `Dump ${this.#db} as SQL`, () => this.#on.openDump(this.#db));
      const create = this.#on.mayCreate(this.#db);
      fill(this.head, back, create && iconButton('plus', `New table or view in ${this.#db}`, (event) => this.#on.menuNew(event.currentTarget, this.#db ?? '', 'tables'), { 'aria-haspopup': 'menu', data: { fresh: 'tables' } }), dump, refresh, h('h2', { id: 'sidebar-title', class: 'sidebar-db', title: this.#db }, icon('database'), h('span', {}, marked(this.#db ?? ''))), this.#use);
      this.filter.placeholder = 'Filter tables';
    }
    this.filter.setAttribute('aria-label', this.filter.placeholder);
    // The buttons are new ones.
    if (focused) (queryAll(this.head, 'button').find((one) => focused.ariaLabel !== null && one.ariaLabel === focused.ariaLabel) ?? this.filter).focus();
    this.setTabDatabase(this.#tabDb);
    this.list.setAttribute('aria-label', this.#db === null ? 'Databases' : `Tables of ${this.#db}`);
    this.#render();
  }

  async #back() {
    const from = this.#db;
    await this.showDatabases();
    const button = this.#rows.find(({ dataset }) => dataset.name === from);
    (button ?? this.filter).focus();
  }

  get #rows() {
    return queryAll(this.list, '.row-main');
  }

  /** Elements that the arrow keys lead to. */
  get #stops() {
    return queryAll(this.body, '.row-main, .group-head').filter((one) => one.checkVisibility());
  }

  #matching() {
    const words = this.filter.value.toLowerCase().split(/\s+/).filter(Boolean);
    // Sequences have a group of their own.
    const all = this.#db === null ? this.#names.map((name) => ({ name, kind: 'database' })) : this.#tables.filter(({ kind }) => kind !== 'sequence');
    return words.length ? all.filter(({ name }) => words.every((word) => name.toLowerCase().includes(word))) : all;
  }

  get #pageSize() {
    return this.#db === null ? DATABASE_PAGE : PAGE;
  }

  #render() {
    const found = this.#matching();
    const size = this.#pageSize;
    const pages = Math.max(1, Math.ceil(found.length / size));
    this.#page = Math.min(this.#page, pages - 1);
    const paged = found.slice(this.#page * size, (this.#page + 1) * size);
    const button = focusedIn(this.list);
    const focused = query(button?.closest('.row') ?? this.note, '.row-main')?.dataset.name ?? null;
    const line = this.#db === null ? paged.findIndex(({ name }) => isSystem(name)) : -1;
    fill(this.list, paged.map((entry, i) => entryRow(entry, { current: this.#db !== null && entry.name === this.#selected, first: i > 0 && i === line })));
    this.#groups.filter(this.filter.value);
    this.#oneTabStop();
    if (focused !== null) {
      const same = this.#rows.find(({ dataset }) => dataset.name === focused);
      const more = same && button?.dataset.more !== undefined ? query(/** @type {HTMLElement} */ (same.parentElement), '[data-more]') : null;
      (more ?? same ?? this.#rows[0] ?? this.filter).focus();
    }
    this.#renderPager(found.length);
    this.#say(this.#emptyText(found.length));
    if (this.#db !== null && !found.length && !this.filter.value && !this.list.hasAttribute('aria-busy')) this.#offerFirst(this.#db);
  }

  #emptyText(count) {
    if (count > 0 || this.list.hasAttribute('aria-busy')) return '';
    if (this.filter.value) return `Nothing matches “${this.filter.value}”.`;
    return this.#db === null ? '' : 'No tables visible to this account.';
  }

  /** Offers what a database without tables can begin with. @param {string} db */
  #offerFirst(db) {
    if (!this.#on.mayCreate(db)) return;
    const button = (kind) => h('button', { type: 'button', class: 'button', text: `New ${kind} …`, on: { click: () => this.#on.fresh(db, kind) } });
    this.note.append(button('table'), button('view'));
  }

  #say(text) {
    this.note.textContent = text;
    this.note.hidden = text === '';
  }

  /** One entry of the list, or of its groups, is reached by Tab; the arrow keys lead to the others. */
  #oneTabStop() {
    const stops = this.#stops;
    const focused = focusedIn(this.body);
    const stop = stops.find((one) => one === focused) ?? stops.find(({ dataset }) => dataset.name === this.#selected) ?? stops[0];
    for (const one of stops) one.tabIndex = one === stop ? 0 : -1;
  }

  #renderPager(total) {
    const size = this.#pageSize;
    this.pager.hidden = total <= size;
    if (this.pager.hidden) return;
    const from = this.#page * size;
    const to = Math.min(total, from + size);
    const go = (by) => () => { this.#page += by; this.#render(); this.body.scrollTop = 0; this.#on.announce(`${this.#page * size + 1} to ${Math.min(total, (this.#page + 1) * size)} of ${total}`); };
    const hadFocus = focusedIn(this.pager)?.dataset.way;
    fill(this.pager,
      iconButton('chevron-left', 'Previous page', go(-1), { disabled: from === 0, 'data-way': 'previous' }),
      h('span', { class: 'pager-text', text: `${from + 1}–${to} of ${total}` }),
      iconButton('chevron-right', 'Next page', go(1), { disabled: to === total, 'data-way': 'next' }));
    if (hadFocus) (query(this.pager, `[data-way="${hadFocus}"]:not(:disabled)`) ?? query(this.pager, 'button:not(:disabled)'))?.focus();
  }

  #click(event) {
    const run = event.target.closest('[data-run]');
    const main = event.target.closest('.row-main');
    const fresh = event.target.closest('[data-fresh]');
    const data = event.target.closest('[data-rows]');
    const more = event.target.closest('[data-more]');
    if (fresh) this.#on.menuNew(fresh, this.#db, fresh.dataset.fresh);
    else if (data) this.#on.openData(this.#db, data.dataset.rows);
    else if (run) this.#on.runTable(this.#db, run.dataset.run);
    else if (more) this.#on.menu(more, this.#objectOf(more.parentElement.querySelector('.row-main')));
    else if (main && !this.list.contains(main)) this.#on.openObject(this.#objectOf(main));
    else if (main) this.#open(main.dataset.name, event.detail);
  }

  /** Object of an entry. @param {any} main */
  #objectOf({ dataset: { name, kind } }) {
    if (kind === 'database') return { kind, db: name, name, system: isSystem(name) };
    return this.#groups.objectOf(kind, name) ?? { kind, db: this.#db, name };
  }

  /** The entry of an object, where it is shown. @param {import('../objects/kinds.js').Named} object */
  entryOf({ kind, name }) {
    return queryAll(this.body, '.row-main').find(({ dataset }) => dataset.kind === kind && dataset.name === name);
  }

  #contextMenu(event) {
    const main = query(event.target.closest('.row') ?? this.note, '.row-main');
    if (!main) return;
    event.preventDefault();
    this.#on.menu(main, this.#objectOf(main));
  }

  #open(name, clicks) {
    if (this.#db === null) {
      this.#on.openDatabase(name);
      this.showTables(name).then(() => { if (document.activeElement === document.body) query(this.list, '.row-main')?.focus(); });
    } else if (clicks < 2) {
      this.#select(name);
      this.#on.openTable(this.#db, name);
    }
  }

  /** Marks the table that is shown beside it. @param {string} db @param {string} table */
  mark(db, table) {
    if (db === this.#db) this.#select(table);
  }

  #select(name) {
    this.#selected = name;
    for (const row of this.#rows) {
      if (row.dataset.name === name) row.setAttribute('aria-current', 'true');
      else row.removeAttribute('aria-current');
    }
  }

  #doubleClick(event) {
    const main = event.target.closest('.row-main');
    // The first of the two clicks may have opened a database, so the row under the pointer was not meant.
    if (main && this.#db !== null && main.dataset.name === this.#selected) this.#on.runTable(this.#db, main.dataset.name);
  }

  #filterKey(event) {
    const first = query(this.list, '.row-main');
    if (event.key === 'ArrowDown' && first) first.focus();
    else if (event.key === 'Enter' && first) first.click();
    else if (event.key === 'Escape' && this.filter.value) { this.filter.value = ''; this.#page = 0; this.#render(); }
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  #listKey(event) {
    const stops = this.#stops;
    const entry = event.target.closest('.row, .group-line');
    const at = stops.findIndex((one) => one.parentElement === entry);
    if (at < 0) return;
    if (this.#move(stops, at, event.key) || this.#act(stops[at], event)) {
      event.preventDefault();
      event.stopPropagation();
    }
  }

  #move(stops, at, key) {
    const to = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: stops.length - 1 }[key];
    if (to === undefined) return false;
    if (to === -1) this.filter.focus();
    else {
      const next = stops[Math.min(to, stops.length - 1)];
      stops[at].tabIndex = -1;
      next.tabIndex = 0;
      next.focus();
    }
    return true;
  }

  /** True if a key meant the entry. */
  #act(main, event) {
    const { key } = event;
    const isTable = main.dataset.kind === 'table' || main.dataset.kind === 'view';
    const fresh = query(main.parentElement ?? this.body, '[data-fresh]');
    if (fresh && (key === 'ContextMenu' || (key === 'F10' && event.shiftKey))) return (this.#on.menuNew(fresh, this.#db, fresh.dataset.fresh ?? ''), true);
    if (main.matches('.group-head')) return this.#groups.key(main, key) || (key === 'Backspace' && (this.#back(), true));
    if (key === 'ContextMenu' || (key === 'F10' && event.shiftKey)) this.#on.menu(main, this.#objectOf(main));
    else if (key === 'Enter' && (event.shiftKey || event.ctrlKey || event.metaKey) && isTable) this.#on.runTable(this.#db, main.dataset.name);
    else if (key === 'Enter' && event.altKey && isTable) this.#on.openData(this.#db, main.dataset.name, true);
    else if (key === 'ArrowLeft' && this.#groups.leave(main)) return true;
    else if ((key === 'Backspace' || key === 'ArrowLeft') && this.#db !== null) this.#back();
    else if (key === 'ArrowRight' && this.#db === null) main.click();
    else return false;
    return true;
  }
}
