// The data of tables in tabs beside the results, also those of the page before, which are loaded when they are looked at.
import { announce, notify } from '../../common/announce.js';
import { h, loadStyle } from '../../common/dom.js';
import { mayLose } from './closing.js';

/** Data tabs of one query tab that are kept. */
const MOST = 12;

/** @typedef {{db: string, table: string, filters: any[], free: string, sort: any[], masked?: boolean}} Kept what is looked at, as a data view has it */
/** @typedef {ReturnType<typeof import('../results/results.js').createResults>} Results */

/** Opens them. */
export class DataTabs {
  #bench;

  /**
   * @param {{api: ReturnType<typeof import('../api.js').createApi>, catalogue: import('./catalogue.js').Catalogue, info: ServerInfo, settings: Settings, readOnly: boolean,
   *   workspace: import('./store.js').Workspace, tabs: import('./querytab.js').QueryTab[], keeping: import('./keeping.js').Keeping, openImport: (place: {db: string, table: string}) => Promise<boolean>}} bench
   */
  constructor(bench) {
    this.#bench = bench;
  }

  /** The rows of a table, in the result area of a tab. @param {Results} results @param {string} db @param {string} table @param {Kept} [kept] */
  async open(results, db, table, kept) {
    const bench = this.#bench;
    const [module] = await Promise.all([import('../data/dataview.js'), loadStyle(new URL('../data.css', import.meta.url))]).catch(() => [null]);
    if (!module) return notify('Could not load part of the page. Is postern still running? Try again.', 'bad');
    const id = `data:${db}.${table}`;
    // Changes there must survive opening it again.
    if (results.unsavedIn(id)) {
      results.activate(id);
      return hasLostFocus() && results.focus();
    }
    const view = new module.DataView(db, table, {
      api: bench.api, notify, announce, schema: (ofDb, ofTable, fresh) => bench.catalogue.schema(ofDb, ofTable, fresh), onTitle: (title) => results.renameTab(id, title),
      readOnly: () => bench.readOnly, zone: () => bench.info.time_zone ?? '',
      completing: { catalogue: bench.catalogue, version: () => bench.info.version, enabled: () => bench.settings.autoComplete },
      transactions: () => bench.tabs.filter((tab) => tab.inTransaction).map((tab) => (tab.results === results ? `This tab (${tab.name})` : `The tab ${tab.name}`)),
      store: bench.workspace,
      changed: () => bench.keeping.soon(),
      fill: (ofDb, ofTable) => bench.openImport({ db: ofDb, table: ofTable }),
    }, kept);
    results.openTab(id, `${table} data`, view.element, { icon: 'rows', view, mayClose: () => mayLose(view.unsaved), onShow: () => { view.grid?.schedule(); bench.sidebar.mark(db, table); }, onClose: () => view.dispose() });
    await view.opened;
    // The element pressed in the last pane may be out of sight.
    if (hasLostFocus()) results.focus();
    return view;
  }

  /** Puts the data tabs of the page before back. @param {Results} results @param {any} stored */
  restore(results, stored) {
    if (!Array.isArray(stored)) return;
    for (const one of stored.slice(0, MOST)) {
      if (typeof one?.db !== 'string' || typeof one.table !== 'string' || !Array.isArray(one.filters) || !Array.isArray(one.sort)) continue;
      const kept = { db: one.db, table: one.table, filters: one.filters, free: String(one.free ?? ''), sort: one.sort, masked: one.masked === true };
      this.#later(results, kept);
    }
  }

  /** @param {Results} results @param {Kept} kept */
  #later(results, kept) {
    const { db, table } = kept;
    let begun = false;
    const load = async () => {
      if (begun) return;
      begun = true;
      await this.open(results, db, table, kept);
      begun = false;
    };
    results.openTab(`data:${db}.${table}`, `${table} data`, h('div', { class: 'data' }), { icon: 'rows', quiet: true, view: { place: kept }, onShow: load });
  }
}

/** True if what had the focus is out of sight. */
function hasLostFocus() {
  const { activeElement } = document;
  return !activeElement || activeElement === document.body || !activeElement.checkVisibility();
}
