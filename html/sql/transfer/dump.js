/**
 * Dump of a database, or of some of its tables, as SQL that the server's own client restores.
 *
 * The server is asked first what there is and what this account cannot read, which stands in the dialog before anything
 * begins. The file itself comes as an export does: streamed into a file that the person picks, or by the browser.
 * @module
 */

import { debounce, fill, h, icon, queryAll } from '../../common/dom.js';
import { openDialog } from '../../common/dialog.js';
import { formatBytes } from '../../common/figures.js';
import { followDownload, plainName } from '../results/download.js';
import { pump } from '../results/pump.js';

/** Pause after a choice before the server is asked what it comes to, in ms. */
const SETTLE_MS = 250;
/** More tables than this get a filter. */
const FEW = 12;

/** Parts of a dump: member of the request, label, explanation, whether it is on at first. @type {[string, string, string, boolean][]} */
const PARTS = [
  ['structure', 'Structure', 'CREATE statements of tables, views and sequences', true],
  ['data', 'Rows', 'in one snapshot', true],
  ['triggers', 'Triggers', '', true],
  ['routines', 'Routines', 'procedures and functions', true],
  ['events', 'Events', '', true],
];
/** @type {[string, string, string, boolean][]} */
const WAYS = [
  ['drop', 'Drop before creating', 'replaces objects of the same names', true],
  ['definers', 'Keep definers', 'otherwise they belong to the user who restores them', true],
  ['create_database', 'Create the database', 'and use it; otherwise restore into any database', false],
];

/**
 * Opens the dialog.
 * @param {{db: string, tables?: string[]}} what the database, and the tables that are chosen at first
 * @param {{api: ReturnType<typeof import('../api.js').createApi>, catalogue: import('../workbench/catalogue.js').Catalogue, notify: Notify}} deps
 */
export function openDump({ db, tables = [] }, deps) {
  const form = new DumpForm(db, tables, deps);
  return openDialog({ title: `Dump ${db}`, body: form.element, onOpen: (_dialog, close) => form.opened(close) }).then(() => form.closed());
}

class DumpForm {
  #db;
  #deps;
  /** The names chosen. @type {Set<string>} */
  #chosen;
  /** Ends the question what there is. @type {AbortController|null} */
  #asking = null;
  /** Ends the download. @type {AbortController|null} */
  #saving = null;
  #known = false;
  #close = () => {};

  constructor(db, tables, deps) {
    this.#db = db;
    this.#deps = deps;
    this.#chosen = new Set(tables);
    this.all = this.#radio('all', !tables.length);
    this.some = this.#radio('some', tables.length > 0);
    this.filter = h('input', { class: 'field', type: 'search', placeholder: 'Filter tables', 'aria-label': 'Filter tables', on: { input: () => this.#filter() } });
    this.list = h('div', { class: 'dump-tables', role: 'group', 'aria-label': `Tables of ${db}` });
    this.tables = h('div', {}, this.filter, this.list);
    this.boxes = new Map();
    const partLines = PARTS.map((part) => this.#check(part));
    const wayLines = WAYS.map((way) => this.#check(way));
    this.found = h('div', { class: 'dump-found', 'aria-live': 'polite' });
    this.progress = h('div', { class: 'export-progress', role: 'status' });
    this.buttons = h('div', { class: 'export-buttons' });
    this.settle = debounce(() => this.#ask(), SETTLE_MS);
    this.element = h('div', { class: 'export' },
      h('fieldset', {}, h('legend', { text: 'From' }), this.#label(this.all, 'The whole database'), this.#label(this.some, 'Selected tables'), this.tables),
      h('div', { class: 'dump-options' },
        h('fieldset', {}, h('legend', { text: 'Include' }), partLines),
        h('fieldset', {}, h('legend', { text: 'Options' }), wayLines)),
      this.found, this.progress, this.buttons);
    this.#scopeChanged();
  }

  #radio(value, checked) {
    const radio = h('input', { type: 'radio', name: 'dumpScope', value, on: { change: () => this.#scopeChanged() } });
    radio.checked = checked;
    return radio;
  }

  #check([name, label, more, on]) {
    const box = h('input', { type: 'checkbox', name, on: { change: () => this.#changed() } });
    box.checked = on;
    this.boxes.set(name, box);
    return this.#label(box, label, more);
  }

  #label(input, text, more = '') {
    return h('label', { class: 'check' }, input, h('span', {}, text, more && h('span', { class: 'dim', text: ` – ${more}` })));
  }

  /** Routines and events are of the database, not of a table. */
  #scopeChanged() {
    this.tables.hidden = this.all.checked;
    for (const name of ['routines', 'events']) this.boxes.get(name).checked = this.all.checked;
    this.#changed();
  }

  #changed() {
    this.#known = false;
    this.#asking?.abort();
    if (this.some.checked && !this.#chosen.size) {
      this.settle.cancel();
      fill(this.found, h('p', { class: 'dim', text: 'Choose a table.' }));
    } else {
      this.settle();
    }
    this.#showButtons();
  }

  async #loadTables() {
    let tables;
    try {
      tables = await this.#deps.catalogue.tables(this.#db);
    } catch (cause) {
      fill(this.list, h('p', { class: 'bad', text: `Could not list the tables: ${cause.message}` }));
      return;
    }
    this.filter.hidden = tables.length <= FEW;
    fill(this.list, tables.map(({ name, kind }) => {
      const box = h('input', { type: 'checkbox', value: name, on: { change: () => this.#choose(name, box.checked) } });
      box.checked = this.#chosen.has(name);
      return this.#label(box, name, kind === 'table' ? '' : kind);
    }));
    this.list.querySelector('input:checked')?.scrollIntoView({ block: 'nearest' });
  }

  #choose(name, on) {
    if (on) this.#chosen.add(name);
    else this.#chosen.delete(name);
    this.#changed();
  }

  #filter() {
    const word = this.filter.value.toLowerCase();
    for (const line of queryAll(this.list, 'label')) line.hidden = !line.textContent.toLowerCase().includes(word);
  }

  get #request() {
    const flags = Object.fromEntries([...this.boxes].map(([name, box]) => [name, box.checked]));
    return { db: this.#db, ...(this.some.checked && { tables: [...this.#chosen] }), ...flags };
  }

  get #name() {
    const [only] = this.some.checked && this.#chosen.size === 1 ? this.#chosen : [];
    return `${plainName(only === undefined ? this.#db : `${this.#db}.${only}`)}.sql`;
  }

  /** Content to dump, and what this account or this server keeps back. */
  async #ask() {
    const asking = new AbortController();
    this.#asking = asking;
    fill(this.found, h('p', { class: 'dim', text: 'Listing the contents …' }));
    try {
      const review = await this.#deps.api.dumpReview(this.#request, asking.signal);
      if (asking.signal.aborted) return;
      this.#known = true;
      fill(this.found, h('p', { text: contents(review) }), review.notes.length > 0 && notes(review.notes));
    } catch (cause) {
      if (asking.signal.aborted) return;
      const again = h('button', { type: 'button', class: 'button', text: 'Try again', on: { click: () => this.#ask() } });
      fill(this.found, h('p', { class: 'bad' }, icon('error'), ` ${cause.message}`), again);
    }
    this.#showButtons();
  }

  #showButtons() {
    const button = (label, kind, action, run, disabled = !this.#known) =>
      h('button', { type: 'button', class: `button ${kind}`, disabled, data: { action }, text: label, on: { click: run } });
    if (this.#saving) fill(this.buttons, button('Cancel', '', 'cancel', () => this.#saving?.abort(), false));
    else if (!globalThis.showSaveFilePicker) fill(this.buttons, button('Download', 'primary', 'download', () => this.#download()));
    else {
      fill(this.buttons, button('Download in the browser', '', 'download', () => this.#download()),
        button('Save to a file…', 'primary', 'save-file', () => this.#saveFile()));
    }
  }

  opened(close) {
    this.#close = close;
    this.#loadTables();
  }

  /** Closing the dialog ends the dump, except a download by the browser itself. */
  closed() {
    this.settle.cancel();
    this.#asking?.abort();
    this.#saving?.abort();
  }

  async #download() {
    try {
      followDownload(await this.#deps.api.dumpTicket(this.#request), this.#name);
      this.#deps.notify('The browser downloads the dump and shows progress; a complete dump ends with “-- Dump completed”', 'good');
      this.#close();
    } catch (cause) {
      this.#failed(cause);
    }
  }

  async #saveFile() {
    let file;
    try {
      file = await globalThis.showSaveFilePicker({ suggestedName: this.#name });
    } catch (cause) {
      if (cause.name === 'AbortError') return undefined; // the user cancelled
      return this.#download(); // forbidden by a policy: download instead
    }
    const saving = new AbortController();
    this.#saving = saving;
    this.#showButtons();
    try {
      const open = () => this.#deps.api.dumpReader(this.#request, saving.signal);
      const bytes = await pump(open, await file.createWritable(), (text) => { this.progress.textContent = text; });
      this.#deps.notify(`Dumped ${formatBytes(bytes)}`, 'good');
      this.#close();
    } catch (cause) {
      this.#failed(cause);
    } finally {
      this.#saving = null;
      this.#showButtons();
    }
    return undefined;
  }

  #failed(cause) {
    const text = cause.name === 'AbortError' ? 'Cancelled: the file was not changed.' : `The dump failed: ${cause.message}. Nothing was saved; try again.`;
    fill(this.progress, icon('error'), text);
  }
}

/** @param {import('../api.js').DumpReview} review */
function contents(review) {
  const parts = [['tables', 'table'], ['sequences', 'sequence'], ['views', 'view'], ['routines', 'routine'], ['triggers', 'trigger'], ['events', 'event']]
    .map(([member, word]) => ({ count: review[member], word })).filter(({ count }) => count > 0)
    .map(({ count, word }) => `${count.toLocaleString('en')} ${word}${count === 1 ? '' : 's'}`);
  const code = review.views + review.routines + review.triggers + review.events > 0
    ? ' Views, routines, triggers and events contain code: read other people’s before you restore it.' : '';
  return parts.length ? `In the file: ${parts.join(', ')}.${code}` : 'This account can read nothing to dump.';
}

/** @param {string[]} list */
function notes(list) {
  return h('div', { class: 'export-warning' }, icon('warn'), h('ul', { class: 'dump-notes', tabindex: '0', 'aria-label': 'Differences from the server' }, list.map((text) => h('li', { text }))));
}
