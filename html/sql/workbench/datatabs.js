// The data of tables in tabs beside the results, also those of the page before, which are loaded when they are looked at.
import { announce, notify } from '../../common/announce.js';
import { h, loadStyle } from '../../common/dom.js';
import { pendingText } from '../core/pending.js';
import { mayLose } from './closing.js';

/** Data tabs of one query tab that are kept. */
const MOST = 12;

/** @typedef {{db: string, table: string, filters: any[], free: string, sort: any[], masked?: boolean}} Kept what is looked at, as a data view has it */
/** @typedef {ReturnType<typeof import('../results/results.js').createResults>} Results */
/** @typedef {import('../core/pending.js').PendingTable} PendingTable */

/** Opens them. */
export class DataTabs {
  #bench;
  /** Tabs with kept changes that nobody has looked at; the notice about them goes with the last one. */
  kept = 0;
  /** @type {HTMLElement|undefined} */ notice;
  /** The tab that is being loaded. @type {Promise<any>|undefined} */ loading;

  /**
   * @param {{api: ReturnType<typeof import('../api.js').createApi>, catalogue: import('./catalogue.js').Catalogue, info: ServerInfo, settings: Settings, readOnly: boolean,
   *   workspace: import('./store.js').Workspace, tabs: import('./querytab.js').QueryTab[], keeping: import('./keeping.js').Keeping, openImport: (place: {db: string, table: string}) => Promise<boolean>}} bench
   */
  constructor(bench) {
    this.#bench = bench;
  }

  /** The rows of a table, in the result area of a tab. @param {Results} results @param {string} db @param {string} table @param {Kept} [kept] @param {PendingTable[]} [pending] */
  async open(results, db, table, kept, pending) {
    const bench = this.#bench;
    const [module] = await Promise.all([import('../data/dataview.js'), loadStyle(new URL('../data.css', import.meta.url))]).catch(() => [null]);
    if (!module) return notify('Could not load part of the page. Is postern still running? Try again.', 'bad');
    const id = `data:${db}.${table}`;
    // Changes there must survive opening it again.
    if (!pending && results.unsavedIn(id)) {
      results.activate(id);
      return hasLostFocus() && results.focus();
    }
    const view = new module.DataView(db, table, {
      api: bench.api, notify, announce, schema: (ofDb, ofTable, fresh) => bench.catalogue.schema(ofDb, ofTable, fresh), onTitle: (title) => results.renameTab(id, title),
      readOnly: () => bench.readOnly, zone: () => bench.info.time_zone ?? '', server: () => bench.info.instance ?? '',
      completing: { catalogue: bench.catalogue, version: () => bench.info.version, enabled: () => bench.settings.autoComplete },
      transactions: () => bench.tabs.filter((tab) => tab.inTransaction).map((tab) => (tab.results === results ? `This tab (${tab.name})` : `The tab ${tab.name}`)),
      store: bench.workspace,
      keep: (now) => (now ? bench.keeping.save() : bench.keeping.soon()),
      fill: (ofDb, ofTable) => bench.openImport({ db: ofDb, table: ofTable }),
    }, kept, pending);
    results.openTab(id, `${table} data`, view.element, { icon: 'rows', view, mayClose: () => mayLose(view.unsaved), onShow: () => { view.grid?.schedule(); bench.sidebar.mark(db, table); }, onClose: () => { view.dispose(); bench.keeping.soon(); } });
    await view.opened;
    // The element pressed in the last pane may be out of sight.
    if (hasLostFocus()) results.focus();
    return view;
  }

  /** Puts the data tabs of the page before back. @param {Results} results @param {any} stored @param {import('../core/pending.js').Pending[]} [pending] changes that were not applied */
  restore(results, stored, pending = []) {
    const isPlace = (one) => typeof one?.db === 'string' && typeof one.table === 'string' && Array.isArray(one.filters) && Array.isArray(one.sort);
    const places = Array.isArray(stored)
      ? stored.filter(isPlace).map(({ db, table, filters, free, sort, masked }) => ({ db, table, filters, free: String(free ?? ''), sort, masked: masked === true }))
      : [];
    const isAt = (one) => (other) => one.db === other.db && one.table === other.table;
    for (const one of pending) if (!places.some(isAt(one))) places.push({ db: one.db, table: one.table, filters: [], free: '', sort: [], masked: false });
    for (const [i, place] of places.entries()) {
      const tables = pending.filter(isAt(place)).flatMap((one) => one.tables);
      if (i < MOST || tables.length) this.#later(results, place, tables);
    }
  }

  /** @param {Results} results @param {Kept} kept @param {PendingTable[]} tables that have changes */
  #later(results, kept, tables) {
    const { db, table } = kept;
    const unsaved = pendingText(tables);
    let begun = false;
    let isNew = tables.length > 0;
    if (isNew) this.kept += 1;
    const seen = () => {
      if (isNew && (this.kept -= 1) === 0) this.notice?.remove();
      isNew = false;
    };
    const load = async () => {
      if (begun) return;
      begun = true;
      seen();
      await (this.loading = this.open(results, db, table, kept, tables));
      begun = false;
    };
    const view = { place: kept, unsaved, pending: tables.length ? [{ db, table, tables }] : [] };
    results.openTab(`data:${db}.${table}`, `${table} data${unsaved ? ' •' : ''}`, h('div', { class: 'data' }), { icon: 'rows', quiet: true, view, mayClose: () => mayLose(unsaved), onShow: load, onClose: () => { seen(); this.#bench.keeping.soon(); } });
  }
}

/** True if what had the focus is out of sight. */
function hasLostFocus() {
  const { activeElement } = document;
  return !activeElement || activeElement === document.body || !activeElement.checkVisibility();
}
