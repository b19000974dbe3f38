/**
 * Statistics of one column: over the rows that are loaded, and of a table over all rows.
 * @module
 */

import { fill, h } from '../../common/dom.js';
import { openDialog } from '../../common/dialog.js';
import { factsOf } from '../core/columnfacts.js';

/** @param {import('./gridmodel.js').GridModel} model @param {number} column */
export function openFacts(model, column) {
  const abort = new AbortController();
  const { result } = model;
  const list = h('dl', { class: 'column-facts' });
  const note = h('p', { class: 'dim', role: 'status' });
  const all = h('button', { type: 'button', class: 'button', text: 'All rows', hidden: true, on: { click: () => ask() } });
  const show = (facts) => fill(list, facts.map(([label, value]) => h('div', {}, h('dt', { text: label }), h('dd', { text: value }))));
  const ask = async () => {
    all.disabled = true;
    note.textContent = 'The database server is counting. Closing this stops it.';
    try {
      show(await /** @type {any} */ (result).facts(column, abort.signal));
      all.hidden = true;
      note.textContent = 'Over all rows that match the filters. Changes that are not applied do not count.';
    } catch (cause) {
      all.disabled = false;
      note.textContent = cause.message;
    }
  };
  const values = function* values() {
    for (let place = 0; place < model.rowCount; place += 1) {
      const row = model.row(place);
      if (row) yield row[column];
    }
  };
  note.textContent = 'Counting …';
  factsOf(values(), result.types[column] ?? '', abort.signal).then((facts) => {
    show(facts);
    note.textContent = model.isWhole && !result.truncated ? (model.test ? 'These are the figures of the matching rows.' : '') : 'Only part of the rows is loaded. These are the figures of that part.';
    all.hidden = model.isWhole || !('facts' in result);
  }, () => {});
  return openDialog({ title: `Statistics of ${result.columns[column]}`, body: h('div', {}, list, note, all) }).then(() => abort.abort());
}
