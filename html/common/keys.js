// Keyboard shortcuts: one table for the listener and for the overview.
import { h, isMac } from './dom.js';
import { openDialog } from './dialog.js';

/**
 * @typedef {{group: string, keys: string[], what: string, command?: string, match?: (event: KeyboardEvent) => boolean, outside?: boolean, within?: string}} Key
 *   `command` runs when `match` is true; an `outside` key is left to a field that has the focus; a key with `within` runs with the focus
 *   in these elements, or nowhere
 */

/** Control or Command, without Alt. @param {KeyboardEvent} event */
export function mod(event) {
  return (event.metaKey || event.ctrlKey) && !event.altKey;
}

/** Alt alone. @param {KeyboardEvent} event */
export function alt(event) {
  return event.altKey && !event.ctrlKey && !event.metaKey;
}

/** No modifier at all. @param {KeyboardEvent} event */
export function bare(event) {
  return !event.ctrlKey && !event.metaKey && !event.altKey && !event.shiftKey;
}

function inField(target) {
  return target instanceof Element && target.closest('input, textarea, select, [contenteditable]') !== null;
}

function isWithin(target, selector) {
  return !(target instanceof Element) || target === document.body || target.closest(selector) !== null;
}

/** Listens for the keys of a table. @param {Key[]} table @param {Record<string, (event: KeyboardEvent) => void>} commands */
export function listenForKeys(table, commands) {
  document.addEventListener('keydown', (event) => {
    if (event.defaultPrevented || event.isComposing || document.querySelector('dialog[open]')) return;
    const key = table.find(({ match, outside, within }) => match?.(event) && !(outside && inField(event.target)) && (!within || isWithin(event.target, within)));
    if (!key?.command) return;
    event.preventDefault();
    commands[key.command](event);
  });
}

/** Text of a command's keys, for menus and tooltips. @param {Key[]} table @param {string} command */
export function keyText(table, command) {
  const key = table.find((entry) => entry.command === command);
  return key ? key.keys.join(isMac ? ' ' : '+') : '';
}

/** The overview of all keys. @param {Key[]} table */
export function showKeys(table) {
  const groups = [...new Set(table.map(({ group }) => group))];
  const body = h('div', { class: 'keys' }, groups.map((group) => h('section', {}, h('h3', { text: group }),
    h('dl', {}, table.filter((key) => key.group === group).map(({ keys, what }) =>
      h('div', {}, h('dt', {}, keys.map((key) => h('kbd', { class: 'key', text: key }))), h('dd', { text: what })))))));
  return openDialog({ title: 'Keyboard', wide: true, body });
}
