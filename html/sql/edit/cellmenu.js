/**
 * Entries in the menu of a cell that change data.
 * @module
 */

import { Default } from './changes.js';

/**
 * @param {{field: import('./fields.js').Field, change: import('./changes.js').Change|null|undefined, rows: number}} cell `rows`: that are selected
 * @param {{edit: () => void, set: (value: import('./changes.js').Value) => void, panel: () => void, revert: (id: string) => void, add: () => void,
 *   duplicate: () => void, paste: () => void, remove: () => void}} on
 * @returns {import('../../common/menu.js').MenuItem[]}
 */
export function entriesOf({ field, change, rows }, on) {
  const open = change?.op !== 'delete';
  const what = rows > 1 ? `${rows.toLocaleString('en')} rows` : 'row';
  const file = field.kind === 'binary' || field.kind === 'text' || field.kind === 'json';
  const entries = [
    ...(open && !field.fixed ? [
      { label: 'Edit', icon: 'edit', key: 'Enter', run: on.edit },
      field.nullable && { label: 'Set NULL', key: 'Ctrl+0', run: () => on.set(null) },
      !field.required && { label: 'Set DEFAULT', key: 'Ctrl+Backspace', run: () => on.set(new Default()) },
      field.kind === 'text' && { label: 'Set empty text', run: () => on.set('') },
      file && { label: 'Edit in a panel or as a file …', icon: 'expand', run: on.panel },
      null,
    ] : []),
    Boolean(change) && { label: change?.op === 'delete' ? 'Keep the row' : 'Undo the changes of the row', icon: 'undo', run: () => on.revert(change?.id ?? '') },
    { label: 'New row', icon: 'plus', key: 'Insert', run: on.add },
    { label: `Duplicate ${what}`, icon: 'duplicate', key: 'Ctrl+D', run: on.duplicate },
    { label: 'Paste as new rows', icon: 'plus', key: 'Ctrl+Shift+V', run: on.paste },
    open && { label: `Delete ${what}`, icon: 'trash', key: 'Ctrl+Delete', run: on.remove },
    null,
  ];
  return /** @type {import('../../common/menu.js').MenuItem[]} */ (entries.filter((entry) => entry !== false && entry !== undefined));
}
