/**
 * One row of a table as its form changes it.
 * @module
 */

import { Default, FileValue } from './changes.js';
import { needsPanel, read, refusal, textOf } from './fields.js';

const WORDS = { insert: 'new', update: 'changed', delete: 'to be deleted', saved: 'saved', failed: 'refused' };

/**
 * @typedef {import('./changes.js').Value} Value
 * @typedef {ReturnType<typeof rowEdit>} RowEdit
 */

/**
 * @param {import('./sheet.js').Sheet} sheet
 * @param {number} place
 * @param {{put: (target: import('./changes.js').Target, field: import('./fields.js').Field, value: Value) => void, isBusy: () => boolean, notify: Notify, undo: () => void, redo: () => void, review: () => void,
 *   reference: (anchor: HTMLElement, target: import('./changes.js').Target, field: import('./fields.js').Field, column: number) => void, refersTo: (field: import('./fields.js').Field) => string,
 *   panel: (field: import('./fields.js').Field, value: Value) => Promise<{value: Value}|undefined>}} on
 */
export function rowEdit(sheet, place, { put, isBusy, notify, undo, redo, review, panel, reference, refersTo }) {
  const target = sheet.target(place);
  const { table } = sheet;
  if (!target) return null;
  const { fields, changes } = table;
  const { state, text: number, error } = sheet.rowMark(place);
  const isDeleted = changes.get(target.id)?.op === 'delete';
  const valueOf = (column) => sheet.value({ row: place, column });
  /** @param {number} column @param {Value} value */
  const set = (column, value) => {
    const refused = refusal(fields[column], value);
    if (refused) notify(refused, 'warn');
    else if (sheet.table === table && !isDeleted && !isBusy()) put(target, fields[column], value);
  };
  const isFile = (column) => ['binary', 'text', 'json'].includes(fields[column].kind);
  const openInPanel = async (column) => {
    if (isDeleted || fields[column].fixed || !isFile(column)) return;
    const entered = await panel(fields[column], valueOf(column));
    if (entered) set(column, entered.value);
  };
  /** @param {number} column @param {any} value */
  const chosen = (column, value) => choiceOf(fields[column].base === 'bit' && value !== null && typeof value !== 'object' ? String(Number(value)) : value);
  const isChoice = ({ kind }) => kind === 'choice' || kind === 'boolean';
  return {
    number, error, isDeleted, openPanel: openInPanel, state: error || (state ? WORDS[state] : ''), undo, redo, review,
    /** @param {number} column @param {any} value */
    text: (column, value) => (value instanceof FileValue ? '' : value === undefined ? '' : textOf(fields[column], value)),
    /** The kind of control. @param {number} column @param {any} value @returns {'select'|'area'|'input'} */
    modeOf: (column, value) => (isChoice(fields[column]) ? 'select' : fields[column].kind === 'json' || (fields[column].kind === 'text' && (needsPanel(fields[column], value ?? null) || /text/.test(fields[column].base))) ? 'area' : 'input'),
    /** True if the value is changed in a panel alone, or not at all. @param {number} column @param {any} value */
    isFixed: (column, value) => fields[column].fixed !== '' || fields[column].kind === 'binary' || value instanceof FileValue || (typeof value === 'string' && value.includes('\r')),
    /** @param {number} column */
    markOf: (column) => {
      const mark = sheet.mark({ row: place, column });
      return mark && { state: mark.state, problem: mark.problem, words: mark.state === 'changed' ? `was ${mark.before}` : '' };
    },
    /** Values to choose from. @param {number} column */
    options: (column) => {
      const { kind, choices, nullable, required } = fields[column];
      const values = kind === 'boolean' ? ['0', '1'] : choices;
      const now = chosen(column, valueOf(column));
      const all = [...values.map((value) => ({ key: `=${value}`, text: kind === 'boolean' ? (value === '1' ? '1 (true)' : '0 (false)') : value || '‹empty›' })), ...(nullable ? [{ key: 'null', text: 'NULL' }] : []),
        ...(required ? [] : [{ key: 'default', text: 'DEFAULT' }])];
      return all.some(({ key }) => key === now) ? all : [{ key: now, text: now === 'default' ? String(valueOf(column)) : now.slice(1) || 'NULL' }, ...all];
    },
    choiceOf: chosen,
    /** @param {number} column @param {string} key */
    choose: (column, key) => set(column, key === 'null' ? null : key === 'default' ? new Default() : fields[column].base === 'bit' ? `0x0${key.slice(1)}` : key.slice(1)),
    /** @param {number} column @param {string} text */
    put: (column, text) => set(column, read(fields[column], text).value),
    setNull: (column) => set(column, null),
    setDefault: (column) => set(column, new Default()),
    /** The table that the column refers to; empty if it refers to none. @param {number} column */
    refersTo: (column) => (isDeleted || fields[column].fixed ? '' : refersTo(fields[column])),
    /** @param {number} column @param {HTMLElement} anchor */
    openReference: (column, anchor) => reference(anchor, target, fields[column], column),
    /** @param {number} column @returns {import('../../common/menu.js').MenuItem[]} */
    menu: (column) => {
      const field = fields[column];
      const change = changes.get(target.id);
      if (isDeleted || field.fixed) return [];
      return /** @type {import('../../common/menu.js').MenuItem[]} */ ([
        field.nullable && { label: 'Set NULL', key: 'Ctrl+0', run: () => set(column, null) },
        !field.required && { label: 'Set DEFAULT', key: 'Ctrl+Backspace', run: () => set(column, new Default()) },
        field.kind === 'text' && { label: 'Set empty text', run: () => set(column, '') },
        isFile(column) && { label: 'Edit in a panel or as a file …', icon: 'expand', run: () => openInPanel(column) },
        change?.op === 'update' && change.set.has(field.name) && { label: 'Undo the change', icon: 'undo', run: () => set(column, change.base?.[column]) },
      ].filter((entry) => entry !== false && entry !== undefined));
    },
  };
}

/** @param {any} value */
const choiceOf = (value) => (value === null || value === undefined ? 'null' : value instanceof Default ? 'default' : `=${value}`);
