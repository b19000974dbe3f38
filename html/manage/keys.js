// The keyboard of the management page.
import * as keyboard from '../common/keys.js';

const { bare, mod } = keyboard;

/** @type {keyboard.Key[]} */
const KEYS = [
  { group: 'Page', keys: ['N'], what: 'Add an application', command: 'add', outside: true, match: (e) => bare(e) && e.key === 'n' },
  { group: 'Page', keys: ['/'], what: 'Search the applications', command: 'search', outside: true, match: (e) => !mod(e) && !e.altKey && e.key === '/' },
  { group: 'Page', keys: ['V'], what: 'Table or cards', command: 'view', outside: true, match: (e) => bare(e) && e.key === 'v' },
  { group: 'Page', keys: ['?'], what: 'This overview', command: 'keys', outside: true, match: (e) => !mod(e) && !e.altKey && e.key === '?' },
  { group: 'Applications', keys: ['↑', '↓'], what: 'Previous or next card' },
  { group: 'Applications', keys: ['←', '→'], what: 'Next card; in a row the next button' },
  { group: 'Applications', keys: ['Tab'], what: 'Next control: address, Copy link, Open, Connect, more' },
  { group: 'Applications', keys: ['Enter'], what: 'Press the button; follow the address' },
  { group: 'Dialogs', keys: ['Esc'], what: 'Close; asks first if you typed something' },
  { group: 'Dialogs', keys: ['Enter'], what: 'Save, in a field of the form' },
];

/** Listens for the page's keys. @param {Record<string, () => void>} commands */
export const listenForKeys = (commands) => keyboard.listenForKeys(KEYS, commands);

/** The overview of all keys. */
export const showKeys = () => keyboard.showKeys(KEYS);

/** Steps of the arrow keys, across and down. */
const STEPS = { ArrowRight: [1, 0], ArrowDown: [0, 1], ArrowLeft: [-1, 0], ArrowUp: [0, -1] };
const CONTROLS = 'a[href], button:not(:disabled)';

/** Arrow keys lead from anywhere in an application to another, as they lie on the screen. @param {HTMLElement} list */
export function walkCards(list) {
  list.addEventListener('keydown', (event) => {
    const from = event.target instanceof HTMLElement ? event.target : null;
    const step = STEPS[event.key];
    const card = from?.closest('.card');
    if (!from || !card || !step || !bare(event) || event.defaultPrevented || from.closest('input, .log')) return;
    const isRow = list.classList.contains('as-table');
    const next = isRow && step[0] !== 0 ? beside(card, from, step[0]) : sameIn(neighbour(list, card, step), from);
    next?.focus();
    event.preventDefault();
  });
}

/** @returns {HTMLElement[]} */
function controlsOf(card) {
  return [...card.querySelectorAll(CONTROLS)].filter((control) => control.checkVisibility());
}

function beside(card, from, by) {
  const controls = controlsOf(card);
  return controls[controls.indexOf(from) + by];
}

/** The nearest card in a direction, by where the cards begin. */
function neighbour(list, card, [across, down]) {
  const cards = [...list.querySelectorAll('.card')].filter((other) => other.checkVisibility());
  const at = cards.indexOf(card);
  if (across !== 0) return cards[at + across];
  const { left, top } = card.getBoundingClientRect();
  /** @type {Element|undefined} */
  let best;
  let least = Infinity;
  for (let i = at + down; i >= 0 && i < cards.length; i += down) {
    const box = cards[i].getBoundingClientRect();
    if ((box.top - top) * down <= 1) continue;
    const far = Math.abs(box.top - top) + 4 * Math.abs(box.left - left);
    if (far < least) [best, least] = [cards[i], far];
    // All following cards are further away.
    if (best && Math.abs(box.top - top) > least) break;
  }
  return best;
}

/** The control of another card that corresponds to this one, else its first button. */
function sameIn(card, from) {
  if (!card) return undefined;
  const kind = ['[data-more]', '[data-qr]', '[data-open]', '[data-part="copy"]', '[data-part="toggle"]'].find((selector) => from.matches(selector));
  const same = kind && card.querySelector(kind);
  return same?.checkVisibility() ? same : card.querySelector('.slot > :not([hidden])') ?? controlsOf(card)[0];
}
