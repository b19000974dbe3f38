// A pop-up menu under a button, as the ARIA menu-button pattern has it.
import { h, icon } from './dom.js';

/** @typedef {{label: string, icon?: string, key?: string, disabled?: boolean, run: () => void}|null} MenuItem null is a line */

/** @type {{button: HTMLElement, menu: HTMLElement}|null} */
let current = null;

/**
 * Opens a menu at `button`.
 * @param {HTMLElement} button
 * @param {MenuItem[]} items
 */
export function openMenu(button, items) {
  const again = current?.button === button;
  closeMenu();
  if (again) return;
  const menu = h('div', { class: 'menu', role: 'menu', 'aria-label': button.getAttribute('aria-label') ?? button.textContent }, items.map(item));
  const host = button.closest('dialog') ?? document.body;
  host.append(menu);
  current = { button, menu };
  button.setAttribute('aria-expanded', 'true');
  place(menu, button.getBoundingClientRect());
  menu.addEventListener('keydown', onKey);
  menu.addEventListener('focusout', (event) => { if (!menu.contains(/** @type {Node|null} */ (event.relatedTarget))) closeMenu(); });
  enabled(menu)[0]?.focus();
}

function item(entry) {
  if (!entry) return h('hr', { role: 'separator' });
  return h('button', { type: 'button', role: 'menuitem', tabindex: '-1', disabled: entry.disabled, on: { click: () => { closeMenu(true); entry.run(); } } },
    entry.icon && icon(entry.icon), h('span', { text: entry.label }), entry.key && h('span', { class: 'menu-key', text: entry.key }));
}

function enabled(menu) {
  return [...menu.querySelectorAll('button:not(:disabled)')];
}

function place(menu, box) {
  const width = menu.offsetWidth;
  const height = menu.offsetHeight;
  const left = Math.max(8, Math.min(box.left, innerWidth - width - 8));
  const below = box.bottom + 4;
  const top = below + height > innerHeight - 8 ? Math.max(8, box.top - height - 4) : below;
  menu.style.left = `${left}px`;
  menu.style.top = `${top}px`;
}

function onKey(event) {
  const list = enabled(event.currentTarget);
  const at = list.indexOf(document.activeElement);
  const move = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: list.length - 1 }[event.key];
  if (move !== undefined) list[(move + list.length) % list.length]?.focus();
  else if (event.key === 'Escape' || event.key === 'Tab') closeMenu(true);
  else return;
  event.preventDefault();
  event.stopPropagation();
}

// It hangs from a button that has moved.
addEventListener('resize', () => closeMenu());

/** Closes the open menu, if any. @param {boolean} [refocus] whether the focus goes back to its button */
export function closeMenu(refocus = false) {
  if (!current) return;
  const { button, menu } = current;
  current = null;
  button.setAttribute('aria-expanded', 'false');
  menu.remove();
  if (refocus) button.focus();
}
