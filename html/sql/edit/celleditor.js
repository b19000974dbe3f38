/**
 * A value edited in its cell.
 * @module
 */

import { h, iconButton } from '../../common/dom.js';
import { dateIn, read, withDate } from './fields.js';

/** Narrowest field, in pixels, and what the buttons beside it take. */
const LEAST = 150;
const BUTTON = 28;

/**
 * @typedef {'down'|'up'|'left'|'right'|'stay'|''} Move where to go on; nowhere where the focus is elsewhere already
 * @typedef {object} Options
 * @property {import('./fields.js').Field} field
 * @property {string} text
 * @property {string} label
 * @property {string} [typed] what was typed already, in place of the text
 * @property {(text: string, move: Move) => void} done gets a text that differs
 * @property {(move: Move) => void} leave nothing is to be changed
 * @property {(text: string) => void} panel goes on in a panel
 * @property {(text: string) => void} fill puts a text into all selected cells
 * @property {(key: string) => boolean} ctrl a key with Ctrl or Command; false where it does nothing here
 */

/** The field in a cell; it ends with `commit` or `remove`. */
export class CellEditor {
  #on;
  #ended = false;
  #touched;

  /** @param {HTMLElement} cell @param {Options} options */
  constructor(cell, options) {
    const { field, text, label, typed } = options;
    this.#on = options;
    this.cell = cell;
    this.#touched = typed !== undefined;
    this.input = h('input', {
      class: 'cell-input', 'aria-label': label, autocomplete: 'off', spellcheck: 'false', autocapitalize: 'off',
      on: { input: () => { this.#touched = true; this.#check(); }, paste: (event) => this.#onPaste(event) },
    });
    this.input.value = typed ?? text;
    const buttons = [field.kind === 'date' || field.kind === 'datetime' ? this.#calendar(field) : null,
      field.kind === 'text' ? iconButton('expand', 'Edit in a panel (Alt+Enter)', () => this.#toPanel(this.input.value), { tabindex: -1 }) : null];
    this.element = h('div', { class: 'cell-editor', on: { keydown: (event) => this.#onKey(event), focusout: (event) => this.#onBlur(event) } }, this.input, buttons);
    // The grid selects and opens by pointer what is not edited.
    for (const name of ['pointerdown', 'click', 'dblclick', 'contextmenu', 'copy', 'cut']) this.element.addEventListener(name, (event) => event.stopPropagation());
    const width = Math.max(cell.offsetWidth, LEAST + BUTTON * buttons.filter(Boolean).length);
    this.element.style.width = `${width}px`;
    cell.replaceChildren(this.element);
    for (const one of [cell, cell.parentElement]) one?.classList.add('editing');
    this.#shift(width);
    this.input.focus({ preventScroll: true });
    if (typed === undefined) this.input.select();
    this.#check();
  }

  /** At the right edge it grows to the left. */
  #shift(width) {
    const canvas = /** @type {HTMLElement} */ (this.cell.closest('.grid'));
    const over = this.cell.getBoundingClientRect().left + width - canvas.getBoundingClientRect().right;
    if (over > 0) this.element.style.marginLeft = `${-Math.ceil(Math.min(over, this.cell.offsetLeft))}px`;
  }

  #calendar(field) {
    const picker = h('input', { type: 'date', class: 'cell-date', tabindex: -1, 'aria-hidden': 'true', on: { change: () => {
      if (picker.value) this.input.value = withDate(field, this.input.value, picker.value);
      this.#touched = true;
      this.#check();
      this.input.focus();
    } } });
    const button = iconButton('calendar', 'Choose a date (Alt+↓)', () => {
      picker.value = dateIn(this.input.value);
      picker.showPicker?.();
    }, { tabindex: -1 });
    return h('span', { class: 'cell-calendar' }, button, picker);
  }

  /** True if something was typed. */
  get touched() {
    return this.#touched;
  }

  #check() {
    const { problem } = this.#touched ? read(this.#on.field, this.input.value) : { problem: '' };
    this.input.setAttribute('aria-invalid', String(problem !== ''));
    this.input.title = problem;
  }

  #onKey(event) {
    event.stopPropagation();
    if (event.isComposing) return;
    const { key } = event;
    if (key === 'Escape') this.#leave('stay');
    else if (key === 'Enter' && (event.ctrlKey || event.metaKey) && !event.altKey) {
      this.remove();
      this.#on.fill(this.input.value);
    }
    else if ((event.ctrlKey || event.metaKey) && !event.altKey && this.#on.ctrl(key.toLowerCase())) event.preventDefault();
    else if ((key === 'Enter' && event.altKey) || key === 'F2') this.#toPanel(key === 'F2' || this.#on.field.kind !== 'text' ? this.input.value : this.#with('\n'));
    else if (key === 'Enter') this.commit(event.shiftKey ? 'up' : 'down');
    else if (key === 'Tab') this.commit(event.shiftKey ? 'left' : 'right');
    else if (key === 'ArrowDown' && event.altKey) /** @type {HTMLElement|null} */ (this.element.querySelector('.cell-calendar button'))?.click();
    else return;
    event.preventDefault();
  }

  /** The text with something in place of what is selected. */
  #with(text) {
    const { value, selectionStart, selectionEnd } = this.input;
    return value.slice(0, selectionStart ?? 0) + text + value.slice(selectionEnd ?? 0);
  }

  /** A field of one line would drop line ends. */
  #onPaste(event) {
    event.stopPropagation();
    const text = event.clipboardData?.getData('text/plain') ?? '';
    if (this.#on.field.kind !== 'text' || !/[\r\n]/.test(text.replace(/\r?\n$/, ''))) return;
    event.preventDefault();
    this.#toPanel(this.#with(text));
  }

  #toPanel(text) {
    if (this.#on.field.kind !== 'text') return;
    this.remove();
    this.#on.panel(text);
  }

  #onBlur(event) {
    // The window's focus may go and come.
    if (this.#ended || this.element.contains(event.relatedTarget) || !document.hasFocus()) return;
    this.commit();
  }

  /** Takes what was typed. @param {Move} [move] */
  commit(move = '') {
    if (this.#ended) return;
    const text = this.input.value;
    const same = !this.#touched || (text === this.#on.text && text !== '');
    this.remove();
    if (same) this.#on.leave(move);
    else this.#on.done(text, move);
  }

  #leave(move) {
    this.remove();
    this.#on.leave(move);
  }

  /** Ends without a word. */
  remove() {
    this.#ended = true;
    for (const one of [this.cell, this.cell.parentElement]) one?.classList.remove('editing');
    this.element.remove();
  }
}
