/**
 * Statistics of one column, over the rows that are loaded.
 * @module
 */

import { fill, h } from '../../common/dom.js';
import { openDialog } from '../../common/dialog.js';
import { factsOf } from '../core/columnfacts.js';

/** @param {import('./gridmodel.js').GridModel} model @param {number} column */
export function openFacts(model, column) {
  const abort = new AbortController();
  const name = model.result.columns[column];
  const list = h('dl', { class: 'column-facts' }, h('dt', { text: 'Counting …' }));
  const rows = function* rows() { for (let place = 0; place < model.rowCount; place += 1) { const row = model.row(place); if (row) yield row[column]; } };
  const body = h('div', {}, list, !model.isWhole && h('p', { class: 'dim', text: 'Only part of the table is loaded; these are the statistics of that part.' }));
  factsOf(rows(), model.result.types[column] ?? '', abort.signal).then((facts) => fill(list, facts.map(([label, value]) => h('div', {}, h('dt', { text: label }), h('dd', { text: value })))), () => {});
  return openDialog({ title: `Statistics of ${name}`, body }).then(() => abort.abort());
}
