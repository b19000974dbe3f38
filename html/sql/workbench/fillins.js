// Statements of another time that are filled in, and never run by that: of the history, saved, or from a link.
import { notify } from '../../common/announce.js';
import { copyText } from '../../common/dom.js';
import { addEntry } from '../core/history.js';
import { errorWithoutSecrets, withoutSecrets } from '../core/secrets.js';
import { readLink, writeLink } from './deeplink.js';
import { Queries } from './queries.js';
import { later } from './querytab.js';

/** The longest statement of the history, in characters. */
const MAX_ENTRY = 50_000;

/**
 * @typedef {object} FillInHost
 * @property {import('./store.js').Workspace} workspace
 * @property {any} active
 * @property {(stored?: object) => import('./querytab.js').QueryTab|null} newTab
 * @property {(db: string) => import('./querytab.js').QueryTab|null} tabFor
 * @property {(tab: import('./querytab.js').QueryTab) => void} tabChanged
 * @property {() => void} drawTabs
 * @property {{followHash: () => boolean}} server
 * @property {(db: string) => void} showLinked
 */

/** The history, saved queries and links of a workbench. */
export class FillIns {
  #host;
  #queries;

  /** @param {FillInHost} host */
  constructor(host) {
    this.#host = host;
    this.#queries = new Queries(host.workspace);
    /** Newest first. @type {import('../core/history.js').Entry[]} */
    this.history = host.workspace.history();
  }

  /** Keeps a statement in the history. @param {import('./querytab.js').QueryTab} tab @param {import('./runner.js').Outcome} outcome */
  remember(tab, { sql, ms, rows, error }) {
    const kept = withoutSecrets(sql.length > MAX_ENTRY ? sql.slice(0, MAX_ENTRY) : sql);
    this.history = addEntry(this.history, { sql: kept, db: tab.db, at: Date.now(), ms: Math.round(ms), rows, error: errorWithoutSecrets(sql, kept, error) });
  }

  /** Fills in what the address asks for, if anything. */
  followLink() {
    if (this.#host.server.followHash()) return;
    const link = readLink(location.hash);
    if (!link) return;
    history.replaceState(null, '', location.pathname + location.search);
    const { active } = this.#host;
    if (link.db) this.#host.showLinked(link.db);
    const fits = active.followsSidebar || (!link.sql && (!link.db || link.db === active.db));
    const tab = fits ? active : this.#host.newTab();
    if (!tab) return;
    if (link.sql) tab.editor.setText(link.sql);
    if (link.db) tab.db = link.db;
    this.#host.tabChanged(tab);
    if (link.sql) notify('The link filled in a statement; nothing was run');
  }

  /** Copies a link that fills in what would be run. */
  async copyLink() {
    const { active } = this.#host;
    const sql = (active.target() ?? { sql: active.editor.text }).sql;
    const done = await copyText(writeLink(active.db, sql));
    if (done) notify('Link copied; it fills in the statement and does not run it', 'good');
    else notify('The browser blocked the clipboard', 'warn');
  }

  /** Lets a person choose from the history. */
  async chooseFromHistory() {
    const module = await later(import('./panels.js'));
    const entry = await module?.showHistory({ list: () => this.history, clear: () => { this.history = []; this.#host.workspace.saveHistory([]); } });
    if (entry) this.fillIn(entry);
  }

  /** Lets a person choose a saved query, which gets a tab of its name. */
  async chooseSaved() {
    const query = await this.#queries.choose();
    const tab = query && this.fillIn(query);
    if (!query || !tab) return;
    tab.rename(query.name.slice(0, 60));
    this.#host.drawTabs();
  }

  /** Fills a statement of another time in. @param {{sql: string, db: string}} entry @returns {import('./querytab.js').QueryTab|null} */
  fillIn({ sql, db }) {
    const tab = this.#host.tabFor(db);
    if (!tab) return null;
    tab.editor.replaceAll(sql);
    if (db) tab.db = db;
    this.#host.tabChanged(tab);
    return tab;
  }

  /** Saves what is selected, else all of the tab. */
  saveQuery() {
    const { editor: { text, selection: { start, end } }, name, db } = this.#host.active;
    const sql = withoutSecrets(start === end ? text : text.slice(start, end)).trim();
    return sql && this.#queries.save({ name, sql, db });
  }

  /** The statements with the values of their parameters. @param {import('./runner.js').Statement[]} statements */
  parameters(statements) {
    return this.#queries.fill(statements);
  }
}
