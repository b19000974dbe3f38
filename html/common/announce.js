// Announcements: live regions for assistive technology, and toasts.
import { h, iconButton, queryAll } from './dom.js';

/** Time a toast stays, in ms. Errors stay until they are dismissed. */
const TOAST_MS = 6000;
/** The most toasts shown at once; the oldest makes room. */
const TOAST_MAX = 4;

/** @type {Record<string, HTMLElement>} */
const regions = {};

function region(kind) {
  if (!regions[kind]) {
    regions[kind] = h('div', { class: 'visually-hidden', role: kind === 'bad' ? 'alert' : 'status', 'aria-live': kind === 'bad' ? 'assertive' : 'polite' });
    document.body.append(regions[kind]);
  }
  return regions[kind];
}

/**
 * Announces `text` through a live region.
 * @param {string} text
 * @param {'info'|'good'|'warn'|'bad'} [kind] `bad` interrupts
 */
export function announce(text, kind = 'info') {
  const target = region(kind === 'bad' ? 'bad' : 'info');
  target.textContent = '';
  // Setting it in a later task makes screen readers repeat an unchanged text.
  setTimeout(() => { target.textContent = text; }, 30);
}

/**
 * Shows a strip with a text, or hides it where the text is empty. The text is set only when it changes, so an alert is not repeated.
 * @param {HTMLElement} strip its text is in its `span`, where it has one
 * @param {string} text
 */
export function showStrip(strip, text) {
  const words = strip.querySelector('span') ?? strip;
  strip.hidden = text === '';
  if (words.textContent !== text) words.textContent = text;
}

/** Place of toasts in the topmost modal dialog, which would hide what is outside of it; else in the page. */
function host() {
  const place = [...document.querySelectorAll('dialog[open]')].pop() ?? document.body;
  const known = place.querySelector(':scope > .toasts');
  const box = known ?? h('div', { class: 'toasts', role: 'region', 'aria-label': 'Notices' });
  if (!known) place.append(box);
  return box;
}

/** Takes toasts into the topmost dialog, or out of one that was closed. Of earlier ones, a new dialog has only those that wait for an answer. @param {ParentNode} [closed] */
export function stackToasts(closed) {
  const toasts = queryAll(closed ?? document, closed ? '.toast' : '[data-stays]');
  if (toasts.length) host().append(...toasts);
  placeToasts();
}

/** @type {ResizeObserver|undefined} */
let moves;

/**
 * Keeps toasts from lying over an element as long as that is in sight.
 * @param {HTMLElement} element it stands in its place already
 */
export function keepClear(element) {
  element.dataset.clear = '';
  if (!moves) document.addEventListener('scroll', placeToasts, { capture: true, passive: true });
  moves ??= new ResizeObserver(placeToasts);
  // It moves when what stands beside it grows.
  for (const one of element.parentElement?.children ?? [element]) moves.observe(one);
}

/** Puts the toasts above what they must not cover. */
function placeToasts() {
  const stack = /** @type {HTMLElement|null} */ (document.querySelector('body > .toasts'));
  if (!stack?.childElementCount) return;
  const tops = queryAll(document, '[data-clear]').filter((one) => one.checkVisibility()).map((one) => one.getBoundingClientRect().top);
  stack.style.setProperty('--clear', `${innerHeight - Math.min(innerHeight, ...tops)}px`);
}

/**
 * Shows a toast and announces it. One with a link or a button stays until it is dismissed, as an error does.
 * @param {string} text
 * @param {'info'|'good'|'warn'|'bad'} [kind]
 * @param {{text: string, href?: string, run?: () => void}} [link] opens in a new tab; its scheme is the caller's to check. `run`: it is a button
 * @returns {HTMLElement} the toast
 */
export function notify(text, kind = 'info', link) {
  const body = h('p', { text });
  const toast = h('div', { class: `toast ${kind}` }, body);
  if (link?.run) body.append(' ', h('button', { type: 'button', class: 'link', text: link.text, on: { click: () => { toast.remove(); link.run?.(); } } }));
  else if (link) body.append(' ', h('a', { href: link.href, target: '_blank', rel: 'noopener noreferrer', text: link.text, on: { click: () => toast.remove() } }));
  toast.append(iconButton('close', 'Dismiss', () => toast.remove()));
  const box = host();
  // An offer is of the moment: the next one takes its place.
  if (link?.run) queryAll(box, '[data-offer]').forEach((old) => old.remove());
  if (link?.run) toast.dataset.offer = '';
  while (box.children.length >= TOAST_MAX) box.children[0].remove();
  box.append(toast);
  placeToasts();
  if (kind === 'bad' || link) toast.dataset.stays = '';
  else setTimeout(() => toast.remove(), TOAST_MS);
  announce(text, kind);
  return toast;
}
