/**
 * Marks of changed cells and rows: a colour, a sign, and words for screen readers.
 * @module
 */

import { h } from '../../common/dom.js';
import { standsFor } from './changes.js';

/** State of a row, with the sign beside its number. */
const SIGNS = { insert: '+', update: '✎', delete: '×', saved: '✓', failed: '!' };
const WORDS = { insert: 'new', update: 'changed', delete: 'to be deleted', saved: 'saved', failed: 'refused' };

/**
 * @typedef {keyof typeof SIGNS} RowState
 * @typedef {{state: 'changed'|'new'|'deleted', before: string, problem: string, value: any}} CellMark `before`: what was read, in words
 */

/** @param {HTMLElement} cell @param {CellMark|null} mark */
export function drawCell(cell, mark) {
  if (!mark) {
    if (cell.dataset.edit) clear(cell);
    return;
  }
  const { state, before, problem, value } = mark;
  cell.dataset.edit = problem ? 'bad' : state;
  if (standsFor(value)) cell.dataset.look = 'null';
  const was = state === 'changed' ? `, changed, was ${before}` : `, ${state}`;
  cell.setAttribute('aria-label', `${cell.textContent}${was}${problem ? `; ${problem}` : ''}`);
  cell.title = problem || (state === 'changed' ? `was ${before}` : '');
}

function clear(cell) {
  delete cell.dataset.edit;
  cell.removeAttribute('aria-label');
  cell.removeAttribute('title');
}

/**
 * @param {HTMLElement} row
 * @param {HTMLElement} number
 * @param {{state: RowState|null, text: string, error: string}} of `text`: its number
 */
export function drawRow(row, number, { state, text, error }) {
  number.textContent = text;
  if (!state) {
    if (!row.dataset.edit) return;
    delete row.dataset.edit;
    delete number.dataset.sign;
    number.removeAttribute('aria-label');
    number.removeAttribute('title');
    return;
  }
  row.dataset.edit = state;
  number.dataset.sign = SIGNS[state];
  number.setAttribute('aria-label', [text && `Row ${text}`, WORDS[state], error].filter(Boolean).join(', '));
  number.title = error || WORDS[state];
  if (!text) number.append(h('span', { class: 'visually-hidden', text: WORDS[state] }));
}
