/**
 * Controls that the parts of a table's form are made of, and the keys that move between them as in a spreadsheet.
 * @module
 */

import { h, icon, iconButton, queryAll } from '../../common/dom.js';

/** @typedef {HTMLInputElement|HTMLSelectElement} Control */
/**
 * The form as its parts see it.
 * @typedef {object} Form
 * @property {import('./draft.js').Draft} draft
 * @property {import('./definition.js').Server} server
 * @property {import('./facts.js').Facts} facts
 * @property {import('./suggest.js').Suggest} suggest
 * @property {(table: import('./definition.js').Table, key?: string) => void} set the table is another one; steps of one key in a row are one step
 * @property {(list: any, id: string, field: string) => string} problem of a field, in words
 * @property {(id: string) => boolean} isFaulty true if a part has a problem
 * @property {(list: any, id: string) => void} revert
 * @property {(text: string) => void} say
 */

/**
 * Parts of the page that the form needs.
 * @typedef {object} Host
 * @property {import('../objects/privileges.js').Api} api
 * @property {Notify} notify
 * @property {Announce} announce
 * @property {() => string} newId
 * @property {() => string[]} transactions tabs that have a transaction open
 * @property {(outcome: {sql: string, ms: number, error: string}) => void} remember
 * @property {(db: string, sql: string, name: string) => void} fillIn a statement into a tab
 * @property {(db: string, name: string) => Promise<string>} load the text of SHOW CREATE TABLE
 * @property {(now: {db: string, name: string}, was: {db: string, name: string}|null) => void} changed the structure was changed, or the table is new
 * @property {() => void} titled the title of the tab may be another one
 */

/**
 * @typedef {Omit<Host, 'load'|'changed'|'titled'> & {mariadb: boolean, version: string, results: any, openSchema: (db: string, table: string) => void,
 *   structured: (now: {db: string, name: string}|null, was: {db: string, name: string}|null) => void}} OpenHost `structured`: lists and panes show the new structure; `results`: those of the tab that is shown
 */

/** Signs for a line feed and a carriage return, which a field of one line would drop; the second of each where a text has the first. */
const FEEDS = ['⏎', '↵', '␤'];
const RETURNS = ['␍', '↤'];

/** Signs that stand in a field for the breaks of its text. @type {WeakMap<Control, {feed: string, back: string}>} */
const BREAKS = new WeakMap();

/** Sets the value of a control unless something is being typed in it. @param {Control} control @param {string} value @param {Control|null} typing */
export function show(control, value, typing) {
  if (control === typing) return;
  let text = value;
  if (control instanceof HTMLInputElement) {
    const feed = FEEDS.find((sign) => !value.includes(sign)) ?? FEEDS[0];
    const back = value.includes('\r') ? RETURNS.find((sign) => !value.includes(sign)) ?? '' : '';
    BREAKS.set(control, { feed, back });
    text = value.replaceAll('\n', feed).replaceAll('\r', back);
  }
  if (control.value !== text) control.value = text;
}

/** The text of a field, with its line breaks. @param {HTMLInputElement} input */
export function textIn(input) {
  const { feed, back } = BREAKS.get(input) ?? { feed: FEEDS[0], back: '' };
  const text = input.value.replaceAll(feed, '\n');
  return back ? text.replaceAll(back, '\r') : text;
}

/**
 * A text field of a cell; `change` gets its value while it is typed and once it is left.
 * @param {string} className @param {(value: string, left: boolean) => void} change
 * @returns {HTMLInputElement}
 */
export function cellInput(className, change) {
  const input = h('input', { class: `cell-field ${className}`, autocomplete: 'off', spellcheck: 'false', autocapitalize: 'off' });
  input.addEventListener('input', () => change(textIn(input), false));
  input.addEventListener('change', () => change(textIn(input), true));
  input.addEventListener('paste', (event) => pasteLines(event, input));
  return input;
}

/** Pastes several lines with signs for their breaks. @param {ClipboardEvent} event @param {HTMLInputElement} input */
export function pasteLines(event, input) {
  const text = event.clipboardData?.getData('text/plain').replace(/\r\n?/g, '\n').replace(/\n+$/, '') ?? '';
  if (!text.includes('\n') || input.readOnly) return;
  event.preventDefault();
  document.execCommand('insertText', false, text.replaceAll('\n', BREAKS.get(input)?.feed ?? FEEDS[0]));
}

/** @param {(checked: boolean) => void} change */
export function cellCheck(change) {
  const input = h('input', { type: 'checkbox' });
  input.addEventListener('change', () => change(input.checked));
  return input;
}

/** @param {[string, string][]} options value and label @param {(value: string) => void} change */
export function cellSelect(options, change) {
  const select = h('select', { class: 'cell-field' }, options.map(([value, label]) => h('option', { value, text: label })));
  select.addEventListener('change', () => change(select.value));
  return select;
}

/** Marks a control as faulty, or not. @param {HTMLElement} control @param {string} problem @param {string} [title] otherwise */
export function setProblem(control, problem, title = '') {
  if (problem) control.setAttribute('aria-invalid', 'true');
  else control.removeAttribute('aria-invalid');
  if (control.title !== (problem || title)) control.title = problem || title;
}

/** The sign of a change, which colours alone would not tell. */
const SIGNS = { new: ['+', 'New'], changed: ['●', 'Changed'], moved: ['↕', 'Moved'], removed: ['−', 'Removed'] };

/** Shows the mark of a row. @param {HTMLElement} row @param {HTMLElement} sign @param {import('./draft.js').Mark|''} mark */
export function setMark(row, sign, mark) {
  if ((row.dataset.mark ?? '') === mark && sign.textContent) return;
  if (mark) row.dataset.mark = mark;
  else delete row.dataset.mark;
  const [text, words] = SIGNS[mark] ?? ['', ''];
  sign.replaceChildren(h('span', { 'aria-hidden': 'true', text }), h('span', { class: 'visually-hidden', text: words }));
  sign.title = words;
}

/** Buttons at the end of a row: takes its change back, or removes it. @param {() => void} revert @param {() => void} remove */
export function rowEnd(revert, remove) {
  const back = iconButton('undo', 'Undo the changes', revert, { class: 'button quiet square small' });
  const gone = iconButton('trash', 'Remove', remove, { class: 'button quiet square small' });
  return { back, gone, cell: h('td', { class: 'row-end' }, h('span', { class: 'row-buttons' }, back, gone)) };
}

/** @param {{back: HTMLElement, gone: HTMLElement}} end @param {string} mark @param {string} name */
export function drawEnd({ back, gone }, mark, name) {
  back.style.visibility = mark && mark !== 'new' ? 'visible' : 'hidden';
  gone.hidden = mark === 'removed';
  const label = mark === 'removed' ? `Restore ${name}` : `Undo the changes of ${name}`;
  if (back.title !== label) for (const attribute of ['title', 'aria-label']) back.setAttribute(attribute, label);
  if (gone.title !== `Remove ${name}`) for (const attribute of ['title', 'aria-label']) gone.setAttribute(attribute, `Remove ${name}`);
}

/** A table of fields. @param {string} label @param {string[]} heads a Name beside a number stays in sight @param {HTMLElement} body */
export function fieldTable(label, heads, body) {
  return h('div', { class: 'structure-grid', role: 'group', 'aria-label': label }, h('table', { 'aria-label': label },
    h('thead', {}, h('tr', {}, heads.map((text, i) => h('th', { scope: 'col', class: i === 1 && label === 'Columns' ? 'name-cell' : null }, text || h('span', { class: 'visually-hidden', text: 'Actions' }))))), body));
}

/** A button of a section's tools. @param {string} name of an icon @param {string} label @param {() => void} run @param {string} [title] */
export function tool(name, label, run, title = '') {
  return h('button', { type: 'button', class: 'button small', title: title || null, on: { click: run } }, icon(name), label);
}

/** Fields that the arrows move between. */
const FIELDS = 'input:not([disabled]), select:not([disabled]), button.cell-button:not([disabled])';

/**
 * Keys of a table of fields: arrows and Enter move as in a spreadsheet.
 * @param {HTMLElement} body @param {{add: () => void}} on `add`: Enter in the last row
 */
export function gridKeys(body, { add }) {
  // A click into a field that had no focus chooses all of it: what is typed replaces it. Another click, F2 and a double click edit.
  let entered = /** @type {EventTarget|null} */ (null);
  body.addEventListener('pointerdown', ({ target }) => { entered = target === document.activeElement ? null : target; });
  body.addEventListener('click', ({ target, detail }) => {
    if (detail === 1 && target === entered && target instanceof HTMLInputElement && target.type !== 'checkbox' && target.selectionStart === target.selectionEnd) target.select();
    entered = null;
  });
  body.addEventListener('keydown', (event) => {
    const { key, target, shiftKey } = event;
    if (key === 'F2' && isCellText(target)) {
      target.setSelectionRange(target.value.length, target.value.length);
      event.preventDefault();
      event.stopPropagation();
      return;
    }
    if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing || event.defaultPrevented) return;
    const field = /** @type {any} */ (target);
    const cell = field.closest('td, th');
    const row = cell?.parentElement;
    if (!row?.classList.contains('field-row')) return;
    const isText = field instanceof HTMLInputElement && field.type !== 'checkbox';
    const isSelect = field instanceof HTMLSelectElement;
    if (key === 'Enter' && field instanceof HTMLButtonElement) return;
    if (key === 'Enter' || (!isSelect && (key === 'ArrowDown' || key === 'ArrowUp'))) {
      const down = key === 'ArrowDown' || (key === 'Enter' && !shiftKey);
      const next = beside(row, down ? 1 : -1);
      event.preventDefault();
      if (next) focusCell(next, cell.cellIndex);
      else if (key === 'Enter' && down) add();
      return;
    }
    if (shiftKey || isSelect || (key !== 'ArrowLeft' && key !== 'ArrowRight')) return;
    const by = key === 'ArrowRight' ? 1 : -1;
    if (isText && !(field.selectionStart === field.selectionEnd && field.selectionStart === (by > 0 ? field.value.length : 0)) && !isWhole(field)) return;
    const fields = queryAll(row, FIELDS);
    const to = fields[fields.indexOf(field) + by];
    if (!to) return;
    event.preventDefault();
    focusField(to);
  });
}

/** @param {EventTarget|null} target @returns {target is HTMLInputElement} */
const isCellText = (target) => target instanceof HTMLInputElement && target.type !== 'checkbox' && target.closest('.field-row') !== null;

/** True if all of a field is selected, as after a move into it. @param {HTMLInputElement} field */
const isWhole = (field) => field.value !== '' && field.selectionStart === 0 && field.selectionEnd === field.value.length;

/** The next row of fields. @param {Element} row @param {1|-1} by @returns {HTMLElement|null} */
function beside(row, by) {
  let next = by > 0 ? row.nextElementSibling : row.previousElementSibling;
  while (next && !(next.classList.contains('field-row') && !(/** @type {HTMLElement} */ (next)).hidden && next.querySelector(FIELDS))) next = by > 0 ? next.nextElementSibling : next.previousElementSibling;
  return /** @type {HTMLElement|null} */ (next);
}

/** Focuses the field of a cell. @param {HTMLElement} row @param {number} at */
export function focusCell(row, at) {
  const cell = /** @type {HTMLTableRowElement} */ (row).cells[at];
  focusField(/** @type {HTMLElement|null} */ (cell?.querySelector(FIELDS)) ?? /** @type {HTMLElement|null} */ (row.querySelector(FIELDS)));
}

/** @param {HTMLElement|null} field */
export function focusField(field) {
  field?.focus();
  if (field instanceof HTMLInputElement && field.type !== 'checkbox') field.select();
}
