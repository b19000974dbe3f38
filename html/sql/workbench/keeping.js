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
    const saved = workspace.saveTabs({ active: this.#host.tabs.indexOf(active), sidebar: sidebar.db ?? '', tabs });
    const fits = saved && tabs.every(({ text }) => text.length <= MAX_KEPT_TEXT);
    if (!fits && !this.#warnedFull) notify('This text is too large to survive a reload; save it as a file.', 'warn');
    this.#warnedFull = !fits;
    workspace.saveHistory(fillIns.history);
  }

  /** Makes the browser ask before a running write, an open transaction or changes of rows are lost. */
  #askBeforeLeaving(event) {
    const { readOnly, tabs } = this.#host;
    const loses = !readOnly && !this.leavesUnasked && tabs.some((tab) => tab.inTransaction || tab.run?.mayWrite);
    if (!loses && !tabs.some((tab) => tab.results.unsaved)) return;
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
