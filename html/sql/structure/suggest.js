/**
 * Suggestions below a text field, as the ARIA combobox pattern has them.
 * @module
 */

import { h } from '../../common/dom.js';

/** Space kept to the window's edges, in px. */
const EDGE = 8;
const MAX_HEIGHT = 260;

let serial = 0;

/** @typedef {import('./fieldtext.js').Suggestion} Suggestion */
/**
 * Suggestions for one field.
 * @typedef {object} Source
 * @property {(text: string) => Suggestion[]|Promise<Suggestion[]>} list
 * @property {(input: HTMLInputElement) => {text: string, put: (value: string) => void}} [word] the part of the field that is suggested for, the whole field unless given
 * @property {boolean} [isOpen] opens as soon as the field has the focus and is empty
 */

/** The list; one for all fields of a form. */
export class Suggest {
  /** @type {Suggestion[]} */ #items = [];
  /** @type {HTMLInputElement|null} */ #input = null;
  /** @type {Source|null} */ #source = null;
  #active = -1;
  #turn = 0;

  /** @param {(input: HTMLInputElement) => void} picked */
  constructor(picked) {
    this.picked = picked;
    this.list = h('ul', { class: 'structure-suggest', role: 'listbox', id: `structure-suggest-${(serial += 1)}`, 'aria-label': 'Suggestions', hidden: true });
    this.list.addEventListener('pointerdown', (event) => {
      event.preventDefault();
      const at = [...this.list.children].indexOf(/** @type {any} */ (event.target).closest('li'));
      if (at >= 0) this.#pick(at);
    });
  }

  get isOpen() {
    return !this.list.hidden;
  }

  /** Makes a field one with suggestions. @param {HTMLInputElement} input @param {Source} source */
  attach(input, source) {
    input.setAttribute('role', 'combobox');
    input.setAttribute('aria-autocomplete', 'list');
    input.setAttribute('aria-expanded', 'false');
    input.setAttribute('aria-controls', this.list.id);
    input.addEventListener('input', () => this.open(input, source));
    input.addEventListener('blur', () => this.close());
    input.addEventListener('keydown', (event) => this.#onKey(event, input, source));
    if (source.isOpen) input.addEventListener('click', () => { if (!input.value) this.open(input, source); });
  }

  /** @param {HTMLInputElement} input @param {Source} source @param {boolean} [all] not only those that match */
  async open(input, source, all = false) {
    const turn = (this.#turn += 1);
    const text = source.word?.(input).text ?? input.value;
    const items = await source.list(all ? '' : text);
    if (turn !== this.#turn || document.activeElement !== input) return;
    if (!items.length || (items.length === 1 && items[0].value === text)) return this.close();
    this.#items = items;
    this.#input = input;
    this.#source = source;
    const known = text.trim().toLowerCase();
    // A word that was only begun is completed by Tab and Enter.
    const begun = known !== '' && !known.includes('(') && !items.some(({ value }) => value.toLowerCase() === known) && items[0].value.toLowerCase().startsWith(known);
    this.list.replaceChildren(...items.map(({ value, hint }, i) => h('li', { role: 'option', id: `${this.list.id}-${i}`, 'aria-selected': 'false' }, h('span', { text: value }), hint && h('span', { class: 'dim', text: hint }))));
    this.list.hidden = false;
    input.setAttribute('aria-expanded', 'true');
    this.#activate(begun ? 0 : -1);
    this.#place(input);
  }

  close() {
    this.#turn += 1;
    if (!this.isOpen) return;
    this.list.hidden = true;
    this.#active = -1;
    this.#input?.setAttribute('aria-expanded', 'false');
    this.#input?.removeAttribute('aria-activedescendant');
  }

  #place(input) {
    const box = input.getBoundingClientRect();
    const below = innerHeight - box.bottom - EDGE;
    const above = box.top - EDGE;
    const up = below < 140 && above > below;
    Object.assign(this.list.style, {
      left: `${Math.max(EDGE, Math.min(box.left, innerWidth - this.list.offsetWidth - EDGE))}px`, minWidth: `${box.width}px`, maxHeight: `${Math.min(MAX_HEIGHT, up ? above : below)}px`,
      top: up ? 'auto' : `${box.bottom + 2}px`, bottom: up ? `${innerHeight - box.top + 2}px` : 'auto',
    });
  }

  #activate(at) {
    this.list.children[this.#active]?.setAttribute('aria-selected', 'false');
    this.#active = at;
    const item = this.list.children[at];
    item?.setAttribute('aria-selected', 'true');
    item?.scrollIntoView({ block: 'nearest' });
    if (item) this.#input?.setAttribute('aria-activedescendant', item.id);
    else this.#input?.removeAttribute('aria-activedescendant');
  }

  /** Handles a key before the form does. */
  #onKey(event, input, source) {
    if (event.isComposing) return;
    if (!this.isOpen) {
      if ((event.key === 'ArrowDown' && event.altKey) || (event.key === ' ' && event.ctrlKey)) {
        event.preventDefault();
        event.stopPropagation();
        this.open(input, source, true);
      }
      return;
    }
    const move = { ArrowDown: 1, ArrowUp: -1, PageDown: 8, PageUp: -8 }[event.key];
    if (move && !event.ctrlKey && !event.metaKey) {
      const last = this.#items.length - 1;
      const to = this.#active + move;
      this.#activate(Math.abs(move) === 1 ? (to < 0 ? last : to > last ? 0 : to) : Math.max(0, Math.min(last, to)));
    } else if (event.key === 'Escape') this.close();
    else if ((event.key === 'Enter' || event.key === 'Tab') && this.#active >= 0) {
      this.#pick(this.#active);
      // Tab goes on to the next field.
      if (event.key === 'Tab') return;
    } else {
      if (event.key === 'Enter' || event.key === 'Tab') this.close();
      return;
    }
    event.preventDefault();
    event.stopPropagation();
  }

  #pick(at) {
    const [input, source] = [this.#input, this.#source];
    if (!input || !source) return;
    const { value } = this.#items[at];
    if (source.word) source.word(input).put(value);
    else input.value = value;
    this.close();
    this.picked(input);
  }
}

/** The last name of a list separated by commas, which is the one being typed. @param {HTMLInputElement} input */
export function lastName(input) {
  const from = input.value.lastIndexOf(',') + 1;
  const before = input.value.slice(0, from);
  return { text: input.value.slice(from).trim(), put: (value) => { input.value = `${before}${before ? ' ' : ''}${value}`; } };
}
