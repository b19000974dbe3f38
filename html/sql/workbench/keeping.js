// State that outlives the page: tabs and history are saved, and sessions are left so that a reload finds them again.
import { notify } from '../../common/announce.js';
import { debounce } from '../../common/dom.js';
import { MAX_KEPT_TEXT } from './store.js';

/** Pause after typing before tabs are saved, in ms. */
const SAVE_MS = 400;

/** @typedef {{workspace: import('./store.js').Workspace, tabs: import('./querytab.js').QueryTab[], active: any, readOnly: boolean, sidebar: {db: string|null}, fillIns: {history: import('../core/history.js').Entry[]}}} KeptHost */

/** Saves a workbench as it changes. */
export class Keeping {
  #host;
  #warnedFull = false;
  #warnedPending = false;
  #saveSoon = debounce(() => this.save(), SAVE_MS);
  /** True if the page leaves without the browser's question. */
  leavesUnasked = false;

  /** @param {KeptHost} host */
  constructor(host) {
    this.#host = host;
  }

  /** Saves, and asks, when the page is left. */
  listen() {
    addEventListener('beforeunload', (event) => this.#askBeforeLeaving(event));
    addEventListener('pagehide', () => this.#leave());
    addEventListener('pageshow', (event) => { if (event.persisted) this.resumeSessions(); });
    document.addEventListener('visibilitychange', () => { if (document.hidden) this.#saveSoon.now(); });
  }

  /** Something has changed: it is saved in a moment. */
  soon() {
    this.#saveSoon();
  }

  /** The page was loaded again: its tabs go on in their sessions. */
  resumeSessions() {
    const { workspace, tabs } = this.#host;
    workspace.takeSessions().forEach((left, at) => tabs[at]?.resumeSession(left));
  }

  /** Saves tabs and history. */
  save() {
    const { workspace, active, sidebar, fillIns } = this.#host;
    const tabs = this.#host.tabs.map((tab) => tab.stored());
    const saveTabs = () => workspace.saveTabs({ active: this.#host.tabs.indexOf(active), sidebar: sidebar.db ?? '', tabs });
    let saved = saveTabs();
    // Texts of tabs go before changes of rows, before which the browser can still ask.
    if (!saved) {
      workspace.dropPending();
      saved = saveTabs();
    }
    this.#keepPending();
    const fits = saved && tabs.every(({ text }) => text.length <= MAX_KEPT_TEXT);
    if (!fits && !this.#warnedFull) notify('This text is too large to survive a reload; save it as a file.', 'warn');
    this.#warnedFull = !fits;
    workspace.saveHistory(fillIns.history);
  }

  /** Keeps changes of rows that are not applied; true if all of them are kept. */
  #keepPending() {
    const { workspace, tabs } = this.#host;
    const all = tabs.flatMap((tab) => tab.results.pending().map((one) => ({ ...one, tab: tab.id })));
    const fits = workspace.savePending(all) && all.every(({ tables }) => tables.every(({ left }) => left === 0));
    if (!fits && !this.#warnedPending && 'locks' in navigator) notify('Some changes of rows are too large to survive a reload, or are files. Apply them before you leave the page.', 'warn');
    this.#warnedPending = !fits;
    return fits && all.every(({ isWhole }) => isWhole !== false);
  }

  /** Makes the browser ask before a running write, an open transaction or changes of rows that are not kept are lost. */
  #askBeforeLeaving(event) {
    const { readOnly, tabs } = this.#host;
    const loses = !readOnly && !this.leavesUnasked && tabs.some((tab) => tab.inTransaction || tab.run?.mayWrite);
    if (!loses && this.#keepPending()) return;
    event.preventDefault();
    event.returnValue = true;
  }

  /** The page is left: statements are cancelled, sessions closed. */
  #leave() {
    const { workspace, tabs } = this.#host;
    this.#saveSoon.cancel();
    this.save();
    for (const tab of tabs) tab.run?.abandon();
    workspace.leaveSessions(tabs.map((tab) => tab.leaveSession()));
  }
}
