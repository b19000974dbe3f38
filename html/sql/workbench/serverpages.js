// The pages about the server, in place of the editor: the menu that leads to them, and their address `#server=…`.
import { byId, query } from '../../common/dom.js';
import { notify } from '../../common/announce.js';
import { openMenu } from '../../common/menu.js';
import { later } from './querytab.js';
import { randomId } from './store.js';

/** The pages by their address. */
const PAGES = { processes: 'Processes', status: 'Status', variables: 'Variables', sizes: 'Sizes', accounts: 'Accounts and privileges' };

/**
 * Parts of the workbench that the pages need.
 * @typedef {{api: ReturnType<typeof import('../api.js').createApi>, info: ServerInfo, readOnly: boolean, layout: import('./layout.js').Layout, active: any, sidebar: {db: string|null}, remember: (tab: any, outcome: any) => void,
 *   browse: (db: string) => void, openSchema: (db: string, table: string) => void, fillInNew: (db: string, sql: string, name: string, run?: boolean) => void}} Bench
 */

/** Commands that act on the statement in the editor. */
const RUNS = new Set(['run', 'runAll', 'explain', 'cancel', 'save', 'format', 'replace', 'wrap', 'closeTab', 'saveQuery']);

/** The server page that is shown, if any. */
export class ServerPages {
  #bench;
  /** @type {{show: (name: string) => void, close: () => void}|null} */
  #shown = null;
  /** Counts what was asked for, so that what is loaded too late is not shown. */
  #turn = 0;

  /** @param {Bench} bench */
  constructor(bench) {
    this.#bench = bench;
  }

  /** Wires the button in the top bar. */
  listen() {
    const button = byId('server-menu');
    button.addEventListener('click', () => openMenu(button, Object.entries(this.#pages()).map(([name, label]) => ({ label, run: () => { location.hash = `server=${name}`; } }))));
  }

  /** The pages that there are: visitors of a shared database see no accounts. @returns {Record<string, string>} */
  #pages() {
    const { accounts, ...others } = PAGES;
    return this.#bench.info?.shared ? others : { ...others, accounts };
  }

  /** Shows the page that the address names; false where it names none. */
  followHash() {
    const name = /^#server=(\w+)$/.exec(location.hash)?.[1] ?? '';
    if (!Object.hasOwn(this.#pages(), name)) {
      this.#leave();
      return false;
    }
    this.#show(name);
    return true;
  }

  async #show(name) {
    const turn = (this.#turn += 1);
    const module = await later(import('../server/page.js'));
    if (!module || turn !== this.#turn) return;
    const bench = this.#bench;
    bench.layout.closeDrawer();
    byId('main').hidden = true;
    byId('server').hidden = false;
    this.#shown ??= module.openPages(byId('server'), this.#pages(), {
      api: bench.api, notify, newId: randomId, readOnly: () => bench.readOnly, mariadb: () => /mariadb/i.test(bench.info.version), user: () => bench.info.user, database: () => bench.active.db || bench.sidebar.db || '',
      remember: ({ sql, ms, error }) => bench.remember(bench.active, { sql, ms, rows: null, error }),
      browse: (db) => bench.browse(db),
      openSchema: (db, table) => bench.openSchema(db, table),
      fillIn: (sql, title) => bench.fillInNew('', sql, title),
      close: () => this.close(),
    });
    this.#shown.show(name);
  }

  /** True if a key means nothing now: statements that are out of sight are not run. Others lead back to the editor first. @param {string} command */
  blocks(command) {
    if (byId('server').hidden || command === 'keys' || command === 'filter') return false;
    if (command === 'area') this.#nextArea();
    else if (!RUNS.has(command)) this.close();
    return command === 'area' || RUNS.has(command);
  }

  #nextArea() {
    const inside = byId('server').contains(document.activeElement);
    if (inside) this.#bench.layout.openDrawer();
    (inside ? query(byId('sidebar'), '[tabindex="0"]') : query(byId('server'), 'a[aria-current]'))?.focus();
  }

  /** Goes back to editor and results. */
  close() {
    if (location.hash.startsWith('#server=')) history.pushState(null, '', location.pathname + location.search);
    this.#leave();
  }

  #leave() {
    this.#turn += 1;
    const hadFocus = byId('server').contains(document.activeElement);
    this.#shown?.close();
    this.#shown = null;
    byId('server').hidden = true;
    byId('main').hidden = false;
    // In the editor a phone would show its keyboard.
    if (hadFocus) (this.#bench.layout.isNarrow ? byId('server-menu') : query(byId('editors'), '.tab-editor:not([hidden]) textarea') ?? byId('server-menu')).focus();
  }
}
