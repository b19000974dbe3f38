/**
 * Copying from a grid: what, in which format, with or without names.
 * @module
 */

import { h, isMac } from '../../common/dom.js';
import { openMenu } from '../../common/menu.js';
import { openPanel } from '../../common/popup.js';
import { FORMATS, sourceTable, writeTable } from '../core/format.js';
import { detailsOf } from '../core/origin.js';
import { copyPieces } from './download.js';
import { csvSigns, readPreference, writePreference } from './preferences.js';

/** Cells up to which Ctrl+C is answered within its own event, which needs no permission of the browser. */
const AT_ONCE = 2000;

/** Formats that can do without the column names. */
const OPTIONAL_HEADER = new Set(['tsv', 'csv']);

/** Copies from one grid. */
export class Copying {
  #grid;
  #notify;
  #schemaOf;

  /** @param {import('./grid.js').Grid} grid @param {Notify} notify @param {import('../core/origin.js').SchemaOf} [schemaOf] */
  constructor(grid, notify, schemaOf) {
    this.#grid = grid;
    this.#notify = notify;
    this.#schemaOf = schemaOf;
  }

  /** Ctrl+C: the selection as tab-separated text. @param {ClipboardEvent} event */
  onCopy(event) {
    const { model } = this.#grid;
    const area = model.selection;
    if (area.empty) return;
    event.preventDefault();
    if (!model.holds(area)) return this.#tellNotHeld();
    if (cells(area) > AT_ONCE) this.copy('tsv', area, false);
    else event.clipboardData?.setData('text/plain', [...FORMATS.tsv.write({ ...model.tableOf(area), decimal: decimal() })].join(''));
    if (cells(area) <= AT_ONCE) this.#notify(`Copied ${describe(area)}`, 'good');
  }

  #tellNotHeld() {
    this.#notify('Not copied: too many rows are selected. Use Export', 'bad');
  }

  /** Copies an area and announces it. */
  async copy(format, area, header) {
    const { model } = this.#grid;
    if (!model.holds(area)) return this.#tellNotHeld();
    const table = { ...model.tableOf(area), ...csvSigns(), decimal: decimal(), header, name: sourceTable(model.result.sql) ?? undefined };
    const written = async () => {
      // Only these ask what the columns are.
      const details = /json|insert|update/.test(format) ? await detailsOf(model.result, this.#schemaOf) : {};
      return writeTable(format, { ...table, ...details });
    };
    try {
      const length = await copyPieces(written());
      // NULL is equal to nothing: a list for IN has no such rows.
      const without = format === 'list' ? [...model.tableOf(area).rows].filter((row) => row.includes(null)).length : 0;
      const left = without > 0 ? `. ${without === 1 ? '1 row with NULL was' : `${without.toLocaleString('en')} rows with NULL were`} skipped` : '';
      this.#notify(`Copied ${describe(area, without)} as ${FORMATS[format].label}, ${length.toLocaleString('en')} characters${left}`, 'good');
    } catch (cause) {
      this.#notify(`Not copied: ${cause.message}${format === 'update' ? '' : '. Select fewer rows, or use Export'}`, 'bad');
    }
  }

  /** The areas that can be copied, by name. */
  get #areas() {
    const { model } = this.#grid;
    const { active, selection, everything } = model;
    const areas = [];
    if (!selection.empty && active.row >= 0) {
      const rows = { ...selection, columns: model.slots };
      areas.push({ name: cells(selection) === 1 ? 'Cell' : 'Selection', area: selection });
      areas.push({ name: selection.top === selection.bottom ? 'Row' : 'Rows', area: rows });
    }
    return [...areas, { name: model.goesOn ? 'Loaded rows' : 'All', area: everything }];
  }

  /** The panel of the Copy button. @param {HTMLElement} button */
  openPanel(button) {
    openPanel(button, 'Copy', (close) => this.#panel(close));
  }

  #panel(close) {
    const areas = this.#areas;
    const { delimiter } = csvSigns();
    const single = areas.length === 3 && cells(areas[0].area) === 1;
    let chosen = areas.length === 1 || single ? areas[areas.length - 1] : areas[0];
    const header = h('input', { type: 'checkbox', on: { change: () => writePreference('copyHeader', header.checked) } });
    header.checked = readPreference('copyHeader', true);
    const comma = h('input', { type: 'checkbox', on: { change: () => writePreference('copyComma', comma.checked) } });
    comma.checked = decimal() === ',';
    const radios = areas.map((choice) => {
      const radio = h('input', { type: 'radio', name: 'copy-area', on: { change: () => (chosen = choice) } });
      radio.checked = choice === chosen;
      return h('label', { class: 'check' }, radio, h('span', { text: choice.name }), h('span', { class: 'dim', text: describe(choice.area) }));
    });
    const formats = Object.entries(FORMATS).map(([format, { label }]) => h('button', {
      type: 'button', class: 'button', text: label, data: format === 'tsv' ? { format, first: '' } : { format },
      on: { click: () => { close(); this.copy(format, chosen.area, header.checked || !OPTIONAL_HEADER.has(format)); } },
    }));
    return [
      h('fieldset', {}, h('legend', { text: 'Copy' }), radios),
      h('label', { class: 'check' }, header, h('span', { text: 'With column names (TSV, CSV)' })),
      h('label', { class: 'check' }, comma, h('span', { text: 'Decimal comma (TSV, CSV)' })),
      ...(delimiter === ',' ? [] : [h('p', { class: 'dim', text: `CSV: delimiter ${delimiter}${decimal() === ',' ? ' and decimal comma' : ''}, as chosen in Export` })]),
      h('div', { class: 'panel-buttons' }, formats),
    ];
  }

  /**
   * The menu of a cell.
   * @param {HTMLElement} cell @param {() => void} onView
   * @param {import('../../common/menu.js').MenuItem[]} [more] further entries; where the first edits the cell, it has the Enter key
   */
  openMenu(cell, onView, more = []) {
    const entry = ({ name, area }, format, key) => ({
      label: `Copy ${name.toLowerCase()} as ${FORMATS[format].label}`, icon: 'copy', key, run: () => this.copy(format, area, false),
    });
    const [selected, rows] = this.#areas;
    if (!rows) return;
    const edits = more[0]?.key === 'Enter';
    openMenu(cell, [
      ...more.slice(0, edits ? 1 : 0),
      { label: 'View value', icon: 'expand', key: edits ? 'Shift+Enter' : 'Enter', run: onView },
      ...more.slice(edits ? 1 : 0),
      null,
      entry(selected, 'tsv', isMac ? '⌘C' : 'Ctrl+C'),
      ...['tsv', 'csv', 'json', 'insert', 'markdown'].map((format) => entry(rows, format)),
    ]);
  }
}

/** Decimal sign of copies: that of exports, unless another one was chosen. @returns {'.'|','} */
const decimal = () => (readPreference('copyComma', csvSigns().decimal === ',') ? ',' : '.');

const cells = ({ top, bottom, columns }) => Math.max(0, bottom - top + 1) * columns.length;

function describe({ top, bottom, columns: { length: columns }, empty }, without = 0) {
  const rows = empty ? 0 : bottom - top + 1 - without;
  if (rows === 1 && columns === 1) return '1 cell';
  return `${rows.toLocaleString('en')} ${rows === 1 ? 'row' : 'rows'} × ${columns} ${columns === 1 ? 'column' : 'columns'}`;
}
