/**
 * The condition that is written by hand as the editor that completion works in: the statement around it is not seen.
 * @module
 */

import { Completion } from '../workbench/completion.js';

/** @typedef {ConstructorParameters<typeof Completion>[1]} Source */

/** One field of a condition. */
class Field {
  #before;

  /** @param {HTMLInputElement} area @param {HTMLElement} element gets the list @param {() => string} before what stands before the condition */
  constructor(area, element, before) {
    this.area = area;
    this.element = element;
    this.#before = before;
  }

  get text() {
    return this.#before() + this.area.value;
  }

  get selection() {
    const from = this.#before().length;
    return { start: from + (this.area.selectionStart ?? 0), end: from + (this.area.selectionEnd ?? 0) };
  }

  get caret() {
    return this.selection.end;
  }

  /** Place of the list: below the field, near its word. @param {number} at */
  rectOf(at) {
    const { left, top, height, right } = this.area.getBoundingClientRect();
    const text = this.area.value.slice(0, Math.max(0, at - this.#before().length));
    return { left: Math.min(right - 40, left + 8 + widthOf(text, this.area) - this.area.scrollLeft), top, height };
  }

  /** As typing does, so that it can be undone. @param {number} from @param {number} to @param {string} text */
  replace(from, to, text) {
    const by = this.#before().length;
    this.area.focus();
    this.area.setSelectionRange(Math.max(0, from - by), Math.max(0, to - by));
    if (!document.execCommand('insertText', false, text)) this.area.setRangeText(text, Math.max(0, from - by), Math.max(0, to - by), 'end');
  }
}

/** @param {string} text @param {HTMLElement} field */
function widthOf(text, field) {
  const canvas = document.createElement('canvas').getContext('2d');
  if (!canvas) return 0;
  canvas.font = getComputedStyle(field).font;
  return canvas.measureText(text).width;
}

/**
 * Completes in the field of a condition: columns, functions, values.
 * @param {HTMLInputElement} field @param {HTMLElement} host gets the list @param {() => string} before the statement up to the condition
 * @param {Source} source
 */
export function completeIn(field, host, before, source) {
  const completion = new Completion(/** @type {any} */ (new Field(field, host, before)), source);
  field.addEventListener('input', () => completion.edited());
  field.addEventListener('keydown', (event) => {
    if (!completion.key(event)) return;
    event.preventDefault();
    event.stopImmediatePropagation();
  });
}
