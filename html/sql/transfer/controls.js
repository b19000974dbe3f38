/**
 * Small parts of the import's form.
 * @module
 */

import { fill, h } from '../../common/dom.js';

/** A labelled control. @param {string} label @param {...HTMLElement} controls */
export function field(label, ...controls) {
  return h('label', { class: 'import-field' }, h('span', { text: label }), controls);
}

/** A choice. @param {Record<string, string>|[string, string][]} options @param {() => void} onChange @param {string} [label] where none stands beside it */
export function choice(options, onChange, label) {
  const select = h('select', { class: 'field', 'aria-label': label, on: { change: onChange } });
  setOptions(select, options);
  return select;
}

/** @param {HTMLSelectElement} select @param {Record<string, string>|[string, string][]} options */
export function setOptions(select, options) {
  const pairs = Array.isArray(options) ? options : Object.entries(options);
  fill(select, pairs.map(([value, text]) => h('option', { value, text })));
}

/** A box to be ticked, with its text. @param {string} text @param {() => void} onChange */
export function tick(text, onChange) {
  const box = h('input', { type: 'checkbox', on: { change: onChange } });
  return { box, element: h('label', { class: 'check' }, box, h('span', { text })) };
}

/** @param {number} count @param {string} one @param {string} [many] */
export const counted = (count, one, many = `${one}s`) => `${count.toLocaleString('en')} ${count === 1 ? one : many}`;
