// The sidebar: databases, then the tables of one, with a live filter and pages of 50.
import { byId, debounce, fill, focusedIn, h, icon, iconButton, query, queryAll } from '../../common/dom.js';
import { formatBytes, formatCount } from '../../common/figures.js';

/** Entries on one page of the list: of tables, and of databases. */
const PAGE = 50;
const DATABASE_PAGE = 500;
/** When details take longer than this, the names are shown first. */
const DETAILS_LATE_MS = 200;
const KINDS = { table: 'Table', view: 'View', sequence: 'Sequence' };

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

  /**
   * @param {import('./catalogue.js').Catalogue} catalogue
   * @param {{openDatabase: (db: string) => void, useDatabase: (db: string) => void, openTable: (db: string, table: string) => void,
   *   runTable: (db: string, table: string) => void, openData: (db: string, table: string) => void,
   *   openDump: (db: string) => void, announce: (text: string) => void}} on
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
    fill(this.host, this.head, h('div', { class: 'sidebar-filter' }, icon('search'), this.filter), this.list, this.note, this.pager);
    this.#listen();
  }

  #listen() {
    const settle = debounce(() => this.#on.announce(`${this.#matching().length} match`), 500);
    this.filter.addEventListener('input', () => { this.#page = 0; this.#render(); settle(); });
    this.filter.addEventListener('keydown', (event) => this.#filterKey(event));
    this.list.addEventListener('keydown', (event) => this.#listKey(event));
    this.list.addEventListener('click', (event) => this.#click(event));
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
    this.#use.title = `The statements of this tab run in ${db || 'no database'}; make them run in ${this.#db}`;
  }

  /** Shows the list of databases. @param {boolean} [fresh] asks the server again */
  async showDatabases(fresh = false) {
    const turn = this.#enter(null);
    this.#head();
    await this.#load(turn, async () => { this.#names = await this.#catalogue.databases(fresh); });
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
    } catch (error) {
      if (turn === this.#turn) this.#fail(error);
    } finally {
      if (turn === this.#turn) this.list.removeAttribute('aria-busy');
    }
  }

  #fail(error) {
    const again = h('button', { type: 'button', class: 'button', text: 'Try again', on: { click: () => this.refresh() } });
    fill(this.note, h('p', { class: 'bad', text: error.message }), again);
    this.note.hidden = false;
  }

  #head() {
    const refresh = iconButton('refresh', this.#db === null ? 'Refresh databases' : 'Refresh tables', () => this.refresh());
    if (this.#db === null) {
      fill(this.head, h('h2', { id: 'sidebar-title', text: 'Databases' }), refresh);
      this.filter.placeholder = 'Filter databases';
    } else {
      const back = h('button', { type: 'button', class: 'button quiet back', on: { click: () => this.#back() } }, icon('back'), 'Databases');
      const dump = iconButton('download', `Dump ${this.#db} as SQL`, () => this.#on.openDump(this.#db));
      fill(this.head, back, dump, refresh, h('h2', { id: 'sidebar-title', class: 'sidebar-db', title: this.#db }, icon('database'), h('span', { text: this.#db })), this.#use);
      this.filter.placeholder = 'Filter tables';
    }
    this.filter.setAttribute('aria-label', this.filter.placeholder);
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

  #matching() {
    const words = this.filter.value.toLowerCase().split(/\s+/).filter(Boolean);
    const all = this.#db === null ? this.#names.map((name) => ({ name, kind: 'database' })) : this.#tables;
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
    const focused = focusedIn(this.list)?.dataset.name ?? null;
    fill(this.list, paged.map((entry) => this.#row(entry)));
    const rows = this.#rows;
    const tabStop = rows.find(({ dataset }) => dataset.name === (focused ?? this.#selected)) ?? rows[0];
    if (tabStop) tabStop.tabIndex = 0;
    if (focused !== null) tabStop?.focus();
    this.#renderPager(found.length);
    this.#say(this.#emptyText(found.length));
  }

  #emptyText(count) {
    if (count > 0 || this.list.hasAttribute('aria-busy')) return '';
    if (this.filter.value) return `Nothing matches “${this.filter.value}”.`;
    return this.#db === null ? '' : 'No tables here that this account may see.';
  }

  #say(text) {
    this.note.textContent = text;
    this.note.hidden = text === '';
  }

  #row(entry) {
    const isTable = this.#db !== null;
    const current = isTable && entry.name === this.#selected;
    const main = h('button', { type: 'button', class: 'row-main', tabindex: '-1', data: { name: entry.name }, title: tooltip(entry), 'aria-current': current ? 'true' : null },
      icon(entry.kind), isTable && h('span', { class: 'visually-hidden', text: `${KINDS[entry.kind] ?? entry.kind} ` }), h('span', { class: 'row-name', text: entry.name }),
      isTable && h('span', { class: 'row-figures', text: figures(entry) }));
    const run = isTable && entry.kind !== 'sequence' && h('button', { type: 'button', class: 'row-run', tabindex: '-1', title: `Select from ${entry.name}`, 'aria-label': `Select from ${entry.name}`, data: { run: entry.name } }, icon('play'));
    const data = isTable && entry.kind !== 'sequence' && h('button', { type: 'button', class: 'row-run row-data', tabindex: '-1', title: `Data of ${entry.name} (Alt+Enter)`, 'aria-label': `Data of ${entry.name}`, data: { rows: entry.name } }, icon('rows'));
    return h('li', { class: data ? 'row two' : 'row' }, main, data, run);
  }

  #renderPager(total) {
    const size = this.#pageSize;
    this.pager.hidden = total <= size;
    if (this.pager.hidden) return;
    const from = this.#page * size;
    const to = Math.min(total, from + size);
    const go = (by) => () => { this.#page += by; this.#render(); this.list.scrollTop = 0; this.#on.announce(`${this.#page * size + 1} to ${Math.min(total, (this.#page + 1) * size)} of ${total}`); };
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
    const data = event.target.closest('[data-rows]');
    if (data) this.#on.openData(this.#db, data.dataset.rows);
    else if (run) this.#on.runTable(this.#db, run.dataset.run);
    else if (main) this.#open(main.dataset.name, event.detail);
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
    const rows = this.#rows;
    const at = rows.findIndex((row) => row === document.activeElement);
    const { key } = event;
    const to = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: rows.length - 1 }[key];
    if (to === -1) this.filter.focus();
    else if (to !== undefined) this.#focusRow(rows, at, Math.min(to, rows.length - 1));
    else if (key === 'Enter' && (event.shiftKey || event.ctrlKey || event.metaKey) && this.#db !== null && at >= 0) this.#on.runTable(this.#db, rows[at].dataset.name);
    else if (key === 'Enter' && event.altKey && this.#db !== null && at >= 0) this.#on.openData(this.#db, rows[at].dataset.name);
    else if ((key === 'Backspace' || key === 'ArrowLeft') && this.#db !== null) this.#back();
    else if (key === 'ArrowRight' && this.#db === null && at >= 0) rows[at].click();
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  #focusRow(rows, from, to) {
    if (rows[from]) rows[from].tabIndex = -1;
    rows[to].tabIndex = 0;
    rows[to].focus();
  }
}

function figures({ kind, rows_estimate: rows, bytes }) {
  if (kind === 'view') return 'view';
  if (kind === 'sequence') return 'sequence';
  const parts = [];
  if (Number.isFinite(rows)) parts.push(`${formatCount(rows)} rows`);
  if (Number.isFinite(bytes)) parts.push(formatBytes(bytes));
  return parts.join(' · ');
}

function tooltip({ name, kind, engine, rows_estimate: rows, bytes, comment }) {
  const lines = [name];
  if (engine) lines.push(`${KINDS[kind] ?? kind}, ${engine}`);
  if (Number.isFinite(rows)) lines.push(`about ${rows.toLocaleString('en')} rows${Number.isFinite(bytes) ? `, ${formatBytes(bytes)}` : ''}`);
  if (comment && comment !== 'VIEW') lines.push(comment);
  return lines.join('\n');
}
