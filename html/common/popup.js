// Pop-ups under a button: menus and small panels. One is open at a time.
import { h, query } from './dom.js';

/** Space kept to the window's edges, and to the button, in px. */
const EDGE = 8;
const GAP = 4;

/** @typedef {{isConnected: boolean, focus: () => void}} Back gets the focus back */

/** @type {{button: HTMLElement, element: HTMLElement, side: 'left'|'right', back: Back}|null} */
let current = null;

/**
 * Opens `element` under `button`; closes it where it is already open.
 * @param {HTMLElement} button
 * @param {HTMLElement} element
 * @param {'left'|'right'} [side] of the button, with which it is aligned
 * @param {Back} [back]
 * @returns {boolean} whether it was opened
 */
export function openPopup(button, element, side = 'left', back = button) {
  const again = current?.button === button;
  closePopup();
  if (again) return false;
  // Within the landmark of its button, which a reader of screens is in.
  (button.closest('dialog') ?? button.closest('main, nav, header') ?? document.body).append(element);
  current = { button, element, side, back };
  button.setAttribute('aria-expanded', 'true');
  placePopup();
  element.addEventListener('keydown', onKey);
  element.addEventListener('focusout', (event) => { if (event.relatedTarget) closeOutside(event.relatedTarget); });
  addEventListener('pointerdown', onPress, true);
  return true;
}

/**
 * Opens a panel for choices that a menu cannot hold.
 * @param {HTMLElement} button
 * @param {string} label
 * @param {(close: () => void) => Node[]} build gets the function that closes the panel
 * @param {Back} [back]
 */
export function openPanel(button, label, build, back = button) {
  const panel = h('div', { class: 'menu panel', role: 'dialog', 'aria-modal': 'false', 'aria-label': label }, build(() => closePopup(true)));
  if (openPopup(button, panel, 'right', back)) (query(panel, '[data-first]') ?? query(panel, 'button, input, select'))?.focus();
}

/** Closes what is open, if anything; its element gets the event `close`. @param {boolean} [refocus] whether the focus goes back to its button */
export function closePopup(refocus = false) {
  if (!current) return;
  const { button, element, back } = current;
  current = null;
  removeEventListener('pointerdown', onPress, true);
  button.setAttribute('aria-expanded', 'false');
  element.remove();
  element.dispatchEvent(new Event('close'));
  if (!refocus) return;
  (back.isConnected ? back : button).focus();
  // A button that is seen only under the pointer takes no focus: its neighbour does.
  if (document.activeElement === document.body && button.parentElement) query(button.parentElement, 'button')?.focus();
}

/** Places what is open again: its size has changed. */
export function placePopup() {
  if (!current) return;
  const { button, element, side } = current;
  const box = button.getBoundingClientRect();
  const { offsetWidth: width, offsetHeight: height } = element;
  const left = side === 'left' ? box.left : box.right - width;
  const below = box.bottom + GAP;
  const last = innerHeight - height - EDGE;
  element.style.left = `${Math.max(EDGE, Math.min(left, innerWidth - width - EDGE))}px`;
  element.style.top = `${below <= last ? below : Math.max(EDGE, Math.min(box.top - height - GAP, last))}px`;
}

function onKey(event) {
  if (event.key !== 'Escape') return;
  event.preventDefault();
  event.stopPropagation();
  closePopup(true);
}

function onPress(event) {
  closeOutside(event.target);
}

function closeOutside(target) {
  if (!current?.element.contains(target) && !current?.button.contains(target)) closePopup();
}

// The button has moved.
addEventListener('resize', () => closePopup());
