/**
 * The line below the rows of a table that can be changed: what may be done, and what was done and is not applied.
 * @module
 */

import { fill, h, icon, iconButton } from '../../common/dom.js';
import { countText } from '../core/pending.js';
import { UNCERTAIN } from './words.js';

/**
 * @typedef {{add: () => void, duplicate: () => void, remove: () => void, undo: () => void, review: () => void, discard: () => void, cancel: () => void}} Actions
 * @typedef {{count: number, canUndo: boolean, hasRow: boolean, problems: number, elsewhere: string, applying: boolean, uncertain: boolean, remark: string}} State
 */

/** The line. */
export class EditBar {
  #on;

  /** @param {Actions} on */
  constructor(on) {
    this.#on = on;
    const tool = (name, label, key, run) => h('button', { type: 'button', class: 'button quiet small', title: `${label} (${key})`, on: { click: run } }, icon(name), h('span', { class: 'tool-label', text: label }));
    this.duplicate = tool('duplicate', 'Duplicate', 'Ctrl+D', on.duplicate);
    this.remove = tool('trash', 'Delete', 'Ctrl+Delete', on.remove);
    this.tools = h('div', { class: 'edit-tools', role: 'toolbar', 'aria-label': 'Rows' }, tool('plus', 'New row', 'Insert', on.add), this.duplicate, this.remove);
    this.state = h('div', { class: 'edit-state' });
    this.element = h('div', { class: 'edit-bar', role: 'group', 'aria-label': 'Changes', hidden: true }, this.tools, this.state);
  }

  /** @param {State|null} state null where nothing can be changed */
  show(state) {
    this.element.hidden = !state;
    if (!state) return;
    const { count, canUndo, hasRow, problems, elsewhere, applying, uncertain, remark } = state;
    this.duplicate.hidden = this.remove.hidden = !hasRow;
    this.tools.hidden = applying;
    this.element.classList.toggle('pending', count > 0);
    const hadFocus = this.state.contains(document.activeElement);
    const button = (label, kind, run, key) => h('button', { type: 'button', class: `button small ${kind}`, text: label, title: key ?? null, on: { click: run } });
    fill(this.state,
      elsewhere && h('span', { class: 'edit-elsewhere', text: elsewhere }),
      count > 0 && h('span', { class: 'edit-count' }, icon('edit'), h('b', {}, count.toLocaleString('en'), h('span', { class: 'tool-label', text: countText(count).replace(/^\S+/, '') })), problems > 0 && h('span', { class: 'bad', text: `· ${problems} to fix` })),
      remark && h('span', { class: 'dim edit-remark', text: remark, title: `${remark}. Ctrl+Z takes them back.` }),
      uncertain && count > 0 && !applying && h('span', { class: 'bad edit-uncertain', text: 'may be applied already', title: UNCERTAIN }),
      applying ? [h('span', { class: 'dim', text: 'Applying …' }), button('Cancel', '', this.#on.cancel)] : [
        canUndo && iconButton('undo', 'Undo the last step (Ctrl+Z)', this.#on.undo),
        count > 0 && h('button', { type: 'button', class: 'button small', title: 'Discard all changes', on: { click: this.#on.discard } }, icon('close'), h('span', { class: 'tool-label', text: 'Discard' })),
        count > 0 && button('Review SQL …', 'primary', this.#on.review, 'Ctrl+S')]);
    if (hadFocus) /** @type {HTMLElement|null} */ (this.state.querySelector('.primary') ?? this.tools.querySelector('button'))?.focus();
  }
}
