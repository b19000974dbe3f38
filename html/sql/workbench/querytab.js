// One query tab: its editor, result area, session and running statements.
import { formatBytes } from '../../common/figures.js';
import { byId, fill, h, icon, iconButton } from '../../common/dom.js';
import { announce, notify } from '../../common/announce.js';
import { errorSpan } from '../core/errors.js';
import { statementAt } from '../core/lexer.js';
import { createResults } from '../results/results.js';
import { Completion } from './completion.js';
import { Editor } from './editor.js';
import { openScript } from './files.js';
import { randomId } from './store.js';

/**
 * Idle time after which an open transaction is given up, in ms: a little less than the ten minutes after which the server
 * closes the session (SESSION_IDLE in sessions.rs). A later COMMIT would run in a new session and seem to succeed.
 */
const TRANSACTION_IDLE_MS = 590_000;
/** Time between two checks of the clock, in ms: a long timer would stand still while the machine sleeps. */
const IDLE_LOOK_MS = 5_000;

/** State that is lost with a session. */
const SESSION_GONE = 'its transaction, variables and temporary tables are lost';

/**
 * Parts of the page that a tab needs.
 * @typedef {{api: ReturnType<typeof import('../api.js').createApi>, catalogue: import('./catalogue.js').Catalogue, settings: Settings, info: ServerInfo,
 *   active: QueryTab|null, readOnly: boolean, caretMoved: (tab: QueryTab) => void, tabChanged: (tab: QueryTab) => void,
 *   transactionChanged: (tab: QueryTab) => void, endTransaction: (tab: QueryTab, how: string) => void, openFile: (file: File) => void, welcome: () => Node, runFile: (tab: QueryTab) => void, stopOnError: (stops: boolean) => void}} TabHost
 */

/** A part of the page that is loaded when it is wanted; null where that fails. @template T @param {Promise<T>} module @returns {Promise<T|null>} */
export function later(module) {
  return module.catch(() => {
    notify('Could not load part of the page. Is postern still running? Try again.', 'bad');
    return null;
  });
}

/** @typedef {import('./store.js').Edits} Edits */

/** A tab with editor and results. */
export class QueryTab {
  /** @param {TabHost} app @param {{name: string, text?: string, db?: string, generated?: boolean, edits?: Edits, caret?: number, autoName?: string, front?: string}} stored */
  constructor(app, { name, text = '', db = '', generated = false, edits = false, caret = 0, autoName = '', front = '' }) {
    this.app = app;
    this.id = randomId();
    this.name = name;
    this.db = db;
    /** The database that the strip of tabs shows. */
    this.shownDb = '';
    /** The name that the tab got from a table, not from a person. */
    this.autoName = autoName;
    this.generated = generated;
    /** The object whose text it is, as it was when it was opened: running it replaces the object. @type {Edits} */
    this.edits = edits;
    this.session = randomId();
    this.sessionUsed = false;
    /** True if the session has an open transaction, by the last answer. */
    this.inTransaction = false;
    /** True if the session was given up since the last statement: the next one must not run silently in a new session. */
    this.sessionLost = false;
    /** A script too large for the editor: run from its file, only its beginning shown. */
    /** @type {{name: string, file: File, text: string}|null} */
    this.script = null;
    /** @type {import('./runner.js').Run|null} */
    this.run = null;
    /** @type {import('./runner.js').Progress|null} */
    this.progress = null;
    this.news = false;
    /** The data tab that was in front before a reload, until this tab is shown. */
    this.front = String(front);
    /** True if tables were opened in it. */
    this.browses = this.front !== '';
    /** Short text for the end of the last run. */
    this.summary = '';
    /** True if a statement of the run changed what the sidebar knows. */
    this.dictionary = false;
    this.lastAnswer = 0;
    /** @type {import('./editorfind.js').EditorFind|null} */
    this.finder = null;
    this.idle = 0;
    this.editor = new Editor({
      label: `SQL of ${name}`,
      onChange: (typed) => this.#edited(typed),
      onCaret: () => this.app.caretMoved(this),
      onKey: (event) => { if (this.completion.key(event)) event.preventDefault(); },
      onFind: (replace) => this.find(replace),
      onStuck: () => { if (!this.run) byId('progress-text').textContent = 'Press Esc, then Tab to leave the editor'; },
    });
    this.editor.wrap(app.settings.wrap);
    this.completion = new Completion(this.editor, {
      db: () => this.db, catalogue: this.app.catalogue, version: () => this.app.info.version, enabled: () => this.app.settings.autoComplete, announce,
    });
    this.message = h('div', { class: 'editor-message', hidden: true });
    this.transaction = h('div', { class: 'transaction', role: 'group', 'aria-label': 'Open transaction', hidden: true });
    this.banner = h('div', { class: 'script-banner', hidden: true });
    this.editorHost = h('div', { class: 'tab-editor', role: 'tabpanel', id: `panel-${this.id}`, 'aria-labelledby': `tab-${this.id}` }, this.banner, this.editor.element, this.message, this.transaction);
    this.resultsHost = h('div', { class: 'tab-results', role: 'region', 'aria-label': `Results of ${name}` });
    byId('editors').append(this.editorHost);
    byId('results').append(this.resultsHost);
    const { api, settings } = this.app;
    this.results = createResults(this.resultsHost, { api, announce, notify, settings, welcome: () => this.app.welcome() });
    this.resultsHost.addEventListener('goto-error', (event) => this.#goTo(/** @type {CustomEvent} */ (event).detail));
    openScript(this.editor.element, (file) => this.app.openFile(file));
    this.editor.setText(text);
    this.editor.area.setSelectionRange(Math.min(caret, text.length), Math.min(caret, text.length));
  }

  #edited(typed) {
    this.generated = false;
    this.showMessage(null);
    if (typed) this.completion.edited();
    this.app.tabChanged(this);
  }

  /** Shows or hides the tab. @param {boolean} active */
  show(active) {
    this.editorHost.hidden = !active;
    this.resultsHost.hidden = !active;
    if (!active) this.completion.close();
    if (active) {
      this.news = false;
      this.editor.paint();
    }
  }

  /** Shows the pane that was in front before a reload. */
  showFront() {
    const { front } = this;
    this.front = '';
    if (front) this.results.activate(front);
  }

  /** Opens find and replace in the editor. @param {boolean} replace */
  async find(replace) {
    const module = await later(import('./editorfind.js'));
    if (!module) return;
    this.finder ??= new module.EditorFind(this.editor);
    this.finder.open(replace);
  }

  /** Lays the statement at the cursor, what is selected or else the whole script out afresh. */
  async format() {
    const module = await later(import('../core/formatsql.js'));
    if (!module || this.script) return;
    const { text, selection: { start, end } } = this.editor;
    const [from, to] = start === end ? [0, text.length] : [start, end];
    const next = module.formatScript(text.slice(from, to));
    if (next === text.slice(from, to)) return;
    const caret = start - from;
    this.editor.replace(from, to, next);
    const at = from + module.samePlace(text.slice(from, to), caret, next);
    if (start === end) this.editor.select(at);
    else this.editor.select(from, from + next.length);
  }

  get isEmpty() {
    return !this.script && this.editor.text.trim() === '';
  }

  /** True if nothing was ever done in it. */
  get isUntouched() {
    return this.isEmpty && !this.run && !this.sessionUsed && !this.browses;
  }

  /** True if a generated statement may replace the text; what was typed is never replaced. */
  get isReplaceable() {
    return !this.script && !this.run && (this.isEmpty || this.generated);
  }

  /** Fills in a generated statement. @param {string} sql @param {string} db */
  fillIn(sql, db) {
    this.editor.replaceAll(sql);
    this.generated = true;
    this.edits = false;
    if (db) this.db = db;
    this.app.tabChanged(this);
  }

  /** Text that Run takes: the selection as a script, else the statement at the cursor. @returns {{start: number, end: number, sql: string}|null} */
  target() {
    const { text, selection } = this.editor;
    const statement = statementAt(text, selection.start);
    return statement && statement.sql.trim() ? statement : null;
  }

  /** True if browsing the sidebar may set the tab's database: only while the tab is empty. */
  get followsSidebar() {
    return this.isEmpty && !this.run && !this.inTransaction;
  }

  /** Stores the transaction state that the server reported. @param {boolean} open */
  setTransaction(open) {
    const changed = open !== this.inTransaction;
    this.inTransaction = open;
    this.lastAnswer = Date.now();
    clearInterval(this.idle);
    if (open) this.idle = setInterval(() => this.#lookAtIdle(), IDLE_LOOK_MS);
    if (changed) this.app.transactionChanged(this);
  }

  /** Shows the open transaction with Commit and Rollback, disabled while a statement runs. */
  drawTransaction() {
    const hadFocus = this.transaction.contains(document.activeElement);
    const end = (label) => h('button', { type: 'button', class: 'button', text: label, disabled: this.run !== null, on: { click: () => this.app.endTransaction(this, label.toUpperCase()) } });
    this.transaction.hidden = !this.inTransaction;
    if (this.inTransaction) fill(this.transaction, icon('transaction'), h('span', {}, h('b', { text: 'Transaction open' }), h('span', { class: 'transaction-hint', text: ': nothing is saved until you commit' })), end('Commit'), end('Rollback'));
    if (hadFocus && !(this.inTransaction && this.transaction.contains(document.activeElement))) this.editor.area.focus();
  }

  /** An open transaction that nobody works in is given up, and one that is gone is not shown any longer. */
  async #lookAtIdle() {
    if (this.run) return;
    if (Date.now() - this.lastAnswer < TRANSACTION_IDLE_MS) {
      if (!document.hidden) await this.#lookForSession();
      return;
    }
    this.app.api.closeSession(this.session);
    this.renewSession();
    this.showMessage({ text: 'The transaction was rolled back after 10 minutes without a statement. Temporary tables and variables of the session are lost too.', kind: 'warn' });
  }

  async #lookForSession() {
    const { session } = this;
    const left = await this.app.api.resumeSession(session).catch(() => null);
    if (!left || left.open || this.run || this.session !== session || !this.inTransaction) return;
    this.renewSession();
    this.#warn(`The connection to the database was lost, and ${SESSION_GONE}: nothing of the transaction is saved. The next statement starts a new session.`);
  }

  /** Calls the tab like the table it shows, unless a person named it. @param {string} table */
  nameAfter(table) {
    if (this.name !== this.autoName && !/^query \d+$/.test(this.name)) return;
    this.autoName = table.slice(0, 60);
    this.rename(this.autoName);
  }

  /** Renames the tab. @param {string} name */
  rename(name) {
    this.name = name;
    this.editor.area.setAttribute('aria-label', `SQL of ${name}`);
    this.resultsHost.setAttribute('aria-label', `Results of ${name}`);
  }

  /** A message under the editor, beside its cause. @param {{text: string, kind?: string, at?: number}|null} message */
  showMessage(message) {
    this.message.hidden = !message;
    if (!message) {
      fill(this.message);
      return;
    }
    const { at } = message;
    const where = at === undefined ? null : this.editor.position(at);
    const jump = where && h('button', { type: 'button', class: 'link', text: `line ${where.line}, column ${where.column}`, on: { click: () => this.editor.select(at ?? 0) } });
    this.message.className = `editor-message ${message.kind ?? 'bad'}`;
    fill(this.message, icon({ warn: 'warn', good: 'check' }[message.kind ?? ''] ?? 'error'), h('span', { class: 'editor-message-text', text: message.text }), jump,
      iconButton('close', 'Dismiss', () => { this.showMessage(null); this.editor.mark([]); this.editor.area.focus(); }));
  }

  /**
   * Marks the place of a server error in a statement.
   * @param {{start: number, end: number, sql: string}} statement @param {string} text @param {string} [bare] the server's own words
   * @param {number} [offset] @param {boolean} [unreached] whether it is no fault of the statement
   */
  showError(statement, text, bare = text, offset = undefined, unreached = false) {
    if (unreached || this.script || this.editor.text.slice(statement.start, statement.end) !== statement.sql) {
      this.showMessage({ text });
      return;
    }
    const span = errorSpan(statement.sql, bare, offset);
    const at = span ? { start: statement.start + span.start, end: statement.start + Math.max(span.end, span.start + 1) } : null;
    this.editor.mark(at ? [{ ...at, kind: 'error' }] : []);
    if (at && this.app.active === this) this.editor.reveal(at.start);
    this.showMessage({ text, at: at?.start ?? statement.start });
  }

  /** Goes to the place of an error; edits since may have moved it. */
  #goTo({ run, index, offset }) {
    const at = run.places[index] + offset;
    if (!this.script && at >= 0 && at <= this.editor.text.length) this.editor.select(at);
  }

  /** Takes a script that is too large to edit. @param {{name: string, file: File, text: string}} script */
  setScript(script) {
    this.editor.setText(script.text);
    this.script = script;
    this.editor.area.readOnly = true;
    const drop = h('button', { type: 'button', class: 'button', text: 'Close file', on: { click: () => this.clearScript() } });
    const run = h('button', { type: 'button', class: 'button', text: 'Run from the file', on: { click: () => this.app.runFile(this) } });
    const stops = h('input', { type: 'checkbox', on: { change: () => this.app.stopOnError(stops.checked) } });
    stops.checked = this.app.settings.stopOnError;
    fill(this.banner, icon('file'), h('span', { text: `${script.name}, ${formatBytes(script.file.size)}: its beginning is shown. Run executes the selection or else the whole file, without asking before data is lost.` }),
      h('label', { class: 'check' }, stops, 'Stop at the first error'), run, drop);
    this.banner.hidden = false;
  }

  /** Closes the file and makes the editor editable. */
  clearScript() {
    this.script = null;
    this.banner.hidden = true;
    this.editor.area.readOnly = false;
    this.editor.setText('');
    this.app.tabChanged(this);
    this.editor.area.focus();
  }

  /** State that is kept across reloads. */
  stored() {
    return { id: this.id, name: this.name, text: this.script ? '' : this.editor.text, db: this.db, generated: this.generated, edits: this.edits, caret: this.editor.caret, autoName: this.autoName, data: this.results.places(), front: this.front || this.results.front };
  }

  /** Leaves the session to the page that is loaded next. @returns {import('./store.js').StoredSession} */
  leaveSession() {
    const { session, sessionUsed: used, inTransaction } = this;
    if (used) this.app.api.leaveSession(session);
    return { session, used, inTransaction };
  }

  /** Takes the session of the page before again, or says what was lost with it. @param {import('./store.js').StoredSession} left */
  async resumeSession({ session, used, inTransaction }) {
    if (!used || !/^[0-9a-f]{24}$/.test(String(session))) return;
    this.session = session;
    this.sessionUsed = true;
    const { open, lost } = await this.app.api.resumeSession(session).catch(() => ({ open: false, lost: false }));
    if (this.session !== session || this.run) return;
    if (open) this.setTransaction(inTransaction && !this.app.readOnly);
    else this.renewSession();
    if (!open && (lost || inTransaction)) this.#warn(`The session ended while the page was away: ${inTransaction ? 'its transaction was rolled back, and its variables and temporary tables are lost' : SESSION_GONE}. The next statement starts a new session.`);
  }

  /** A new session id: the old session is over. */
  renewSession() {
    this.session = randomId();
    this.sessionUsed = false;
    this.setTransaction(false);
  }

  /** Closes the session of a cancelled statement that is not waited for any longer. */
  giveUpSession() {
    this.app.api.closeSession(this.session);
    this.renewSession();
    this.sessionLost = !this.app.readOnly;
    if (this.sessionLost) this.#warn(`You stopped waiting, so the session was closed: ${SESSION_GONE}. The server may still run the statement.`);
  }

  /** Warns once, instead of running a statement, that its session is gone; returns whether it did. */
  tellLostSession() {
    if (!this.sessionLost) return false;
    this.sessionLost = false;
    this.#warn(`Nothing was run: the session was closed when you stopped waiting, and ${SESSION_GONE}. The next statement starts a new session.`);
    return true;
  }

  #warn(text) {
    this.showMessage({ text, kind: 'warn' });
    announce(text, 'bad');
  }

  /** Cancels what the tab runs and frees what it holds. */
  close() {
    this.run?.abandon();
    this.run = null;
    clearInterval(this.idle);
    if (this.sessionUsed) this.app.api.closeSession(this.session);
    this.results.destroy();
    this.editor.close();
    this.editorHost.remove();
    this.resultsHost.remove();
  }
}
