/**
 * A small panel that hangs from a button: for choices that a plain menu cannot hold.
 * @module
 */

import { h, query } from '../../common/dom.js';

/** @type {{button: HTMLElement, panel: HTMLElement}|null} */
let current = null;

/**
 * Opens a panel under `button`, or closes it where it is open.
 * @param {HTMLElement} button
 * @param {string} label
 * @param {(close: () => void) => Node[]} build gets the function that closes the panel
 */
export function openPanel(button, label, build) {
  const again = current?.button === button;
  closePanel();
  if (again) return;
  const panel = h('div', { class: 'menu panel', role: 'dialog', 'aria-modal': 'false', 'aria-label': label });
  panel.append(...build(() => closePanel(true)));
  document.body.append(panel);
  current = { button, panel };
  button.setAttribute('aria-expanded', 'true');
  place(panel, button.getBoundingClientRect());
  panel.addEventListener('keydown', onKey);
  panel.addEventListener('focusout', (event) => {
    const to = /** @type {Node|null} */ (event.relatedTarget);
    if (to && !panel.contains(to) && to !== button) closePanel();
  });
  addEventListener('pointerdown', onOutside, true);
  (query(panel, '[data-first]') ?? query(panel, 'button, input, select'))?.focus();
}

function place(panel, box) {
  panel.style.left = `${Math.max(8, Math.min(box.right - panel.offsetWidth, innerWidth - panel.offsetWidth - 8))}px`;
  const below = box.bottom + 4;
  const fits = below + panel.offsetHeight <= innerHeight - 8;
  panel.style.top = `${fits ? below : Math.max(8, Math.min(box.top - panel.offsetHeight - 4, innerHeight - panel.offsetHeight - 8))}px`;
}

function onKey(event) {
  if (event.key !== 'Escape') return;
  event.preventDefault();
  event.stopPropagation();
  closePanel(true);
}

function onOutside(event) {
  if (!current?.panel.contains(event.target) && !current?.button.contains(event.target)) closePanel();
}

// It hangs from a button that has moved.
addEventListener('resize', () => closePanel());

/** Closes the open panel, if any. @param {boolean} [refocus] */
export function closePanel(refocus = false) {
  if (!current) return;
  const { button, panel } = current;
  current = null;
  removeEventListener('pointerdown', onOutside, true);
  button.setAttribute('aria-expanded', 'false');
  panel.remove();
  if (refocus) button.focus();
}
