// Panes and menus of the objects in the sidebar. Most of it is loaded on demand.
import { notify } from '../../common/announce.js';
import { h } from '../../common/dom.js';
import { isSystem } from '../core/entries.js';
import { later } from './querytab.js';

/** @typedef {import('../objects/kinds.js').Named} Named */
/** @typedef {import('../objects/changing.js').Bench} Bench */

/** The panes and menus of one page. */
export class Objects {
  #bench;

  /** @param {Bench} bench */
  constructor(bench) {
    this.#bench = bench;
  }

  /** True if the server is a MariaDB. */
  get mariadb() {
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
      structure: this.mayChange(db) ? () => this.structure('edit', { db, name: table, column }) : undefined,
      menu: (button, kind) => this.menu(button, object(kind)),
      more: async (schema) => {
        const module = await later(import('../objects/tablefacts.js'));
        const of = { api: bench.api, db, table, mariadb: this.mariadb, jump: (toDb, toTable) => bench.openSchema(toDb, toTable), open: (name) => this.open({ kind: 'trigger', db, name, on: table }) };
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
      api: bench.api, notify, mariadb: this.mariadb, mayChange: this.mayChange(db),
      menu: (button) => this.menu(button, object),
      call: () => this.act('call', object, !(kind === 'procedure' && bench.readOnly)),
      edit: (sql) => this.act('edit', object, sql),
      jump: (table) => bench.openSchema(db, table),
    });
    return this.#show(`${kind}:${db}.${name}`, name, view, kind === 'procedure' || kind === 'function' ? 'function' : kind);
  }

  /** True if the structure of a database may be changed from here. @param {string} db */
  mayChange(db) {
    return !this.#bench.readOnly && !isSystem(db);
  }

  /** Opens the form of a table, or renames or copies it. @param {'edit'|'new'|'rename'|'copy'} what @param {{db: string, name: string, column?: string}} object */
  structure(what, object) {
    if (this.mayChange(object.db)) this.act('structure', what, object);
  }

  /**
   * Changes of objects, which are loaded when one is made.
   * @param {'replace'|'offerUnfinished'|'change'|'database'|'menu'|'menuNew'|'fresh'|'call'|'edit'|'structure'|'gone'} what @param {...any} given
   * @returns {Promise<any>}
   */
  async act(what, ...given) {
    const module = await later(import('../objects/changing.js'));
    return /** @type {any} */ (module)?.[what](this.#bench, this, ...given);
  }

  #show(id, title, view, icon, onShow = () => {}) {
    const { results } = this.#bench.active;
    results.openTab(id, title, view, { closable: true, icon: icon.startsWith('package') ? 'function' : icon, onShow });
    results.activate(id);
    if (this.#bench.layout.isNarrow) this.#bench.layout.closeDrawer();
    return results;
  }

  /** Opens the menu of an object at a button. @param {HTMLElement} button @param {Named} object */
  menu(button, object) {
    return this.act('menu', button, object);
  }

  /** Objects below the tables of a database. @param {string} db @param {string} group */
  async group(db, group) {
    const module = await import('../objects/groups.js');
    return module.loadGroup(this.#bench.api, db, group);
  }
}
