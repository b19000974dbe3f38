/**
 * The pane of a routine, trigger, event or sequence: what is known of it, its parameters, and the text it is made with.
 * @module
 */

import { fill, h, icon, iconButton } from '../../common/dom.js';
import { ask, askRows, textOf } from '../ask.js';
import { createDenied, createText, qualified, showCreateSql, titleOf } from './kinds.js';
import { code, facts, note, row, section, sqlText, table } from './parts.js';

/** @typedef {import('./kinds.js').Named} Named */
/** @typedef {{api: import('./privileges.js').Api, notify: Notify, mariadb: boolean, mayChange: boolean, menu: (button: HTMLElement) => void, call: () => void, edit: (sql: string) => void, jump: (table: string) => void}} ViewOptions */

/** Facts of an object, by its kind, as `information_schema` has them. */
const FACTS = {
  routine: (db, name, kind) => `SELECT * FROM information_schema.ROUTINES WHERE ROUTINE_SCHEMA = ${db} AND ROUTINE_NAME = ${name} AND ROUTINE_TYPE = '${kind.toUpperCase()}'`,
  trigger: (db, name) => `SELECT * FROM information_schema.TRIGGERS WHERE TRIGGER_SCHEMA = ${db} AND TRIGGER_NAME = ${name}`,
  event: (db, name) => `SELECT * FROM information_schema.EVENTS WHERE EVENT_SCHEMA = ${db} AND EVENT_NAME = ${name}`,
};

/** True if an object can be called. @param {Named} object */
export const isRoutine = ({ kind }) => kind === 'procedure' || kind === 'function';

/** The parameters of a routine, in order; the first row of a function's is what it returns. @param {import('./privileges.js').Api} api @param {Named} object */
export async function parametersOf(api, { kind, db, name }) {
  const rows = await askRows(api, { sql: `SELECT ORDINAL_POSITION, PARAMETER_MODE, PARAMETER_NAME, DTD_IDENTIFIER FROM information_schema.PARAMETERS WHERE SPECIFIC_SCHEMA = ${textOf(db)} AND SPECIFIC_NAME = ${textOf(name)} AND ROUTINE_TYPE = '${kind.toUpperCase()}' ORDER BY ORDINAL_POSITION` });
  return rows.filter(({ ordinal_position: at }) => Number(at) > 0).map((one) => ({ mode: one.parameter_mode ?? 'IN', name: one.parameter_name, type: one.dtd_identifier }));
}

/**
 * The pane; shows its own loading and error states.
 * @param {Named} object @param {ViewOptions} options
 * @returns {HTMLElement}
 */
export function objectView(object, options) {
  const host = h('div', { class: 'schema', tabindex: '0', role: 'region', 'aria-label': `${titleOf(object.kind)} ${object.name}` });
  fill(host, h('p', { class: 'schema-note dim', text: 'Loading …' }));
  load(host, object, options);
  return host;
}

async function load(host, object, options) {
  const { api } = options;
  // Each part is shown as far as the account may see it.
  const [made, known, parameters, scheduler] = await Promise.all([
    settled(ask(api, { sql: showCreateSql(object), db: object.db })), settled(askFacts(api, object)), settled(isRoutine(object) ? parametersOf(api, object) : Promise.resolve(null)),
    settled(object.kind === 'event' ? ask(api, { sql: 'SELECT @@GLOBAL.event_scheduler' }) : Promise.resolve(null)),
  ]);
  const sql = made.value ? createText(made.value) : null;
  const edit = h('button', { type: 'button', class: 'button', on: { click: () => options.edit(sql ?? '') } }, icon('edit'), options.mayChange && object.kind !== 'sequence' ? 'Edit' : 'Open in a new tab');
  fill(host, header(host, object, options), factsOf(object, known.value ?? {}, options), asleep(scheduler.value), note(known.error, 'bad'),
    parametersTable(parameters.value), note(parameters.error, 'bad'), note(made.error || (!sql && createDenied(object.kind)), made.error ? 'bad' : 'warn'),
    sqlText('CREATE statement', sql, options.notify, edit));
}

/** @template T @param {Promise<T>} asked @returns {Promise<{value: T|null, error: string}>} */
function settled(asked) {
  return asked.then((value) => ({ value, error: '' }), (error) => ({ value: null, error: error.message }));
}

/** @returns {Promise<Record<string, any>>} */
async function askFacts(api, object) {
  const { kind, db, name } = object;
  if (kind === 'sequence') return (await askRows(api, { sql: `SELECT * FROM ${qualified(object)}` }))[0] ?? {};
  const sql = (FACTS[kind] ?? FACTS.routine)(textOf(db), textOf(name), kind);
  return (await askRows(api, { sql }))[0] ?? {};
}

function header(host, object, options) {
  const { db, kind, name } = object;
  const call = isRoutine(object) && h('button', { type: 'button', class: 'button', on: { click: options.call } }, icon('play'), 'Run …');
  const menu = iconButton('dots', `More for ${name}`, (event) => options.menu(event.currentTarget), { 'aria-haspopup': 'menu', 'aria-expanded': 'false' });
  const refresh = iconButton('refresh', `Reload the ${kind}`, () => load(host, object, options));
  return h('div', { class: 'schema-head' }, h('h2', {}, h('span', { class: 'dim', text: `${db}.` }), name), call, refresh, menu);
}

function factsOf({ kind }, told, { jump }) {
  const on = told.event_object_table && h('button', { type: 'button', class: 'link', text: told.event_object_table, on: { click: () => jump(told.event_object_table) } });
  switch (kind) {
    case 'trigger': return facts([['Kind', 'trigger'], ['Table', on], ['Runs', [told.action_timing, told.event_manipulation, told.event_manipulation && 'for each row'].filter(Boolean).join(' ').toLowerCase()], ['Order', told.action_order], ['Definer', told.definer], ['SQL mode', told.sql_mode?.replaceAll(',', ', ')]]);
    case 'event': return facts([['Kind', 'event'], ['Runs', schedule(told)], ['From', told.starts], ['Until', told.ends], ['Status', (told.status ?? '').toLowerCase()], ['Last run', told.last_executed ?? (told.status && 'never')], ['Afterwards', (told.on_completion ?? '').toLowerCase()], ['Time zone', told.time_zone], ['Definer', told.definer], ['Comment', told.event_comment]]);
    case 'sequence': return facts([['Kind', 'sequence'], ['Next not cached', told.next_not_cached_value], ['From', told.minimum_value], ['To', told.maximum_value], ['Start', told.start_value], ['Step', told.increment], ['Cache', told.cache_size], ['Cycles', told.cycle_option === undefined ? null : Number(told.cycle_option) ? 'yes' : 'no']]);
    default: return facts([['Kind', kind], ['Returns', told.dtd_identifier && code(told.dtd_identifier)], ['Data access', (told.sql_data_access ?? '').toLowerCase()], ['Deterministic', (told.is_deterministic ?? '').toLowerCase()], ['Runs as', told.security_type && (told.security_type === 'DEFINER' ? `definer (${told.definer})` : 'the caller')], ['Changed', told.last_altered], ['Comment', told.routine_comment], ['SQL mode', told.sql_mode?.replaceAll(',', ', ')]]);
  }
}

function schedule({ event_type: type, execute_at: at, interval_value: value, interval_field: field }) {
  if (type === 'ONE TIME') return `once, at ${at}`;
  return value ? `every ${value} ${String(field).toLowerCase()}` : '';
}

/** Events do not run at all while the scheduler is off. */
function asleep(scheduler) {
  const state = String(scheduler?.rows[0]?.[0] ?? 'ON').toUpperCase();
  return state === 'ON' || state === '1' ? null : note(`The server’s event scheduler is ${state.toLowerCase()}: no event runs.`, 'warn');
}

function parametersTable(list) {
  if (!list) return null;
  if (!list.length) return section('Parameters', 0, h('p', { class: 'dim', text: 'None.' }));
  return section('Parameters', list.length, table('Parameters', ['Name', 'Type', 'Direction'], list.map(({ mode, name, type }) => row(name, code(type), mode.toLowerCase()))));
}
