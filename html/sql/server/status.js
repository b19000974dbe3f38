/**
 * The server's counters, with how fast each counts, and its variables, with which are not as the server comes.
 * @module
 */

import { h } from '../../common/dom.js';
import { askRows } from '../ask.js';
import { DataTable } from './datatable.js';
import { check, frame, textOfRow } from './parts.js';

/** Values that must not be shown. */
const SECRET = /(?:^|_)(?:password|passphrase|sst_auth)$/;

/** @param {import('./parts.js').Deps} deps @returns {import('./parts.js').Page} */
export function statusPage({ api }) {
  const table = new DataTable({
    label: 'Status', unit: 'counter', sort: { key: 'name', down: false },
    columns: [
      { key: 'name', title: 'Name', stays: 'start', cell: ({ name }) => h('code', { text: name }) }, { key: 'number', title: 'Value', number: true, cell: ({ value, number }) => (Number.isFinite(number) ? number.toLocaleString('en', { maximumFractionDigits: 6 }) : value) },
      { key: 'rate', title: 'Per second, since last refresh', number: true, cell: ({ rate }) => signed(rate) }, { key: 'since', title: 'Since this page was opened', number: true, cell: ({ since }) => signed(since) },
    ],
  });
  let [first, last, at] = [new Map(), new Map(), 0];
  const load = async (signal) => {
    const rows = await askRows(api, { sql: 'SHOW GLOBAL STATUS', signal });
    const now = performance.now();
    const seconds = (now - at) / 1000;
    const values = new Map(rows.map(({ variable_name: name, value }) => [name, value]));
    if (!first.size) first = values;
    table.set([...values].map(([name, value]) => counter(name, value, { first: first.get(name), last: last.get(name), seconds })));
    [last, at] = [values, now];
  };
  return frame({ label: 'Status', table, again: 5, load, tools: [check('Only changed counters', (on) => table.only(on ? ({ moved }) => moved : () => true))] });
}

/** One counter beside what it was. */
function counter(name, value, { first, last, seconds }) {
  const number = value === '' ? NaN : Number(value);
  const by = (before) => (before === undefined || before === value || !Number.isFinite(number) ? 0 : number - Number(before));
  const changed = last !== undefined && last !== value;
  return { id: name, name, value, number, rate: by(last) / seconds, since: by(first), moved: first !== value, changed: new Set(changed ? ['number'] : []), text: textOfRow(name, value) };
}

const signed = (value) => (value ? `${value > 0 ? '+' : '−'}${Math.abs(value).toLocaleString('en', Math.abs(value) < 10 ? { maximumSignificantDigits: 2 } : { maximumFractionDigits: 0 })}` : '');

const MARIADB = 'SELECT VARIABLE_NAME AS name, GLOBAL_VALUE AS value, DEFAULT_VALUE AS usual, GLOBAL_VALUE_ORIGIN AS source, VARIABLE_COMMENT AS comment FROM information_schema.SYSTEM_VARIABLES WHERE GLOBAL_VALUE IS NOT NULL';
const MYSQL = 'SELECT g.VARIABLE_NAME AS name, g.VARIABLE_VALUE AS value, i.VARIABLE_SOURCE AS source, i.SET_USER AS set_by, i.SET_TIME AS set_at FROM performance_schema.global_variables g LEFT JOIN performance_schema.variables_info i ON i.VARIABLE_NAME = g.VARIABLE_NAME';
/** Text for the source of a value. */
const SOURCES = { COMPILED: 'default', 'COMPILE-TIME': 'default', CONFIG: 'option file or command line', COMMAND_LINE: 'command line', EXPLICIT: 'option file', GLOBAL: 'option file', SERVER: 'option file', LOGIN: 'option file', EXTRA: 'option file', USER: 'option file', PERSISTED: 'SET PERSIST', DYNAMIC: 'SET', SQL: 'SET GLOBAL', AUTO: 'chosen by the server', ENV: 'environment' };

/** @param {import('./parts.js').Deps} deps @returns {import('./parts.js').Page} */
export function variablesPage({ api, mariadb }) {
  const table = new DataTable({
    label: 'Variables', unit: 'variable', sort: { key: 'name', down: false },
    columns: [
      { key: 'name', title: 'Name', stays: 'start', cell: ({ name, comment }) => h('code', { text: name, title: comment }) }, { key: 'value', title: 'Value', wide: true, cell: ({ value }) => h('code', { text: value }) },
      ...(mariadb() ? [{ key: 'usual', title: 'Default', wide: true, cell: ({ usual }) => h('code', { class: 'dim', text: usual }) }] : []), { key: 'source', title: 'Source' }, { key: 'mark', title: 'Mark', wide: true },
    ],
  });
  let first = new Map();
  const load = async (signal) => {
    let blind = '';
    const rows = await askRows(api, { sql: mariadb() ? MARIADB : MYSQL, signal }).catch((error) => {
      if (signal.aborted) throw error;
      blind = `Could not find out which variables were changed: ${error.message}`;
      return askRows(api, { sql: 'SHOW GLOBAL VARIABLES', signal }).then((list) => list.map(({ variable_name: name, value }) => ({ name, value })));
    });
    const list = rows.map(variable);
    if (!first.size) first = new Map(list.map(({ name, value }) => [name, value]));
    table.set(list.map((one) => marked(one, first)));
    page.say(blind);
  };
  const page = frame({ label: 'Variables', table, load, tools: [check('Only changed', (on) => table.only(on ? ({ mark }) => mark !== '' : () => true))] });
  return page;
}

/** @param {Record<string, any>} told */
function variable({ name, value, usual, source, set_by: by, set_at: at, comment }) {
  const key = String(name).toLowerCase();
  const hide = (text) => (SECRET.test(key) && text ? '***' : String(text ?? ''));
  const where = SOURCES[source] ?? String(source ?? '').toLowerCase();
  const differs = usual === undefined ? Boolean(source) && source !== 'COMPILED' : String(usual ?? '') !== String(value ?? '') && source !== 'COMPILE-TIME';
  // MySQL notes a SET of any session the same way as one of the server.
  const why = !differs ? '' : source === 'DYNAMIC' ? 'set at run time, by a session or globally' : 'not the default';
  return { id: key, name: key, value: hide(value), usual: hide(usual), source: [where, by && `by ${by}`, at && String(at).slice(0, 19)].filter(Boolean).join(' '), why, comment };
}

function marked(one, first) {
  const moved = first.has(one.name) && first.get(one.name) !== one.value;
  const mark = [one.why, moved && `was ${first.get(one.name)} when this page was opened`].filter(Boolean).join('; ');
  return { ...one, mark, look: one.why === 'not the default' ? 'differs' : null, changed: new Set(moved ? ['value'] : []), text: textOfRow(one.name, one.value, one.source, mark, one.comment) };
}
