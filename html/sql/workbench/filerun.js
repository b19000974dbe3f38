// Runs a script from its file, which may have any size: a piece at a time is sent, and how its statements ended is shown.
import { readEnvelope } from '../../common/transport.js';
import { formatBytes } from '../../common/figures.js';
import { committedBy } from '../core/commits.js';
import { hintOf } from '../core/hints.js';
import { readOutcomes } from '../core/outcomes.js';
import { changedSettings, settingsOf } from './scriptsettings.js';
import { openSource } from './scriptsource.js';
import { randomId } from './store.js';

/** Bytes sent at once; the server reads more than that ahead, so that the browser has sent all before answers come. */
const PIECE = 1024 * 1024;
/** Largest piece: one statement may be as long. Longer ones no server takes. */
const MAX_PIECE = 1024 * 1024 * 1024;
/** Time between two progress reports, in ms. */
const TICK_MS = 100;
/** Pause before a cancel that found nothing is sent again, in ms: it may have come between two pieces. */
const CANCEL_AGAIN_MS = 200;
/** The status of a statement whose connection to the database was lost. */
const CONNECTION_LOST = 502;
/** Warnings that are listed. */
const MAX_WARNINGS = 50;

/** One run of a file. It has what a tab needs of a Run. */
export class FileRun {
  #api;
  #options;
  #abort = new AbortController();
  /** Converts bytes of the script to a share of the file. @type {(bytes: number) => number} */
  #share = () => 0;
  #lost = '';
  /** Of the piece under way. */
  #queryId = '';
  #cancelled = false;
  #timer = 0;
  #now = { statements: 0, bytes: 0, line: 1, failed: 0, affected: 0, warnings: 0, unshown: 0, notRun: 0, isLeft: false };
  /** The line in which the transaction was opened that is open now; 0 where none is. */
  #openedIn = 0;

  /**
   * @param {ReturnType<typeof import('../api.js').createApi>} api
   * @param {{file: File, db: string, session: string, inTransaction?: boolean, readOnly: boolean, stopOnError: boolean, results: ReturnType<typeof import('../results/results.js').createResults>,
   *   onProgress: (progress: import('./runner.js').Progress) => void, onTransaction: (open: boolean) => void, onError: (message: string) => void}} options
   */
  constructor(api, options) {
    this.#api = api;
    this.#options = options;
    this.id = randomId();
    this.#openedIn = options.inTransaction ? 1 : 0;
    this.db = options.db;
    this.session = options.session;
    this.statements = [options.file.name];
    this.places = [0];
    this.startedAt = Date.now();
    this.began = performance.now();
  }

  get mayWrite() {
    return !this.#options.readOnly;
  }

  /** Runs to the end. @returns {Promise<{failed: number, cancelled: boolean, how: string, gaveUp: boolean, elapsedMs: number, done: number}>} */
  async start() {
    const { results } = this.#options;
    results.begin(this);
    this.#timer = setInterval(() => this.#report(), TICK_MS);
    const before = await settingsOf(this.#api, this.session);
    let trouble = '';
    try {
      trouble = await this.#pieces();
    } catch (error) {
      trouble = this.#abort.signal.aborted ? '' : error.status ? error.message : `The connection was lost: ${error.message}.`;
    }
    clearInterval(this.#timer);
    this.#timer = 0;
    if (trouble) this.#broke(trouble);
    const { failed, statements } = this.#now;
    results.addNote(this, `${this.#options.file.name}: ${this.#done()}${this.#lost}`);
    const settings = this.#lost ? '' : changedSettings(before, await settingsOf(this.#api, this.session));
    if (settings) results.addNote(this, settings, 'warn');
    const how = this.#cancelled ? 'Cancelled' : '';
    const end = { cancelled: this.#cancelled, how, gaveUp: false, elapsedMs: performance.now() - this.began };
    results.end(this, end);
    return { ...end, failed, done: statements };
  }

  #done() {
    const { statements, failed, affected, line, unshown } = this.#now;
    const n = (count, word) => `${count.toLocaleString('en')} ${word}${count === 1 ? '' : 's'}`;
    const where = this.#share(this.#now.bytes) < 1 ? `, up to line ${line.toLocaleString('en')}` : '';
    return `${n(statements, 'statement')} ran${where}: ${failed ? `${n(failed, 'statement')} failed` : 'none failed'}, ${n(affected, 'row')} affected.${this.#left(n)}${unshown ? ` ${n(unshown, 'result')} with rows ${unshown === 1 ? 'is' : 'are'} not shown: rows of a file are only counted.` : ''}`;
  }

  /** Text about statements that did not run; those beyond the sent part of the file are not counted. */
  #left(n) {
    const { notRun, isLeft } = this.#now;
    if (!notRun && !isLeft) return '';
    return ` ${isLeft ? `The rest of the file was not run${notRun ? `, at least ${n(notRun, 'statement')}` : ''}` : `${n(notRun, 'more statement')} ${notRun === 1 ? 'was' : 'were'} not run`}.`;
  }

  /** Sends the file; answers what stopped it, or nothing. */
  async #pieces() {
    const source = await openSource(this.#options.file);
    this.#share = source.share;
    try {
      return await this.#piecesOf(source);
    } finally {
      source.end();
    }
  }

  /** @param {import('./scriptsource.js').Source} source */
  async #piecesOf(source) {
    const { stopOnError } = this.#options;
    let [at, line, size, delimiter] = [0, 1, PIECE, ''];
    while (!this.#cancelled) {
      const { bytes, length, isLast } = await source.piece(at, size);
      if (!length) return '';
      const part = !isLast;
      const end = await this.#piece({ body: bytes, delimiter, part, db: this.#now.statements ? '' : this.db }, at, line);
      if (!end) return 'The connection was lost.';
      Object.assign(this.#now, { notRun: end.not_run ?? 0, isLeft: part && (end.cancelled || (end.failed > 0 && stopOnError)) });
      if (end.message) return `${end.message.replace(/\b(?:in |follows )?line (\d+)/, (text, n) => text.replace(n, String(Number(n) + line - 1)))}.`;
      if (end.stopped === 'exit') return this.#exited(end, part, line);
      // Later statements belong to a session that is gone.
      if (end.stopped === 'lost' || (end.failed && stopOnError)) return '';
      if (!part || end.cancelled) return '';
      if (end.offset === 0) size *= 2;
      else [at, line, size] = [at + end.offset, line + end.line - 1, PIECE];
      delimiter = end.delimiter;
      if (size > MAX_PIECE) return `The statement at line ${line} does not end.`;
    }
    return '';
  }

  /** Says that the file has ended itself. */
  #exited(end, part, line) {
    this.#now.isLeft = part;
    this.#options.results.addNote(this, `Line ${(line + end.line - 1).toLocaleString('en')}: stopped at the command “exit”.`, 'warn');
    return '';
  }

  async #piece(body, at, line) {
    const { stopOnError } = this.#options;
    this.#queryId = randomId();
    const response = await this.#api.script({ ...body, session: this.session, queryId: this.#queryId, goesOn: !stopOnError, signal: this.#abort.signal });
    if (!response.ok) await readEnvelope(response);
    const end = await readOutcomes(response, (outcome) => this.#told(outcome, at, line));
    if (end && !end.failed && !end.cancelled) Object.assign(this.#now, { bytes: at + end.offset, line: line + end.line - 1 });
    return end;
  }

  #told(outcome, at, line) {
    const now = this.#now;
    now.statements += 1;
    Object.assign(now, { bytes: at + outcome.offset, line: line + outcome.line - 1 });
    now.affected += outcome.affected_rows ?? 0;
    if (outcome.rows !== undefined) now.unshown += 1;
    if (outcome.code === CONNECTION_LOST) this.#lost = this.#undone(now.line);
    const [first, second] = String(outcome.kind).split(' ');
    if (typeof outcome.in_transaction === 'boolean') {
      const committed = this.#openedIn && outcome.code === 200 ? committedBy(first, second, outcome.in_transaction) : '';
      if (committed) this.#options.results.addNote(this, `Line ${now.line}: ${committed}`, 'warn');
      this.#options.onTransaction(outcome.in_transaction);
      this.#openedIn = outcome.in_transaction ? this.#openedIn || now.line : 0;
    }
    if (outcome.code !== 200) this.#failed(outcome.message ?? '', outcome.error ?? null, outcome.kind);
    for (const { code, message } of outcome.warnings ?? []) {
      now.warnings += 1;
      if (now.warnings <= MAX_WARNINGS) this.#options.results.addNote(this, `Line ${now.line}: warning ${code ?? ''}: ${message}`, 'warn');
    }
  }

  #failed(message, error, kind) {
    if (this.#cancelled && error?.errno === 1317) return;
    this.#now.failed += 1;
    const text = `Line ${this.#now.line.toLocaleString('en')}: ${message}${hintOf(error)}`;
    this.#options.results.addError(this, this.#now.failed - 1, { message: text, error, alone: false, sql: kind === 'OTHER' ? '' : `${kind} …` });
    this.#options.onError(text);
  }

  #broke(trouble) {
    const { statements, line } = this.#now;
    const far = statements ? `${statements.toLocaleString('en')} statements finished, the last one at line ${line.toLocaleString('en')}; some after it may have run` : 'It is unknown whether any statement ran';
    this.#lost = this.#undone(line);
    const text = `${trouble} ${far}.${this.#lost}`;
    this.#now.failed += 1;
    this.#options.results.addError(this, 0, { message: text, alone: false });
    this.#options.onError(text);
  }

  /** Text about the effects of a lost connection. */
  #undone(line) {
    const from = this.#openedIn;
    this.#openedIn = 0;
    this.#options.onTransaction(false);
    if (!from) return line > 1 ? ' Earlier changes are kept: no transaction was open.' : '';
    return ` The transaction opened at line ${from.toLocaleString('en')} was rolled back: run the file again from there.`;
  }

  #report() {
    const { statements, bytes, failed } = this.#now;
    const { size } = this.#options.file;
    const share = Math.floor(100 * this.#share(bytes));
    const note = [`${share} % of ${formatBytes(size)}`, `${statements.toLocaleString('en')} statements`, failed && `${failed} failed`].filter(Boolean).join(' · ');
    const progress = { index: 0, count: 1, rows: 0, bytes: 0, sql: '', elapsedMs: performance.now() - this.began, cancelling: this.#cancelled, mayGiveUp: false, note };
    this.#options.results.progress(this, progress);
    this.#options.onProgress(progress);
  }

  /** Stops what runs, and sends nothing more. */
  async cancel() {
    if (this.#cancelled) return;
    this.#cancelled = true;
    this.#report();
    for (let tries = 0; tries < 20 && this.#timer; tries += 1) {
      if (await this.#api.cancel(this.#queryId).catch(() => false)) return;
      await new Promise((done) => setTimeout(done, CANCEL_AGAIN_MS));
    }
  }

  /** Aborts at once: the server kills the statement of a client that disconnects. */
  abandon() {
    this.#cancelled = true;
    this.#abort.abort();
  }
}
