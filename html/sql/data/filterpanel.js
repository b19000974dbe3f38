/**
 * The panel that filters one column.
 * @module
 */

import { fill, h, query } from '../../common/dom.js';
import { openPanel, placePopup } from '../../common/popup.js';
import { isListed } from './browse.js';
import { LISTS, WITHIN, filterSql, filterText, isOn, listOf, listText, operatorFor, operatorsOf, rangeOf, takesValue } from './filters.js';
import { ValueList } from './valuelist.js';
import { choicesOf } from './values.js';

/** @typedef {import('./filters.js').Filter} Filter */

/**
 * @typedef {object} Of what is filtered
 * @property {{name: string, type: string}} column
 * @property {Filter[]} filters of the column
 * @property {Filter} [current] the one to change first
 * @property {boolean} isSmall true if counting values takes no time
 * @property {(besides: Filter|undefined, search: string, signal: AbortSignal) => Promise<import('./source.js').Counted>} count values of the rows that the other filters leave
 * @property {(from: Filter|undefined, to: Filter|null) => void} apply puts one filter in the place of another; null removes it
 */

const NAMES = { NULL: 'is NULL', 'NOT NULL': 'is not NULL' };

/** Hints for the value of an operator. */
const HINTS = { LIKE: '% and _ are wildcards', IN: "a, 'b, c', NULL", 'NOT IN': "a, 'b, c', NULL", except: "a, 'b, c', NULL", between: 'from' };

/** True if the values were listed when a panel was open last. */
let listsValues = false;

/**
 * Opens the panel under the button of a column.
 * @param {HTMLElement} button
 * @param {Of} of
 * @param {HTMLElement} [back] gets the focus back
 */
export function openFilter(button, of, back = button) {
  const host = h('div', { class: 'filter-panel' });
  const panel = new Panel(host, of);
  openPanel(button, `Filter ${of.column.name}`, (close) => panel.begin(close), back);
  host.parentElement?.addEventListener('close', () => panel.list?.close());
}

class Panel {
  #of;
  #host;
  #close = () => {};
  /** The values, if they can be listed. @type {ValueList|null} */
  list = null;

  /** @param {HTMLElement} host @param {Of} of */
  constructor(host, of) {
    this.#host = host;
    this.#of = of;
  }

  /** @param {() => void} close */
  begin(close) {
    this.#close = close;
    this.#show(this.#of.current ?? this.#of.filters[0]);
    return [this.#host];
  }

  /** @param {Filter|undefined} filter undefined for a new one */
  #show(filter) {
    const { column, filters } = this.#of;
    this.list?.close();
    const pick = (one) => h('button', { type: 'button', class: 'button small', 'aria-pressed': String(one === filter), text: one ? filterText(one) : 'Add condition', on: {
      click: () => { this.#show(one); query(this.#host, '[data-first]')?.focus(); placePopup(); } } });
    fill(this.#host,
      h('p', { class: 'filter-name' }, h('b', { text: column.name }), h('span', { class: 'dim', text: ` ${shortType(column.type)}` })),
      filters.length > 0 && h('div', { class: 'filter-conditions', role: 'group', 'aria-label': 'Conditions' }, filters.map(pick), pick(undefined)),
      this.#form(filter));
  }

  /** @param {Filter|undefined} filter */
  #form(filter) {
    const { column: { name, type }, count, apply: change } = this.#of;
    const field = (label) => h('input', { class: 'field', 'aria-label': label, autocomplete: 'off', spellcheck: 'false' });
    const operators = operatorsOf(type);
    const op = h('select', { class: 'field', 'aria-label': 'Comparison' }, operators.map((value) => h('option', { value, text: NAMES[value] ?? value })));
    op.value = filter?.op ?? operators[0];
    const value = field('Value');
    const to = field('Value to');
    to.placeholder = 'to';
    /** The value whole: a field has one line. */
    let whole = '';
    const put = (given) => { whole = given; value.value = given; };
    put(filter?.value ?? '');
    const range = filter?.op === 'between' ? valuesOf(filter.value, rangeOf) : null;
    if (range?.length === 2) {
      put(range[0] ?? 'NULL');
      to.value = range[1] ?? 'NULL';
    }
    const sql = h('code', { class: 'filter-sql' });
    const error = h('p', { class: 'bad', role: 'alert', hidden: true });
    let isTicked = false;

    const isRange = () => op.value === 'between';
    const text = () => (isRange() && to.value !== '' ? listText([whole, to.value]) : whole);
    const chosen = () => /** @type {Filter} */ ({ column: name, op: op.value, value: takesValue(/** @type {any} */ (op.value)) ? text() : '' });
    const done = (next) => { this.#close(); change(filter, next); };
    const fail = (problem) => { error.textContent = problem; error.hidden = problem === ''; };
    const apply = () => {
      if (whole === '' && ((isTicked && LISTS.has(op.value)) || WITHIN.includes(/** @type {any} */ (op.value)))) return done(null);
      const { problem } = conditionOf(chosen(), type);
      fail(problem);
      return problem ? undefined : done(chosen());
    };
    /** Values that are ticked; null if the list that was typed is wrong. */
    const ticked = () => {
      if (LISTS.has(op.value)) return valuesOf(whole, listOf);
      if (op.value === 'NULL') return [null];
      return op.value === '=' && (whole !== '' || filter?.op === '=') ? [whole] : [];
    };
    const adapt = () => {
      value.placeholder = HINTS[op.value] ?? '';
      value.hidden = !takesValue(/** @type {any} */ (op.value));
      to.hidden = !isRange();
      fail('');
      sql.textContent = conditionOf(chosen(), type).sql;
      if (this.list) this.list.ticked = ticked() ?? [];
    };
    const tick = (values, on) => {
      const now = ticked();
      if (!now) {
        adapt();
        return fail(conditionOf(chosen(), type).problem);
      }
      const changed = new Set(values);
      if (!LISTS.has(op.value)) op.value = 'IN';
      put(listText([...now.filter((one) => !changed.has(one)), ...(on ? values : [])]));
      isTicked = true;
      isChosen = true;
      return adapt();
    };

    // A pattern that is typed is one, unless how it is compared was chosen.
    let isChosen = filter !== undefined && filter.op !== operatorFor(type, filter.value);
    op.addEventListener('input', () => { isChosen = true; });
    value.addEventListener('input', () => {
      whole = value.value;
      if (!isChosen) op.value = operatorFor(type, whole);
    });
    for (const one of [op, value, to]) {
      one.addEventListener('input', () => { isTicked = false; adapt(); });
      one.addEventListener('keydown', (/** @type {any} */ event) => {
        if (event.key !== 'Enter' || event.isComposing) return;
        event.preventDefault();
        apply();
      });
    }
    this.list = isListed(type) ? new ValueList({
      choices: /^enum\b/i.test(type) ? choicesOf(type) : [], tick, apply, load: (search, signal) => count(filter, search, signal),
    }) : null;
    adapt();
    (value.hidden ? op : value).dataset.first = '';
    return [
      h('div', { class: 'filter-fields' }, op, value, to), this.list ? this.#values(this.list) : h('p', { class: 'dim', text: 'Values of this type are not listed.' }), sql, error,
      h('div', { class: 'panel-buttons' },
        h('button', { type: 'button', class: 'button primary', text: 'Filter', on: { click: apply } }),
        filter && h('button', { type: 'button', class: 'button', text: 'Clear', on: { click: () => done(null) } }),
        filter && h('button', { type: 'button', class: 'button', text: isOn(filter) ? 'Switch off' : 'Switch on', on: { click: () => done({ ...filter, off: isOn(filter) }) } })),
    ];
  }

  /** The list, which asks the server when it is opened. @param {ValueList} list */
  #values(list) {
    const details = h('details', { class: 'filter-values', on: { toggle: () => {
      if (details.open) list.open();
      else list.close();
      placePopup();
    } } }, h('summary', { text: 'Values and their rows', on: { click: () => { listsValues = !details.open; } } }), list.element);
    details.open = listsValues || this.#of.isSmall;
    return details;
  }
}

/** @param {string} text @param {(text: string) => (string|null)[]} read */
function valuesOf(text, read) {
  try {
    return read(text);
  } catch {
    return null;
  }
}

function conditionOf(filter, type) {
  try {
    return { sql: filterSql(filter, type), problem: '' };
  } catch (cause) {
    return { sql: '', problem: cause.message };
  }
}

const shortType = (type) => (type.length > 60 ? `${type.slice(0, 60)} …` : type);
