// Panes and menus of the objects in the sidebar. Most of it is loaded on demand.
import { announce, notify } from '../../common/announce.js';
import { h } from '../../common/dom.js';
import { later } from './querytab.js';
import { randomId } from './store.js';

/** @typedef {import('../objects/kinds.js').Named} Named */
/**
 * Parts of the page that panes and menus need.
 * @typedef {{api: ReturnType<typeof import('../api.js').createApi>, catalogue: import('./catalogue.js').Catalogue, info: ServerInfo, readOnly: boolean,
 *   active: import('./querytab.js').QueryTab, tabs: import('./querytab.js').QueryTab[], layout: import('./layout.js').Layout, sidebar: import('./sidebar.js').Sidebar,
 *   openSchema: (db: string, table: string) => void, openData: (db: string, table: string) => void, runTable: (db: string, table: string) => void, openImport: (place: {db: string, table?: string}) => Promise<boolean>,
 *   execution: import('./execution.js').Execution, openDump: (what: {db: string, tables?: string[]}) => void, browse: (db: string) => void,
 *   useDatabase: (db: string) => void, fillInNew: (db: string, sql: string, name: string, run?: boolean) => void, dictionaryChanged: () => void,
 *   remember: (tab: import('./querytab.js').QueryTab, outcome: import('./runner.js').Outcome) => void}} Bench
 */

/** The panes and menus of one page. */
export class Objects {
  #bench;

  /** @param {Bench} bench */
  constructor(bench) {
    this.#bench = bench;
  }

  get #mariadb() {
    return /mariadb/i.test(this.#bench.info.version);
  }

  /** The schema of a table or view in a tab beside the results. @param {string} db @param {string} table @param {string} [column] to focus */
  async openSchema(db, table, column) {
    const bench = this.#bench;
    const object = (kind) => ({ kind, db, name: table });
    // The tab is there at once: what is opened meanwhile stays in front of it.
    const id = `schema:${db}.${table}`;
    const view = h('div', { class: 'schema' }, h('p', { class: 'schema-note dim', text: 'Loading …' }));
    const results = this.#show(id, table, view, 'table', () => bench.sidebar.mark(db, table));
    const module = await later(import('./schema.js'));
    if (!view.isConnected) return;
    if (!module) return results.closeTab(id);
    view.replaceWith(module.schemaView({
      db, table, column, notify, readOnly: bench.readOnly,
      load: (fresh) => bench.catalogue.schema(db, table, fresh),
      jump: (toDb, toTable) => bench.openSchema(toDb, toTable),
      run: () => bench.runTable(db, table),
      data: () => bench.openData(db, table),
      fill: () => bench.openImport({ db, table }),
      dump: () => bench.openDump({ db, tables: [table] }),
      menu: (button, kind) => this.menu(button, object(kind)),
      more: async (schema) => {
        const module = await later(import('../objects/tablefacts.js'));
        const of = { api: bench.api, db, table, mariadb: this.#mariadb, jump: (toDb, toTable) => bench.openSchema(toDb, toTable), open: (name) => this.open({ kind: 'trigger', db, name, on: table }) };
        return module ? module.tableSections(schema, of) : [];
      },
    }));
  }

  /** The pane of an object; of a table its schema, of a database its tables. @param {Named} object */
  async open(object) {
    const { kind, db, name } = object;
    const bench = this.#bench;
    if (kind === 'database') return bench.browse(name);
    if (kind === 'table' || kind === 'view') return bench.openSchema(db, name);
    const module = await later(import('../objects/objectview.js'));
    if (!module) return undefined;
    const view = module.objectView(object, {
      api: bench.api, notify, mariadb: this.#mariadb,
      menu: (button) => this.menu(button, object),
      call: async () => (await this.#menuModule())?.call(object, this.#host(), !(kind === 'procedure' && bench.readOnly)),
      edit: (sql) => bench.fillInNew(db, sql, name),
      jump: (table) => bench.openSchema(db, table),
    });
    return this.#show(`${kind}:${db}.${name}`, name, view, kind === 'procedure' || kind === 'function' ? 'function' : kind);
  }

  /** Offers to replace what a CREATE was refused for. @param {import('./querytab.js').QueryTab} tab @param {import('./runner.js').Statement} statement */
  async replace(tab, statement) {
    const bench = this.#bench;
    const module = await later(import('../objects/replacing.js'));
    // The DROP is not in the editor.
    const shown = (sql) => (sql === statement.sql ? statement : { start: statement.start, end: statement.start, sql });
    await module?.replaceExisting(statement.sql, {
      api: bench.api, db: tab.db, session: tab.session, mariadb: this.#mariadb, newId: randomId,
      run: (list) => bench.execution.run(tab, list.map(shown), { confirmed: true }),
      say: (text, kind = 'bad') => { tab.showMessage({ text, kind, at: statement.start }); announce(text, 'bad'); },
      keep: (db, sql, name) => bench.fillInNew(db, sql, name),
    });
    this.#bench.catalogue.forget();
  }

  #show(id, title, view, icon, onShow = () => {}) {
    const { results } = this.#bench.active;
    results.openTab(id, title, view, { closable: true, icon: icon.startsWith('package') ? 'function' : icon, onShow });
    results.activate(id);
    if (this.#bench.layout.isNarrow) this.#bench.layout.closeDrawer();
    return results;
  }

  /** Opens the menu of an object at a button. @param {HTMLElement} button @param {Named} object */
  async menu(button, object) {
    const module = await this.#menuModule();
    // The list may have been drawn afresh meanwhile.
    const at = button.isConnected ? button : this.#bench.sidebar.entryOf(object);
    if (at) module?.openObjectMenu(at, object, this.#host());
  }

  #menuModule() {
    return later(import('../objects/objectmenu.js'));
  }

  /** Objects below the tables of a database. @param {string} db @param {string} group */
  async group(db, group) {
    const module = await import('../objects/groups.js');
    return module.loadGroup(this.#bench.api, db, group);
  }

  /** @returns {import('../objects/objectmenu.js').Host} */
  #host() {
    const bench = this.#bench;
    return {
      api: bench.api, notify, readOnly: bench.readOnly, mariadb: this.#mariadb, newId: randomId,
      schema: (db, table) => bench.catalogue.schema(db, table),
      open: (object) => this.open(object),
      data: (db, table) => bench.openData(db, table),
      rows: (db, table) => bench.runTable(db, table),
      use: (db) => bench.useDatabase(db),
      fill: (place) => bench.openImport(place),
      dump: (what) => bench.openDump(what),
      fillIn: (db, sql, name, run = false) => bench.fillInNew(db, sql, name, run),
      gone: (object, sql) => this.#gone(object, sql),
    };
  }

  /** An object was emptied or dropped: what shows it is closed, the lists are loaded again. */
  #gone({ kind, db, name }, sql) {
    const bench = this.#bench;
    const pane = kind === 'table' || kind === 'view' ? 'schema' : kind;
    if (sql.startsWith('DROP ')) for (const tab of bench.tabs) for (const id of [`${pane}:${db}.${name}`, `data:${db}.${name}`]) tab.results.closeTab(id);
    bench.remember(bench.active, { sql, ms: 0, rows: null, error: '' });
    bench.catalogue.forget();
    if (kind === 'database' && bench.sidebar.db === name) bench.sidebar.showDatabases(true);
    bench.dictionaryChanged();
    announce(`${sql.split(' ', 2).join(' ')} done`);
  }
}
