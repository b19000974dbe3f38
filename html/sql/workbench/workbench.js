// The workbench: query tabs and the commands that act on them.
import { byId, loadStyle, queryAll } from '../../common/dom.js';
import { announce, notify } from '../../common/announce.js';
import { promptDialog } from '../../common/dialog.js';
import { countText, pendingText } from '../core/pending.js';
import { mayClose } from './closing.js';
import { DataTabs } from './datatabs.js';
import { Execution } from './execution.js';
import { chooseFile, hasValues, saveScript } from './files.js';
import { FillIns } from './fillins.js';
import { Keeping } from './keeping.js';
import { keyText, listenForKeys } from './keys.js';
import { Layout } from './layout.js';
import { openScriptIn, runFirstRows } from './opening.js';
import { Objects } from './objects.js';
import { QueryTab, later } from './querytab.js';
import { Sidebar } from './sidebar.js';
import { saveSettings } from './store.js';
import { ServerPages } from './serverpages.js';
import { drawTabs } from './tabstrip.js';
import { drawDatabases, drawRunning, wireToolbar } from './toolbar.js';
import { welcome } from './welcome.js';

/** The most query tabs; each holds a database session while it is used, and the server has 32. */
const MAX_TABS = 24;
/** Time that the notice about kept changes stays, in ms: it may lie over cells. */
const KEPT_NOTICE_MS = 15_000;
/** Closed tabs that can be opened again. */
const MAX_CLOSED = 10;

/** The page after the first answer of the server. */
export class Workbench {
  #closed = [];
  /** The database of the link that the page was opened with, and whether the sidebar has begun. */
  #linked = '';
  #begun = false;

  /** @param {{api: ReturnType<typeof import('../api.js').createApi>, catalogue: import('./catalogue.js').Catalogue, info: ServerInfo, workspace: import('./store.js').Workspace, settings: Settings}} parts */
  constructor({ api, catalogue, info, workspace, settings }) {
    this.api = api;
    this.info = info;
    this.workspace = workspace;
    this.settings = settings;
    this.catalogue = catalogue;
    this.execution = new Execution(this);
    /** @type {QueryTab[]} */
    this.tabs = [];
    /** The QueryTab that is shown; there is one once the page is open. @type {any} */
    this.active = null;
    this.fillIns = new FillIns(this);
    this.keeping = new Keeping(this);
    this.layout = new Layout(this.settings, () => saveSettings(this.settings));
    this.data = new DataTabs(this);
    this.objects = new Objects(this);
    this.server = new ServerPages(this);
    this.sidebar = new Sidebar(this.catalogue, {
      openDatabase: (db) => { if (this.active.followsSidebar) this.setDatabase(db); },
      useDatabase: (db) => this.useDatabase(db),
      openTable: (db, table) => this.openSchema(db, table),
      runTable: (db, table) => this.runTable(db, table),
      openData: async (db, table, focus) => { await this.openData(db, table); if (focus) this.active.results.focus(); },
      openObject: (object) => { this.server.close(); this.objects.open(object); },
      menu: (button, object) => this.objects.menu(button, object),
      loadGroup: (db, group) => this.objects.group(db, group),
      openDump: (db) => this.openDump({ db }),
      isReadOnly: () => this.readOnly,
      menuNew: (button, db, group) => this.objects.act('menuNew', button, db, group),
      newDatabase: () => this.objects.act('database', 'create'),
      fresh: (db, kind) => this.objects.act('fresh', db, kind),
      mayCreate: (db) => this.objects.mayChange(db),
      announce,
    });
  }

  /** Wires the page and restores what was open. */
  open() {
    this.#showWhere();
    wireToolbar(this.#commands(), this.settings, { setDatabase: (db) => this.setDatabase(db), setLimit: (limit) => this.#setLimit(limit), menu: () => this.#menu() });
    listenForKeys(Object.fromEntries(Object.entries(this.#commands()).map(([name, act]) => [name, (event) => (this.server.blocks(name) ? undefined : act(event))])));
    byId('search').title += ` (${keyText('search')})`;
    byId('search').addEventListener('click', this.#commands().search);
    this.#restore();
    addEventListener('hashchange', () => this.fillIns.followLink());
    this.keeping.listen();
    this.server.listen();
    this.#loadCatalogue();
    if (!this.readOnly && this.workspace.read('replacing')) this.objects.act('offerUnfinished');
    if (!this.layout.isBare) this.active.editor.area.focus();
  }

  #restore() {
    const { tabs, active } = this.workspace.tabs();
    const pending = this.workspace.pending();
    const shown = tabs.slice(0, MAX_TABS);
    // Changes of rows come back even where their tab does not.
    const of = (stored) => pending.filter(({ tab }) => tab === stored?.id || (stored === shown[0] && !shown.some(({ id }) => id === tab)));
    for (const stored of shown) this.#add({ ...stored, name: String(stored.name ?? 'query') }, of(stored));
    if (!this.tabs.length) this.#add({ name: 'query 1', db: this.info.database ?? '' }, pending);
    this.activate(this.tabs[Math.min(active, this.tabs.length - 1)] ?? this.tabs[0]);
    this.keeping.resumeSessions();
    this.fillIns.followLink();
    if (pending.length) this.#tellPending(pending);
  }

  /** Says which changes of rows the page before left. @param {import('../core/pending.js').Pending[]} pending */
  #tellPending(pending) {
    const tables = pending.flatMap((one) => one.tables);
    const left = tables.reduce((sum, one) => sum + one.left, 0);
    const show = async () => {
      const tab = this.tabs.find(({ results }) => results.pending().length);
      if (!tab) return;
      this.activate(tab);
      const [{ db, table }] = tab.results.pending();
      this.#browse();
      tab.results.activate(`data:${db}.${table}`);
      await this.data.loading;
      tab.results.focus();
    };
    if (!left && !this.data.kept) return;
    const told = (how, isUncertain) => { const text = pendingText(tables.filter(({ uncertain }) => Boolean(uncertain) === isUncertain)); return text && `${how}: ${text}. `; };
    const lost = left && `Files and large values were not kept: ${countText(left)}. `;
    const notice = notify(`${told('Kept from before, and not applied', false)}${told('Kept from before, may be applied already', true)}${lost || ''}`.trim(), left ? 'warn' : 'info', { text: 'Show', run: show });
    if (left) return;
    this.data.notice = notice;
    setTimeout(() => notice.remove(), KEPT_NOTICE_MS);
  }

  /** Opens the first database: from a link, from the last visit, or the one given at the start. */
  async #loadCatalogue() {
    const { sidebar } = this.workspace.tabs();
    this.#begun = true;
    this.catalogue.databases().then(() => this.#drawDatabases(), () => {});
    const db = await this.#known(this.#linked) || (sidebar ?? this.info.database);
    await (db ? this.sidebar.showTables(db) : sidebar === '' ? this.sidebar.showDatabases() : this.sidebar.showFirst());
  }

  /** A database of a link, where there is one of that name. @param {string} db */
  async #known(db) {
    if (!db) return '';
    /** @type {string[]} */
    const names = await this.catalogue.databases().catch(() => []);
    return names.length === 0 || names.includes(db) ? db : '';
  }

  /** The server answers again: what could not be had is asked for. */
  #recover() {
    if (this.sidebar.unreached) this.sidebar.refresh();
    for (const again of queryAll(byId('results'), '[data-unreached]')) again.click();
    if (!this.catalogue.databaseNames.length) this.catalogue.databases().then(() => this.#drawDatabases(), () => {});
  }

  /** The mode and the like may have changed: postern was started again behind the same address. @param {ServerInfo} info */
  setInfo(info) {
    const other = ['host', 'port', 'user'].some((key) => info[key] !== this.info[key]);
    if (other) {
      this.keeping.leavesUnasked = true;
      location.reload();
    }
    this.info = info;
    this.#showWhere();
    this.#recover();
  }

  /** On a phone the top bar has no room for all of it. */
  #showWhere() {
    byId('where').textContent = byId('connection').title;
  }

  get readOnly() {
    return this.info.readonly === true || this.info.mode === 'read-only';
  }

  /** @returns {Record<string, (event?: any) => any>} */
  #commands() {
    return {
      run: () => this.run('target'),
      runAll: () => this.run('all'),
      explain: () => this.run('explain'),
      cancel: () => this.active.run?.cancel(),
      open: async () => this.openFile(await chooseFile()),
      importCsv: () => this.openImport({ db: this.active.db || this.sidebar.db || '' }),
      save: () => saveScript(this.active.name, this.active.script?.file ?? this.active.editor.text),
      findResults: () => this.active.results.find(),
      replace: () => this.active.find(true),
      format: () => this.active.format(),
      wrap: () => this.#wrap(!this.settings.wrap),
      newTab: () => this.newTab(),
      closeTab: () => this.closeTab(this.active),
      reopenTab: () => this.#reopen(),
      moveTab: (event) => this.#moveTab(event.key === 'PageUp' ? -1 : 1),
      rename: () => this.renameTab(this.active),
      area: (event) => this.layout.nextArea(event.shiftKey ? -1 : 1, this.active),
      maximise: () => { if (this.layout.maximise()) this.active.results.focus(); },
      history: () => this.fillIns.chooseFromHistory(),
      saved: () => this.fillIns.chooseSaved(),
      saveQuery: () => this.fillIns.saveQuery(),
      filter: () => { this.layout.openDrawer(); this.sidebar.filter.focus(); },
      search: async () => (await later(import('../search/palette.js')))?.openSearch(this),
      keys: () => later(import('./keylist.js')).then((module) => module?.showKeys()),
    };
  }

  /** @returns {import('../../common/menu.js').MenuItem[]} */
  #menu() {
    const c = this.#commands();
    const { run, script } = this.active;
    return [
      { label: 'Run whole script', icon: 'play-all', key: keyText('runAll'), disabled: run !== null, run: c.runAll },
      this.settings.stopOnError ? { label: 'Continue after errors', icon: 'play-all', run: () => this.stopOnError(false) } : { label: 'Stop at the first error', icon: 'stop', run: () => this.stopOnError(true) },
      { label: 'Search all databases …', icon: 'search', key: keyText('search'), run: c.search },
      { label: 'History …', icon: 'history', key: keyText('history'), run: c.history },
      { label: 'Saved queries …', icon: 'messages', key: keyText('saved'), run: c.saved },
      { label: 'Save query …', icon: 'plus', disabled: script !== null || this.active.isEmpty, run: c.saveQuery },
      null,
      { label: 'Open file …', icon: 'upload', key: keyText('open'), run: c.open },
      ...(this.readOnly ? [] : [{ label: 'Import CSV …', icon: 'upload', run: c.importCsv }]),
      { label: 'Save as file', icon: 'download', key: keyText('save'), run: c.save },
      { label: 'Copy link to this statement', icon: 'link', disabled: script !== null, run: () => this.fillIns.copyLink() },
      null,
      { label: 'Find and replace …', icon: 'search', key: keyText('replace'), run: c.replace },
      { label: 'Format SQL', icon: 'edit', key: keyText('format'), disabled: script !== null, run: c.format },
      { label: this.settings.wrap ? 'Unwrap long lines' : 'Wrap long lines', icon: 'menu', key: keyText('wrap'), run: c.wrap },
      null,
      { label: 'Rename tab …', icon: 'edit', key: keyText('rename'), run: c.rename },
      { label: 'Close tab', icon: 'close', key: keyText('closeTab'), run: c.closeTab },
      { label: 'Reopen closed tab', icon: 'refresh', key: keyText('reopenTab'), disabled: !this.#closed.length, run: c.reopenTab },
      null,
      { label: 'Settings …', icon: 'settings', run: async () => (await later(import('./panels.js')))?.showSettings(this.settings, (key, value) => this.#setting(key, value)) },
      { label: 'Keyboard …', icon: 'help', key: '?', run: c.keys },
    ];
  }

  /** Content of an empty result area. */
  welcome() {
    const { filter, open, keys } = this.#commands();
    return welcome({ history: this.fillIns.history, fillIn: (entry) => this.fillIns.fillIn(entry), browse: filter, open, keys });
  }

  #wrap(on) {
    this.#setting('wrap', on);
    for (const tab of this.tabs) tab.editor.wrap(on);
    announce(on ? 'Long lines are wrapped' : 'Long lines are not wrapped');
  }

  /** Sets whether a script ends at its first error. @param {boolean} stops */
  stopOnError(stops) {
    this.#setting('stopOnError', stops);
    notify(stops ? 'Scripts stop at the first error' : 'Scripts continue after errors', 'info');
  }

  #setting(key, value) {
    this.settings[key] = value;
    saveSettings(this.settings);
  }

  #setLimit(limit) {
    this.settings.limit = limit;
    // No limit is not saved: it is meant for one statement.
    if (limit) saveSettings(this.settings);
  }

  // --- tabs

  #add(stored, pending = []) {
    const tab = new QueryTab(this, stored);
    tab.show(false);
    this.tabs.push(tab);
    this.data.restore(tab.results, stored.data, pending);
    return tab;
  }

  /** @param {Partial<import('./store.js').StoredTab>} [stored] @returns {QueryTab|null} the new, active tab */
  newTab(stored = {}) {
    if (this.tabs.length >= MAX_TABS) {
      notify(`At most ${MAX_TABS} tabs can be open; close one first.`, 'warn');
      return null;
    }
    const tab = this.#add({ name: this.#freeName(), db: this.active?.db ?? '', ...stored });
    this.activate(tab);
    tab.editor.area.focus();
    return tab;
  }

  #freeName() {
    let number = 1;
    while (this.tabs.some(({ name }) => name === `query ${number}`)) number += 1;
    return `query ${number}`;
  }

  /** @param {QueryTab} tab */
  activate(tab) {
    if (tab !== this.active) this.active?.show(false);
    this.active = tab;
    tab.show(true);
    tab.showFront();
    this.#lend();
    this.drawTabs();
    this.#drawDatabases();
    this.drawState(tab);
    this.keeping.soon();
  }

  #moveTab(by) {
    const at = this.tabs.indexOf(this.active);
    this.activate(this.tabs[(at + by + this.tabs.length) % this.tabs.length]);
    this.active.editor.area.focus();
  }

  /** Closes a tab; asks when it is running or has an open transaction. @param {QueryTab} tab */
  async closeTab(tab) {
    /** @type {any[]|null} */
    let tables = null;
    if (!await mayClose(tab, () => this.endTransaction(tab, 'COMMIT'), () => { tables = tab.results.places(); })) return;
    const at = this.tabs.indexOf(tab);
    if (at < 0) return;
    const stored = tab.stored();
    if (!tab.isEmpty || (stored.data.length && !tables)) this.#closed = [...this.#closed, tables ? { ...stored, data: [] } : stored].slice(-MAX_CLOSED);
    tab.run?.cancel();
    tab.close();
    this.tabs.splice(at, 1);
    if (!this.tabs.length) this.#add({ name: 'query 1', db: tab.db });
    if (tab === this.active) {
      this.active = null;
      this.activate(this.tabs[Math.min(at, this.tabs.length - 1)]);
      this.active.editor.area.focus();
    } else this.drawTabs();
    if (tables) this.#takeTables(tables);
    this.keeping.soon();
  }

  /** Goes on with tables of a tab that was closed in the active one. @param {any[]} tables */
  #takeTables(tables) {
    const { results } = this.active;
    const known = results.places();
    this.data.restore(results, tables.filter((one) => !known.some(({ db, table }) => db === one.db && table === one.table)));
    this.#browse();
  }

  /** Ends the transaction of a tab in its session; resolves with how that ended. @param {QueryTab} tab @param {string} sql COMMIT or ROLLBACK */
  endTransaction(tab, sql) {
    return this.execution.run(tab, [{ start: 0, end: 0, sql }]);
  }

  /** A transaction was opened or has ended. @param {QueryTab} tab */
  transactionChanged(tab) {
    tab.drawTransaction();
    this.drawTabs();
  }

  #reopen() {
    const stored = this.#closed.pop();
    if (!stored) return;
    const twin = this.tabs.find(({ name }) => name === stored.name);
    const tab = this.newTab(stored);
    if (!tab || !twin) return;
    if (twin.isUntouched) this.closeTab(twin);
    else if (/^query \d+$/.test(tab.name)) {
      tab.rename(this.#freeName());
      this.drawTabs();
    }
  }

  /** @param {QueryTab} tab */
  async renameTab(tab) {
    const name = (await promptDialog({ title: 'Rename tab', label: 'Name', value: tab.name, action: 'Rename', maxLength: 60 }))?.trim();
    if (!name) return;
    tab.rename(name);
    this.drawTabs();
    this.keeping.soon();
  }

  /** Draws the strip of tabs. */
  drawTabs() {
    drawTabs(this.tabs, this.active, {
      activate: (tab, focus) => { this.activate(tab); if (focus) byId(`tab-${tab.id}`).focus(); },
      close: (tab) => this.closeTab(tab),
      rename: (tab) => this.renameTab(tab),
    });
  }

  #drawDatabases() {
    if (!this.active) return;
    drawDatabases(this.catalogue.databaseNames, this.active.db);
    this.sidebar.setTabDatabase(this.active.db);
  }

  /** Makes the active tab run in a database. @param {string} db */
  useDatabase(db) {
    this.setDatabase(db);
    announce(`${this.active.name} now uses ${db}`);
    this.layout.closeDrawer();
    this.active.editor.area.focus();
  }

  /** A tab's text or database changed. @param {QueryTab} tab */
  tabChanged(tab) {
    if (tab === this.active) {
      this.#lend();
      this.#drawDatabases();
      this.drawState(tab);
    }
    if (tab.shownDb !== tab.db) this.drawTabs();
    this.keeping.soon();
  }

  /** While tables are looked at they get the height that an empty editor does not need. */
  #lend() {
    this.layout.lend(this.active.isEmpty && this.active.browses);
  }

  #browse() {
    this.server.close();
    this.active.browses = true;
    this.#lend();
  }

  /** @param {QueryTab} tab */
  caretMoved(tab) {
    if (tab !== this.active) return;
    const { line, column } = tab.editor.position(tab.editor.caret);
    byId('cursor-at').textContent = `Ln ${line}, Col ${column}`;
  }

  /** @param {QueryTab} tab */
  drawState(tab) {
    if (tab === this.active) {
      drawRunning(tab);
      byId('explain').title = `Explain (${keyText('explain')})`;
    }
    const running = tab === this.active && tab.run ? `▶ ${Math.floor((tab.progress?.elapsedMs ?? 0) / 1000)} s · ` : '';
    document.title = `${running}${this.active.name} · ${this.info.host} · postern`;
  }

  /** @param {string} db */
  setDatabase(db) {
    this.active.db = db;
    this.#drawDatabases();
    this.drawTabs();
    this.keeping.soon();
  }

  // --- what runs

  /** Runs statements of a tab, the active one's unless told. @param {string} what one of target, all, explain */
  run(what) {
    return this.execution[what](this.active);
  }

  /** Keeps a statement in the history. @param {QueryTab} tab @param {import('./runner.js').Outcome} outcome */
  remember(tab, outcome) {
    this.fillIns.remember(tab, outcome);
    this.keeping.soon();
  }

  /** Offers to replace what a CREATE would create, or was refused for. @param {QueryTab} tab @param {import('./runner.js').Statement} statement */
  replace(tab, statement) {
    return this.objects.act('replace', tab, statement);
  }

  /** @param {import('./runner.js').Statement[]} statements */
  parameters(statements) {
    return this.fillIns.parameters(statements);
  }

  /** A statement changed the schema: the catalogue is loaded again. */
  dictionaryChanged() {
    this.catalogue.forget();
    this.sidebar.refresh().then(() => this.catalogue.databases()).then(() => this.#drawDatabases(), () => {});
  }

  // --- tables

  /** A single click: the schema in a tab beside the results. @param {string} db @param {string} table @param {string} [column] to focus; if empty, the schema */
  openSchema(db, table, column) {
    this.#browse();
    this.objects.openSchema(db, table, column);
  }

  /** Shows the results, where tables are looked at. */
  openPanes() {
    this.#browse();
  }

  /** The tables of a database in the sidebar. @param {string} db */
  browse(db) {
    if (this.active.followsSidebar) this.setDatabase(db);
    return this.sidebar.showTables(db);
  }

  /** Fills a statement into a new tab, or the empty one that is there. @param {string} db @param {string} sql @param {string} name @param {boolean} [run] */
  fillInNew(db, sql, name, run = false) {
    this.server.close();
    const tab = this.active.isEmpty && !this.active.run && !this.active.inTransaction ? this.active : this.newTab({ db });
    if (!tab) return;
    this.layout.closeDrawer();
    tab.fillIn(sql, db);
    tab.generated = run;
    tab.nameAfter(name);
    this.drawTabs();
    tab.editor.area.focus();
    if (run) this.execution.all(tab);
  }

  /** The rows of a table in a tab beside the schema. @param {string} db @param {string} table */
  async openData(db, table) {
    const { results } = this.active;
    this.#browse();
    if (this.layout.isNarrow) this.layout.closeDrawer();
    return this.data.open(results, db, table);
  }

  /** Imports a file of values into a table; true where rows were written. @param {{db: string, table?: string, file?: File}} place */
  async openImport(place) {
    const [module] = await later(Promise.all([import('../transfer/import.js'), loadStyle(new URL('../transfer.css', import.meta.url))])) ?? [];
    return module ? module.openImport(place, {
      api: this.api, known: this.catalogue, readOnly: this.readOnly, announce, changed: () => this.dictionaryChanged(), showData: (db, table) => this.openData(db, table),
    }) : false;
  }

  /** Offers a database, or some of its tables, as SQL. @param {{db: string, tables?: string[]}} what */
  async openDump(what) {
    const [module] = await later(Promise.all([import('../transfer/dump.js'), loadStyle(new URL('../results/export.css', import.meta.url))])) ?? [];
    return module?.openDump(what, { api: this.api, catalogue: this.catalogue, notify });
  }

  /** A double click: fills in the first 100 rows and executes. @param {string} db @param {string} table */
  runTable(db, table) {
    const tab = this.tabFor(db);
    if (!tab) return;
    this.server.close();
    // The drawer makes what is behind it inert: close it before the editor takes the focus.
    this.layout.closeDrawer();
    tab.nameAfter(table);
    runFirstRows(tab, db, table, { execution: this.execution, catalogue: this.catalogue, isOpen: () => this.tabs.includes(tab) });
    this.drawTabs();
  }

  /** The tab for a statement that belongs in `db`: the active one, unless something typed or an open transaction is in the way. */
  tabFor(db) {
    const { active } = this;
    const moves = db && db !== active.db;
    return active.isReplaceable && !(moves && active.inTransaction) ? active : this.newTab({ db });
  }

  // --- files

  /** @param {File|null} file */
  async openFile(file) {
    if (!file) return;
    if (hasValues(file)) return void this.openImport({ db: this.active.db, file });
    const tab = await openScriptIn(file, () => (this.active.isEmpty && !this.active.run ? this.active : this.newTab()));
    if (!tab) return;
    this.drawTabs();
    this.tabChanged(tab);
  }

  /** Runs the file that a tab has open. @param {QueryTab} tab */
  runFile(tab) {
    return this.execution.all(tab);
  }

  /** The sidebar shows the database of a link. @param {string} db */
  showLinked(db) {
    if (this.#begun) this.#known(db).then((known) => { if (known) this.sidebar.showTables(known); });
    else this.#linked = db;
  }
}
