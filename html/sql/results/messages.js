/**
 * Report of each statement: rows, ids, warnings, errors, times.
 * @module
 */

import { h, icon } from '../../common/dom.js';
import { formatMs } from '../../common/figures.js';

/** Entries kept; the oldest make room. */
const MAX_ENTRIES = 500;

/** Time between two drawings, in ms. */
const FRAME_MS = 16;

/** Characters of a statement that an entry shows. */
const MAX_SQL = 300;

/** The list of messages. */
export class Messages {
  #waiting = [];
  #frame = 0;
  /** True if the newest entry is to be in view: until a person scrolls away from it. */
  #follows = true;

  /** @param {() => void} onDrawn */
  constructor(onDrawn) {
    this.onDrawn = onDrawn;
    this.list = h('ol', { class: 'messages-list', 'aria-label': 'Messages' });
    this.empty = h('p', { class: 'empty', text: 'Affected rows, warnings and errors are listed here.' });
    this.element = h('div', { class: 'messages', tabindex: 0, role: 'region', 'aria-label': 'Messages' }, this.empty, this.list);
    this.element.addEventListener('scroll', () => {
      const { scrollTop, clientHeight, scrollHeight } = this.element;
      if (clientHeight) this.#follows = scrollTop + clientHeight >= scrollHeight - 40;
    }, { passive: true });
  }

  /** Number of entries. */
  get size() {
    return Math.min(MAX_ENTRIES, this.list.children.length + this.#waiting.length);
  }

  /** It came into view. */
  shown() {
    this.#draw();
    if (this.#follows) this.element.scrollTop = this.element.scrollHeight;
  }

  /** @param {import('../core/resultset.js').ResultSet} result */
  addResult(result) {
    const warnings = result.warnings.map(({ level, code, message }) => ({ kind: 'warn', text: `${code === null ? level : `${level} ${code}`}: ${message}` }));
    if (result.cancelled) return this.#add('info', `Cancelled after ${rowsText(result.count)}. Received rows are kept.`, result.sql, warnings);
    return this.#add(result.warnings.length ? 'warn' : 'good', summary(result), result.sql, warnings);
  }

  /** @param {{message: string, error?: {errno: number, sqlstate: string}|null, sql?: string}} failure */
  addError({ message, error, sql }) {
    this.#add('bad', error ? `Error ${error.errno} (${error.sqlstate}): ${message}` : message, sql ?? '', []);
  }

  /** @param {string} text @param {string} [kind] */
  addNote(text, kind = 'info') {
    this.#add(kind, text, '', []);
  }

  #add(kind, text, sql, more) {
    this.#waiting.push({ time: new Date(), kind, text, sql, more });
    if (this.#waiting.length > MAX_ENTRIES) this.#waiting.shift();
    // A script may say a thousand things within a frame. A page in the background has no frames.
    this.#frame ||= setTimeout(() => this.#draw(), FRAME_MS);
  }

  #draw() {
    clearTimeout(this.#frame);
    this.#frame = 0;
    if (!this.#waiting.length) return;
    const { element, list } = this;
    this.empty.hidden = true;
    list.append(...this.#waiting.map(entry));
    this.#waiting = [];
    while (list.children.length > MAX_ENTRIES) list.children[0].remove();
    if (this.#follows) element.scrollTop = element.scrollHeight;
    this.onDrawn();
  }
}

const ICONS = { good: 'check', warn: 'warn', bad: 'error', info: 'info' };
const WORDS = { good: 'Done', warn: 'Done with warnings', bad: 'Failed', info: 'Note' };

function entry({ time, kind, text, sql, more }) {
  return h('li', { class: `message ${kind}` },
    h('time', { class: 'dim', datetime: time.toISOString(), text: time.toLocaleTimeString('en', { hourCycle: 'h23' }) }),
    icon(ICONS[kind]), h('span', { class: 'visually-hidden', text: `${WORDS[kind]}: ` }),
    h('div', { class: 'message-body' }, h('p', { text }),
      more.map((line) => h('p', { class: line.kind, text: line.text })),
      sql && h('code', { class: 'message-sql dim', title: sql.slice(0, 2000), text: shorten(sql) })));
}

function shorten(sql) {
  const text = sql.trim().replace(/\s+/g, ' ');
  return text.length > MAX_SQL ? `${text.slice(0, MAX_SQL)}…` : text;
}

/** A result in a line: `100 rows · 3.2 ms`. @param {import('../core/resultset.js').ResultSet} result @param {boolean} [warnings] whether they are counted */
export function summary(result, warnings = true) {
  if (result.cancelled) return `cancelled after ${rowsText(result.count)}`;
  const parts = result.hasColumns ? [rowsText(result.count)] : [`${affected(result)}`];
  if (!result.hasColumns && Number(result.last_insert_id) !== 0) parts.push(`last insert id ${result.last_insert_id}`);
  if (result.info) parts.push(result.info);
  if (result.duration) parts.push(durationText(result.duration));
  if (warnings && result.warnings.length) parts.push(`${result.warnings.length} ${result.warnings.length === 1 ? 'warning' : 'warnings'}`);
  return parts.join(' · ');
}

/** `1,000 rows`. */
export const rowsText = (count) => `${Number(count).toLocaleString('en')} ${Number(count) === 1 ? 'row' : 'rows'}`;

const affected = ({ affected_rows: rows }) => `OK, ${rowsText(rows)} affected`;

/** `2789.823ms` as `2.8 s`. @param {string} duration */
const durationText = (duration) => (/^[\d.]+ms$/.test(duration) ? formatMs(parseFloat(duration)) : duration);
