/**
 * Values of a column that are chosen rather than typed.
 * @module
 */

import { h } from '../../common/dom.js';
import { closePopup, openPopup } from '../../common/popup.js';
import { Default } from './changes.js';

/** @typedef {import('./changes.js').Value} Value */

/** Choices for a column, with their texts. @param {import('./fields.js').Field} field @returns {{value: Value, text: string, hint: string}[]} */
function offersOf(field) {
  const values = field.kind !== 'boolean' ? field.choices.map((value) => ({ value, text: value || '‹empty›', hint: '' }))
    : field.base === 'bit' ? [{ value: '0x01', text: '1', hint: 'true' }, { value: '0x00', text: '0', hint: 'false' }]
      : [{ value: '1', text: '1', hint: 'true' }, { value: '0', text: '0', hint: 'false' }];
  return [
    ...values,
    ...(field.nullable ? [{ value: null, text: 'NULL', hint: 'no value' }] : []),
    ...(field.required ? [] : [{ value: new Default(), text: 'DEFAULT', hint: 'the column default' }]),
  ];
}

/**
 * Opens the list of a column's values under its cell.
 * @param {HTMLElement} cell
 * @param {{field: import('./fields.js').Field, value: Value, label: string, typed?: string, done: (value: Value, move: 'down'|'right'|'left'|'all'|'') => void}} options `all`: for all selected cells
 */
export function openChoices(cell, { field, value, label, typed = '', done }) {
  const offers = offersOf(field);
  const isNow = (offer) => offer.value === value || (value !== null && offer.value !== null && typeof offer.value !== 'object' && String(offer.value) === String(value));
  const options = offers.map((offer) => h('button', {
    type: 'button', role: 'option', class: typeof offer.value === 'string' ? '' : 'special', tabindex: -1, 'aria-selected': String(isNow(offer)),
    on: { click: () => choose(offer, 'down') },
  }, h('span', { text: offer.text }), offer.hint && h('span', { class: 'menu-key', text: offer.hint })));
  const list = h('div', { class: 'menu choices', role: 'listbox', tabindex: -1, 'aria-label': label }, options);
  const choose = (offer, move) => {
    closePopup(true);
    cell.removeAttribute('aria-expanded');
    done(offer.value, move);
  };
  const { move, seek } = walker(list, options, offers.map(({ text }) => text));
  list.addEventListener('keydown', (event) => {
    const here = offers[options.indexOf(/** @type {any} */ (document.activeElement))];
    const fills = event.key === 'Enter' && (event.ctrlKey || event.metaKey);
    if (here && (fills || event.key === 'Tab')) choose(here, fills ? 'all' : event.shiftKey ? 'left' : 'right');
    else if (!fills && !move(event)) return;
    event.preventDefault();
    event.stopPropagation();
  });
  if (!openPopup(cell, list)) return;
  forgetExpanded(cell, list);
  (options[offers.findIndex(isNow)] ?? options[0])?.focus();
  if (typed) seek({ key: typed, timeStamp: performance.now() });
}

/** Keys that go through a list: arrows, and letters with which an entry begins; where none does, none has the focus. @param {HTMLElement} list @param {HTMLElement[]} entries @param {string[]} texts */
function walker(list, entries, texts) {
  let sought = '';
  let at = 0;
  const seek = ({ key, timeStamp }) => {
    sought = key === ' ' || timeStamp - at < 1000 ? sought + key : key;
    at = timeStamp;
    (entries[texts.findIndex((text) => text.toLowerCase().startsWith(sought.toLowerCase()))] ?? list).focus();
  };
  /** True if the key is one of them; a blank is where letters came before it. */
  const move = (event) => {
    const here = entries.indexOf(/** @type {any} */ (document.activeElement));
    const to = { ArrowDown: here + 1, ArrowUp: Math.max(here, 0) - 1, Home: 0, End: entries.length - 1 }[event.key];
    if (to !== undefined) {
      sought = '';
      entries[(to + entries.length) % entries.length].focus();
      return true;
    }
    if (event.key.length !== 1 || event.ctrlKey || event.metaKey || event.altKey || (event.key === ' ' && sought === '')) return false;
    seek(event);
    return true;
  };
  return { move, seek };
}

/**
 * Opens the values of a SET under its cell; each is taken at once, and Ctrl+Enter takes them for all selected cells.
 * @param {HTMLElement} cell
 * @param {{field: import('./fields.js').Field, value: Value, label: string, done: (value: Value, move?: 'all') => void}} options
 */
export function openSet(cell, { field, value, label, done }) {
  const chosen = new Set(typeof value === 'string' ? value.split(',') : []);
  const all = () => field.choices.filter((one) => chosen.has(one)).join(',');
  const boxes = field.choices.map((name) => {
    const box = h('input', { type: 'checkbox', on: { change: () => {
      if (box.checked) chosen.add(name);
      else chosen.delete(name);
      done(all());
    } } });
    box.checked = chosen.has(name);
    return box;
  });
  const instead = (text, other) => h('button', { type: 'button', class: 'button small', text, on: { click: () => { closePopup(true); cell.removeAttribute('aria-expanded'); done(other); } } });
  const close = h('button', { type: 'button', class: 'button small primary', text: 'Close', on: { click: () => closePopup(true) } });
  const panel = h('div', { class: 'menu panel choices', role: 'dialog', 'aria-modal': 'false', tabindex: -1, 'aria-label': label }, boxes.map((box, i) => h('label', { class: 'check' }, box, h('span', { text: field.choices[i] }))),
    h('div', { class: 'choices-foot' }, field.nullable && instead('NULL', null), !field.required && instead('DEFAULT', new Default()), close));
  const { move } = walker(panel, boxes, field.choices);
  panel.addEventListener('keydown', (event) => {
    if (event.key === 'Escape') return;
    event.stopPropagation();
    const fills = event.key === 'Enter' && (event.ctrlKey || event.metaKey);
    if (fills || (event.key === 'Enter' && event.target instanceof HTMLInputElement)) closePopup(true);
    if (fills) done(all(), 'all');
    if (fills || move(event)) event.preventDefault();
  });
  if (!openPopup(cell, panel)) return;
  forgetExpanded(cell, panel);
  /** @type {HTMLElement|null} */ (panel.querySelector('input, button'))?.focus();
}

/** A cell opens nothing by itself, and is another one after scrolling. */
function forgetExpanded(cell, popup) {
  cell.removeAttribute('aria-expanded');
  new MutationObserver((_, watcher) => {
    if (popup.isConnected) return;
    watcher.disconnect();
    cell.removeAttribute('aria-expanded');
  }).observe(popup.parentNode, { childList: true });
}
