// The keyboard of the management page.
import * as keyboard from '../common/keys.js';

const { bare, mod } = keyboard;

/** @type {keyboard.Key[]} */
const KEYS = [
  { group: 'Page', keys: ['N'], what: 'Add an application', command: 'add', outside: true, match: (e) => bare(e) && e.key === 'n' },
  { group: 'Page', keys: ['/'], what: 'Search the applications, when there are many', command: 'search', outside: true, match: (e) => !mod(e) && !e.altKey && e.key === '/' },
  { group: 'Page', keys: ['?'], what: 'This overview', command: 'keys', outside: true, match: (e) => !mod(e) && !e.altKey && e.key === '?' },
  { group: 'Cards', keys: ['↑', '↓', '←', '→'], what: 'From a button of a card to that of the next card' },
  { group: 'Cards', keys: ['Tab'], what: 'To the next control: Connect, Cancel, Disconnect, addresses, more' },
  { group: 'Cards', keys: ['Enter'], what: 'Press the button; follow the address' },
  { group: 'Dialogs', keys: ['Esc'], what: 'Close; asks first when something was typed' },
  { group: 'Dialogs', keys: ['Enter'], what: 'Save, in a field of the form' },
];

/** Listens for the page's keys. @param {Record<string, () => void>} commands */
export const listenForKeys = (commands) => keyboard.listenForKeys(KEYS, commands);

/** The overview of all keys. */
export const showKeys = () => keyboard.showKeys(KEYS);

/** Arrow keys lead from the first button of a card to that of another. @param {HTMLElement} list */
export function walkCards(list) {
  list.addEventListener('keydown', (event) => {
    const from = event.target instanceof Element && event.target.closest('.slot');
    const by = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    if (!from || by === undefined || !bare(event)) return;
    const slots = [...list.querySelectorAll('.slot')];
    const next = slots[slots.indexOf(from) + by];
    /** @type {HTMLElement|null|undefined} */
    const control = next?.querySelector(':scope > :not([hidden])');
    control?.focus();
    event.preventDefault();
  });
}
