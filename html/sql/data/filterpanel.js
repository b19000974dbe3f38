/**
 * The panel that filters one column.
 * @module
 */

import { debounce, fill, h, query } from '../../common/dom.js';
import { openPanel, placePopup } from '../../common/popup.js';
import { readPreference, writePreference } from '../results/preferences.js';
import { isListed } from './browse.js';
import { LISTS, WITHIN, filterSql, filterText, isOn, listOf, listText, operatorsOf, rangeOf, takesValue, typedOf } from './filters.js';
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
 * @property {(op: string, value: string) => Promise<import('./keynames.js').Named[]|null>} [named] keys of the rows whose readable name holds a text, where no key matches
 * @property {(from: Filter|undefined, to: Filter|null) => void} apply puts one filter in the place of another; null removes it
 */

/** Operators whose text is looked for in the list of values. */
const NARROWING = new Set(['=', 'contains']);

/** Operators whose text may be the name of the row that a key refers to; of a list each value. */
const NAMING = new Set(['=', 'contains', 'starts with', 'ends with', 'LIKE', 'IN', 'NOT IN', 'except']);

/** Values of a list that are looked for as names, at most. */
const MOST_NAMED = 20;

/** Pause after a key until names are looked for, in ms. */
const PAUSE_MS = 300;

/** Names of keys in the title of a filter, at most. */
const MOST_NAMES = 20;

const NAMES = { NULL: 'is NULL', 'NOT NULL': 'is not NULL' };

/** Hints for the value of an operator. */
const HINTS = { LIKE: '% and _ are wildcards', IN: "a, 'b, c', NULL", 'NOT IN': "a, 'b, c', NULL", except: "a, 'b, c', NULL", between: 'from' };

/** Preference: 1 if a person opened the list of values last, -1 if they closed it. */
const LISTS_VALUES = 'filterValues';

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
    /** Operator and value as they were typed; null where the operator was chosen. @type {ReturnType<typeof typedOf>|null} */
    let typed = null;
    const put = (given) => { whole = given; typed = null; value.value = given; };
    put(filter?.value ?? '');
    const range = filter?.op === 'between' ? valuesOf(filter.value, rangeOf) : null;
    if (range?.length === 2) {
      put(range[0] ?? 'NULL');
      to.value = range[1] ?? 'NULL';
    }
    const sql = h('code', { class: 'filter-sql' });
    const error = h('p', { class: 'bad', role: 'alert', hidden: true });
    let isTicked = false;

    const isRange = () => op.value === 'between' && !typed;
    const single = () => typed?.value ?? whole;
    const text = () => (isRange() && to.value !== '' ? listText([whole, to.value]) : single());
    const chosen = () => /** @type {Filter} */ ({ column: name, op: op.value, value: takesValue(/** @type {any} */ (op.value)) ? text() : '' });
    const done = (next) => { this.#close(); change(filter, next); };
    const fail = (problem) => { error.textContent = problem; error.hidden = problem === ''; };
    const apply = async () => {
      if (whole === '' && ((isTicked && LISTS.has(op.value)) || WITHIN.includes(/** @type {any} */ (op.value)))) return done(null);
      const wanted = chosen();
      const { problem } = conditionOf(wanted, type);
      try {
        const named = isTicked ? null : await this.#named(wanted);
        if (!isStill(wanted)) return undefined;
        if (named) return done(named);
      } catch (cause) {
        return fail(cause.message);
      }
      fail(problem);
      return problem ? undefined : done(this.#withNames(wanted));
    };
    /** False if it was closed or changed meanwhile. */
    const isStill = (wanted) => error.isConnected && JSON.stringify(chosen()) === JSON.stringify(wanted);
    /** Shows the keys of a name as they will be compared. */
    const preview = debounce(async () => {
      const wanted = chosen();
      const named = isTicked ? null : await this.#named(wanted).catch(() => null);
      if (named && isStill(wanted)) sql.textContent = conditionOf(named, type).sql;
    }, PAUSE_MS);
    /** Values that are ticked; null if the list that was typed is wrong. */
    const ticked = () => {
      if (LISTS.has(op.value)) return valuesOf(whole, listOf);
      if (op.value === 'NULL') return [null];
      return op.value === '=' && (single() !== '' || filter?.op === '=') ? [single()] : [];
    };
    const adapt = () => {
      value.placeholder = HINTS[op.value] ?? '';
      value.hidden = !takesValue(/** @type {any} */ (op.value)) && !typed;
      to.hidden = !isRange();
      fail('');
      sql.textContent = conditionOf(chosen(), type).sql;
      preview();
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

    // Operators and patterns that are typed are such, unless how it is compared was chosen.
    let isChosen = filter !== undefined && filter.op !== typedOf(type, filter.value).op;
    op.addEventListener('input', () => {
      isChosen = true;
      if (typed) put(typed.value);
    });
    value.addEventListener('input', () => {
      whole = value.value;
      typed = isChosen ? null : typedOf(type, whole);
      if (typed) op.value = typed.op;
      this.list?.narrow(NARROWING.has(op.value) ? single() : '');
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
    } } }, h('summary', { text: 'Values and their rows', on: { click: () => writePreference(LISTS_VALUES, details.open ? -1 : 1) } }), list.element);
    const kept = readPreference(LISTS_VALUES, 0);
    details.open = kept === 0 ? this.#of.isSmall : kept > 0;
    return details;
  }

  /** The filter by the keys of the rows that have a name; null where its text is none. @param {Filter} wanted @returns {Promise<Filter|null>} */
  async #named(wanted) {
    const { column, op, value } = wanted;
    if (!NAMING.has(op) || value.trim() === '' || !this.#of.named) return null;
    const isList = LISTS.has(op);
    const items = isList ? valuesOf(value, listOf) ?? [] : [value];
    if (items.length > MOST_NAMED) return null;
    const found = await Promise.all(items.map((item) => (item === null ? null : this.#of.named?.(isList ? '=' : op, item))));
    const rows = found.flatMap((one) => one ?? []);
    if (!rows.length) return null;
    const keys = items.flatMap((item, i) => (found[i]?.length ? found[i].map((row) => row.value) : [item]));
    return { column, op: isList ? op : 'IN', value: listText([...new Set(keys)]), names: namesOf(rows) };
  }

  /** The filter with the readable names of its keys, as far as they were listed. @param {Filter} filter @returns {Filter} */
  #withNames(filter) {
    const { op, value } = filter;
    const keys = op === '=' ? [value] : LISTS.has(op) ? listOf(value) : [];
    const rows = keys.flatMap((key) => {
      const text = key !== null && this.list?.names.get(key);
      return text ? [{ value: key, text }] : [];
    });
    return rows.length ? { ...filter, names: namesOf(rows) } : filter;
  }
}

/** @param {{value: string, text: string}[]} rows */
const namesOf = (rows) => [...rows.slice(0, MOST_NAMES).map(({ value, text }) => `${value}: ${text}`), ...(rows.length > MOST_NAMES ? ['…'] : [])].join('\n');

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
