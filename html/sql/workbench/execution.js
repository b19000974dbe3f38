// From a command to a run: what is executed, the checks before it, and the tab's state after it.
import { announce, notify } from '../../common/announce.js';
import { confirmDialog } from '../../common/dialog.js';
import { dangerOf } from '../core/danger.js';
import { readOnlyRefusal } from '../core/readonly.js';
import { scriptStatements } from '../core/script.js';
import { whyAltered } from '../core/secrets.js';
import { Slicer } from '../core/slices.js';
import { formatMs } from '../../common/figures.js';
import { Run } from './runner.js';
import { consoleHint, isThere, noPlan } from '../core/hints.js';
import { SQL_MODE, settingsOf } from './scriptsettings.js';

/**
 * @typedef {import('./querytab.js').QueryTab} QueryTab
 * @typedef {{failed: number, cancelled: boolean, how: string, gaveUp: boolean, errno?: number, elapsedMs: number, done: number}} RunEnd how a run ended
 */

/**
 * Parts of the page that an Execution needs.
 * @typedef {import('./querytab.js').TabHost & {tabs: QueryTab[], drawState: (tab: QueryTab) => void, drawTabs: () => void, dictionaryChanged: () => void,
 *   parameters: (statements: import('./runner.js').Statement[]) => Promise<import('./runner.js').Statement[]|null>,
 *   replace: (tab: QueryTab, statement: import('./runner.js').Statement) => Promise<boolean>,
 *   remember: (tab: QueryTab, outcome: import('./runner.js').Outcome) => void}} RunHost
 */

/** Executes for the tabs of a workbench. */
export class Execution {
  #host;

  /** @param {RunHost} host */
  constructor(host) {
    this.#host = host;
  }

  /** Runs the selection, or the statement at the cursor. @param {QueryTab} tab */
  async target(tab) {
    const { start, end } = tab.editor.selection;
    if (start !== end && tab.editor.text.slice(start, end).trim()) {
      const statements = (await this.#statements(tab, tab.editor.text.slice(start, end))).map((part) => ({ ...part, start: part.start + start, end: part.end + start }));
      return this.run(tab, statements);
    }
    if (tab.script) return this.all(tab);
    const statement = tab.target();
    return this.run(tab, statement ? [statement] : []);
  }

  /** Runs everything in the tab. @param {QueryTab} tab */
  async all(tab) {
    if (tab.run) return this.run(tab, []);
    if (tab.script) return this.#file(tab, tab.script.file);
    return this.run(tab, await this.#statements(tab, tab.editor.text));
  }

  /** The statements of a text as the tab's session reads them: what ends a text in quotes is a setting of its own. @param {QueryTab} tab @param {string} text */
  async #statements(tab, text) {
    const settings = /["\\]/.test(text) && !this.#host.readOnly ? await settingsOf(this.#host.api, tab.session) : null;
    const modes = String(settings?.[SQL_MODE] ?? '').split(',');
    return scriptStatements(text, { ansiQuotes: modes.includes('ANSI_QUOTES'), noBackslashEscapes: modes.includes('NO_BACKSLASH_ESCAPES') });
  }

  /** Shows how the server would execute the statement at the cursor. @param {QueryTab} tab */
  explain(tab) {
    const statement = tab.target();
    if (!statement) return this.run(tab, []);
    const already = /^\s*(?:EXPLAIN|ANALYZE|DESCRIBE|DESC)\b/i.test(statement.sql);
    return this.run(tab, [{ ...statement, sql: already ? statement.sql : `EXPLAIN FORMAT=JSON ${statement.sql}` }], { plan: true });
  }

  /**
   * Runs statements after the checks of the page: a refusal in read-only mode, a question before data is lost.
   * @param {QueryTab} tab
   * @param {import('./runner.js').Statement[]} statements
   * @param {{plan?: boolean, confirmed?: boolean}} [options] `confirmed`: they were shown and agreed to
   * @returns {Promise<RunEnd|void>} undefined where nothing was sent
   */
  async run(tab, statements, { plan = false, confirmed = false } = {}) {
    if (tab.run) return void notify('This tab is already running. Cancel it first, or use another tab.', 'warn');
    if (!statements.length) return this.#nothingToRun(tab);
    tab.showMessage(null);
    tab.editor.mark([]);
    const hint = plan ? noPlan(statements[0].sql) : consoleHint(statements[0].sql);
    if (hint) return this.#tellHint(tab, statements[0], hint);
    const unfilled = statements.find(({ sql }) => whyAltered(sql));
    const why = unfilled && whyAltered(unfilled.sql);
    if (why) return this.#tellHint(tab, { start: unfilled.start + why.at }, why.text);
    if (tab.tellLostSession()) return this.#notRun(tab);
    const filled = await this.#host.parameters(statements);
    if (!filled) return undefined;
    statements = filled;
    if (statements.length === 1 && this.#host.readOnly && this.#refuse(tab, statements[0])) return undefined;
    // The text of an object that was opened to be changed, which its own SQL mode may quote otherwise.
    if (statements.length === 1 && tab.edits && !plan && /^\s*CREATE\b/i.test(statements[0].sql) && await this.#host.replace(tab, statements[0])) return undefined;
    if (!confirmed && !await this.#confirmed(statements)) return undefined;
    if (tab.run || !this.#host.tabs.includes(tab)) return undefined;
    const end = await this.#start(tab, statements, plan);
    if (statements.length === 1 && end.errno && isThere(end.errno) && !this.#host.readOnly) await this.#host.replace(tab, statements[0]);
    return end;
  }

  #nothingToRun(tab) {
    tab.showMessage({ text: 'Nothing to run. Write a statement, or double-click a table on the left.', kind: 'warn' });
    tab.editor.area.focus();
  }

  #tellHint(tab, statement, text) {
    tab.showMessage({ text, kind: 'warn', at: statement.start });
    announce(text, 'bad');
    this.#notRun(tab);
  }

  #refuse(tab, statement) {
    const message = readOnlyRefusal(statement.sql);
    if (!message) return false;
    tab.showError(statement, message);
    announce(message, 'bad');
    this.#notRun(tab);
    return true;
  }

  /** Marks the results shown as those of an earlier statement. */
  #notRun(tab) {
    tab.summary = 'Not run';
    tab.results.notRun(tab.summary);
    this.#host.drawState(tab);
  }

  async #confirmed(statements) {
    if (this.#host.readOnly || !this.#host.settings.confirmDanger) return true;
    const found = [];
    const slicer = new Slicer();
    for (const { sql } of statements) {
      const danger = dangerOf(sql);
      if (danger) found.push({ ...danger, sql });
      if (slicer.due) await slicer.rest();
    }
    if (!found.length) return true;
    const [first] = found;
    const text = found.length === 1 ? `${first.reason} Run it?` : `${found.length} of ${statements.length} statements cause data loss. Run them?`;
    const detail = found.slice(0, 20).map(({ sql }) => (sql.length > 600 ? `${sql.slice(0, 600)} …` : sql)).join(';\n');
    return confirmDialog({ title: found.length === 1 ? first.statement : 'Data will be lost', text, detail, action: 'Run' });
  }

  /** Runs a script from its file. */
  async #file(tab, file) {
    tab.showMessage(null);
    if (tab.tellLostSession()) return this.#notRun(tab);
    const module = await import('./filerun.js').catch(() => null);
    if (!module) return notify('Could not load part of the page. Is postern still running? Try again.', 'bad');
    if (tab.run) return undefined;
    tab.dictionary = true;
    return this.#begin(tab, new module.FileRun(this.#host.api, {
      file, db: tab.db, session: tab.session, inTransaction: tab.inTransaction, readOnly: this.#host.readOnly, stopOnError: this.#host.settings.stopOnError, results: tab.results,
      onProgress: (progress) => { tab.progress = progress; this.#host.drawState(tab); },
      onTransaction: (open) => tab.setTransaction(open && !this.#host.readOnly),
      onError: (message) => tab.showMessage({ text: message }),
    }), 1);
  }

  #start(tab, statements, plan) {
    return this.#begin(tab, new Run(this.#host.api, {
      statements, plan, db: tab.db, session: tab.session, inTransaction: tab.inTransaction, limit: this.#host.settings.limit || null, readOnly: this.#host.readOnly, stopOnError: this.#host.settings.stopOnError, results: tab.results,
      onProgress: (progress) => { tab.progress = progress; this.#host.drawState(tab); },
      onOutcome: (outcome) => this.#host.remember(tab, outcome),
      onDatabase: (db) => { tab.db = db; this.#host.tabChanged(tab); },
      onTransaction: (open) => tab.setTransaction(open && !this.#host.readOnly),
      onDictionary: () => { tab.dictionary = true; },
      onNote: (text) => tab.showMessage({ text, kind: 'warn' }),
      onError: (statement, message, bare, offset, unreached) => {
        const written = this.#unexplained(statement);
        tab.showError(written, message, bare, offset === undefined ? undefined : Math.max(0, offset - statement.sql.length + written.sql.length), unreached);
      },
    }), statements.length);
  }

  async #begin(tab, run, count) {
    tab.sessionUsed = true;
    tab.progress = null;
    tab.run = run;
    tab.drawTransaction();
    this.#host.drawState(tab);
    this.#host.drawTabs();
    const end = await run.start().catch((error) => this.#broke(error));
    if (tab.run === run) this.#ended(tab, end, count);
    return end;
  }

  /** A bug in the page must not leave the tab running for ever. */
  #broke(error) {
    notify(`Could not show the result: ${error.message}. Run the statement again.`, 'bad');
    console.error(error);
    return { failed: 1, done: 1, cancelled: false, how: '', gaveUp: false, elapsedMs: 0 };
  }

  /** An EXPLAIN put in front of a statement is not in the editor: its marks are found in the statement itself. */
  #unexplained(statement) {
    const length = statement.end - statement.start;
    return statement.sql.length > length ? { ...statement, sql: statement.sql.slice(-length) } : statement;
  }

  #ended(tab, { failed, cancelled, how, gaveUp, elapsedMs, done }, count) {
    tab.run = null;
    if (gaveUp) tab.giveUpSession();
    tab.news = tab !== this.#host.active;
    tab.drawTransaction();
    tab.summary = summary({ failed, how, elapsedMs, done, count });
    // The result area announces for the visible tab.
    if (tab.news) announce(`${tab.name}: ${tab.summary}`, failed && !cancelled ? 'bad' : 'good');
    this.#host.drawState(tab);
    this.#host.drawTabs();
    if (tab.dictionary) this.#host.dictionaryChanged();
    tab.dictionary = false;
  }
}

function summary({ failed, how, elapsedMs, done, count }) {
  const time = formatMs(elapsedMs);
  const of = count > 1 ? `${done.toLocaleString('en')} of ${count.toLocaleString('en')} statements` : '';
  if (how) return [how, of, `after ${time}`].filter(Boolean).join(' · ');
  if (!failed) return count > 1 ? ['Done', of, time].join(' · ') : 'Done';
  if (count === 1) return 'Failed';
  const rest = count > done ? `, ${(count - done).toLocaleString('en')} not run` : '';
  return `${failed.toLocaleString('en')} failed · ${(done - failed).toLocaleString('en')} of ${count.toLocaleString('en')} statements ran${rest} · ${time}`;
}
