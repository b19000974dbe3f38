/**
 * Progress and result of an import.
 * @module
 */

import { fill, h, icon } from '../../common/dom.js';
import { formatBytes, formatMs } from '../../common/figures.js';
import { counted } from './controls.js';
import { lineOf } from './csv.js';

/** Bad lines that are listed, and characters of each. */
const SHOWN = { lines: 200, text: 160 };

/** @typedef {import('./importing.js').Outcome} Outcome */

/** The report below the form. */
export class Report {
  constructor() {
    this.bar = h('progress', { class: 'import-bar', max: 1, 'aria-label': 'Progress of the import' });
    this.figures = h('p', { class: 'import-figures' });
    this.summary = h('div', { class: 'import-summary', role: 'status' });
    this.list = h('div', { class: 'import-bad', role: 'region', tabindex: 0, 'aria-label': 'Bad lines', hidden: true });
    /** Always in view, while it runs. */
    this.running = h('div', { class: 'import-running', hidden: true }, this.bar, this.figures);
    this.element = h('div', { class: 'import-report' }, this.summary, this.list);
  }

  clear() {
    fill(this.summary);
    this.list.hidden = true;
    this.running.hidden = true;
  }

  /** @param {import('./importing.js').Progress} progress @param {number} size of the file */
  progress({ bytes, read, written, bad, ms, cancelling }, size) {
    this.running.hidden = false;
    this.bar.value = size ? bytes / size : 1;
    const speed = ms > 500 ? `${Math.round((written / ms) * 1000).toLocaleString('en')} rows/s` : '';
    this.figures.textContent = [cancelling ? 'Cancelling' : '', `${formatBytes(Math.round(bytes))} of ${formatBytes(size)}`, `${counted(read, 'line')} read`, `${counted(written, 'row')} written`, bad && `${counted(bad, 'bad line')}`, formatMs(ms), speed].filter(Boolean).join(' · ');
  }

  /** @param {Outcome} outcome @param {{db: string, table: string, duplicates: string, isNew: boolean}} into */
  ended(outcome, into) {
    this.running.hidden = true;
    const good = outcome.how === 'done';
    fill(this.summary, icon(good ? 'check' : outcome.how === 'cancelled' ? 'info' : 'error'), h('div', {}, sentences(outcome, into).map((text, i) => h('p', { class: i ? 'dim' : null, text }))));
    this.summary.className = `import-summary ${good ? 'good' : outcome.how === 'cancelled' ? 'warn' : 'bad'}`;
    this.#listBad(outcome.bad);
  }

  /** @param {Outcome['bad']} bad */
  #listBad(bad) {
    this.list.hidden = bad.length === 0;
    const rows = bad.slice(0, SHOWN.lines).map(({ record, column, reason }) => h('tr', {},
      h('td', { class: 'number', text: record.line.toLocaleString('en') }), h('td', { text: column }), h('td', { text: reason }),
      h('td', { class: 'mono', text: lineOf(record, { delimiter: ',', quote: '"' }).trim().slice(0, SHOWN.text) })));
    const head = h('tr', {}, ['Line', 'Column', 'Reason', 'Text'].map((text) => h('th', { scope: 'col', text })));
    const more = bad.length > SHOWN.lines && h('p', { class: 'dim', text: `The first ${SHOWN.lines} of ${bad.length.toLocaleString('en')}; the saved file has all.` });
    fill(this.list, h('table', {}, h('thead', {}, head), h('tbody', {}, rows)), more);
  }
}

/** @param {Outcome} outcome @returns {string[]} */
function sentences({ how, message, read, written, duplicates, bad, kept, undone, created, ms }, { db, table, duplicates: choice, isNew }) {
  const place = `${db}.${table}`;
  const double = duplicates > 0 ? `${counted(duplicates, 'row')} ${{ skip: 'skipped: the key existed', replace: 'replaced others', update: 'updated existing rows', error: '' }[choice]}` : '';
  const left = created && isNew ? `The new table ${place} stays.` : '';
  if (how === 'done') {
    const more = [double, bad.length && `${counted(bad.length, 'bad line')} skipped`].filter(Boolean).join(' · ');
    return [`${counted(written, 'row')} written into ${place} in ${formatMs(ms)}`, `${counted(read, 'line')} read${more ? ` · ${more}` : ''}`];
  }
  const state = kept ? `${counted(written, 'row')} were written and stay: the table cannot roll back.` : undone ? 'Nothing was written (rolled back).' : 'Nothing was written.';
  if (how === 'cancelled') return ['Cancelled', [state, left].filter(Boolean).join(' ')];
  if (how === 'bad') return [`${counted(bad.length, 'bad line')} found up to line ${bad[bad.length - 1].record.line.toLocaleString('en')}; other lines may be bad too`, [state, left].filter(Boolean).join(' ')];
  return [message, [state, left].filter(Boolean).join(' ')];
}
