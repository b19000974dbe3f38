/**
 * The line below the results: what the statement said, its warnings, and the server.
 * @module
 */

import { fill, h, icon } from '../../common/dom.js';
import { formatMs } from '../../common/figures.js';
import { summary } from './messages.js';

/** Time beyond the server's own that is shown from here on, in ms. */
const MIN_LATE_MS = 20;

/** The status line of a result area. */
export class StatusLine {
  #deps;
  #server = '';
  #warned = []; // the warnings of the last statement
  #took = 0; // what the server took for it, in ms
  #last = ''; // what the last statement said, where no result is shown
  #failed = false; // whether that was a failure
  /** From key to grid, where one statement was run, in ms. */
  elapsed = 0;
  /** End of the last statement, if the result of an earlier one is shown. */
  former = '';

  /** True if what is shown is not of a statement: the data or the schema of a table. */
  isElsewhere = false;

  /** @param {{toWarnings: () => void, toExport: () => void}} deps what its buttons do */
  constructor(deps) {
    this.#deps = deps;
    this.main = h('div', { class: 'results-status-main' });
    this.sums = h('div', { class: 'results-sums', role: 'group', 'aria-label': 'Figures of the selection', hidden: true });
    this.aside = h('div', { class: 'results-status-aside dim' });
    this.element = h('div', { class: 'results-status' }, this.main, this.sums, this.aside);
  }

  /** Text of the line. */
  get text() {
    return this.main.textContent;
  }

  /** Asks for the server's version, which is said once it is known. @param {object} api @param {() => void} onKnown */
  async askServer(api, onKnown) {
    try {
      const version = await serverVersion(api);
      this.#server = version ? `server ${/^\d+(\.\d+)*/.exec(version)?.[0] ?? version}` : '';
      onKnown();
    } catch {
      this.#server = '';
    }
  }

  /** A statement is sent. */
  begin() {
    [this.#last, this.#warned, this.elapsed, this.former] = ['', [], 0, ''];
    this.#failed = false;
    this.tell('Running…');
  }

  /** @param {string} text while a statement runs */
  tell(text) {
    fill(this.main, text);
  }

  /** @param {import('../core/resultset.js').ResultSet} result */
  ended(result) {
    this.#failed = false;
    this.#last = summary(result, false);
    [this.#warned, this.#took] = [result.warnings, parseFloat(result.duration) || 0];
  }

  failed() {
    this.#failed = true;
    this.#last = 'Failed';
  }

  /**
   * @param {string} lead how the run ended, where that is no success
   * @param {import('../core/resultset.js').ResultSet|null|undefined} result the one that is shown
   * @param {boolean} ofRun whether something of a run is shown
   */
  show(lead, result, ofRun) {
    if (this.former) return this.#showFormer(ofRun);
    const took = result ? parseFloat(result.duration) || 0 : this.#took;
    const late = this.elapsed - took >= MIN_LATE_MS ? `, shown after ${formatMs(this.elapsed)}` : '';
    // Of the data of a table a failure says nothing.
    const said = result ? summary(result, false) : this.isElsewhere && this.#failed ? '' : this.#last;
    const text = [lead, ...(result?.notes ?? []), said && `${this.isElsewhere ? 'last statement: ' : ''}${said}${late}`].filter(Boolean).join(' · ');
    const count = (result ? result.warnings : this.#warned).filter(({ code }) => code !== null).length;
    fill(this.main, text, ...(count ? [text && ' · ', this.#warningsButton(count)] : []), ...(result?.truncated ? this.#truncated(result) : []), this.#server && (text || count) ? ` · ${this.#server}` : this.#server);
  }

  #showFormer(ofRun) {
    fill(this.main, [!this.isElsewhere && this.former, ofRun && 'showing the previous result', this.#server].filter(Boolean).join(' · '));
  }

  #warningsButton(count) {
    const text = `${count.toLocaleString('en')} ${count === 1 ? 'warning' : 'warnings'}`;
    return h('button', { type: 'button', class: 'link warnings', title: 'Show them in Messages', on: { click: () => this.#deps.toWarnings() } }, icon('warn'), h('span', { text }));
  }

  #truncated(result) {
    const button = h('button', { type: 'button', class: 'link', text: 'export for all', on: { click: () => this.#deps.toExport() } });
    return [` · truncated at ${Number(result.rows.length).toLocaleString('en')}, `, button];
  }
}

/** Requested once a page, however many result areas there are. */
const versions = new WeakMap();

function serverVersion(api) {
  if (!versions.has(api)) {
    versions.set(api, api.info().then((info) => info?.version ?? ''));
    versions.get(api).catch(() => versions.delete(api));
  }
  return versions.get(api);
}
