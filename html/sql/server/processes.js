/**
 * The connections of the server and what each does.
 * @module
 */

import { h, icon } from '../../common/dom.js';
import { confirmDialog, openDialog } from '../../common/dialog.js';
import { lasting } from '../core/entries.js';
import { ask, askRows } from '../ask.js';
import { copied, facts, highlighted } from '../objects/parts.js';
import { ownGrants, reach } from '../objects/privileges.js';
import { DataTable, rowButton } from './datatable.js';
import { idsText, roots } from './locks.js';
import { frame, textOfRow } from './parts.js';
import { Waits } from './waits.js';

const LIST = (from) => `SELECT ID AS id, USER AS user, HOST AS host, DB AS db, COMMAND AS command, TIME AS time, STATE AS state, INFO AS info, ID = CONNECTION_ID() AS own FROM ${from}`;

/** Transactions that are open, by connection; the account needs PROCESS. */
const OPEN = 'SELECT trx_mysql_thread_id AS id, TIMESTAMPDIFF(SECOND, trx_started, NOW()) AS seconds FROM information_schema.INNODB_TRX';
/** Media query for narrow windows. The statement moves next to its user there. */
const NARROW = '(max-width: 760px)';

/** @param {import('./parts.js').Deps} deps @returns {import('./parts.js').Page} */
export function processesPage(deps) {
  const { api } = deps;
  let from = deps.mariadb() ? 'information_schema.PROCESSLIST' : 'performance_schema.processlist';
  const query = (row) => (row.info ? rowButton('query', row, 'Show the whole query', () => details(row, deps), h('code', { text: row.info.replace(/\s+/g, ' ').slice(0, 240) })) : '');
  const table = new DataTable({
    label: 'Processes', unit: 'connection', sort: { key: 'seconds', down: true },
    columns: inOrder([
      { key: 'id', title: 'Id', number: true, stays: 'start', cell: ({ id, user, holds, waits }) => h('span', {}, String(id), h('span', { class: 'of-narrow dim', 'aria-hidden': 'true', text: user }),
        (holds || waits) && h('span', { class: `of-narrow ${holds ? 'bad' : 'warn-text'}`, 'aria-hidden': 'true', text: holds ? 'blocks' : 'waits' })) },
      { key: 'user', title: 'User', cell: whose }, { key: 'db', title: 'Database' },
      { key: 'command', title: 'Command' }, { key: 'seconds', title: 'Time', number: true, cell: ({ seconds }) => (Number.isFinite(seconds) ? lasting(seconds) : '') }, { key: 'info', title: 'Query', rest: true, cell: query },
      { key: 'state', title: 'State' }, { key: 'host', title: 'Host' },
      ...(deps.readOnly() ? [] : [{ key: 'kill', title: 'Kill', plain: true, stays: 'end', cell: (row) => kills(row, deps, () => page.refresh()) }]),
    ]),
  });
  const load = async (signal) => {
    const rows = await askRows(api, { sql: LIST(from), limit: 10_000, signal }).catch((error) => {
      // An older MySQL, or one without its performance schema.
      if (signal.aborted || from.startsWith('information_schema')) throw error;
      from = 'information_schema.PROCESSLIST';
      return askRows(api, { sql: LIST(from), limit: 10_000, signal });
    });
    const open = await transactions(api, signal);
    const grants = await ownGrants(api);
    const waits = reach(grants, 'PROCESS') === 'all' ? await asked.waits(signal, reach(grants, 'SELECT', 'performance_schema') !== 'none') : new Map();
    const list = rows.map((row) => toRow(row, deps.user(), open.get(Number(row.id)), waits.get(Number(row.id))));
    table.set(list);
    page.say(holdersText(waits, list), grants.length > 0 && reach(grants, 'PROCESS') !== 'all' && 'Only connections of this account are shown; to see others it needs the PROCESS privilege.',
      deps.readOnly() && 'Read-only mode: nothing can be killed from here.');
  };
  const asked = new Waits(api, deps.mariadb());
  const page = frame({ label: 'Processes', table, again: 5, load });
  return page;
}

/** @param {import('./datatable.js').Column[]} columns */
function inOrder(columns) {
  if (!matchMedia(NARROW).matches) return columns;
  const place = ({ key }) => ['id', 'info', 'command', 'seconds'].indexOf(key) >>> 0;
  return columns.toSorted((a, b) => place(a) - place(b));
}

/** Age of each open transaction, in seconds; empty if the account may not read them. */
async function transactions(api, signal) {
  const rows = await askRows(api, { sql: OPEN, limit: 10_000, signal }).catch(() => /** @type {Record<string, any>[]} */ ([]));
  return new Map(rows.map(({ id, seconds }) => [Number(id), Number(seconds)]));
}

/** Tells of connections that hold up others and wait for nobody. @param {ReturnType<typeof import('./locks.js').byConnection>} waits @param {any[]} list */
function holdersText(waits, list) {
  const told = roots(waits).map(({ id, held }) => {
    const row = list.find((one) => one.id === id);
    const does = row?.info ? 'runs a statement' : 'runs nothing';
    return `${id}${row ? ` of ${row.user}, which ${does},` : ''} blocks ${held} ${held === 1 ? 'connection' : 'connections'}`;
  });
  return told.length > 0 && `Waits for locks: ${told.slice(0, 3).join('; ')}${told.length > 3 ? `; and ${told.length - 3} more` : ''}.`;
}

function toRow(row, user, open, { waitsFor, blocks } = { waitsFor: /** @type {number[]} */ ([]), blocks: /** @type {number[]} */ ([]) }) {
  const seconds = row.time === null || row.command === 'Daemon' ? NaN : Number(row.time);
  const own = Number(row.own) === 1 ? 'this page' : row.user === user ? 'your account' : '';
  // One of a statement that runs is no news; one that waits holds its locks.
  const held = open !== undefined && row.command === 'Sleep' ? `transaction open ${lasting(Math.max(0, open))}` : '';
  const waits = waitsFor.length ? `waits for ${idsText(waitsFor)}` : '';
  const holds = blocks.length ? `blocks ${idsText(blocks)}` : '';
  return { ...row, id: Number(row.id), seconds, own, held, waits, holds, waitsFor, blocks, look: row.command === 'Sleep' ? 'resting' : null, text: textOfRow(row.id, row.user, row.host, row.db, row.command, row.state, row.info, own, held, waits, holds) };
}

function whose({ user, own, held, waits, holds }) {
  const tag = (text, kind, title) => text && [' ', h('span', { class: `tag ${kind}`.trim(), title, text })];
  return h('span', {}, user, tag(own, ''), tag(holds, 'bad', 'Holds locks that they wait for'), tag(waits, 'warn-text', 'Waits for locks that they hold'), tag(held, 'warn-text', holds ? 'Keeps its locks until it ends' : 'May hold locks that others wait for'));
}

/** Threads of the server's own cannot be killed. */
const isServers = ({ command, user }) => command === 'Daemon' || user === 'system user' || user === 'event_scheduler';

function kills(row, deps, refresh) {
  if (isServers(row)) return '';
  const act = (sql, what) => async () => {
    const detail = `${sql}${row.info ? `\n\n-- ${what === 'query' ? 'current statement' : 'current statement, if any'}:\n${row.info.slice(0, 2000)}` : ''}`;
    const text = what === 'query' ? `Connection ${row.id} of ${row.user} stays open; its statement ends with an error.` : `Connection ${row.id} of ${row.user} is closed; an open transaction is rolled back.`;
    if (!await confirmDialog({ title: what === 'query' ? 'Kill the query' : 'Kill the connection', text, detail, action: 'Kill' })) return;
    try {
      await ask(deps.api, { sql });
      deps.notify(what === 'query' ? `The query of ${row.id} was killed` : `Connection ${row.id} was killed`, 'good');
    } catch (error) {
      deps.notify(error.errno === 1095 ? `${error.message}. To kill others, the account needs CONNECTION_ADMIN (MySQL), CONNECTION ADMIN (MariaDB) or SUPER.` : error.message, 'bad');
    }
    refresh();
  };
  return h('span', { class: 'row-buttons' },
    row.info && rowButton('kill-query', row, `Kill the query of ${row.id}`, act(`KILL QUERY ${row.id}`, 'query'), icon('stop'), 'button quiet square'),
    rowButton('kill', row, `Kill connection ${row.id}`, act(`KILL ${row.id}`, 'connection'), icon('close'), 'button quiet square'));
}

async function details(row, deps) {
  const body = [facts([['User', row.user], ['Host', row.host], ['Database', row.db], ['Command', row.command], ['Time', Number.isFinite(row.seconds) ? lasting(row.seconds) : null], ['State', row.state], ['Waits for', row.waitsFor.join(', ')], ['Blocks', row.blocks.join(', ')]]),
    h('pre', { class: 'quote', tabindex: '0', role: 'group', 'aria-label': 'Query' }, highlighted(row.info))];
  const chosen = await openDialog({ title: `Connection ${row.id}`, wide: true, body, actions: [{ label: 'Copy', value: 'copy' }, { label: 'Open in a new tab', value: 'open' }, { label: 'Close', value: '', kind: 'primary' }] });
  if (chosen === 'copy') copied(row.info, 'Query', deps.notify);
  else if (chosen === 'open') deps.fillIn(row.info, `query of ${row.id}`);
}
