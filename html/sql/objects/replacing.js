/**
 * Puts a view, routine, trigger or event in place of the one that is there, or gives it another name. The old text is kept
 * until the new object exists, also where the page, postern or the server ends in between.
 * @module
 */

import { promptDialog } from '../../common/dialog.js';
import { ask, askRows, textOf } from '../ask.js';
import { createDenied, createText, dropSql, showCreateSql, titleOf } from './kinds.js';
import { asThen, createdBy, definerOf, grantsSql, inOrder, lockOf, renaming, replacement, triggerOf } from './redefine.js';

/** @typedef {import('./redefine.js').Program} Program */
/** @typedef {import('./redefine.js').Old} Old */
/**
 * @typedef {object} Host
 * @property {import('./privileges.js').Api} api
 * @property {boolean} mariadb
 * @property {() => string} newId
 * @property {Notify} notify
 * @property {(db: string, sql: string, name: string) => void} keep puts a text into a tab of its own
 * @property {{read: (name: string) => any, write: (name: string, value: any) => any}} store what outlives the page
 * @property {(outcome: {sql: string, ms: number, error: string}) => void} remember
 * @property {() => void} changed the server's objects are others now
 */

/** Name of what is kept of changes that have not ended. */
const KEPT = 'replacing';

/** Facts of an object as SHOW CREATE tells them; its text is null where the account may not read it. @param {Host['api']} api @param {Program} object @param {(sql: string) => Promise<any>} [run] */
async function shown(api, object, run = (sql) => ask(api, { sql, db: object.db })) {
  const result = await run(showCreateSql(/** @type {any} */ (object)));
  const of = (name) => { const at = result.columns.findIndex((/** @type {string} */ one) => one.toLowerCase() === name); return at < 0 ? '' : String(result.rows[0]?.[at] ?? ''); };
  return { text: createText(result), mode: of('sql_mode'), collation: of('collation_connection'), client: of('character_set_client'), database: of('database collation'), zone: of('time_zone') };
}

/** The text of an object as it is now; null where it does not exist. */
async function textNow(object, run) {
  try {
    return (await shown(/** @type {any} */ (null), object, run)).text;
  } catch (error) {
    if (NOT_THERE.has(error.errno)) return null;
    throw error;
  }
}
/** The mode in which texts are read and compared. */
const AS_READ = 'SET SESSION sql_mode = DEFAULT';
/** No such table or view, routine, trigger, event. */
const NOT_THERE = new Set([1146, 1305, 1360, 1539]);

/**
 * All that is to be kept of an object; throws a reason for which it cannot be read.
 * @param {Program} object @param {Host} host @param {boolean} isRenamed privileges of a view stay with its name
 * @returns {Promise<Old>}
 */
async function readOld(object, { api, mariadb }, isRenamed) {
  const { kind, db, name } = object;
  const told = await shown(api, object);
  if (!told.text) throw new Error(`This account cannot read its text. ${createDenied(/** @type {any} */ (kind))}`);
  const isRoutine = kind === 'procedure' || kind === 'function' || kind.startsWith('package');
  const needsGrants = isRoutine ? isRenamed || !mariadb : kind === 'view' && isRenamed;
  const grants = needsGrants ? grantsSql(object, await grantRows(object, api), mariadb) : [];
  const order = kind === 'trigger' ? await orderOf(api, db, name) : null;
  return { ...told, text: told.text, order, grants };
}

/** Privileges that are granted on an object alone. @param {Program} object @param {Host['api']} api */
async function grantRows({ kind, db, name }, api) {
  const of = (column) => `Db = ${textOf(db)} AND ${column} = ${textOf(name)}`;
  // Privileges on columns come last, since they are revoked first.
  const lists = kind === 'view'
    ? [`SELECT User AS user, Host AS host, Table_priv AS privileges FROM mysql.tables_priv WHERE ${of('Table_name')} AND Table_priv <> ''`,
      `SELECT User AS user, Host AS host, Column_priv AS privileges, Column_name AS \`column\` FROM mysql.columns_priv WHERE ${of('Table_name')}`]
    : [`SELECT User AS user, Host AS host, Proc_priv AS privileges FROM mysql.procs_priv WHERE ${of('Routine_name')} AND Routine_type = '${kind.toUpperCase()}'`];
  try {
    return (await Promise.all(lists.map((sql) => askRows(api, { sql })))).flat();
  } catch (error) {
    throw new Error(`This account cannot read the privileges that are granted on it alone, which would be lost. That needs SELECT on mysql.${kind === 'view' ? 'tables_priv' : 'procs_priv'}. The server says: ${error.message}`);
  }
}

/** Place of a trigger among those of its table, time and event. @returns {Promise<Old['order']>} */
async function orderOf(api, db, name) {
  const rows = await askRows(api, { sql: `SELECT t.TRIGGER_NAME AS name, t.EVENT_OBJECT_TABLE AS of_table, t.ACTION_TIMING AS timing, t.EVENT_MANIPULATION AS event FROM information_schema.TRIGGERS t JOIN information_schema.TRIGGERS o ON o.TRIGGER_SCHEMA = t.TRIGGER_SCHEMA AND o.EVENT_OBJECT_TABLE = t.EVENT_OBJECT_TABLE AND o.ACTION_TIMING = t.ACTION_TIMING AND o.EVENT_MANIPULATION = t.EVENT_MANIPULATION WHERE t.TRIGGER_SCHEMA = ${textOf(db)} AND o.TRIGGER_SCHEMA = ${textOf(db)} AND o.TRIGGER_NAME = ${textOf(name)} ORDER BY t.ACTION_ORDER` });
  const at = rows.findIndex((row) => row.name === name);
  if (at < 0) return null;
  const { of_table: table, timing, event } = rows[at];
  return { of: `${table} ${timing} ${event}`, before: rows[at - 1]?.name ?? '', after: rows[at + 1]?.name ?? '' };
}

/** Sentences for what the new text changes beside itself. @param {Program} object @param {string} sql @param {Old} old @param {Host} host */
async function besides({ db }, sql, old, { api }) {
  const [row] = await askRows(api, { sql: `SELECT CURRENT_USER() AS me, (SELECT DEFAULT_COLLATION_NAME FROM information_schema.SCHEMATA WHERE SCHEMA_NAME = ${textOf(db)}) AS now` });
  const me = String(row.me).replace(/@(?=[^@]*$)/, '`@`');
  const definer = definerOf(old.text);
  return [
    !definerOf(sql) && definer && definer !== `\`${me}\`` ? `Its definer is ${definer}. Your text names none, so it becomes ${row.me}.` : '',
    old.database && row.now && old.database !== row.now ? `The collation of ${db} is ${row.now} now, and was ${old.database} when this was created: its variables and parameters without a character set get the new one.` : '',
    old.client && !old.client.startsWith('utf8mb4') ? `The recorded character set of its text changes from ${old.client} to utf8mb4, which has all characters of it. The collation of its literals stays ${old.collation}.` : '',
  ].filter(Boolean);
}

/** Asks, and replaces. True if it was replaced, null where nothing is there to be replaced. @param {string} sql a CREATE of what is there @param {Host & {db: string, say: (text: string, kind?: string) => void, fail: (message: string) => void}} host `say`: beside what was run; `fail`: leads to the place of an error */
export async function replaceExisting(sql, host) {
  const object = createdBy(sql, host.db);
  if (!object) return null;
  const { kind, name } = object;
  let old;
  try {
    old = await readOld(object, host, false);
  } catch (error) {
    // A table of that name is no view.
    if (NOT_THERE.has(error.errno) || (kind === 'view' && error.errno === 1347)) return null;
    host.say(`The ${kind} ${name} already exists and was not replaced. ${error.message}`, 'bad');
    return false;
  }
  const trial = `postern_trial_${host.newId().slice(0, 12)}`;
  const plan = replacement(object, sql, old, trial, host.mariadb);
  const isOne = !plan.made.length;
  const notes = [
    isOne ? 'It already exists. One statement puts your text in its place.'
      : kind === 'trigger' ? 'It already exists. Your text is tried under another name; then the old trigger is dropped and the new one created while the table is locked, so that no write passes without its trigger.'
        : 'It already exists. Your text is tried under another name; then the old one is dropped and created from it. Calls in between fail.',
    ...await besides(object, sql, old, host).catch((error) => [`Could not be checked: ${error.message}`]),
  ];
  const end = await change({ object, old, plan, host, title: `Replace ${kind} ${name}`, action: 'Replace', notes, isDone: async (run) => (await textNow(object, run)) !== null });
  if (end.error && end.error.statement) host.fail(end.error.message);
  if (end.failed || end.done < plan.statements.length) return false;
  host.say(`${titleOf(/** @type {any} */ (kind))} ${name} was replaced.`, 'good');
  return true;
}

/** Asks for another name, and renames. @param {Program} object @param {Host} host @returns {Promise<string>} the new name; empty where nothing was done */
export async function renameObject(object, host) {
  const { kind, name } = object;
  const to = (await promptDialog({ title: `Rename ${kind} ${name}`, label: 'New name', value: name, action: 'Review SQL', maxLength: 64 }))?.trim();
  if (!to || to === name) return '';
  let old;
  try {
    old = await readOld(object, host, true);
  } catch (error) {
    host.notify(`${name} was not renamed. ${error.message}`, 'bad');
    return '';
  }
  const next = { ...object, name: to };
  const rows = kind === 'view' || kind === 'procedure' || kind === 'function' ? await grantRows(object, host.api) : [];
  const granted = { ...old, grants: grantsSql(next, rows, host.mariadb) };
  const plan = renaming(object, to, granted, kind === 'view' ? grantsSql(object, [...rows].reverse(), host.mariadb, true) : []);
  const notes = [
    `Statements, views and programs that use the name ${name} will fail.`,
    kind === 'procedure' || kind === 'function' ? 'Servers cannot rename a routine: it is created under its new name with its privileges, then the old one is dropped.' : '',
    kind === 'trigger' ? 'Servers cannot rename a trigger: it is created under its new name and the old one dropped while the table is locked.' : '',
    ...(kind === 'event' || kind === 'view' ? [] : await besides(object, old.text, old, host).catch((error) => [`Could not be checked: ${error.message}`])),
  ].filter(Boolean);
  const end = await change({ object, old, plan, host, title: `Rename ${kind} ${name} to ${to}`, action: 'Rename', notes, isDone: async (run) => (await textNow(object, run)) === null && (await textNow(next, run)) !== null, next });
  return end.failed || end.done < plan.statements.length ? '' : to;
}

/**
 * Runs a plan in the review; after a failure the old object is as it was.
 * @param {{object: Program, old: Old, plan: import('./redefine.js').Plan, host: Host, title: string, action: string, notes: string[], next?: Program, isDone: (run: (sql: string) => Promise<any>) => Promise<boolean>}} work
 *   `next`: the object under its new name
 */
async function change(work) {
  const { object, old, plan, host, title, action, notes } = work;
  const { review } = await import('../structure/review.js');
  const id = host.newId();
  const isRisky = plan.made.length > 0;
  let release = () => {};
  const end = await review({
    title, action, notes, statements: plan.statements, restoring: plan.restoring, db: object.db,
    server: { mariadb: host.mariadb }, api: host.api, newId: host.newId, notify: host.notify, remember: host.remember,
    open: (sql) => host.keep(object.db, sql, object.name),
    before: async () => {
      const now = await shown(host.api, object).catch((error) => { throw new Error(error.message); });
      if (now.text !== old.text) return `${object.name} has been changed meanwhile. Close this, and look at it again.`;
      if (isRisky) release = keepOld(id, work);
      return '';
    },
    restore: async ({ run, unknown }) => {
      const restored = await restore(work, run, unknown);
      if (restored?.good === false) host.keep(object.db, [`${asThen(old)};`, `${old.text};`, ...old.grants.map((sql) => `${sql};`)].join('\n'), object.name);
      else forget(host, id);
      return restored;
    },
  });
  if (!end.failed) forget(host, id);
  release();
  if (end.ran.length) host.changed();
  return end;
}

/**
 * Makes the old object what it was.
 * @param {{object: Program, old: Old, plan: import('./redefine.js').Plan, next?: Program, isDone: (run: (sql: string) => Promise<any>) => Promise<boolean>}} work @param {(sql: string) => Promise<any>} run
 * @param {boolean} isLost the session, with its locks
 * @returns {Promise<import('../structure/review.js').Restored|null>}
 */
async function restore({ object, old, plan, next, isDone }, run, isLost) {
  const { kind, name } = object;
  const title = `The ${kind} ${name}`;
  try {
    // The mode decides how the server quotes names in a text.
    await run(AS_READ);
    const trigger = isLost && plan.made.length ? triggerOf(old.text, object.db) : null;
    if (trigger) await run(lockOf(trigger));
    const now = await textNow(object, run);
    if (next && now === null && await isDone(run)) return { good: true, text: `${name} was renamed to ${next.name}; only what followed failed.` };
    const isUntouched = now === old.text;
    for (const made of plan.made) await run(dropSql(/** @type {any} */ ({ ...object, name: made })).replace(/^DROP (\w+(?: BODY)?) /, 'DROP $1 IF EXISTS ')).catch(() => {});
    if (next && kind === 'view' && now === null) await run(plan.restoring[0]);
    else if (!isUntouched) {
      await run(asThen(old));
      if (now !== null) await run(dropSql(/** @type {any} */ (object)));
      await run(kind === 'trigger' ? inOrder(old.text, object.db, old.order) : old.text);
    }
    await run(AS_READ);
    const lost = [];
    for (const sql of isUntouched ? [] : old.grants) await run(sql).catch((error) => lost.push(`${sql}: ${error.message}`));
    if (await textNow(object, run) !== old.text) return { good: false, text: `${title} is not as it was. Its old text is in a tab.` };
    if (lost.length) return { good: false, text: `${title} was restored, but not all privileges on it: ${lost.join('; ')}.` };
    return isUntouched ? { good: true, text: `${title} is unchanged.` } : { good: true, text: `${title} was restored as it was.` };
  } catch (error) {
    return { good: false, text: `${title} could not be restored: ${error.message}. Its old text is in a tab, and is offered when this page is opened again.` };
  } finally {
    if (kind === 'trigger') await run('UNLOCK TABLES').catch(() => {});
  }
}

// The old text outlives the page.

const list = (store) => { const kept = store.read(KEPT); return Array.isArray(kept) ? kept : []; };
const lockName = (id) => `postern-replacing-${id}`;

/** Keeps the old object until the change has ended; a lock tells other windows that this one still works on it. @param {string} id @param {{object: Program, old: Old, plan: import('./redefine.js').Plan, host: Host, next?: Program}} work @returns {() => void} */
function keepOld(id, work) {
  const { object, old, plan, host, next } = work;
  const { kind, db, name } = object;
  host.store.write(KEPT, [...list(host.store).filter((one) => one.id !== id), { id, object: { kind, db, name }, old, plan, next: next && { kind, db, name: next.name } }]);
  let release = () => {};
  navigator.locks?.request(lockName(id), () => new Promise((done) => { release = () => done(undefined); })).catch(() => {});
  return () => release();
}

/** @param {Host} host @param {string} id */
function forget({ store }, id) {
  const left = list(store).filter((one) => one.id !== id);
  store.write(KEPT, left.length ? left : null);
}

/** Looks at changes that a page before did not end, and offers what is missing. @param {Host} host */
export async function offerUnfinished(host) {
  const held = new Set((await navigator.locks?.query())?.held?.map(({ name }) => name) ?? []);
  for (const one of list(host.store).filter(({ id }) => !held.has(lockName(id)))) await offer(one, host).catch((error) => host.notify(`Could not look at the ${one.object.kind} ${one.object.name}, which was being changed: ${error.message}`, 'warn'));
}

async function offer({ id, object, old, plan, next }, host) {
  const run = (sql) => ask(host.api, { sql, db: object.db });
  const now = await textNow(object, run);
  const isThere = now !== null || (next && await textNow(next, run) !== null);
  const rows = isThere && old.grants.length && !next ? grantsSql(object, await grantRows(object, host.api).catch(() => []), host.mariadb) : [];
  const missing = isThere && !next ? old.grants.filter((sql) => !rows.includes(sql)) : [];
  const left = await Promise.all(plan.made.filter((made) => made !== next?.name).map(async (made) => (await textNow({ ...object, name: made }, run).catch(() => null)) !== null && made));
  const drops = left.filter(Boolean).map((made) => dropSql({ ...object, name: made }));
  const statements = [...drops, ...(isThere ? missing : [asThen(old), object.kind === 'trigger' ? inOrder(old.text, object.db, old.order) : old.text, ...old.grants])];
  if (!statements.length) return forget(host, id);
  const text = isThere ? `A change of the ${object.kind} ${object.name} did not end: privileges on it, or a trial of it, are left.` : `The ${object.kind} ${object.name} is missing: a change of it was interrupted. Its old text is kept.`;
  return host.notify(text, 'warn', {
    text: isThere ? 'Review' : 'Restore', run: async () => {
      const { review } = await import('../structure/review.js');
      const end = await review({ title: `Restore ${object.kind} ${object.name}`, action: 'Restore', notes: [text], statements, db: object.db, server: { mariadb: host.mariadb }, api: host.api, newId: host.newId, notify: host.notify, remember: host.remember, open: (sql) => host.keep(object.db, sql, object.name) });
      if (end.failed || end.done < statements.length) return;
      forget(host, id);
      host.changed();
    },
  });
}
