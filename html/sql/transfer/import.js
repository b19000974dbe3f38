/**
 * The import of a file of values: what it is, where it goes, and how it ended.
 * @module
 */

import { fill, h, icon } from '../../common/dom.js';
import { confirmDialog, openDialog } from '../../common/dialog.js';
import { saveBlob } from '../results/download.js';
import { choice, counted, field } from './controls.js';
import { lineOf } from './csv.js';
import { FileChoice } from './filechoice.js';
import { Import } from './importing.js';
import { Into } from './into.js';
import { Preview } from './preview.js';
import { Report } from './report.js';

/**
 * @typedef {{api: ReturnType<typeof import('../api.js').createApi>, known: import('./into.js').Known, readOnly: boolean, announce: Announce,
 *   changed: () => void, showData: (db: string, table: string) => void}} Deps `changed`: there is a new table
 */

const DUPLICATES = { error: 'bad line', skip: 'skip', replace: 'replace (REPLACE)', update: 'update' };
const BAD = { stop: 'stop and roll back', leave: 'skip' };
const BAD_KEPT = { stop: 'stop', leave: 'skip' };

/**
 * Opens the dialog; true where rows were written.
 * @param {{db: string, table?: string, file?: File}} place
 * @param {Deps} deps
 * @returns {Promise<boolean>}
 */
export async function openImport(place, deps) {
  const form = new ImportForm(place, deps);
  await openDialog({ title: 'Import CSV', wide: true, body: form.element, mayDismiss: () => form.mayLeave(), onOpen: (dialog, close) => form.opened(dialog, close) });
  form.closed();
  return form.wrote;
}

class ImportForm {
  #place;
  #deps;
  /** @type {Import|null} */ #import = null;
  /** @type {import('./importing.js').Outcome|null} */ #outcome = null;
  #close = () => {};
  #leaves = (event) => { event.preventDefault(); event.returnValue = true; };
  #gone = () => this.#import?.abandon();
  wrote = false;

  /** @param {{db: string, table?: string, file?: File}} place @param {Deps} deps */
  constructor(place, deps) {
    this.#place = place;
    this.#deps = deps;
    this.file = new FileChoice(() => this.#read());
    this.into = new Into(deps.known, () => this.#read());
    this.preview = new Preview(() => this.#adapt());
    this.report = new Report();
    this.duplicates = choice(DUPLICATES, () => {});
    this.bad = choice(BAD, () => {});
    this.zone = choice({ '': 'the server’s own', [localOffset()]: `${localOffset()} (here, now)`, '+00:00': 'UTC' }, () => {});
    this.zoneField = field('Time zone of TIMESTAMPs', this.zone);
    this.rules = h('fieldset', { class: 'import-part' }, h('legend', { text: 'Rows' }),
      h('div', { class: 'import-fields' }, field('Rows with an existing key', this.duplicates), field('Bad lines', this.bad), this.zoneField));
    this.note = h('p', { class: 'import-note', role: 'note' });
    this.hint = h('p', { class: 'import-hint dim', text: 'A file of delimited values, such as CSV or TSV. Drop it here, or choose it. Nothing is written before you press Import.' });
    this.form = h('fieldset', { class: 'import-form' }, this.file.element, this.hint, this.into.element, this.preview.element, this.preview.told, this.rules, this.note);
    this.buttons = h('div', { class: 'export-buttons' });
    this.element = h('div', { class: 'import' }, this.form, this.report.element, h('div', { class: 'import-foot' }, this.report.running, this.buttons));
    this.#adapt();
  }

  async opened(dialog, close) {
    this.#close = close;
    dialog.classList.add('import-dialog');
    // Anywhere: what is dropped on nothing, the browser opens in place of the page.
    dialog.addEventListener('dragover', (event) => event.preventDefault());
    dialog.addEventListener('drop', (event) => this.#drop(event));
    this.file.button.focus();
    const { file } = this.#place;
    await Promise.all([this.into.open(this.#place, file?.name ?? ''), file && this.#open(file)]);
  }

  async #open(file) {
    try {
      await this.file.open(file);
    } catch (cause) {
      this.report.ended({ how: 'failed', message: `${file.name} could not be read: ${cause.message}`, read: 0, written: 0, duplicates: 0, bad: [], kept: false, undone: false, created: false, ms: 0 }, this.#target);
    }
  }

  #drop(event) {
    event.preventDefault();
    event.stopPropagation();
    const file = event.dataTransfer?.files[0];
    if (file && !this.#import) this.#open(file);
  }

  /** The file, how it is read or the table changed. */
  #read() {
    const { file, into } = this;
    if (file.file && !this.#place.file && into.isNew && !into.edited && into.newName.value === 'imported') into.newName.value = file.file.name.replace(/\.[^.]*$/, '').replace(/\W+/g, '_').slice(0, 60);
    file.meet(into.columns.map(({ name }) => name));
    this.preview.show(file, into);
    if (file.file) into.propose(file);
    this.report.clear();
    this.#outcome = null;
    this.#adapt();
  }

  get #target() {
    return { db: this.into.db, table: this.into.tableName, duplicates: this.duplicates.value, isNew: this.into.isNew };
  }

  /** Shows what applies to the choices made. */
  #adapt() {
    const { file, into } = this;
    const isOpen = file.file !== null;
    this.hint.hidden = isOpen;
    for (const part of [into.element, this.preview.told, this.rules, this.note]) part.hidden = !isOpen;
    const targets = into.targetsOf(this.preview.chosen);
    this.zoneField.hidden = !(into.isNew ? /\bTIMESTAMP\b/i.test(into.create.value) : targets.some(({ type }) => /^timestamp/i.test(type)));
    const trouble = this.#trouble(targets);
    const unfilled = into.columns.filter((column) => !column.hasDefault && !targets.some(({ name }) => name === column.name)).map(({ name }) => name);
    const takesBack = into.transactional ? 'One transaction: if it fails or is cancelled, nothing is written.' : `The engine of ${into.tableName}${into.engine && ` (${into.engine})`} cannot roll back. Rows are written one by one and stay if the import stops.`;
    const [stop] = this.bad.options;
    stop.textContent = (into.transactional ? BAD : BAD_KEPT).stop;
    const lacking = unfilled.length && !into.isNew ? ` ${unfilled.join(', ')} ${unfilled.length === 1 ? 'has' : 'have'} neither a value nor a default.` : '';
    this.note.className = `import-note ${trouble || lacking || !into.transactional ? 'warn' : ''}`;
    fill(this.note, icon(trouble || lacking || !into.transactional ? 'warn' : 'info'), h('span', { text: trouble || takesBack + lacking }));
    this.#showButtons(isOpen && !trouble);
  }

  /** Reason why the import cannot start. */
  #trouble(targets) {
    const { file, into } = this;
    if (this.#deps.readOnly) return 'Read-only mode: nothing can be written. Start postern with read-write access to import.';
    if (into.busy) return 'Reading the table …';
    if (into.trouble) return into.trouble;
    if (!file.width) return 'The file is empty.';
    if (!into.db) return 'Choose a database.';
    if (into.isNew) return !into.tableName ? 'Give the new table a name.' : [...into.tableName].length > 64 ? 'A name has at most 64 characters.' : '';
    if (!targets.length) return 'Choose columns for the fields.';
    return this.preview.twice ? `Two fields go to ${this.preview.twice}.` : '';
  }

  #showButtons(may) {
    const button = (label, kind, action, run, disabled = false) => h('button', { type: 'button', class: `button ${kind}`, data: { action }, disabled, text: label, on: { click: run } });
    if (this.#import) return fill(this.buttons, button('Cancel', '', 'cancel', () => this.#import?.cancel()));
    const outcome = this.#outcome;
    const bad = outcome?.bad.length ? button(`Save the bad ${outcome.bad.length === 1 ? 'line' : 'lines'}`, '', 'save-bad', () => this.#saveBad()) : null;
    if (outcome?.how === 'done') return fill(this.buttons, bad, button('Show the rows', '', 'show', () => this.#show()), button('Close', 'primary', 'close', () => this.#close()));
    const without = outcome?.how === 'bad' && !outcome.kept && button('Import without them', '', 'without', () => { this.bad.value = 'leave'; this.#start(); });
    return fill(this.buttons, bad, without, button('Import', 'primary', 'import', () => this.#start(), !may));
  }

  async #start() {
    const { file, into, preview } = this;
    if (!file.file) return;
    const size = file.file.size;
    const chosen = preview.chosen;
    this.#import = new Import(this.#deps.api, {
      file: file.file, encoding: file.encoding.value, dialect: file.dialect, header: file.hasHeader, width: file.width, db: into.db, table: into.tableName,
      create: into.isNew ? into.create.value.trim().replace(/;\s*$/, '') : '', exists: () => into.exists(), intoOf: () => into.look(chosen, file.width), reading: file.reading,
      duplicates: /** @type {import('./tuples.js').Duplicates} */ (this.duplicates.value), zone: this.zoneField.hidden ? '' : this.zone.value, leaveOut: this.bad.value === 'leave',
    }, (progress) => this.report.progress(progress, size));
    this.#busy(true);
    const outcome = await this.#import.run();
    this.#import = null;
    this.#ended(outcome);
  }

  #busy(on) {
    this.form.disabled = on;
    if (on) this.report.clear();
    const change = on ? addEventListener : removeEventListener;
    change('beforeunload', this.#leaves);
    change('pagehide', this.#gone);
    this.#showButtons(true);
  }

  /** @param {import('./importing.js').Outcome} outcome */
  #ended(outcome) {
    this.#outcome = outcome;
    this.wrote ||= outcome.kept && outcome.written > 0;
    this.report.ended(outcome, this.#target);
    this.#busy(false);
    // Disabled so that the button cannot write the rows again.
    this.form.disabled = outcome.how === 'done';
    if (outcome.created) this.#deps.changed();
    this.#deps.announce(outcome.how === 'done' ? `${counted(outcome.written, 'row')} imported` : outcome.message || 'The import ended', outcome.how === 'done' ? 'good' : 'bad');
    const next = /** @type {HTMLElement|null} */ (this.buttons.querySelector('.primary:not(:disabled)'));
    next?.focus();
    this.report.element.scrollIntoView({ block: 'start' });
  }

  #saveBad() {
    const { file } = this;
    const { dialect } = file;
    const names = file.hasHeader ? [lineOf({ fields: file.names }, dialect)] : [];
    const lines = (this.#outcome?.bad ?? []).map(({ record }) => lineOf(record, dialect));
    const name = (file.file?.name ?? 'import.csv').replace(/(\.[^.]*)?$/, (ending) => `.bad${ending || '.csv'}`);
    saveBlob(new Blob([...names, ...lines], { type: 'text/csv' }), name);
  }

  #show() {
    const { db, tableName } = this.into;
    this.#close();
    this.#deps.showData(db, tableName);
  }

  /** Asks before a running import is left. */
  async mayLeave() {
    if (!this.#import) return true;
    const text = this.into.transactional ? 'Closing cancels the import; nothing is written.' : 'Closing cancels the import; written rows stay.';
    return confirmDialog({ title: 'Import running', text, action: 'Cancel the import' });
  }

  closed() {
    this.#import?.cancel();
  }
}

/** This computer's offset from UTC, as a server takes it. */
function localOffset() {
  const minutes = -new Date().getTimezoneOffset();
  const two = (number) => String(number).padStart(2, '0');
  const size = Math.abs(minutes);
  return `${minutes < 0 ? '-' : '+'}${two(Math.floor(size / 60))}:${two(size % 60)}`;
}
