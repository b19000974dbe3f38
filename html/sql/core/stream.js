/**
 * Reads the streamed answer of `POST /api/query` while it arrives.
 * @module
 */

import { JsonStreamParser } from './jsonstream.js';
import { tokens } from './lexer.js';
import { ResultSet } from './resultset.js';
import { Slicer } from './slices.js';

/** Time between two progress reports, in milliseconds. */
const PROGRESS_MS = 100;

/** Rows, and time after the first of them in milliseconds, after which a result is shown while it goes on. */
const FIRST_ROWS = 100;
const FIRST_MS = 100;

/** Longest text of an answer that is not JSON that is shown, in characters. */
const MAX_FOREIGN_TEXT = 500;

/**
 * @typedef {object} Answer
 * @property {ResultSet[]} results what arrived, also before a late failure
 * @property {number} code 200, the failure's code, or 0 when the answer did not arrive whole
 * @property {string} message empty on success
 * @property {{errno: number, sqlstate: string}|null} error
 * @property {boolean} cancelled whether the signal ended it
 * @property {number} [offset] where the reason of a refusal stands in the statement, in bytes of UTF-8
 * @property {boolean|null} inTransaction whether the session has an open transaction now; null where the answer does not tell
 */

/**
 * Reads an answer to its end without ever holding the whole of it as text. It does not throw.
 * @param {Response} response
 * @param {{onProgress?: (progress: {rows: number, bytes: number}) => void, signal?: AbortSignal,
 *   limit?: number, sql?: string, db?: string, stopped?: () => boolean, onRows?: (result: ResultSet) => void}} [options]
 *   `limit`: rows kept at most of each result; `stopped`: rows are passed over from then on; `onRows`: the first result
 *   has its first rows, and then more of them
 * @returns {Promise<Answer>}
 */
export async function readQuery(response, options = {}) {
  if (!isJson(response)) return foreignAnswer(response);
  const reading = new Reading(options);
  try {
    await reading.run(/** @type {ReadableStream<Uint8Array>} */ (response.body).getReader());
  } catch (cause) {
    return reading.failed(cause);
  }
  return reading.answer();
}

function isJson(response) {
  return /\bjson\b/i.test(response.headers.get('content-type') ?? '') && response.body !== null;
}

async function foreignAnswer(response) {
  const text = await response.text().catch(() => '');
  const message = text.trim().slice(0, MAX_FOREIGN_TEXT) || response.statusText || 'no text';
  return {
    results: [],
    code: response.ok ? 0 : response.status,
    message: `the server answered ${response.status} without JSON: ${message}`,
    error: null,
    cancelled: false,
    inTransaction: null,
  };
}

class Reading {
  #options;
  #first;
  #more = [];
  #root = {};
  #inTransaction = null;
  #rows = 0;
  #bytes = 0;
  #reported = 0;
  /** Time of the first row, on the clock of `performance.now()`. */
  #firstAt = Infinity;
  #timer = 0;
  #shown = 0;
  #feed;

  constructor(options) {
    this.#options = options;
    this.#first = new ResultSet(options);
    this.#feed = new JsonStreamParser(this.#rootPlan());
  }

  async run(reader) {
    const decoder = new TextDecoder();
    const slicer = new Slicer(this.#options.signal);
    const stop = () => void reader.cancel().catch(() => {});
    this.#options.signal?.addEventListener('abort', stop);
    try {
      for (;;) {
        const { done, value } = await reader.read();
        this.#options.signal?.throwIfAborted();
        if (done) break;
        this.#bytes += value.byteLength;
        await this.#take(decoder.decode(value, { stream: true }), slicer);
      }
      await this.#take(decoder.decode(), slicer);
    } finally {
      clearTimeout(this.#timer);
      this.#options.signal?.removeEventListener('abort', stop);
      stop();
    }
  }

  #isStopped() {
    return Boolean(this.#options.stopped?.());
  }

  /** Only the first result is shown before its end: a procedure sends it twice. */
  #showRows() {
    const { rows } = this.#first;
    const waits = rows.length < FIRST_ROWS && performance.now() - this.#firstAt < FIRST_MS;
    if (waits || rows.length === this.#shown || this.#more.length || this.#feed.done || this.#isStopped()) return;
    this.#shown = rows.length;
    this.#options.onRows?.(this.#first);
  }

  #rowCame() {
    this.#rows += 1;
    if (this.#firstAt !== Infinity) return;
    this.#firstAt = performance.now();
    // Of a slow statement no further row may come for a while.
    this.#timer = setTimeout(() => this.#showRows(), FIRST_MS);
  }

  /** Splits the work by time, not by chunk: a chunk may be 1 kB or 10 MB. */
  async #take(text, slicer) {
    let at = 0;
    while (at < text.length) {
      at = this.#feed.push(text, at, slicer.deadline);
      this.#report();
      if (slicer.due) await slicer.rest();
    }
  }

  #report() {
    const now = performance.now();
    if (this.#shown === 0) this.#showRows();
    if (now - this.#reported < PROGRESS_MS) return;
    this.#reported = now;
    this.#options.onProgress?.({ rows: this.#rows, bytes: this.#bytes });
    this.#showRows();
  }

  answer() {
    this.#options.onProgress?.({ rows: this.#rows, bytes: this.#bytes });
    if (!this.#feed.done) return this.#broken('the answer was cut off');
    const { code = 0, message = '', error = null, offset } = this.#root;
    const inTransaction = this.#root.in_transaction ?? this.#inTransaction;
    return { results: this.#results(), code, message, error, offset, cancelled: false, inTransaction };
  }

  failed(cause) {
    if (this.#options.signal?.aborted) {
      return { results: this.#results(), code: 0, message: 'cancelled', error: null, cancelled: true, inTransaction: null };
    }
    return this.#broken(cause instanceof SyntaxError ? 'the answer is not valid JSON' : 'the connection was lost');
  }

  #broken(what) {
    const next = endsTransaction(this.#options.sql ?? '') ? 'Check whether the transaction was committed before you go on' : 'Run the statement again';
    const message = `${what} after ${this.#rows} rows; is postern still running? ${next}`;
    return { results: this.#results(), code: 0, message, error: null, cancelled: false, inTransaction: null };
  }

  /** A CALL repeats its first result in `results`. What belongs to the whole call stays with the last. */
  #results() {
    if (this.#more.length === 0) return this.#first.hasColumns || this.#root.code === 200 ? [this.#first] : [];
    const last = this.#more[this.#more.length - 1];
    const { warnings } = this.#first;
    const notes = warnings.filter(({ code }) => code === null);
    for (const result of this.#more) if (result.warnings.length === 0) result.warnings = result === last ? warnings : notes;
    for (const result of this.#more) result.duration ||= this.#first.duration;
    return this.#more;
  }

  #rootPlan() {
    return {
      open: (key) => (key === 'data' ? this.#resultPlan(this.#first) : null),
      value: (key, value) => (this.#root[key] = value),
    };
  }

  #resultPlan(result) {
    return {
      open: (key) => {
        if (key === 'rows') return this.#rowsPlan(result);
        return key === 'results' ? this.#resultsPlan() : null;
      },
      value: (key, value) => {
        if (key === 'in_transaction') this.#inTransaction = value;
        else result.set(key, value);
      },
    };
  }

  #rowsPlan(result) {
    return {
      open: () => null,
      skips: () => this.#isStopped(),
      value: (_, row) => {
        if (row === undefined) return;
        result.addRow(row);
        this.#rowCame();
      },
    };
  }

  #resultsPlan() {
    return {
      open: () => {
        if (this.#more.length === 0) this.#rows = 0;
        const result = new ResultSet(this.#options);
        this.#more.push(result);
        return this.#resultPlan(result);
      },
      value: () => {},
    };
  }
}

/** True if a statement commits or rolls back: repeated it would succeed without effect. */
function endsTransaction(sql) {
  for (const { type, start, end } of tokens(sql.slice(0, 2000))) {
    if (type !== 'comment') return /^(?:commit|rollback)$/i.test(sql.slice(start, end));
  }
  return false;
}
