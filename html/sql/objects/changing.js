// Changes of objects: replaced, renamed, created; and databases. Loaded when one is made.
import { announce, notify } from '../../common/announce.js';
import { queryAll } from '../../common/dom.js';
import { randomId } from '../workbench/store.js';
import { call as called, isEnabled, openNewMenu, openObjectMenu } from './objectmenu.js';
import { newTemplate } from './templates.js';
import { createdBy } from './redefine.js';
import { laidOut } from './layout.js';
import { enableEvent, offerUnfinished as offered, renameObject, replaceExisting } from './replacing.js';

/**
 * Parts of the page that panes and menus need.
 * @typedef {{api: ReturnType<typeof import('../api.js').createApi>, catalogue: import('../workbench/catalogue.js').Catalogue, info: ServerInfo, readOnly: boolean,
 *   drawState: (tab: import('../workbench/querytab.js').QueryTab) => void, tabChanged: (tab: import('../workbench/querytab.js').QueryTab) => void, active: import('../workbench/querytab.js').QueryTab, tabs: import('../workbench/querytab.js').QueryTab[], layout: import('../workbench/layout.js').Layout, sidebar: import('../workbench/sidebar.js').Sidebar,
 *   openSchema: (db: string, table: string) => void, openData: (db: string, table: string) => void, runTable: (db: string, table: string) => void, openImport: (place: {db: string, table?: string}) => Promise<boolean>,
 *   execution: import('../workbench/execution.js').Execution, openDump: (what: {db: string, tables?: string[]}) => void, browse: (db: string) => void,
 *   openPanes: () => void, useDatabase: (db: string) => void, fillInNew: (db: string, sql: string, name: string, run?: boolean) => void, dictionaryChanged: () => void,
 *   workspace: import('../workbench/store.js').Workspace,
 *   remember: (tab: import('../workbench/querytab.js').QueryTab, outcome: import('../workbench/runner.js').Outcome) => void}} Bench
 */
/** @typedef {import('./kinds.js').Named} Named */
/** @typedef {{mariadb: boolean, open: (object: Named) => any, structure: (what: any, object: {db: string, name: string}) => void, mayChange: (db: string) => boolean}} Parts the panes and menus themselves */

/** Parts of the page that a review needs. @param {Bench} bench */
const reviewOf = (bench) => ({
  transactions: () => bench.tabs.filter((tab) => tab.inTransaction).map(({ name }) => name),
  remember: ({ sql, ms, error }) => bench.remember(bench.active, { sql, ms, rows: null, error: error || null }),
});

/** Parts of the page that a change needs. @param {Bench} bench @param {Parts} parts @returns {import('./replacing.js').Host} */
function hostOf(bench, parts) {
  return {
    api: bench.api, mariadb: parts.mariadb, newId: randomId, notify, store: bench.workspace,
    keep: (db, sql, name) => bench.fillInNew(db, sql, name),
    edit: (object, sql) => edit(bench, parts, object, sql),
    ...reviewOf(bench),
    changed: () => {
      bench.catalogue.forget();
      bench.dictionaryChanged();
    },
  };
}

/**
 * Offers to replace what a CREATE would create, or was refused for; false where there is nothing to replace.
 * @param {Bench} bench @param {Parts} parts @param {import('../workbench/querytab.js').QueryTab} tab @param {import('../workbench/runner.js').Statement} statement
 */
export async function replace(bench, parts, tab, statement) {
  const say = (text, kind = 'bad') => { tab.showMessage({ text, kind, at: kind === 'bad' ? statement.start : undefined }); announce(text, kind === 'good' ? 'good' : 'bad'); };
  const created = createdBy(statement.sql, tab.db);
  const isReplaced = await replaceExisting(statement.sql, {
    ...hostOf(bench, parts), db: tab.db, say, base: typeof tab.edits === 'object' ? tab.edits : null,
    opened: (text) => { if (tab.edits && created) tab.edits = text === null ? true : { kind: created.kind, db: created.db, name: created.name, text }; bench.tabChanged(tab); },
    fail: (message) => tab.showError(statement, message),
  });
  if (!isReplaced) return isReplaced === false;
  tab.editor.mark([]);
  tab.summary = 'Done';
  tab.results.notRun(tab.summary);
  bench.drawState(tab);
  return true;
}

/** Offers what a change that was interrupted has left. @param {Bench} bench @param {Parts} parts */
export const offerUnfinished = (bench, parts) => offered(hostOf(bench, parts));

/** Another name, or another change of a database. @param {Bench} bench @param {Parts} parts @param {Named} object @param {string} what */
export async function change(bench, parts, object, what) {
  const { kind, db, name } = object;
  if (kind === 'database') return database(bench, parts, what, name);
  if (what === 'enable' || what === 'disable') return enableEvent(/** @type {any} */ (object), what === 'enable', hostOf(bench, parts));
  const to = await renameObject(/** @type {any} */ (object), hostOf(bench, parts));
  if (!to) return undefined;
  const pane = kind === 'view' ? 'schema' : kind;
  for (const tab of bench.tabs) for (const id of [`${pane}:${db}.${name}`, `data:${db}.${name}`]) tab.results.closeTab(id);
  announce(`${name} was renamed to ${to}`, 'good');
  return parts.open({ ...object, name: to });
}

/** Creates, changes, renames or copies a database. @param {Bench} bench @param {Parts} parts @param {string} what @param {string} [name] */
export async function database(bench, parts, what, name = '') {
  const module = await import('../structure/database.js');
  const made = await module[what](name, { ...hostOf(bench, parts), open: (sql) => bench.fillInNew('', sql, name) });
  if (made) bench.browse(made);
}

/** Parts of the page that menus need. @param {Bench} bench @param {Parts} parts @returns {import('./objectmenu.js').Host} */
function menuHost(bench, parts) {
  return {
    api: bench.api, notify, readOnly: bench.readOnly, mariadb: parts.mariadb, newId: randomId,
    schema: (db, table) => bench.catalogue.schema(db, table),
    open: (object) => parts.open(object),
    data: (db, table) => bench.openData(db, table),
    rows: (db, table) => bench.runTable(db, table),
    use: (db) => bench.useDatabase(db),
    fill: (place) => bench.openImport(place),
    dump: (what) => bench.openDump(what),
    fillIn: (db, sql, name, run = false) => bench.fillInNew(db, sql, name, run),
    structure: (what, object) => parts.structure(what, object),
    edit: (object, sql) => edit(bench, parts, object, sql),
    change: (object, what) => change(bench, parts, object, what),
    ...reviewOf(bench),
    gone: (object, sql) => gone(bench, parts, object, sql),
  };
}

/** Opens the menu of an object at a button. @param {Bench} bench @param {Parts} parts @param {HTMLElement} button @param {Named} object */
export async function menu(bench, parts, button, object) {
  const enabled = object.kind === 'event' && await isEnabled(bench.api, object).catch(() => false);
  // The list may have been drawn afresh meanwhile.
  const at = button.isConnected ? button : bench.sidebar.entryOf(object);
  if (at) openObjectMenu(at, { ...object, enabled }, menuHost(bench, parts));
}

/** Calls a routine, or fills its call in. @param {Bench} bench @param {Parts} parts @param {Named} object @param {boolean} run */
export const call = (bench, parts, object, run) => called(object, menuHost(bench, parts), run);

/** The text of an object in a tab; where it may be changed, running it replaces the object. @param {Bench} bench @param {Parts} parts @param {Named} object @param {string} sql */
export function edit(bench, parts, { kind, db, name }, sql) {
  const shown = laidOut(sql, db);
  bench.fillInNew(db, shown, name);
  if (bench.active.editor.text !== shown || !parts.mayChange(db)) return;
  bench.active.edits = { kind, db, name, text: sql };
  bench.tabChanged(bench.active);
}

/** Opens the menu of what can be created in a group of the sidebar. @param {Bench} bench @param {Parts} parts @param {HTMLElement} button @param {string} db @param {string} group */
export async function menuNew(bench, parts, button, db, group) {
  const kinds = { tables: ['table', 'view'], routines: ['procedure', 'function'], triggers: ['trigger'], events: ['event'] }[group] ?? [];
  /** @type {any[]} */
  const tables = group === 'triggers' ? await bench.catalogue.tables(db).catch(() => []) : [];
  // The list may have been drawn afresh meanwhile.
  const at = button.isConnected ? button : /** @type {HTMLElement|null} */ (document.querySelector(`[data-fresh="${group}"]`));
  if (at) openNewMenu(at, db, kinds, tables.find(({ kind }) => kind === 'table')?.name ?? 'my_table', menuHost(bench, parts));
}

/** Begins a new table or view. @param {Bench} bench @param {Parts} parts @param {string} db @param {'table'|'view'} kind */
export const fresh = (bench, parts, db, kind) => (kind === 'table' ? parts.structure('new', { db, name: '' }) : bench.fillInNew(db, newTemplate('view', db), 'new view'));

/** Opens the form of a table, or renames or copies it. @param {Bench} bench @param {Parts} parts @param {'edit'|'new'|'rename'|'copy'} what @param {{db: string, name: string}} object */
export async function structure(bench, { mariadb }, what, object) {
  const { openStructure } = await import('../structure/opening.js');
  if (bench.layout.isNarrow) bench.layout.closeDrawer();
  bench.openPanes();
  await openStructure(what, object, {
    api: bench.api, notify, announce, newId: randomId, mariadb, version: bench.info.version, results: bench.active.results,
    ...reviewOf(bench),
    fillIn: (db, sql, name) => bench.fillInNew(db, sql, name),
    openSchema: (db, table) => bench.openSchema(db, table),
    structured: (now, was) => structured(bench, now, was),
  }).catch((error) => notify(error.message, 'bad'));
}

/** Structure was changed: lists, panes and completion show the new one. @param {Bench} bench @param {{db: string, name: string}|null} now @param {{db: string, name: string}|null} was */
function structured(bench, now, was) {
  bench.dictionaryChanged();
  const isRenamed = now && was && (now.db !== was.db || now.name !== was.name);
  for (const { results } of bench.tabs) {
    if (!was) continue;
    const of = `${was.db}.${was.name}`;
    if (isRenamed || !now) {
      for (const id of [`schema:${of}`, `data:${of}`]) if (!results.unsavedIn(id)) results.closeTab(id);
      if (results.hasTab(`structure:${of}`) && !results.unsavedIn(`structure:${of}`)) results.closeTab(`structure:${of}`);
    } else results.reload(`data:${of}`);
  }
  for (const pane of queryAll(document.body, '.schema')) pane.dispatchEvent(new Event('reload'));
  if (now && (isRenamed || !was)) bench.openSchema(now.db, now.name);
}

/** An object was emptied or dropped: what shows it is closed, the lists are loaded again. @param {Bench} bench @param {Parts} _parts @param {Named} object @param {string} sql */
export function gone(bench, _parts, { kind, db, name }, sql) {
  const pane = kind === 'table' || kind === 'view' ? 'schema' : kind;
  for (const { results } of bench.tabs) {
    if (sql.startsWith('DROP ')) for (const id of [`${pane}:${db}.${name}`, `data:${db}.${name}`, `structure:${db}.${name}`]) results.closeTab(id);
    else results.reload(`data:${db}.${name}`);
  }
  bench.catalogue.forget();
  for (const one of queryAll(document.body, '.schema')) one.dispatchEvent(new Event('reload'));
  if (kind === 'database' && bench.sidebar.db === name) bench.sidebar.showDatabases(true);
  bench.dictionaryChanged();
  announce(`${sql.split(' ', 2).join(' ')} done`);
}
