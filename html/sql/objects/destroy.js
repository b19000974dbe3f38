/**
 * Asks before something is destroyed: its name is typed, the statement is shown, and what it has for a consequence.
 * @module
 */

import { fill, h } from '../../common/dom.js';
import { openDialog } from '../../common/dialog.js';
import { ask, askRows, textOf } from '../ask.js';
import { consequence, dropSql, truncateSql } from './kinds.js';
import { highlighted } from './parts.js';
import { referencesTo, usesOf } from './tablefacts.js';

/** @typedef {{api: import('./privileges.js').Api, mariadb: boolean, queryId: string}} Deps `queryId`: by which the statement can be cancelled */

let serial = 0;

/**
 * Drops or empties an object. Resolves with the statement that was run, or null where nothing was.
 * @param {'drop'|'truncate'} what @param {import('./kinds.js').Named} object @param {Deps} deps
 * @returns {Promise<string|null>}
 */
export async function destroy(what, object, deps) {
  const { kind, name } = object;
  const sql = what === 'drop' ? dropSql(object) : truncateSql(object);
  const input = h('input', { class: 'field', id: `destroy-${(serial += 1)}`, autocomplete: 'off', spellcheck: 'false', autocapitalize: 'off', autofocus: true });
  const more = h('ul', { class: 'consequences', 'aria-live': 'polite' });
  const status = h('p', { class: 'destroy-status', role: 'status' });
  const verb = what === 'drop' ? 'Drop' : 'Truncate';
  const say = (lines) => more.append(...lines.map((text) => h('li', { text })));
  foreignKeys(object, deps).then(say, (error) => say([`Could not check foreign keys: ${error.message}`]));
  if (what === 'drop' && (kind === 'table' || kind === 'view')) usesOf({ ...deps, db: object.db, table: name }).then(say, (error) => say([`Could not check what uses it: ${error.message}`]));
  return await openDialog({
    title: `${verb} ${kind} ${name}`,
    body: [
      h('p', { text: what === 'drop' ? consequence(object) : 'This removes every row, resets AUTO_INCREMENT and runs no triggers. It cannot be rolled back.' }), more,
      h('pre', { class: 'quote', role: 'group', tabindex: '0', 'aria-label': 'Statement' }, highlighted(sql)),
      h('label', { class: 'dim', for: input.id }, 'To confirm, type its name: ', h('b', { text: name })), input, status,
    ],
    actions: [{ label: 'Cancel', value: null }],
    onOpen: (dialog, close) => {
      const button = h('button', { type: 'button', class: 'button danger', text: verb, disabled: true });
      dialog.querySelector('.dialog-foot')?.append(button);
      const act = () => (button.disabled ? undefined : run(sql, object, deps, { button, input, status }, close));
      input.addEventListener('input', () => { button.disabled = input.value !== name; });
      input.addEventListener('keydown', (event) => { if (event.key === 'Enter' && !event.isComposing) { event.preventDefault(); act(); } });
      button.addEventListener('click', act);
      // A statement that waits for a lock ends with its dialog.
      dialog.addEventListener('close', () => { if (input.disabled) deps.api.cancel(deps.queryId).catch(() => {}); });
    },
  }) ?? null;
}

async function run(sql, { kind, db }, { api, queryId }, { button, input, status }, close) {
  button.disabled = input.disabled = true;
  fill(status, 'Running … It may wait for other users; Cancel stops it.');
  try {
    await ask(api, { sql, db: kind === 'database' ? '' : db, queryId });
    input.disabled = false;
    close(sql);
  } catch (error) {
    button.disabled = input.disabled = false;
    fill(status, h('span', { class: 'bad', role: 'alert', text: error.message }));
    input.focus();
  }
}

/** References to it, as sentences. @returns {Promise<string[]>} */
async function foreignKeys({ kind, db, name }, { api, mariadb }) {
  if (kind === 'database') return databaseContents(api, name);
  if (kind !== 'table') return [];
  const list = (await referencesTo({ api, db, table: name, mariadb }, true)).filter((one) => one.db !== db || one.name !== name);
  const by = (one) => `${one.db === db ? '' : `${one.db}.`}${one.name} (foreign key ${one.fk})`;
  return list.length ? [`The server refuses this while foreign keys reference the table: ${list.map(by).join(', ')}.`] : [];
}

/** @returns {Promise<string[]>} */
async function databaseContents(api, name) {
  const db = textOf(name);
  const [[tables], [routines], others] = await Promise.all([
    askRows(api, { sql: `SELECT COUNT(*) AS n, COALESCE(SUM(TABLE_TYPE = 'VIEW'), 0) AS views FROM information_schema.TABLES WHERE TABLE_SCHEMA = ${db}` }),
    askRows(api, { sql: `SELECT COUNT(*) AS n FROM information_schema.ROUTINES WHERE ROUTINE_SCHEMA = ${db}` }),
    askRows(api, { sql: `SELECT DISTINCT CONCAT(TABLE_SCHEMA, '.', TABLE_NAME) AS name FROM information_schema.KEY_COLUMN_USAGE WHERE REFERENCED_TABLE_SCHEMA = ${db} AND TABLE_SCHEMA <> ${db} LIMIT 20` }),
  ]);
  const count = (n, one) => `${Number(n).toLocaleString('en')} ${one}${Number(n) === 1 ? '' : 's'}`;
  return [`Visible to this account: ${count(tables.n - tables.views, 'table')}, ${count(tables.views, 'view')} and ${count(routines.n, 'routine')}.`,
    ...(others.length ? [`Foreign keys of other databases reference it: ${others.map((one) => one.name).join(', ')}. The server may refuse.`] : [])];
}
