// Runs statements of one tab in turn: read-only check, question before data is lost, sending, progress, cancel.
import { readEnvelope } from '../../common/transport.js';
import { errorSpan, offsetOf } from '../core/errors.js';
import { tokens } from '../core/lexer.js';
import { unquoteIdentifier } from '../core/identifiers.js';
import { readOnlyRefusal } from '../core/readonly.js';
import { committedBy } from '../core/commits.js';
import { hintOf } from '../core/hints.js';
import { readOutcomes, togetherFrom } from '../core/outcomes.js';
import { ResultSet } from '../core/resultset.js';
import { readQuery } from '../core/stream.js';
import { randomId } from './store.js';

/** Time between two progress reports, in ms. */
const TICK_MS = 100;
/** Time between two drawings of progress at least, in ms. */
const FRAME_MS = 16;
/** Said where an answer broke off. */
const LOST = 'the connection was lost before or during this statement; check whether it took effect before you run the script again';
/** Time after which a cancelled statement can be given up, in ms: a double key press must not do it. */
const GIVE_UP_AFTER_MS = 3_000;
/** Pause before a cancel that found nothing or got no answer is sent again, in ms. */
const CANCEL_AGAIN_MS = 500;
/** Status of an answer whose database connection was lost. */
const CONNECTION_LOST = 502;
/** Statements that change what the sidebar and completion know. */
const DICTIONARY = /^(CREATE|DROP|ALTER|RENAME|TRUNCATE)$/;

/**
 * @typedef {{start: number, end: number, sql: string}} Statement
 * @typedef {{index: number, count: number, rows: number, bytes: number, elapsedMs: number, sql: string, cancelling: boolean, mayGiveUp: boolean, note?: string}} Progress
 * @typedef {{sql: string, ms: number, rows: number|null, error: string|null}} Outcome
 */

/** One run: a list of statements sent in turn on one session. */
export class Run {
  #api;
  #options;
  /** Of the statement under way. @type {string|null} */
  #queryId = null;
  #errno = 0;
  #abort = new AbortController();
  #cancelled = false;
  #cancelledAt = 0;
  #gaveUp = false;
  /** True if the last answer said that the session's connection was lost. */
  #lost = false;
  /** True if the session had a transaction open before the last answer, and has one now. */
  #wasOpen = false;
  #isOpen = false;
  #timer = 0;
  #reportedAt = 0;
  #now = { index: 0, rows: 0, bytes: 0, sql: '' };

  /**
   * @param {ReturnType<typeof import('../api.js').createApi>} api
   * @param {{statements: Statement[], db: string, limit: number|null, session: string, inTransaction?: boolean, readOnly: boolean, plan: boolean,
   *   stopOnError: boolean, results: ReturnType<typeof import('../results/results.js').createResults>, onProgress: (progress: Progress) => void, onOutcome: (outcome: Outcome) => void,
   *   onDatabase: (db: string) => void, onTransaction: (open: boolean) => void, onDictionary: () => void, onNote?: (text: string) => void, onError: (statement: Statement, message: string, bare: string, offset?: number, unreached?: boolean) => void}} options
   */
  constructor(api, options) {
    this.#api = api;
    this.#options = options;
    this.id = randomId();
    this.#isOpen = options.inTransaction === true;
    this.db = options.db;
    this.session = options.session;
    this.statements = options.statements.map(({ sql }) => sql);
    /** Start of each statement in the editor's text; an added EXPLAIN lies before it. */
    this.places = options.statements.map(({ start, end, sql }) => start - (sql.length - (end - start)));
    this.startedAt = Date.now();
    this.began = performance.now();
  }

  /**
   * Runs to the end. `how` is how a cancel ended, '' where there was none; after `gaveUp` the session must be closed.
   * @returns {Promise<{failed: number, cancelled: boolean, how: string, gaveUp: boolean, errno: number, elapsedMs: number, done: number}>} `errno`: of the last failure
   */
  async start() {
    const { results } = this.#options;
    this.#errno = 0;
    let counts = { failed: 1, done: 0 };
    let end;
    results.begin(this);
    this.#timer = setInterval(() => this.#report(), TICK_MS);
    try {
      counts = await this.#each();
      const left = this.statements.length - counts.done;
      if (counts.failed && left > 0 && !this.#cancelled) {
        const why = this.#lost ? 'Stopped when the connection was lost' : 'Stopped at the error';
        const more = this.#lost ? '' : ' “Continue after errors” in the editor menu runs them anyway.';
        results.addNote(this, `${why}: ${left.toLocaleString('en')} more ${left === 1 ? 'statement was' : 'statements were'} not run.${more}`);
      }
    } finally {
      clearInterval(this.#timer);
      end = { cancelled: this.#cancelled, how: this.#how, gaveUp: this.#gaveUp, errno: this.#errno, elapsedMs: performance.now() - this.began };
      results.end(this, end);
    }
    return { ...counts, ...end };
  }

  get #how() {
    if (!this.#cancelled) return '';
    if (this.#gaveUp) return 'Cancelled; the session was closed';
    return this.#lost ? 'Cancelled; the connection was closed' : 'Cancelled';
  }

  async #each() {
    let failed = 0;
    let done = 0;
    const { statements, stopOnError, readOnly, plan } = this.#options;
    while (done < statements.length && !this.#cancelled && !(failed && (stopOnError || this.#lost))) {
      const count = readOnly || plan ? 0 : togetherFrom(this.statements, done);
      if (count) {
        const some = await this.#several(done, count);
        failed += some.failed;
        done += some.done;
      } else {
        failed += await this.#one(done, statements[done]) ? 0 : 1;
        done += 1;
      }
    }
    return { failed, done };
  }

  /** Statements that return no rows go together in one request: most of a script's time is on the way otherwise. */
  async #several(from, count) {
    const ended = { failed: 0, done: 0 };
    const statements = this.#options.statements.slice(from, from + count);
    this.#now = { index: from, rows: 0, bytes: 0, sql: statements[0].sql };
    this.#report();
    const queryId = (this.#queryId = randomId());
    const { session, stopOnError } = this.#options;
    const body = statements.map(({ sql }) => JSON.stringify(sql)).join('\n');
    let trouble = '';
    try {
      const response = await this.#api.script({ body: `${body}\n`, lines: true, db: this.db, session, queryId, goesOn: !stopOnError, signal: this.#abort.signal });
      if (!response.ok) await readEnvelope(response);
      const end = await readOutcomes(response, (outcome) => {
        this.#now.index = from + ended.done;
        if (!this.#told(from + ended.done, statements[ended.done], outcome)) ended.failed += 1;
        ended.done += 1;
        this.#reportSoon();
      });
      trouble = end?.message ?? (end ? '' : LOST);
    } catch (error) {
      trouble = this.#abort.signal.aborted ? 'cancelled' : error.unreachable || error instanceof TypeError ? LOST : error.message;
    } finally {
      this.#queryId = null;
    }
    if (!trouble && !ended.done && !this.#cancelled) trouble = 'the server did not run it; run it again';
    if (trouble && ended.done < count) {
      this.#fail(from + ended.done, statements[ended.done], trouble, null, 0, undefined, 0);
      ended.failed += 1;
      ended.done = count;
    }
    return ended;
  }

  /** Handles the answer to one of several statements; true if it succeeded. @param {import('../core/outcomes.js').Outcome} outcome */
  #told(index, statement, outcome) {
    const { code, message = '', error = null, in_transaction: inTransaction = null } = outcome;
    this.#tellTransaction({ code, inTransaction });
    const ms = parseFloat(outcome.duration);
    if (code !== 200) return this.#fail(index, statement, message, error, ms, undefined, code);
    const result = new ResultSet({ sql: statement.sql, db: this.db });
    for (const [name, value] of Object.entries(outcome)) result.set(name, value);
    this.#options.results.addResult(this, index, result);
    this.#succeeded(statement.sql, result, ms);
    return true;
  }

  /** Progress is drawn once a frame at most. */
  #reportSoon() {
    if (performance.now() - this.#reportedAt >= FRAME_MS) this.#report();
  }

  /** One statement; true when it succeeded. */
  async #one(index, statement) {
    this.#now = { index, rows: 0, bytes: 0, sql: statement.sql };
    this.#reportSoon();
    const refused = this.#options.readOnly ? readOnlyRefusal(statement.sql) : null;
    if (refused) return this.#fail(index, statement, refused, null, 0);
    const from = performance.now();
    const { sql, answer } = await this.#ask(index, statement.sql);
    const ms = performance.now() - from;
    this.#tellTransaction(answer);
    for (const result of answer.results) this.#add(index, result, sql, answer.code);
    if (answer.code !== 200) return this.#fail(index, statement, answer.message, answer.error, ms, offsetOf(sql, answer.offset), answer.code);
    this.#succeeded(statement.sql, answer.results[0], ms);
    return true;
  }

  /** Sends a statement; a plan that the server refuses in JSON is requested in tabular form. */
  async #ask(index, sql) {
    const answer = await this.#send(index, sql);
    // Loaded when it is asked for, as in the results.
    const plans = this.#options.plan && answer.code === 200 ? await import('../results/planview.js').catch(() => null) : null;
    const again = plans && answer.results.some(plans.isPlanRefused) ? plans.inTabularForm(sql) : sql;
    if (again === sql || this.#cancelled) return { sql, answer };
    const second = await this.#send(index, again);
    return second.code === 200 ? { sql: again, answer: second } : { sql, answer };
  }

  async #send(index, sql) {
    const { session, limit } = this.#options;
    const { signal } = this.#abort;
    this.#queryId = randomId();
    try {
      const response = await this.#api.query({ sql, db: this.db, limit, session, queryId: this.#queryId, signal });
      const onProgress = ({ rows, bytes }) => Object.assign(this.#now, { rows, bytes });
      const onRows = this.#options.plan ? undefined : (result) => this.#options.results.addRows(this, index, result);
      const stopped = () => this.#cancelled;
      return await readQuery(response, { onProgress, onRows, stopped, signal, limit: limit ?? undefined, sql, db: this.db });
    } catch (error) {
      const message = signal.aborted ? 'cancelled' : error.message;
      return { results: [], code: error.status ?? 0, message, error: error.error ?? null, offset: undefined, cancelled: signal.aborted, inTransaction: null };
    } finally {
      this.#queryId = null;
    }
  }

  /** A session that loses its connection loses its transaction. */
  #tellTransaction({ code, inTransaction }) {
    this.#wasOpen = this.#isOpen;
    this.#lost = code === CONNECTION_LOST;
    const open = this.#lost ? false : inTransaction;
    if (typeof open !== 'boolean') return;
    this.#isOpen = open;
    this.#options.onTransaction(open);
  }

  /** True if leaving now would interrupt a statement that may write. */
  get mayWrite() {
    return !this.#options.readOnly && this.statements.slice(this.#now.index).some((sql) => readOnlyRefusal(sql) !== null);
  }

  #add(index, result, sql, code) {
    // Outcomes after the cancel were passed over.
    result.cancelled = this.#cancelled && result.hasColumns && (code !== 200 || result.count > result.rows.length);
    if (result.cancelled) result.count = result.rows.length;
    result.sql = sql;
    result.db = this.db;
    result.plan = this.#options.plan;
    this.#options.results.addResult(this, index, result);
  }

  /** @param {number} index @param {Statement} statement @param {string} message @param {any} error @param {number} ms @param {number} [offset] @param {number} [code] of the answer, 0 where none came */
  #fail(index, statement, message, error, ms, offset, code = 400) {
    this.#errno = error?.errno ?? 0;
    const text = this.#cancelled && (error?.errno === 1317 || message === 'cancelled') ? 'cancelled' : message || 'the statement failed; the server gave no reason';
    this.#options.results.addError(this, index, { message: text + hintOf(error), error, sql: statement.sql, offset: errorSpan(statement.sql, text, offset)?.start });
    this.#options.onOutcome({ sql: statement.sql, ms, rows: null, error: text });
    if (text !== 'cancelled') this.#options.onError(statement, error ? `${text} (error ${error.errno}, SQLSTATE ${error.sqlstate})` : text, text, offset, code === 0 || code >= CONNECTION_LOST);
    return false;
  }

  #succeeded(sql, result, ms) {
    // One time is told everywhere: the server's, where it told it.
    const took = parseFloat(result?.duration) || ms;
    const rows = result?.columns?.length ? result.count : result?.affected_rows ?? null;
    this.#options.onOutcome({ sql, ms: took, rows, error: null });
    const [first, second] = firstWords(sql);
    const committed = this.#wasOpen ? committedBy(first, second, this.#isOpen) : '';
    if (committed) {
      this.#options.results.addNote(this, committed, 'warn');
      this.#options.onNote?.(committed);
    }
    if (first?.toUpperCase() === 'USE' && second) {
      this.db = unquoteIdentifier(second);
      this.#options.onDatabase(this.db);
    }
    if (DICTIONARY.test(first?.toUpperCase() ?? '')) this.#options.onDictionary();
  }

  #report() {
    this.#reportedAt = performance.now();
    const progress = { ...this.#now, count: this.statements.length, elapsedMs: performance.now() - this.began, cancelling: this.#cancelled, mayGiveUp: this.#mayGiveUp };
    this.#options.results.progress(this, progress);
    this.#options.onProgress(progress);
  }

  /**
   * Tells the server to stop the running statement; no further one is sent. The server's own answer is waited for, which
   * says what became of the statement and its session. Asked for again after a while, the statement is given up.
   */
  async cancel() {
    if (this.#mayGiveUp) this.#giveUp();
    if (this.#cancelled) return;
    this.#cancelled = true;
    this.#cancelledAt = performance.now();
    this.#report();
    await this.#tellServer(this.#queryId);
  }

  /** Repeats until the server has cancelled it or it has ended: a cancel may overtake its statement. */
  async #tellServer(queryId) {
    while (queryId && queryId === this.#queryId) {
      if (await this.#api.cancel(queryId).catch(() => false)) return;
      await new Promise((done) => setTimeout(done, CANCEL_AGAIN_MS));
    }
  }

  get #mayGiveUp() {
    return this.#cancelled && performance.now() - this.#cancelledAt > GIVE_UP_AFTER_MS;
  }

  /** The state of the session is unknown then, so it must be closed. */
  #giveUp() {
    this.#gaveUp = true;
    this.#abort.abort();
  }

  /** Aborts at once: the server kills the statement of a client that disconnects. */
  abandon() {
    this.#cancelled = true;
    this.#abort.abort();
  }
}

function firstWords(sql) {
  const words = [];
  for (const { type, start, end } of tokens(sql.slice(0, 2000))) {
    if (type === 'comment') continue;
    if (type !== 'keyword' && type !== 'identifier') break;
    words.push(sql.slice(start, end));
    if (words.length === 2) break;
  }
  return words;
}
