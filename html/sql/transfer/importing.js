/**
 * Writes the records of a file into a table: in batches, in one transaction where the table can, with a report of what is
 * bad.
 * @module
 */

import { readEnvelope } from '../../common/transport.js';
import { quoteName } from '../core/format.js';
import { readOutcomes } from '../core/outcomes.js';
import { Slicer } from '../core/slices.js';
import { randomId } from '../workbench/store.js';
import { CsvParser, isBlank } from './csv.js';
import { piecesOf } from './filetext.js';
import { insertFrame, Misfit, tupleWriter } from './tuples.js';

/** Rows of one statement at most, and the characters from where on the next one begins: small servers take 1 MiB. */
const BATCH = { rows: 2000, size: 250_000 };
/** Bad lines after which nothing more is tried. */
const MAX_BAD = 10_000;
/** Time between two progress reports, in ms. */
const TICK_MS = 100;
/** Time to wait for a cancelled statement, in ms, before its session is closed. */
const CANCEL_MS = 5_000;

/** Errors that are about one row, beside those whose SQLSTATE says so. */
const OF_A_ROW = new Set([1263, 1364, 1366, 1369, 1411, 1525, 1526, 3819, 4025, 4078, 6136, 6138]);

/**
 * @typedef {import('./csv.js').Record} Record
 * @typedef {{record: Record, column: string, reason: string}} Bad
 * @typedef {{file: File, encoding: string, dialect: import('./csv.js').Dialect, header: boolean, width: number, db: string, table: string,
 *   create: string, exists: () => Promise<boolean>, intoOf: () => Promise<{targets: import('./tuples.js').Target[], keys: string[], transactional: boolean}>,
 *   reading: import('./tuples.js').Reading, duplicates: import('./tuples.js').Duplicates, zone: string, leaveOut: boolean}} Plan
 *   `width`: fields of a record; `create`: what makes the table first, which must not be there then; `intoOf`: asked once it is there; `leaveOut`: bad lines are left
 *   out, else all is rolled back
 * @typedef {{bytes: number, read: number, written: number, bad: number, ms: number, cancelling: boolean}} Progress
 * @typedef {{how: 'done'|'cancelled'|'bad'|'failed', message: string, read: number, written: number, duplicates: number, bad: Bad[],
 *   kept: boolean, undone: boolean, created: boolean, ms: number}} Outcome `kept`: what was written stays; `undone`: it was rolled back
 */

/** An error that ends an import: not one row, but all that would follow. */
class Broken extends Error {}

/** One import. */
export class Import {
  #api;
  #plan;
  #onProgress;
  #session = randomId();
  /** Of the request under way. */
  #queryId = '';
  #abort = new AbortController();
  #cancelled = false;
  #began = performance.now();
  #now = { bytes: 0, read: 0, written: 0, duplicates: 0 };
  /** @type {Bad[]} */ #bad = [];
  #created = false;
  /** True if the session has entered its database. */
  #entered = false;
  #transactional = false;
  #inTransaction = false;
  #frame = { before: '', after: '' };

  /** @param {ReturnType<typeof import('../api.js').createApi>} api @param {Plan} plan @param {(progress: Progress) => void} onProgress */
  constructor(api, plan, onProgress) {
    this.#api = api;
    this.#plan = plan;
    this.#onProgress = onProgress;
  }

  /** Runs to the end; does not throw. @returns {Promise<Outcome>} */
  async run() {
    const timer = setInterval(() => this.#report(), TICK_MS);
    try {
      const write = await this.#prepare();
      await this.#all(write);
      if (this.#cancelled) return await this.#undo('cancelled', '');
      if (this.#bad.length && !this.#plan.leaveOut) return await this.#undo('bad', '');
      await this.#must(['COMMIT']);
      return this.#outcome('done', '', true);
    } catch (cause) {
      return await this.#undo(this.#cancelled ? 'cancelled' : 'failed', this.#cancelled ? '' : cause.message);
    } finally {
      clearInterval(timer);
      this.#api.closeSession(this.#session);
    }
  }

  /** Stops; what was written is rolled back where the table can. */
  async cancel() {
    if (this.#cancelled) return;
    this.#cancelled = true;
    this.#report();
    const abort = this.#abort;
    setTimeout(() => abort.abort(), CANCEL_MS);
    if (this.#queryId) await this.#api.cancel(this.#queryId).catch(() => false);
  }

  /** The page goes: the server ends the session. */
  abandon() {
    this.#cancelled = true;
    this.#abort.abort();
    this.#api.closeSession(this.#session);
  }

  /** Makes the table where it is new, and the session. */
  async #prepare() {
    const { create, exists, intoOf, reading, duplicates, db, table, zone } = this.#plan;
    if (create && await exists()) throw new Broken(`${table} already exists; choose it, or rename the new table`);
    if (create) await this.#must([create]);
    const { targets, keys, transactional } = await intoOf();
    this.#created = create !== '';
    this.#transactional = transactional;
    this.#frame = insertFrame({ db, table, targets, keys, duplicates });
    // A value that does not fit is an error, and 0 is a number.
    const mode = "SET SESSION sql_mode = CONCAT_WS(',', NULLIF(@@sql_mode, ''), 'STRICT_ALL_TABLES', 'NO_AUTO_VALUE_ON_ZERO')";
    await this.#must([mode, ...(zone ? [`SET time_zone = '${zone}'`] : []), ...(transactional ? ['START TRANSACTION'] : [])]);
    this.#inTransaction = transactional;
    return tupleWriter(targets, reading);
  }

  /** Reads the file, and writes a batch while the next one is read. */
  async #all(write) {
    const { file, encoding, dialect } = this.#plan;
    let batch = newBatch();
    /** @type {Promise<void>} */
    let under = Promise.resolve();
    const parser = new CsvParser(dialect, (record) => this.#take(record, write, batch));
    const slicer = new Slicer();
    const flush = async (bytes) => {
      await under;
      const full = batch;
      batch = newBatch();
      under = this.#insert(full).then(() => { this.#now.bytes = bytes; });
      under.catch(() => {}); // told where it is awaited
    };
    let before = 0;
    try {
      for await (const { text, bytes } of piecesOf(file, encoding)) {
        for (const { part, share } of inParts(text)) {
          parser.push(part);
          if (isFull(batch)) await flush(before + share * (bytes - before));
          if (slicer.due) await slicer.rest();
          this.#guard();
          if (this.#isOver) return;
        }
        before = bytes;
      }
      parser.end();
      if (!this.#isOver) await flush(file.size);
    } finally {
      await under;
    }
  }

  /** True if nothing more is to be read. */
  get #isOver() {
    return this.#cancelled || (this.#bad.length > 0 && !this.#plan.leaveOut);
  }

  #take(record, write, batch) {
    const { header, width } = this.#plan;
    if (isBlank(record) && width > 1) return;
    this.#now.read += 1;
    if (header && this.#now.read === 1) return;
    const { length } = record.fields;
    if (length !== width) {
      this.#bad.push({ record, column: '', reason: `${length} ${length === 1 ? 'field' : 'fields'} instead of ${width}` });
      return;
    }
    const tuple = this.#tuple(record, write);
    if (tuple === null) return;
    batch.records.push(record);
    batch.tuples.push(tuple);
    batch.size += tuple.length;
  }

  /** A record as it is written; null where it is bad. */
  #tuple(record, write) {
    try {
      return write(record);
    } catch (cause) {
      if (!(cause instanceof Misfit)) throw cause;
      this.#bad.push({ record, column: cause.column, reason: cause.message });
      return null;
    }
  }

  /** Writes a batch in one statement; where a row of it is bad, row by row. */
  async #insert({ records, tuples }) {
    this.#guard();
    if (!tuples.length || this.#cancelled) return;
    if (this.#transactional) {
      const [outcome] = await this.#send([this.#frame.before + tuples.join(',\n') + this.#frame.after], false);
      if (outcome?.code === 200) return this.#count(outcome, tuples.length);
      this.#throwUnlessOfRow(outcome);
    }
    // Without rollback a statement that fails has written the rows before the bad one.
    const statements = tuples.map((tuple) => this.#frame.before + tuple + this.#frame.after);
    const outcomes = await this.#send(statements, this.#transactional || this.#plan.leaveOut);
    outcomes.forEach((outcome, i) => {
      if (outcome.code === 200) return this.#count(outcome, 1);
      this.#throwUnlessOfRow(outcome);
      return this.#bad.push({ record: records[i], ...reasonOf(outcome) });
    });
    this.#guard();
  }

  #count({ affected_rows: affected = 0, info = '' }, rows) {
    const { duplicates } = this.#plan;
    const told = /Duplicates: (\d+)/.exec(info)?.[1];
    // One row alone: 0 when it was skipped, 2 when it took another's place.
    const double = told === undefined ? Number(duplicates === 'skip' ? affected === 0 : affected > 1) : duplicates === 'skip' ? rows - affected : Number(told);
    this.#now.duplicates += double;
    this.#now.written += duplicates === 'skip' ? rows - double : rows;
  }

  #throwUnlessOfRow(outcome) {
    const { errno = 0, sqlstate = '' } = outcome?.error ?? {};
    if (!OF_A_ROW.has(errno) && !/^(?:01|22|23|44|45)/.test(sqlstate)) throw new Broken(outcome?.message || 'The connection was lost');
  }

  #guard() {
    if (this.#bad.length > MAX_BAD) throw new Broken(`More than ${MAX_BAD.toLocaleString('en')} lines are bad; check the first ones`);
  }

  /** Runs statements that must not fail. */
  async #must(statements) {
    const outcomes = await this.#send(statements, false);
    const failed = outcomes.find(({ code }) => code !== 200);
    if (failed) throw new Broken(failed.message ?? '');
    if (outcomes.length < statements.length && !this.#cancelled) throw new Broken('The connection was lost');
  }

  /** @returns {Promise<import('../core/outcomes.js').Outcome[]>} */
  async #send(statements, goesOn) {
    const body = statements.map((sql) => `${JSON.stringify(sql)}\n`).join('');
    /** @type {import('../core/outcomes.js').Outcome[]} */
    const outcomes = [];
    const end = await this.#ask(body, goesOn, (outcome) => outcomes.push(outcome));
    if (!end) throw new Broken('The connection was lost');
    if (end.message) throw new Broken(end.message);
    return outcomes;
  }

  async #ask(body, goesOn, onOutcome) {
    // One id a request: the server may know the former one for a moment after its answer.
    this.#queryId = randomId();
    try {
      const db = this.#entered ? '' : this.#plan.db;
      this.#entered = true;
      const response = await this.#api.script({ body, lines: true, db, session: this.#session, queryId: this.#queryId, goesOn, signal: this.#abort.signal });
      if (!response.ok) await readEnvelope(response);
      return await readOutcomes(response, onOutcome);
    } finally {
      this.#queryId = '';
    }
  }

  /** Takes everything back, where the table can. @param {Outcome['how']} how @param {string} message */
  async #undo(how, message) {
    if (this.#inTransaction) {
      this.#abort = new AbortController(); // what was cancelled must not stop this too
      // Closing the session rolls back too, if this request fails.
      await this.#send(['ROLLBACK'], false).catch(() => {});
    }
    const kept = !this.#inTransaction && this.#now.written > 0;
    if (this.#created && !kept) await this.#dropNew();
    return this.#outcome(how, message, kept);
  }

  /** Drops the table that was made for this, unless somebody has filled it. */
  async #dropNew() {
    const { db, table } = this.#plan;
    const name = `${quoteName(db)}.${quoteName(table)}`;
    try {
      const [look] = await this.#send([`SELECT 1 FROM ${name} LIMIT 1`], false);
      if (look?.code !== 200 || look.rows !== 0) return;
      await this.#must([`DROP TABLE ${name}`]);
      this.#created = false;
    } catch {
      // It stays, which is said.
    }
  }

  /** @param {Outcome['how']} how @param {string} message @param {boolean} kept @returns {Outcome} */
  #outcome(how, message, kept) {
    const { read, written, duplicates } = this.#now;
    this.#report();
    const rows = Math.max(0, read - (this.#plan.header ? 1 : 0));
    this.#bad.sort((a, b) => a.record.line - b.record.line);
    return { how, message, read: rows, written, duplicates, bad: this.#bad, kept, undone: this.#inTransaction && how !== 'done', created: this.#created, ms: performance.now() - this.#began };
  }

  #report() {
    const { bytes, read, written } = this.#now;
    this.#onProgress({ bytes, read, written, bad: this.#bad.length, ms: performance.now() - this.#began, cancelling: this.#cancelled });
  }
}

/** @returns {{records: Record[], tuples: string[], size: number}} */
const newBatch = () => ({ records: [], tuples: [], size: 0 });

const isFull = ({ tuples, size }) => tuples.length >= BATCH.rows || size >= BATCH.size;

/** A piece of the file in parts that make no more than about a batch, with how much of it is done after each. */
function* inParts(text) {
  const step = 64 << 10;
  for (let at = 0; at < text.length; at += step) yield { part: text.slice(at, at + step), share: Math.min(1, (at + step) / text.length) };
}

/** The server's message about a row, and its column. @returns {{column: string, reason: string}} */
function reasonOf({ message = '' }) {
  const reason = message.replace(/ at row 1\b/, '');
  const column = /[Cc]olumn [`'](?:[^`']*[`']\.[`'])*([^`']+)[`']/.exec(message) ?? /for key '(?:[^'.]*\.)?([^']+)'/.exec(message) ?? /\(`([^`]+)`\) REFERENCES/.exec(message);
  return { column: column?.[1] ?? '', reason };
}
