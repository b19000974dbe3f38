/**
 * The menu of an object of the sidebar, and what its entries do.
 * @module
 */

import { h } from '../../common/dom.js';
import { openDialog } from '../../common/dialog.js';
import { openMenu } from '../../common/menu.js';
import { ask, askRows, textOf } from '../ask.js';
import { isSystem } from '../core/entries.js';
import { destroy } from './destroy.js';
import { countSql, createDenied, createText, dropSql, qualified, showCreateSql, truncateSql } from './kinds.js';
import { isRoutine, parametersOf } from './objectview.js';
import { copied, note, sqlText } from './parts.js';
import { callTemplate, deleteTemplate, insertTemplate, NEW_KINDS, newTemplate, selectTemplate, updateTemplate } from './templates.js';

/** @typedef {import('./kinds.js').Named} Named */
/**
 * @typedef {object} Host what the menu does its work with
 * @property {import('./privileges.js').Api} api
 * @property {Notify} notify
 * @property {boolean} readOnly
 * @property {boolean} mariadb
 * @property {() => string} newId of a statement
 * @property {(db: string, table: string) => Promise<any>} schema
 * @property {(object: Named) => void} open schema or pane
 * @property {(db: string, table: string) => void} data
 * @property {(db: string, table: string) => void} rows
 * @property {(db: string) => void} use
 * @property {(place: {db: string, table?: string}) => void} fill from a file of values
 * @property {(what: {db: string, tables?: string[]}) => void} dump as SQL
 * @property {(db: string, sql: string, name: string, run?: boolean) => void} fillIn into a new tab
 * @property {(what: 'edit'|'new'|'rename'|'copy', table: {db: string, name: string}) => void} structure
 * @property {(object: Named, sql: string) => void} edit its text in a tab, which replaces it
 * @property {(object: Named, what: string) => void} change asks for a new name, or another change of structure
 * @property {() => string[]} transactions tabs that have a transaction open
 * @property {(outcome: {sql: string, ms: number, error: string}) => void} remember
 * @property {(object: Named, sql: string) => void} gone what an object lost, or that it is no more
 */

/** Opens the menu at a button. @param {HTMLElement} button @param {Named} object @param {Host} host */
export function openObjectMenu(button, object, host) {
  const groups = [first(object, host), look(object, host), copy(object, host), templates(object, host), transfer(object, host), ...(mayChange(object, host) ? [structural(object, host), programs(object, host), destructive(object, host)] : [])];
  openMenu(button, groups.filter((group) => group.length).flatMap((group, i) => (i ? [null, ...group] : group)));
}

/** Kinds whose text is edited. */
const PROGRAMS = new Set(['view', 'procedure', 'function', 'package', 'package body', 'trigger', 'event']);
/** Kinds that can have another name. */
const RENAMED = new Set(['view', 'procedure', 'function', 'trigger', 'event']);

/** True if the page may change an object. @param {Named} object @param {Host} host */
export const mayChange = ({ db, system }, { readOnly }) => !readOnly && !system && !isSystem(db);

/** Entries that create and change. @param {Named} object @param {Host} host @returns {import('../../common/menu.js').MenuItem[]} */
function programs(object, host) {
  const { kind, db, name } = object;
  const fresh = (one, table) => ({ label: `New ${one} …`, icon: 'plus', run: () => host.fillIn(db, newTemplate(one, db, table), `new ${one}`) });
  const change = (what, label, icon) => ({ label, icon, run: () => host.change(object, what) });
  if (kind === 'database') return [...NEW_KINDS.filter((one) => one !== 'trigger').map((one) => fresh(one)), change('alter', 'Properties …', 'settings'), change('rename', 'Rename …', 'edit'), change('copy', 'Copy …', 'duplicate')];
  if (kind === 'table') return [fresh('trigger', name)];
  return [
    ...(PROGRAMS.has(kind) ? [{ label: 'Edit', icon: 'edit', run: () => edit(object, host) }] : []),
    ...(kind === 'event' ? [change(object.enabled ? 'disable' : 'enable', object.enabled ? 'Disable …' : 'Enable …', object.enabled ? 'stop' : 'play')] : []),
    ...(RENAMED.has(kind) ? [change('rename', 'Rename …', 'edit')] : []),
  ];
}

/** The text of an object in a tab; running it replaces the object after a review. @param {Named} object @param {Host} host */
function edit(object, host) {
  return told(host, async () => {
    const sql = createText(await ask(host.api, { sql: showCreateSql(object), db: object.db }));
    if (!sql) throw new Error(createDenied(object.kind));
    host.edit(object, sql);
  });
}

/** True if an event runs; asked for its menu. @param {Host['api']} api @param {Named} object */
export async function isEnabled(api, { db, name }) {
  const [row] = await askRows(api, { sql: `SELECT STATUS AS status FROM information_schema.EVENTS WHERE EVENT_SCHEMA = ${textOf(db)} AND EVENT_NAME = ${textOf(name)}` });
  return row?.status === 'ENABLED';
}

/** Opens the menu of what can be created in a database; a single kind is begun at once. @param {HTMLElement} button @param {string} db @param {string[]} kinds @param {string} table of a trigger @param {Host} host */
export function openNewMenu(button, db, kinds, table, host) {
  const items = kinds.map((one) => ({ label: `New ${one} …`, icon: one === 'procedure' ? 'function' : one, run: () => (one === 'table' ? host.structure('new', { db, name: '' }) : host.fillIn(db, newTemplate(one, db, table), `new ${one}`)) }));
  if (items.length === 1) items[0].run();
  else openMenu(button, items);
}

const hasRows = ({ kind }) => kind === 'table' || kind === 'view';

function first(object, host) {
  const { kind, db, name } = object;
  if (kind === 'database') return [{ label: 'Open', icon: 'database', run: () => host.open(object) }, { label: 'Use in this tab', icon: 'check', run: () => host.use(name) }];
  if (!hasRows(object)) {
    return [{ label: 'Open', icon: 'open', run: () => host.open(object) }, ...(isRoutine(object) ? [{ label: 'Run …', icon: 'play', disabled: host.readOnly && kind === 'procedure', title: host.readOnly && kind === 'procedure' ? 'Read-only mode runs no procedures' : undefined, run: () => call(object, host, true) }] : [])];
  }
  return [
    { label: 'Open data', icon: 'rows', key: 'Alt+Enter', run: () => host.data(db, name) },
    { label: 'Schema', icon: 'table', key: 'Enter', run: () => host.open(object) },
    { label: 'Select rows', icon: 'play', key: 'Shift+Enter', run: () => host.rows(db, name) },
  ];
}

function look(object, host) {
  const { kind, db, name } = object;
  if (kind === 'database' && object.system) return [];
  const create = { label: 'Show CREATE', icon: 'file', run: () => showCreate(object, host) };
  return hasRows(object) ? [{ label: 'Count rows', icon: 'value', run: () => host.fillIn(db, countSql(object), `count ${name}`, true) }, create] : [create];
}

function copy(object, host) {
  const { kind, name } = object;
  const full = { label: 'Copy qualified name', icon: 'copy', run: () => copied(qualified(object), 'Qualified name', host.notify) };
  return [{ label: 'Copy name', icon: 'copy', run: () => copied(name, 'Name', host.notify) }, ...(kind === 'database' ? [] : [full])];
}

function templates(object, host) {
  const { db, name } = object;
  if (isRoutine(object)) return [{ label: object.kind === 'function' ? 'SELECT template' : 'CALL template', icon: 'edit', run: () => call(object, host, false) }];
  if (!hasRows(object)) return [];
  /** @param {string} word @param {(object: Named, schema: any) => string} template */
  const entry = (word, template) => ({
    label: `${word} template`, icon: 'edit', run: () => told(host, async () => host.fillIn(db, template(object, await host.schema(db, name)), `${word.toLowerCase()} ${name}`)),
  });
  const writes = host.readOnly ? [] : [entry('INSERT', insertTemplate), entry('UPDATE', updateTemplate), entry('DELETE', deleteTemplate)];
  return [entry('SELECT', selectTemplate), ...writes];
}

/** Entries for import and dump. @param {Named} object @param {Host} host */
function transfer({ kind, db, name, system }, host) {
  if (!['database', 'table', 'view'].includes(kind) || system) return [];
  const place = kind === 'database' ? { db: name } : { db, table: name };
  const dump = { label: 'Dump as SQL …', icon: 'download', run: () => host.dump(kind === 'database' ? { db: name } : { db, tables: [name] }) };
  return host.readOnly || kind === 'view' ? [dump] : [{ label: 'Import CSV …', icon: 'upload', run: () => host.fill(place) }, dump];
}

/** Entries that change structure. @param {Named} object @param {Host} host */
function structural({ kind, db, name }, host) {
  if (kind === 'database') return [{ label: 'New table …', icon: 'plus', run: () => host.structure('new', { db: name, name: '' }) }];
  if (kind !== 'table') return [];
  const entry = (label, icon, what) => ({ label, icon, run: () => host.structure(what, { db, name }) });
  return [entry('Edit structure …', 'edit', 'edit'), entry('Rename …', 'edit', 'rename'), entry('Copy …', 'duplicate', 'copy')];
}

function destructive(object, host) {
  const { kind, name } = object;
  const act = (what) => async () => {
    const sql = await destroy(what, object, host);
    if (sql === null) return;
    host.notify(sql === dropSql(object) ? `${name} dropped` : `${name} is now empty`, 'good');
    host.gone(object, sql);
  };
  const truncate = { label: 'Truncate …', icon: 'trash', danger: true, title: truncateSql(object), run: act('truncate') };
  return [...(kind === 'table' ? [truncate] : []), { label: 'Drop …', icon: 'trash', danger: true, title: dropSql(object), run: act('drop') }];
}

/** A call in a tab of its own; values are asked for when it runs. @param {Named} object @param {Host} host @param {boolean} run */
export function call(object, host, run) {
  return told(host, async () => host.fillIn(object.db, callTemplate(object, await parametersOf(host.api, object)), object.name, run));
}

/** A failure is said. @param {Host} host @param {() => Promise<void>} act */
function told({ notify }, act) {
  return act().catch((error) => notify(error.message, 'bad'));
}

function showCreate(object, host) {
  return told(host, async () => {
    const sql = createText(await ask(host.api, { sql: showCreateSql(object), db: object.kind === 'database' ? '' : object.db }));
    const body = h('div', { class: 'schema-in-dialog' }, sqlText('CREATE statement', sql, host.notify), sql ? null : note(createDenied(object.kind), 'warn'));
    const edit = sql ? [{ label: 'Open in a new tab', value: 'edit' }] : [];
    const chosen = await openDialog({ title: `${object.kind} ${object.name}`, wide: true, body, actions: [...edit, { label: 'Close', value: '', kind: 'primary' }] });
    if (chosen === 'edit' && sql) host.edit(object, sql);
  });
}
