// A pop-up menu under a button, as the ARIA menu-button pattern has it.
import { h, icon } from './dom.js';
import { closePopup, openPopup } from './popup.js';

/** @typedef {{label: string, icon?: string, key?: string, disabled?: boolean, danger?: boolean, title?: string, run: () => void}|null} MenuItem null is a line; `danger`: it destroys something */

/**
 * Opens a menu at `button`.
 * @param {HTMLElement} button
 * @param {MenuItem[]} items
 */
export function openMenu(button, items) {
  const menu = h('div', { class: 'menu', role: 'menu', 'aria-label': button.getAttribute('aria-label') ?? button.textContent }, items.map(item));
  menu.addEventListener('keydown', onKey);
  if (openPopup(button, menu)) enabled(menu)[0]?.focus();
}

function item(entry) {
  if (!entry) return h('hr', { role: 'separator' });
  return h('button', { type: 'button', role: 'menuitem', tabindex: '-1', disabled: entry.disabled, title: entry.title, class: entry.danger ? 'danger' : null, on: { click: () => { closePopup(true); entry.run(); } } },
    entry.icon && icon(entry.icon), h('span', { text: entry.label }), entry.key && h('span', { class: 'menu-key', text: entry.key }));
}

function enabled(menu) {
  return [...menu.querySelectorAll('button:not(:disabled)')];
}

function onKey(event) {
  const list = enabled(event.currentTarget);
  const at = list.indexOf(document.activeElement);
  const move = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: list.length - 1 }[event.key];
  if (move !== undefined) list[(move + list.length) % list.length]?.focus();
  else if (event.key === 'Tab') closePopup(true);
  else return;
  event.preventDefault();
  event.stopPropagation();
}
