// Visitors' requests and statements as lines, limited in number and filtered by words. No DOM.
import { formatBytes, formatMs } from '../../common/figures.js';

/** Entries kept, as many as the server keeps. */
export const KEPT = 500;
/** Most characters of a statement that are shown. */
const SQL_SHOWN = 2000;

/** @typedef {{n: number, key: string, cells: string[], hay: string, isBad: boolean}} Visit one line: its cells in the order of `COLUMNS`; `key` tells it from all others */

/** The headings of both kinds. */
export const COLUMNS = {
  requests: ['Time', 'Source', 'Method', 'Path', 'Status', 'Took', 'Size'],
  statements: ['Time', 'Visitor', 'Kind', 'Statement', 'Verdict', 'Took', 'Rows'],
};

/** @param {'requests'|'statements'} what @param {any} entry as the server sent it @returns {Visit} */
export function visitOf(what, entry) {
  const texts = what === 'requests'
    ? [clock(entry.time), entry.source, entry.method, entry.path, entry.status, took(entry.ms), size(entry.bytes)]
    : [clock(entry.time), entry.visitor, entry.kind, statement(entry), entry.verdict, took(entry.ms), entry.rows];
  const cells = texts.map((text) => String(text ?? '') || '–');
  const isBad = what === 'requests' ? Number(entry.status) >= 400 : !['ok', 'allowed', 'done'].includes(String(entry.verdict));
  return { n: Number(entry.n), key: `${entry.n} ${entry.time}`, cells, hay: cells.join(' ').toLowerCase(), isBad };
}

/** True if a line contains all words. @param {Visit} visit @param {string} query */
export function holds(visit, query) {
  return query.toLowerCase().split(/\s+/).every((word) => visit.hay.includes(word));
}

/** The lines with new ones behind them; the oldest give way, and what was there already is left out. @param {Visit[]} visits @param {Visit[]} more */
export function joined(visits, more) {
  const last = visits[visits.length - 1]?.n ?? -1;
  return [...visits, ...more.filter(({ n }) => n > last)].slice(-KEPT);
}

/** The text of a statement, or how many more a line stands for. */
function statement(entry) {
  if (entry.more > 0) return `(and ${entry.more} more)`;
  return entry.sql === null || entry.sql === undefined ? '(not recorded)' : cut(entry.sql);
}

function clock(time) {
  const at = new Date(time ?? NaN);
  return Number.isNaN(at.getTime()) ? '–' : at.toLocaleTimeString(undefined, { hour12: false });
}

function took(ms) {
  return typeof ms === 'number' ? formatMs(ms) : '–';
}

function size(bytes) {
  return typeof bytes === 'number' ? formatBytes(bytes) : '–';
}

function cut(sql) {
  const text = String(sql);
  return text.length > SQL_SHOWN ? `${text.slice(0, SQL_SHOWN)}… (${text.length - SQL_SHOWN} characters more)` : text;
}
