/**
 * The pane of a statement that failed.
 * @module
 */

import { h, icon } from '../../common/dom.js';

/** Characters of a statement shown with its error, either side of the place. */
const AROUND = 1000;

/** The statement around its error, with the place marked. */
function markedSql(sql, offset) {
  if (offset === undefined || offset === null || offset > sql.length) return [sql.slice(0, 2 * AROUND)];
  const end = offset + Math.max(1, /^\w+/.exec(sql.slice(offset, offset + 64))?.[0].length ?? 1);
  return [sql.slice(Math.max(0, offset - AROUND), offset), h('mark', { text: sql.slice(offset, end) || ' ' }), sql.slice(end, end + AROUND)];
}

/**
 * The server's message, and the statement with the place marked. `jump` leads to the place in the editor.
 * @param {{message: string, error?: DbError|null, sql?: string, offset?: number}} failure
 * @param {() => void} jump
 */
export function errorPanel({ message, error, sql, offset }, jump) {
  const facts = error ? `error ${error.errno} · SQLSTATE ${error.sqlstate}` : '';
  const known = offset !== undefined && offset !== null;
  return h('div', { class: 'error-panel', tabindex: 0, role: 'region', 'aria-label': 'Error' },
    h('p', { class: 'error-message' }, icon('error'), h('span', { text: message })),
    facts && h('p', { class: 'dim', text: facts }),
    known && h('button', { type: 'button', class: 'button', text: 'Show in editor', on: { click: jump } }),
    sql && h('pre', { class: 'error-sql' }, ...markedSql(sql, offset)));
}
