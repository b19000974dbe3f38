/**
 * The dialogs before and after changes are written: the statements, and rows that are others meanwhile.
 * @module
 */

import { copyText, h, iconButton } from '../../common/dom.js';
import { openDialog } from '../../common/dialog.js';
import { highlighted } from '../objects/parts.js';
import { momentsOf } from '../data/values.js';
import { UNCERTAIN, openText } from './words.js';

/** Statements that are drawn. */
const MOST = 300;

/** Characters of a value that are compared before the eyes. */
const SHOWN = 2000;

/**
 * Shows what would run; resolves with `'apply'`, with the number of a change that is to be taken back, or with nothing.
 * @param {{statements: string[], transaction: boolean, note?: string|null, uncompared?: boolean, follows?: string[], open?: string[], uncertain?: boolean, isElsewhere?: boolean}} review `uncompared`: large values
 *   are not compared; `follows`: what happens to rows of other tables; `open`: tabs with an open transaction; `uncertain`:
 *   it was sent before, and may have been applied; `isElsewhere`: another server answered when the changes were made
 * @param {string} table
 * @returns {Promise<'apply'|number|undefined>}
 */
export function showReview({ statements, transaction, note, uncompared, follows = [], open = [], uncertain, isElsewhere }, table) {
  const count = statements.length;
  const list = h('ol', { class: 'review-list', 'aria-label': 'Statements' });
  const copy = h('button', { type: 'button', class: 'button', text: 'Copy all', on: { click: () => copyText(statements.map((sql) => `${sql};\n`).join('')) } });
  return openDialog({
    title: `Review: ${count.toLocaleString('en')} ${count === 1 ? 'statement' : 'statements'} on ${table}`,
    wide: true,
    harmless: true,
    body: [
      h('p', { class: transaction ? 'review-how' : 'review-how warn', text: howText(transaction, count) }),
      uncertain && h('p', { class: 'review-how warn', text: UNCERTAIN }),
      isElsewhere && h('p', { class: 'review-how bad', role: 'alert', text: 'Another server answers at this address than when these changes were made. Apply them only if they are meant for this one.' }),
      note && h('p', { class: 'review-how', text: note }),
      uncompared && h('p', { class: 'review-how', text: 'Values of more than 4 million characters are not compared with the current ones.' }),
      follows.length > 0 && h('ul', { class: 'review-how warn review-follows', 'aria-label': 'Effects of foreign keys' }, follows.map((text) => h('li', { text }))),
      open.length > 0 && h('p', { class: 'review-how warn', text: `${openText(open)}. This runs outside them.` }),
      list,
      count > MOST && h('p', { class: 'dim', text: `… and ${(count - MOST).toLocaleString('en')} more; Copy all has them.` }),
    ],
    onOpen: (dialog, close) => {
      list.append(...statements.slice(0, MOST).map((sql, i) => h('li', {}, h('code', {}, highlighted(sql)),
        iconButton('undo', `Undo change ${i + 1}`, () => close(i)))));
      const apply = h('button', { type: 'button', class: 'button primary', text: 'Apply', on: { click: () => close('apply') } });
      dialog.append(h('div', { class: 'dialog-foot' }, copy, h('span', { class: 'value-gap' }),
        h('button', { type: 'button', class: 'button', text: 'Cancel', on: { click: () => close() } }), apply));
      apply.focus();
    },
  });
}

function howText(transaction, count) {
  if (!transaction) return 'The engine of this table cannot roll back: the statements run one by one until one fails, and earlier changes stay.';
  return count === 1 ? 'Runs in a transaction, if the row is still as you saw it.' : 'All run in one transaction, or none, if the rows are still as you saw them.';
}

/**
 * Shows a row that is another one now. Resolves with what is to become of the change.
 * @param {{change: import('./changes.js').Change, columns: string[], now: any[]|null, name: string}} of `name`: which row, in words
 * @returns {Promise<'theirs'|'mine'|undefined>}
 */
export function showConflict({ change, columns, now, name }) {
  const { op, base, set } = change;
  const was = (i) => base?.[i] ?? null;
  const told = columns.flatMap((column, i) => {
    const isMoved = now !== null && base !== null && String(momentsOf.get(now)?.[column]) !== String(momentsOf.get(base)?.[column]);
    const changed = now !== null && (isMoved || now[i] === undefined || String(now[i]) !== String(was(i)));
    if (!changed && !set.has(column)) return [];
    const mine = op === 'delete' ? 'deleted' : set.has(column) ? textOf(set.get(column)) : now === null ? textOf(was(i)) : 'not changed by you';
    return [h('tr', { class: changed ? 'changed' : null }, h('th', { scope: 'row', text: column }), h('td', { text: timeText(base, column, textOf(was(i)), isMoved) }), h('td', { class: op === 'update' && now !== null && !set.has(column) ? 'dim' : null, text: mine }),
      h('td', { text: now === null ? '–' : now[i] === undefined ? '(too large to show)' : timeText(now, column, textOf(now[i]), isMoved) }, changed && now[i] !== undefined && h('b', { class: 'warn', text: ' changed' })))];
  });
  const head = h('tr', {}, ['Column', 'As you saw it', 'Yours', 'Now'].map((text) => h('th', { scope: 'col', text })));
  const gone = now === null;
  const keep = gone ? { label: 'Add mine as a new row', value: 'mine' } : { label: op === 'delete' ? 'Delete it anyway' : 'Keep mine', value: 'mine' };
  return openDialog({
    title: gone ? 'The row was deleted meanwhile' : 'The row was changed meanwhile',
    wide: true,
    harmless: true,
    body: [
      h('p', { text: `${name} ${gone ? 'was deleted by somebody else' : 'was changed by somebody else'}. Nothing was written.` }),
      h('div', { class: 'conflict', tabindex: 0, role: 'group', 'aria-label': 'Both rows' }, h('table', { 'aria-label': 'Differences' }, h('thead', {}, head), h('tbody', {}, told))),
      h('p', { text: keepText(change, gone) }),
    ],
    actions: [
      { label: 'Decide later', value: undefined }, { label: gone ? 'Drop my change' : 'Take theirs', value: 'theirs' },
      ...(gone && op === 'delete' ? [] : [keep]),
    ],
  });
}

/** A time with its UTC if it `isMoved`: both may look alike. @param {any[]|null} row */
function timeText(row, column, text, isMoved) {
  const moment = isMoved && row && momentsOf.get(row)?.[column];
  return moment ? `${text} (UTC ${new Date(Number(moment) * 1000).toISOString().slice(0, 19).replace('T', ' ')})` : text;
}

/** Describes what keeping one's own change writes. @param {import('./changes.js').Change} change @param {boolean} gone */
function keepText({ op, set }, gone) {
  const again = 'you see its SQL again before it is written.';
  if (gone) return op === 'delete' ? '' : `Add mine as a new row: the row as you saw it, with your changes; ${again}`;
  if (op === 'delete') return `Delete it anyway: the current row is deleted; ${again}`;
  const written = [...set].map(([name, value]) => `${name} = ${textOf(value)}`).join(', ');
  return `Keep mine writes only ${written}: the other columns keep their current values; ${again}`;
}

function textOf(value) {
  if (value === null || value === undefined) return 'NULL';
  const text = String(value);
  return text === '' ? '‹empty›' : text.length > SHOWN ? `${text.slice(0, SHOWN)} …` : text;
}
