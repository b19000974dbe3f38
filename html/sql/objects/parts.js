// Parts that the panes of objects are made of: sections, tables, facts, SQL text.
import { copyText, h, icon, marked } from '../../common/dom.js';
import { tokens } from '../core/lexer.js';

/** @typedef {import('../../common/dom.js').Child} Child */

/** A text longer than this is shown without colours, in characters. */
const MAX_COLOURED = 60_000;

/** @param {string} title @param {number|undefined} count @param {...Child} content */
export function section(title, count, ...content) {
  return h('section', { class: 'schema-section' }, h('h3', { text: count === undefined ? title : `${title} (${count.toLocaleString('en')})` }), ...content);
}

/** @param {string} label @param {string[]} names @param {HTMLElement[]} rows */
export function table(label, names, rows) {
  const head = h('tr', {}, names.map((name) => h('th', { scope: 'col', text: name })));
  return h('div', { class: 'schema-scroll', tabindex: 0, role: 'group', 'aria-label': label }, h('table', { 'aria-label': label }, h('thead', {}, head), h('tbody', {}, rows)));
}

/** @param {...any} cells nodes, or what becomes text */
export function row(...cells) {
  return h('tr', {}, cells.map((cell) => (cell instanceof Node ? h('td', {}, cell) : h('td', {}, marked(String(cell ?? ''))))));
}

/** @param {any} text */
export function code(text) {
  return h('code', {}, marked(String(text ?? '')));
}

/** A line of text above or instead of a table. @param {string|null|undefined|false} text @param {string} [kind] */
export function note(text, kind = '') {
  return text ? h('p', { class: `schema-note ${kind}`.trim(), role: 'note', text }) : null;
}

/** Facts in a line: names and values; those without a value are left out. @param {[string, any][]} list */
export function facts(list) {
  const known = list.filter(([, value]) => value !== null && value !== undefined && value !== '');
  return known.length ? h('dl', { class: 'facts' }, known.map(([name, value]) => h('div', {}, h('dt', { text: name }), h('dd', {}, value instanceof Node ? value : marked(String(value)))))) : null;
}

/**
 * A text that can be copied.
 * @param {string} title @param {string|null} sql @param {Notify} notify @param {...Child} buttons before the one that copies
 */
export function sqlText(title, sql, notify, ...buttons) {
  if (!sql) return null;
  const copy = h('button', { type: 'button', class: 'button', on: { click: () => copied(sql, title, notify) } }, icon('copy'), 'Copy');
  const pre = h('pre', { class: 'create-statement', tabindex: '0', role: 'group', 'aria-label': title }, highlighted(sql));
  return section(title, undefined, h('div', { class: 'section-buttons' }, ...buttons, copy), pre);
}

/** Copies a text and says so. @param {string} text @param {string} what @param {Notify} notify */
export async function copied(text, what, notify) {
  if (await copyText(text)) notify(`${what} copied`, 'good');
  else notify('The browser blocked the clipboard; select the text and copy it', 'warn');
}

/** SQL as text and highlighted spans. @param {string} sql @returns {(Node|string)[]} */
export function highlighted(sql) {
  if (sql.length > MAX_COLOURED) return marked(sql);
  const out = [];
  let at = 0;
  for (const { type, start, end } of tokens(sql)) {
    if (start > at) out.push(...marked(sql.slice(at, start)));
    out.push(h('span', { class: `tok-${type}` }, marked(sql.slice(start, end))));
    at = end;
  }
  return [...out, ...marked(sql.slice(at))];
}
