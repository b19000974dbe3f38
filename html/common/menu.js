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
  const letter = event.ctrlKey || event.metaKey || event.altKey || event.key.length !== 1 ? '' : event.key.trim().toLowerCase();
  if (move !== undefined) list[(move + list.length) % list.length]?.focus();
  // A letter goes to the next entry that begins with it.
  else if (letter) [...list.slice(at + 1), ...list.slice(0, at + 1)].find(({ textContent }) => textContent.toLowerCase().startsWith(letter))?.focus();
  else if (event.key === 'Tab') closePopup(true);
  else return;
  event.preventDefault();
  event.stopPropagation();
}
