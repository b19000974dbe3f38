/**
 * The panel that filters one column.
 * @module
 */

import { h } from '../../common/dom.js';
import { openPanel } from '../../common/popup.js';
import { filterSql, operatorFor, operatorsOf, takesValue } from './filters.js';
import { choicesOf } from './values.js';

const NAMES = { NULL: 'is NULL', 'NOT NULL': 'is not NULL' };

/** Hints for the value of an operator. */
const HINTS = { LIKE: '% and _ are wildcards', IN: "a, 'b, c', NULL", 'NOT IN': "a, 'b, c', NULL", between: 'from, to' };
/** Operators that take several values. */
const LISTS = new Set(['IN', 'NOT IN', 'between']);

/**
 * Opens the panel under the button of a column.
 * @param {HTMLElement} button
 * @param {{name: string, type: string}} column
 * @param {import('./filters.js').Filter|undefined} filter the one there is
 * @param {(filter: import('./filters.js').Filter|null) => void} apply gets null where there is to be none
 * @param {HTMLElement} [back] gets the focus back
 */
export function openFilter(button, column, filter, apply, back = button) {
  openPanel(button, `Filter ${column.name}`, (close) => panel(column, filter, (chosen) => { close(); apply(chosen); }), back);
}

function panel(column, filter, done) {
  const operators = operatorsOf(column.type);
  const op = h('select', { class: 'field', 'aria-label': 'Comparison' }, operators.map((value) => h('option', { value, text: NAMES[value] ?? value })));
  op.value = filter?.op ?? operators[0];
  const value = h('input', { class: 'field', 'aria-label': 'Value', autocomplete: 'off', spellcheck: 'false', data: { first: '' } });
  value.value = filter?.value ?? '';
  const choices = choicesOf(column.type).map((text) => h('option', { value: text, text: text === '' ? '‹empty›' : text }));
  const pick = h('select', { class: 'field filter-values', 'aria-label': 'One of its values' }, h('option', { value: '\n', text: 'Values …' }), choices);
  const picked = () => {
    if (pick.value === '\n') return;
    value.value = LISTS.has(op.value) ? [value.value.trim(), `'${pick.value.replaceAll("'", "''")}'`].filter(Boolean).join(', ') : op.value === 'LIKE' ? `%${pick.value}%` : pick.value;
    pick.value = '\n';
    adapt();
  };
  pick.addEventListener('change', picked);
  const sql = h('code', { class: 'filter-sql' });
  const error = h('p', { class: 'bad', role: 'alert', hidden: true });
  const chosen = () => /** @type {import('./filters.js').Filter} */ ({ column: column.name, op: op.value, value: value.value });
  const adapt = () => {
    value.placeholder = HINTS[op.value] ?? '';
    value.hidden = !takesValue(/** @type {any} */ (op.value));
    pick.hidden = value.hidden || !choices.length;
    error.hidden = true;
    sql.textContent = conditionOf(chosen(), column.type).sql;
  };
  const apply = () => {
    const { problem } = conditionOf(chosen(), column.type);
    error.textContent = problem;
    error.hidden = problem === '';
    if (!problem) done(chosen());
  };
  // A pattern that is typed is one, unless how it is compared was chosen.
  let isChosen = filter !== undefined && filter.op !== operatorFor(column.type, filter.value);
  op.addEventListener('input', () => { isChosen = true; });
  value.addEventListener('input', () => { if (!isChosen) op.value = operatorFor(column.type, value.value); });
  for (const field of [op, value]) field.addEventListener('input', adapt);
  const onKey = (event) => {
    if (event.key !== 'Enter' || event.isComposing) return;
    event.preventDefault();
    apply();
  };
  for (const field of [op, value]) field.addEventListener('keydown', onKey);
  adapt();
  return [
    h('p', { class: 'filter-name' }, h('b', { text: column.name }), h('span', { class: 'dim', text: ` ${shortType(column.type)}` })),
    h('div', { class: 'filter-fields' }, op, value, pick), sql, error,
    h('div', { class: 'panel-buttons' },
      h('button', { type: 'button', class: 'button primary', text: 'Filter', on: { click: apply } }),
      filter && h('button', { type: 'button', class: 'button', text: 'Clear', on: { click: () => done(null) } })),
  ];
}

function conditionOf(filter, type) {
  try {
    return { sql: filterSql(filter, type), problem: '' };
  } catch (cause) {
    return { sql: '', problem: cause.message };
  }
}

const shortType = (type) => (type.length > 60 ? `${type.slice(0, 60)} …` : type);
