/**
 * Export of a result to a file: all rows by way of the server, or those shown.
 *
 * All rows: the statement runs once more on the server, which streams them under a ticket. Where the browser can write
 * to a file that the person picks, the page pumps the stream there, counting, and holds one chunk at a time. Elsewhere
 * the browser downloads the ticket itself and shows its own progress.
 * @module
 */

import { fill, h, icon } from '../../common/dom.js';
import { openDialog } from '../../common/dialog.js';
import { formatBytes } from '../../common/figures.js';
import { FORMATS, quoteName, writeTable } from '../core/format.js';
import { detailsOf, originOf } from '../core/origin.js';
import { readOnlyRefusal } from '../core/readonly.js';
import { isPlain, plainLayout } from './columns.js';
import { csvSigns, readPreference, writePreference } from './preferences.js';
import { fileName, followDownload, plainName, saveBlob } from './download.js';
import { pump } from './pump.js';

const SERVER_FORMATS = {
  csv: { label: 'CSV', extension: 'csv' },
  jsonl: { label: 'JSON Lines', extension: 'jsonl' },
  json: { label: 'JSON', extension: 'json' },
  insert: { label: 'SQL INSERT', extension: 'sql' },
};

const DELIMITERS = { ',': 'Comma ,', ';': 'Semicolon ;', tab: 'Tab' };
const DECIMALS = { '.': 'Point 1.5', ',': 'Comma 1,5' };

/**
 * Opens the dialog.
 * @param {import('./gridmodel.js').GridModel} model
 * @param {{session?: string}} run that gave the result
 * @param {{api: ReturnType<typeof import('../api.js').createApi>, notify: Notify}} deps
 * @param {string} [title] what the result is called
 */
export function openExport(model, run, deps, title = '') {
  const form = new ExportForm(model, run, deps, title);
  return openDialog({ title: 'Export', body: form.element, onOpen: (dialog, close) => form.opened(dialog, close) })
    .then(() => form.closed());
}

class ExportForm {
  #model;
  #run;
  #deps;
  /** @type {AbortController|null} */
  #abort = null;
  #close = () => {};

  constructor(model, run, deps, title) {
    this.origin = originOf(model.result);
    this.title = title;
    this.#model = model;
    this.#run = run;
    this.#deps = deps;
    const { result, shownCount: rowCount } = this.#model;
    this.mayChange = readOnlyRefusal(result.sql) !== null;
    this.all = this.#radio('source', 'all', true);
    this.shown = this.#radio('source', 'shown', false);
    this.again = this.#check('again', false);
    this.format = h('select', { class: 'field', 'aria-label': 'Format', on: { change: () => this.#adapt() } });
    this.header = this.#check('exportHeader', true);
    this.bom = this.#check('exportBom', false);
    this.safe = this.#check('exportSafe', false);
    this.nullText = h('input', { class: 'field', size: 8, maxlength: 20, 'aria-label': 'Text for NULL', placeholder: 'nothing', on: { input: () => fill(this.progress) } });
    this.nullText.value = readPreference('exportNull', '');
    this.delimiter = this.#choice(DELIMITERS, () => this.#setSigns(this.delimiter.value, this.delimiter.value === ',' ? '.' : this.decimal.value));
    this.decimal = this.#choice(DECIMALS, () => this.#setSigns(this.decimal.value === ',' && this.delimiter.value === ',' ? ';' : this.delimiter.value, this.decimal.value));
    this.excel = h('button', { type: 'button', class: 'button', data: { action: 'excel' }, text: 'For Excel (; and comma)', title: 'Semicolon, decimal comma and byte order mark, for Excel in countries with a decimal comma', on: { click: () => this.#toggleExcel() } });
    this.table = h('input', { class: 'field', size: 24, maxlength: 64, 'aria-label': 'Table of the INSERTs', autocomplete: 'off', spellcheck: 'false' });
    this.table.value = this.origin?.table ?? 'table_name';
    this.insertOptions = h('div', {}, h('label', { class: 'export-line' }, h('span', { text: 'Into the table' }), this.table),
      h('p', { class: 'dim', text: 'Generated columns are skipped. The file sets its own character set and SQL mode, so values are restored exactly.' }));
    this.jsonOptions = h('p', { class: 'dim', text: 'Decimals and integers beyond 2⁵³ are strings, so that no digit is lost; JSON values are nested.' });
    const { layout, slots } = this.#model;
    this.columns = this.#check('exportColumns', false);
    this.columnsLine = this.#label(this.columns, slots.length === 1 ? 'Only the visible column' : `Only the ${slots.length} visible columns, in this order`);
    this.columnsLine.hidden = isPlain(layout);
    this.warning = h('div', { class: 'export-warning', hidden: !this.mayChange },
      icon('warn'),
      h('div', {}, h('p', { text: 'This may change data: exporting runs the statement again, with all its effects.' }),
        h('label', { class: 'check' }, this.again, h('span', { text: 'Run it again' }))));
    this.signs = h('div', { class: 'export-signs' }, h('label', { class: 'export-line' }, h('span', { text: 'Delimiter' }), this.delimiter),
      h('label', { class: 'export-line' }, h('span', { text: 'Decimals' }), this.decimal), this.excel);
    this.csvOptions = h('div', {}, this.signs, this.#label(this.header, 'Column names in the first line'),
      this.bomLine = this.#label(this.bom, 'Byte order mark, so that Excel reads UTF-8'),
      this.safeLine = this.#label(this.safe, 'Escape formulas: put \u2019 before text that begins with =, +, - or @'),
      h('label', { class: 'export-line' }, h('span', { text: 'NULL is written as' }), this.nullText));
    const floats = !result.source && result.types.some((type) => /^FLOAT\b/.test(type));
    const rounded = floats && h('p', { class: 'dim', text: 'FLOAT columns are written with 6 digits, as the server shows them. For all digits, export the table’s data, or select column * 1e0.' });
    this.progress = h('div', { class: 'export-progress' });
    this.buttons = h('div', { class: 'export-buttons' });
    this.element = h('div', { class: 'export' },
      h('fieldset', {}, h('legend', { text: 'Rows' }),
        this.#label(this.all, result.source?.where ? 'All rows that match' : 'All rows', 'runs the statement again without a limit and streams every row'),
        this.#model.holds(this.#model.everything) && this.#label(this.shown, rowCount === 1 ? 'The row shown' : `The ${rowCount.toLocaleString('en')} rows shown`, 'in this order')),
      this.columnsLine, this.warning,
      h('label', { class: 'export-line' }, h('span', { text: 'Format' }), this.format),
      this.csvOptions, this.insertOptions, this.jsonOptions, rounded, this.progress, this.buttons);
    const { delimiter, decimal } = csvSigns();
    this.#setSigns(delimiter, decimal);
  }

  #choice(options, onChange) {
    return h('select', { class: 'field', on: { change: onChange } }, Object.entries(options).map(([value, text]) => h('option', { value, text })));
  }

  /** Sets the signs of a CSV, which differ. */
  #setSigns(delimiter, decimal) {
    this.delimiter.value = delimiter;
    this.decimal.value = decimal;
    writePreference('exportDelimiter', delimiter);
    writePreference('exportDecimal', decimal);
    this.#adapt();
  }

  get #isForExcel() {
    return this.delimiter.value === ';' && this.decimal.value === ',' && this.bom.checked;
  }

  #toggleExcel() {
    const on = !this.#isForExcel;
    this.bom.checked = on;
    writePreference('exportBom', on);
    this.#setSigns(on ? ';' : ',', on ? ',' : '.');
  }

  /** True if the text for NULL can be in a CSV; shows why not. */
  #nullFits() {
    const sign = this.delimiter.value === 'tab' ? '\t' : this.delimiter.value;
    const fits = this.format.value !== 'csv' || ![sign, '"'].some((part) => this.nullText.value.includes(part));
    if (!fits) {
      fill(this.progress, icon('error'), 'The text for NULL must not contain the delimiter or a quote.');
      this.nullText.focus();
    }
    return fits;
  }

  #radio(name, value, checked) {
    const radio = h('input', { type: 'radio', name, value, on: { change: () => this.#adapt() } });
    radio.checked = checked;
    return radio;
  }

  #check(name, fallback) {
    const box = h('input', { type: 'checkbox', name, on: { change: () => { if (name !== 'again') writePreference(name, box.checked); this.#adapt(); } } });
    box.checked = name === 'again' ? fallback : readPreference(name, fallback);
    return box;
  }

  #label(input, text, more = '') {
    return h('label', { class: 'check' }, input, h('span', {}, text, more && h('span', { class: 'dim', text: ` – ${more}` })));
  }

  /** Shows the options that apply to the choices made. */
  #adapt() {
    const formats = this.all.checked ? SERVER_FORMATS : FORMATS;
    if (this.formats !== formats) {
      this.formats = formats;
      fill(this.format, Object.entries(formats).filter(([, { extension }]) => extension).map(([value, { label }]) => h('option', { value, text: label })));
      this.format.value = 'csv';
    }
    const csv = this.format.value === 'csv';
    this.csvOptions.hidden = !csv && this.format.value !== 'tsv';
    this.insertOptions.hidden = this.format.value !== 'insert';
    this.jsonOptions.hidden = !this.format.value.startsWith('json');
    this.bomLine.hidden = !csv;
    this.signs.hidden = !csv;
    this.excel.setAttribute('aria-pressed', String(this.#isForExcel));
    this.safeLine.hidden = !csv || this.all.checked;
    // The server exports all columns of a statement as it was written.
    this.columnsLine.hidden = isPlain(this.#model.layout) || (this.all.checked && !this.#model.result.sqlOf);
    this.warning.hidden = !this.mayChange || !this.all.checked;
    this.#showButtons();
  }

  #showButtons() {
    const blocked = this.all.checked && this.mayChange && !this.again.checked;
    const button = (label, kind, action, run) =>
      h('button', { type: 'button', class: `button ${kind}`, disabled: blocked, data: { action }, text: label, on: { click: () => (this.#abort || this.#nullFits()) && run() } });
    if (this.#abort) fill(this.buttons, button('Cancel', '', 'cancel', () => this.#abort?.abort()));
    else if (!this.all.checked) fill(this.buttons, button('Save', 'primary', 'save-shown', () => this.#saveShown()));
    else if (!globalThis.showSaveFilePicker) fill(this.buttons, button('Download', 'primary', 'download', () => this.#download()));
    else {
      fill(this.buttons, button('Download in the browser', '', 'download', () => this.#download()),
        button('Save to a file…', 'primary', 'save-file', () => this.#saveFile()));
    }
  }

  opened(dialog, close) {
    this.#close = close;
    dialog.querySelector('input:checked')?.focus();
  }

  /** Closing the dialog aborts the export, except a download by the browser itself. */
  closed() {
    this.#abort?.abort();
  }

  /** Name of a file: after the table and its database, else after the statement. */
  get #called() {
    const { db, table } = this.origin ?? { db: this.#model.result.db || this.#run.db, table: this.title || 'result' };
    return plainName([db, table].filter(Boolean).join('.'));
  }

  get #extension() {
    return this.formats[this.format.value].extension;
  }

  /** The columns of the file, by their numbers. */
  get #chosen() {
    const { slots, result } = this.#model;
    return !this.columnsLine.hidden && this.columns.checked ? slots : plainLayout(result.columns.length).order;
  }

  async #request() {
    writePreference('exportNull', this.nullText.value);
    const { result } = this.#model;
    const format = this.format.value;
    const { leaveOut, nested } = await this.#details();
    return {
      sql: result.sqlOf?.(this.#chosen) ?? result.sql, db: result.db || this.#run.db, session: this.#run.session, time_zone: format === 'insert' ? result.insertZone : result.timeZone, format, name: this.#called,
      header: this.header.checked, bom: this.bom.checked, null: this.nullText.value,
      ...(format === 'csv' && { delimiter: this.delimiter.value, decimal: this.decimal.value }),
      ...(format === 'insert' && { table: this.table.value || undefined, leave_out: leaveOut }), ...(format.startsWith('json') && { nested }),
    };
  }

  /** Facts about the columns from the schema, if the format needs them. */
  async #details() {
    return this.format.value.startsWith('json') || this.format.value === 'insert' ? detailsOf(this.#model.result, this.#deps.api.schema) : { leaveOut: [], nested: [] };
  }

  async #download() {
    try {
      followDownload(await this.#deps.api.exportTicket(await this.#request()), `${this.#called}.${this.#extension}`);
      this.#deps.notify('The browser downloads the export and shows progress', 'good');
      this.#close();
    } catch (cause) {
      this.#failed(cause);
    }
  }

  async #saveFile() {
    let file;
    try {
      file = await globalThis.showSaveFilePicker({ suggestedName: `${this.#called}.${this.#extension}` });
    } catch (cause) {
      if (cause.name === 'AbortError') return undefined; // the user cancelled
      return this.#download(); // forbidden by a policy: download instead
    }
    const abort = new AbortController();
    this.#abort = abort;
    this.#showButtons();
    try {
      await this.#pump(await file.createWritable(), abort.signal);
    } catch (cause) {
      this.#failed(cause);
    } finally {
      this.#abort = null;
      this.#showButtons();
    }
    return undefined;
  }

  async #pump(writable, signal) {
    const open = async () => this.#deps.api.exportReader(await this.#request(), signal);
    const bytes = await pump(open, writable, (text) => { this.progress.textContent = text; });
    this.#deps.notify(`Exported ${formatBytes(bytes)}`, 'good');
    this.#close();
  }

  #failed(cause) {
    const text = cause.name === 'AbortError' ? 'Cancelled: the file was not changed.' : `The export failed: ${cause.message}. Nothing was saved; try again.`;
    fill(this.progress, icon('error'), text);
  }

  async #saveShown() {
    const format = /** @type {keyof typeof FORMATS} */ (this.format.value);
    const table = {
      ...this.#model.tableOf({ ...this.#model.everything, columns: this.#chosen }), ...csvSigns(), header: this.header.checked, nullText: this.nullText.value,
      safeFormulas: this.safe.checked, name: quoteName(this.table.value || 'table_name'), script: true, ...await this.#details(),
    };
    writePreference('exportNull', this.nullText.value);
    const pieces = await writeTable(format, table);
    if (format === 'csv' && this.bom.checked) pieces.unshift('\ufeff');
    saveBlob(new Blob(pieces, { type: FORMATS[format].mime }), fileName(this.#called, this.#extension));
    this.#close();
  }
}
