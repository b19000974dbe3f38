/**
 * The menu of a column's header.
 * @module
 */

import { copyText } from '../../common/dom.js';
import { openMenu } from '../../common/menu.js';
import { freezeUpTo, hide, shift } from './columns.js';

/**
 * @typedef {object} On what else the menu does
 * @property {Notify} notify
 * @property {(column: number) => void} copy copies the values of a column
 * @property {(column: number) => void} facts shows the statistics of a column
 * @property {(column: number) => void} [filter] opens the filter of a column
 */

/**
 * @param {import('./grid.js').Grid} grid
 * @param {HTMLElement} header
 * @param {number} column
 * @param {On} on
 */
export function openHeaderMenu(grid, header, column, on) {
  const { model } = grid;
  const { layout, slots, sortKeys } = model;
  const name = model.result.columns[column];
  const chosen = model.span === 'columns' && model.isSelected(0, column) ? model.selection.columns : [column];
  const slot = model.slotOf(column);
  const sorted = sortKeys.find((key) => key.column === column);
  const sort = (descending) => grid.sortWith([{ column, descending }]);
  const move = (by) => grid.arrange(shift(grid.model.layout, column, by));
  const isEdge = model.frozen > 0 && slot === model.frozen - 1;
  /** @type {(import('../../common/menu.js').MenuItem|false|undefined)[]} */
  const items = [
    { label: 'Sort ascending', icon: 'sort-asc', disabled: sorted?.descending === false, run: () => sort(false) },
    { label: 'Sort descending', icon: 'sort-desc', disabled: sorted?.descending === true, run: () => sort(true) },
    sortKeys.length > 0 && { label: 'Original order', run: () => grid.sortWith([]) },
    on.filter && { label: 'Filter …', icon: 'filter', key: 'Alt+↓', run: () => on.filter?.(column) },
    null,
    { label: chosen.length > 1 ? `Hide ${chosen.length} columns` : 'Hide', icon: 'close', disabled: slots.length === 1, run: () => grid.arrange(hide(layout, chosen)) },
    layout.hidden.length > 0 && { label: `Show ${layout.hidden.length === 1 ? 'the hidden column' : `${layout.hidden.length} hidden columns`}`, run: () => grid.show(layout.hidden) },
    !isEdge && slots.length > 1 && { label: 'Freeze up to here', icon: 'freeze', run: () => grid.arrange(freezeUpTo(layout, column)) },
    layout.frozen.length > 0 && { label: 'Unfreeze columns', run: () => grid.arrange({ ...layout, frozen: [] }) },
    { label: 'Move left', icon: 'chevron-left', key: 'Shift+Alt+←', disabled: slot === 0, run: () => move(-1) },
    { label: 'Move right', icon: 'chevron-right', key: 'Shift+Alt+→', disabled: slot === slots.length - 1, run: () => move(1) },
    { label: 'Move to the start', disabled: slot === 0, run: () => move(-slots.length) },
    { label: 'Move to the end', disabled: slot === slots.length - 1, run: () => move(slots.length) },
    { label: 'Fit to content', icon: 'expand', key: 'Alt+Enter', run: () => grid.fitColumn(column) },
    null,
    { label: 'Copy the name', icon: 'copy', run: () => copyName(name, on.notify) },
    { label: 'Copy the column', icon: 'copy', run: () => on.copy(column) },
    { label: 'Statistics …', icon: 'chart', run: () => on.facts(column) },
    { label: 'Columns …', icon: 'column', key: 'Ctrl+G', run: () => grid.openColumns() },
  ];
  openMenu(header, /** @type {import('../../common/menu.js').MenuItem[]} */ (items.filter((item) => item !== false && item !== undefined)));
}

/** @param {string} name @param {Notify} notify */
async function copyName(name, notify) {
  if (await copyText(name)) notify(`Copied ${name}`, 'good');
  else notify(`The browser blocked the clipboard: ${name}`, 'warn');
}
