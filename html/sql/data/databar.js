/**
 * The bar above the rows of a table and the line below them: the way back, conditions, count, the statement.
 * @module
 */

import { copyText, fill, focusedIn, h, icon, iconButton, marked, query } from '../../common/dom.js';
import { highlighted } from '../objects/parts.js';
import { filterText, isOn } from './filters.js';
import { isTimestamp, quoteName } from './values.js';
import { completeIn } from './whereeditor.js';

/** @typedef {import('./filters.js').Filter} Filter */
/**
 * @typedef {{back: (steps: number) => void, apply: (free: string) => void, drop: (filter: Filter) => void,
 *   turn: (filter: Filter) => void, edit: (filter: Filter, button: HTMLElement) => void, toRows: () => void,
 *   clear: () => void, refresh: () => void, count: () => void, fill: () => void, toEnd: () => void}} Actions
 */

let serial = 0;

/** The two lines. */
export class DataBar {
  #on;
  #zone;
  #total = '';
  #whole = '';
  /** @type {{db: string, table: string}} */ #place = { db: '', table: '' };
  /** @type {import('./source.js').TableRows|null} */ #rows = null;

  /**
   * @param {Actions} on
   * @param {import('./whereeditor.js').Source} source of what completes the condition
   * @param {() => Promise<string>} zone the server's, as its sessions have it now
   */
  constructor(on, source, zone) {
    this.#on = on;
    this.#zone = zone;
    this.trail = h('nav', { class: 'data-trail', 'aria-label': 'Tables that led here' });
    this.field = h('input', {
      class: 'field data-where', id: `data-where-${(serial += 1)}`, 'aria-label': 'Condition of the rows (WHERE)', placeholder: "e.g. price > 5 AND name LIKE 'A%'",
      autocomplete: 'off', spellcheck: 'false',
    });
    const apply = h('button', { type: 'button', class: 'button small', text: 'Filter', title: 'Show only rows that match the condition (Enter)', on: { click: () => on.apply(this.field.value) } });
    this.chips = h('div', { class: 'data-chips', hidden: true });
    this.error = h('div', { class: 'data-error', role: 'alert', hidden: true });
    this.element = h('div', { class: 'data-bar' },
      h('div', { class: 'data-line' }, this.trail,
        this.condition = h('div', { class: 'data-condition' }, h('span', { class: 'dim', 'aria-hidden': 'true', text: 'WHERE' }), this.field, apply),
        this.filling = iconButton('upload', 'Import a CSV file into this table', on.fill),
        iconButton('refresh', 'Reload the rows', on.refresh)),
      this.error, this.chips);
    completeIn(this.field, this.condition, () => beforeCondition(this.#place), source);
    // Behind the list, which may take Enter.
    this.field.addEventListener('keydown', (event) => this.#onKey(event));
    this.figures = h('span', { class: 'data-figures' });
    this.counting = h('button', { type: 'button', class: 'link', text: 'Count all', on: { click: on.count } });
    this.ending = h('button', { type: 'button', class: 'link', text: 'Last row', title: 'Go to the last row (Ctrl+End)', on: { click: on.toEnd } });
    this.note = h('span', { class: 'data-note', hidden: true });
    this.code = h('code', { class: 'data-sql', tabindex: 0, role: 'group', 'aria-label': 'The statement' });
    this.copy = iconButton('copy', 'Copy the statement', () => copyText(this.#rows?.sql ?? ''));
    this.zone = h('span', { class: 'dim', title: 'SET time_zone in a query tab affects only that tab.', hidden: true });
    this.fixed = h('span', { class: 'data-fixed dim', hidden: true });
    this.foot = h('div', { class: 'data-foot' }, this.figures, this.counting, this.ending, this.zone, this.fixed, this.note, this.code, this.copy);
  }

  /** Says why the rows cannot be changed; the empty text where they can. @param {string} reason */
  set reason(reason) {
    this.fixed.textContent = reason;
    this.fixed.title = reason;
    this.fixed.hidden = reason === '';
  }

  set free(text) {
    this.field.value = text;
  }

  #onKey(event) {
    if (event.key !== 'Enter' || event.isComposing) return;
    event.preventDefault();
    this.#on.apply(this.field.value);
  }

  /**
   * @param {import('./source.js').Place} place
   * @param {import('./source.js').Place[]} trail
   * @param {import('./source.js').TableRows} rows
   * @param {string} whole rows without filters, the empty text if nobody has counted them
   */
  show(place, trail, rows, whole) {
    const isOther = rows !== this.#rows;
    this.#place = place;
    this.#rows = rows;
    this.#whole = whole;
    this.#figures();
    if (!isOther) return;
    this.error.hidden = true;
    this.#total = '';
    this.counting.textContent = 'Count all';
    this.#figures();
    this.#showTrail(place, trail);
    this.showChips(place);
    this.zone.hidden = !rows.source.columns.some(({ type }) => isTimestamp(type));
    if (!this.zone.hidden) this.#zone().then((zone) => { this.zone.textContent = `Server time zone: ${zone}`; });
    const { why } = rows.source.order;
    this.note.hidden = why === '';
    this.note.textContent = why && `Read by OFFSET, because ${why}: inserted or deleted rows shift the pages`;
    this.note.title = this.note.textContent;
    fill(this.code, highlighted(rows.sql.replaceAll('\n', ' ')));
    this.code.title = rows.sql;
  }

  #showTrail(place, trail) {
    const steps = trail.map((one, i) => h('button', {
      type: 'button', class: 'link', text: one.table, title: titleOf(one), on: { click: () => this.#on.back(trail.length - i) },
    }));
    fill(this.trail, trail.length > 0 && iconButton('back', 'Back (Alt+←)', () => this.#on.back(1)),
      steps.flatMap((step) => [step, h('span', { class: 'dim', 'aria-hidden': 'true', text: '›' })]),
      h('b', { class: 'data-table', title: titleOf(place), 'aria-current': 'page' }, h('span', { class: 'dim' }, marked(`${place.db}.`)), marked(place.table)));
  }

  /** A chip for each filter: switched off and on, changed, removed. @param {{filters: Filter[], free: string}} place */
  showChips({ filters, free }) {
    const focused = focusedIn(this.chips);
    const at = Math.min(Number(focused?.closest('.data-chip')?.getAttribute('data-at') ?? 0), filters.length - 1);
    const chips = filters.map((filter, i) => this.#chip(filter, i));
    this.chips.hidden = chips.length === 0;
    const all = chips.length + (free.trim() ? 1 : 0) > 1;
    fill(this.chips, icon('filter'), chips, all && h('button', { type: 'button', class: 'link', text: 'Remove all', on: { click: () => this.#on.clear() } }));
    if (focused && chips.length) query(chips[at], `[data-part="${focused.dataset.part ?? 'edit'}"]`)?.focus();
    else if (focused) this.#on.toRows();
  }

  /** @param {Filter} filter @param {number} at */
  #chip(filter, at) {
    const column = filter.column || 'Any column';
    const text = filterText(filter) + namesText(filter.names);
    const used = h('input', { type: 'checkbox', 'aria-label': `Use the filter ${column} ${text}`, title: 'Switch the filter off or on', data: { part: 'turn' }, on: { change: () => this.#on.turn(filter) } });
    used.checked = isOn(filter);
    const edit = h('button', { type: 'button', class: 'chip-text', title: `${column} ${text}${filter.names ? `\n${filter.names}` : ''}`, 'aria-haspopup': 'dialog', data: { part: 'edit' }, on: { click: () => this.#on.edit(filter, edit) } }, h('b', { text: column }), ` ${text}`);
    return h('span', { class: isOn(filter) ? 'data-chip' : 'data-chip off', data: { at } }, h('label', { class: 'chip-box' }, used), edit,
      iconButton('close', `Remove the filter of ${column}`, () => this.#on.drop(filter), { data: { part: 'drop' } }));
  }

  /** Rows that are in sight. */
  sight(first, last, rows) {
    this.inSight = [first, last];
    if (rows === this.#rows) this.#figures();
  }

  #figures() {
    const rows = this.#rows;
    if (!rows) return;
    const rowCount = rows.pager.rowCount + (rows.edits?.savedCount ?? 0);
    const known = rowCount.toLocaleString('en');
    const { ended } = rows.pager;
    const matched = ended ? rowCount : Number(this.#total || 0);
    // Rows that were added since may match.
    const isPart = rows.source.where !== '' && this.#whole !== '' && Number(this.#whole) >= matched;
    const of = isPart ? ` of ${Number(this.#whole).toLocaleString('en')}` : '';
    const seen = `${known}${ended ? '' : '+'}${of} ${(of ? this.#whole : known) === '1' && ended ? 'row' : 'rows'}`;
    this.figures.textContent = this.#total && !(ended && of) ? `${Number(this.#total).toLocaleString('en')}${of} rows in total, ${known} seen` : seen;
    this.counting.hidden = ended && (rows.source.where === '' || this.#whole !== '');
    this.ending.hidden = rows.pager.ended;
  }

  /** Shows the count; null while the server counts. @param {string|null} total @param {string} [whole] rows without filters */
  counted(total, whole = this.#whole) {
    this.counting.textContent = total === null ? 'Counting …' : 'Count again';
    if (total === null) return;
    this.#total = total;
    this.#whole = whole;
    this.#figures();
  }

  /** Clears the error. */
  settle() {
    this.error.hidden = true;
  }

  /** Says what went wrong beside the condition, which stays as it was typed. @param {string} message @param {() => void} [again] */
  fail(message, again) {
    this.counting.textContent = 'Count all';
    fill(this.error, icon('error'), h('span', { text: message }),
      again ? h('button', { type: 'button', class: 'button small', text: 'Try again', on: { click: () => { this.error.hidden = true; again(); } } })
        : iconButton('close', 'Dismiss', () => this.settle()));
    this.error.hidden = false;
  }
}

/** The statement up to its condition. @param {{db: string, table: string}} place */
const beforeCondition = ({ db, table }) => `SELECT * FROM ${quoteName(db)}.${quoteName(table)} WHERE `;

/** The first names of the keys in a filter. @param {string} [names] a line for each key */
function namesText(names = '') {
  const all = [...new Set(names.split('\n').map((line) => line.slice(line.indexOf(': ') + 1).trim()))];
  return names && ` (${all.slice(0, 2).join(', ')}${all.length > 2 ? ', …' : ''})`;
}

const titleOf = ({ db, table, filters }) => `${db}.${table}${filters.filter(isOn).map((filter) => `\n${filter.column || 'Any column'} ${filterText(filter)}`).join('')}`;

/** Text where there are no rows: whether there are none, or none that match. @param {import('./source.js').Place} place */
export function emptyText({ filters, free }) {
  const { length } = filters.filter(isOn);
  const by = [length > 0 && (length === 1 ? 'the filter' : 'the filters'), free.trim() && 'the condition'].filter(Boolean).join(' and ');
  return by ? `No rows match ${by} above.` : 'No rows.';
}
