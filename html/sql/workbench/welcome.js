// Content of an empty result area.
import { h, icon, marked } from '../../common/dom.js';

/** Statements of the history that are offered. */
const OFFERED = 3;

/**
 * @param {{history: import('../core/history.js').Entry[], fillIn: (entry: import('../core/history.js').Entry) => void, browse: () => void, open: () => void, keys: () => void}} offers
 */
export function welcome({ history, fillIn, browse, open, keys }) {
  const offer = (name, label, run) => h('button', { type: 'button', class: 'button small', on: { click: run } }, icon(name), h('span', { text: label }));
  const last = history.slice(0, OFFERED).map((entry) => h('li', {}, h('button', { type: 'button', class: 'welcome-entry', title: 'Fill in without running', on: { click: () => fillIn(entry) } },
    h('code', {}, marked(entry.sql.slice(0, 300).replace(/\s+/g, ' '))), entry.db && h('span', { class: 'dim' }, marked(entry.db)))));
  return h('div', { class: 'empty welcome' },
    h('p', { text: 'Results appear here.' }),
    h('p', { class: 'dim by-keys', text: 'Run the statement at the cursor with Ctrl+Enter or Cmd+Enter.' }),
    h('div', { class: 'welcome-offers' }, offer('sidebar', 'Browse tables', browse), offer('upload', 'Open a script', open), offer('help', 'Keyboard', keys)),
    last.length > 0 && [h('p', { class: 'dim', text: 'Recent:' }), h('ul', { 'aria-label': 'Recent statements' }, last)]);
}
