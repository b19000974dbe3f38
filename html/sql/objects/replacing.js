/**
 * Puts a view, routine, trigger or event in place of the one that is there, or gives it another name. The old text is kept
 * until the new object exists, also where the page, postern or the server ends in between.
 * @module
 */

import { h, loadStyle } from '../../common/dom.js';
import { ask, askRows, textOf } from '../ask.js';
import { createDenied, createText, dropSql, showCreateSql, titleOf } from './kinds.js';
import { highlighted } from './parts.js';
import { accountIn, asThen, createdBy, definerOf, enabling, grantsSql, inOrder, lockOf, renaming, replacement, securityOf, triggerOf } from './redefine.js';

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
 * @property {(object: Program, sql: string) => void} edit puts the text of an object into a tab, where running it replaces the object
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
  const rows = needsGrants ? await grantRows(object, api) : [];
  const order = kind === 'trigger' ? await orderOf(api, db, name) : null;
  return { ...told, text: told.text, order, grants: grantsSql(object, rows, mariadb), grantors: [...new Set(rows.map(({ grantor }) => String(grantor ?? '')))].filter(Boolean) };
}

/** Privileges that are granted on an object alone. @param {Program} object @param {Host['api']} api */
async function grantRows({ kind, db, name }, api) {
  const of = (column) => `Db = ${textOf(db)} AND ${column} = ${textOf(name)}`;
  // Privileges on columns come last, since they are revoked first.
  const lists = kind === 'view'
    ? [`SELECT User AS user, Host AS host, Table_priv AS privileges FROM mysql.tables_priv WHERE ${of('Table_name')} AND Table_priv <> ''`,
      `SELECT User AS user, Host AS host, Column_priv AS privileges, Column_name AS \`column\` FROM mysql.columns_priv WHERE ${of('Table_name')}`]
    : [`SELECT User AS user, Host AS host, Proc_priv AS privileges, Grantor AS grantor FROM mysql.procs_priv WHERE ${of('Routine_name')} AND Routine_type = '${kind.toUpperCase()}'`];
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
  const [was, now] = [old.text, sql].map((text) => accountIn(definerOf(text), row.me));
  const [safe, next] = [old.text, sql].map(securityOf);
  return [
    was === now ? '' : definerOf(sql) ? `Its definer changes from ${was} to ${now}.` : `Its definer is ${was}. Your text names none, so it becomes ${now}.`,
    safe === next ? '' : `SQL SECURITY changes from ${safe} to ${next}: it runs with the privileges of ${next === 'INVOKER' ? 'the caller' : 'its definer'}.`,
    old.database && row.now && old.database !== row.now ? `The collation of ${db} is ${row.now} now, and was ${old.database} when this was created: its variables and parameters without a character set get the new one.` : '',
    old.client && !old.client.startsWith('utf8mb4') ? `The recorded character set of its text changes from ${old.client} to utf8mb4, which has all characters of it. The collation of its literals stays ${old.collation}.` : '',
  ].filter(Boolean);
}

/** @param {{kind: string, db: string, name: string}} a @param {Program} b */
const isSame = (a, b) => a.kind === b.kind && a.db === b.db && a.name.toLowerCase() === b.name.toLowerCase();

/** Asks, and replaces. True if it was replaced, null where nothing is there to be replaced. @param {string} sql a CREATE of what is there @param {Host & {db: string, base?: {kind: string, db: string, name: string, text: string}|null, opened?: (text: string|null) => void, say: (text: string, kind?: string) => void, fail: (message: string) => void}} host `base`: the object that was opened to be edited, as it was then; `opened`: it is another one now; `say`: beside what was run; `fail`: leads to the place of an error */
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
  const base = host.base && isSame(host.base, object) ? host.base.text : old.text;
  if (base !== old.text) {
    const { askOverwrite } = await import('./overwriting.js');
    const chosen = await askOverwrite(object, base, old.text);
    if (chosen !== 'overwrite') {
      host.say(`The ${kind} ${name} was changed since you opened it, and was not replaced.`, 'warn');
      if (chosen === 'open') host.edit(object, old.text);
      return false;
    }
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
  const end = await change({ object, old, plan, host, title: `Replace ${kind} ${name}`, action: 'Replace', notes, losses: base === old.text ? [] : [`The ${kind} ${name} was changed since you opened it. That change is overwritten.`], shows: old.text, isDone: async (run) => (await textNow(object, run)) !== null });
  if (end.error && end.error.statement) host.fail(end.error.message);
  if (end.failed || end.done < plan.statements.length) return false;
  host.opened?.((await shown(host.api, object).catch(() => null))?.text ?? null);
  host.say(`${titleOf(/** @type {any} */ (kind))} ${name} was replaced.`, 'good');
  return true;
}

/** Asks for another name, and renames. @param {Program} object @param {Host} host @returns {Promise<string>} the new name; empty where nothing was done */
export async function renameObject(object, host) {
  const { kind, name } = object;
  const [{ form }] = await Promise.all([import('../structure/form.js'), loadStyle(new URL('../asked.css', import.meta.url))]);
  /** @param {import('../structure/form.js').Values} values */
  const entered = (values) => String(values.name).trim();
  const asked = await form({ title: `Rename ${kind} ${name}`, fields: [{ name: 'name', label: 'New name', maxLength: 64 }], values: { name }, check: (now) => (entered(now) && entered(now) !== name ? null : { field: 'name', text: 'Enter another name.' }) });
  if (!asked) return '';
  const to = entered(asked);
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

/** Lets an event run, or not. @param {Program} object @param {boolean} enabled @param {Host} host */
export async function enableEvent(object, enabled, host) {
  try {
    const old = await readOld(object, host, false);
    const word = enabled ? 'Enable' : 'Disable';
    const end = await change({
      object, old, plan: enabling(object, old, enabled), host, title: `${word} event ${object.name}`, action: word, isDone: async (run) => (await textNow(object, run)) !== old.text,
      notes: [enabled ? 'It runs by its schedule, where the server’s event scheduler is on.' : 'It no longer runs. A run that has begun goes on.'],
    });
    if (!end.failed && end.done) host.notify(`${object.name} ${word.toLowerCase()}d`, 'good');
  } catch (error) {
    host.notify(`${object.name} was not changed. ${error.message}`, 'bad');
  }
}

/**
 * Runs a plan in the review; after a failure the old object is as it was.
 * @param {{object: Program, old: Old, plan: import('./redefine.js').Plan, host: Host, title: string, action: string, notes: string[], losses?: string[], shows?: string, next?: Program, isDone: (run: (sql: string) => Promise<any>) => Promise<boolean>}} work
 *   `next`: the object under its new name; `shows`: the text of now, to be looked at
 */
async function change(work) {
  const { object, old, plan, host, title, action, notes, losses, shows } = work;
  const { review } = await import('../structure/review.js');
  const id = host.newId();
  const isRisky = plan.made.length > 0;
  let release = () => {};
  const end = await review({
    title, action, notes, losses, statements: plan.statements, more: shows ? [folded('The text of now', shows)] : [], restoring: plan.restoring, db: object.db,
    server: { mariadb: host.mariadb }, api: host.api, newId: host.newId, notify: host.notify, remember: host.remember,
    open: (sql) => host.keep(object.db, sql, object.name),
    before: async () => {
      const now = await shown(host.api, object).catch((error) => { throw new Error(error.message); });
      if (now.text !== old.text) return `${object.name} has been changed meanwhile. Close this, and look at it again.`;
      if (isRisky) release = keepOld(id, work);
      return '';
    },
    restore: async ({ run, unknown, done }) => {
      const restored = await restore(work, run, unknown, done >= plan.makes);
      if (restored?.good === false) {
        host.keep(object.db, oldText(old), object.name);
        mark(host, id);
      } else forget(host, id);
      return restored;
    },
  });
  if (!end.failed) forget(host, id);
  release();
  if (end.ran.length) host.changed();
  return end;
}

/** A text behind a line that opens it. @param {string} title @param {string} sql */
const folded = (title, sql) => h('details', { class: 'structure-restoring' }, h('summary', { text: title }), h('pre', { class: 'quote', tabindex: '0', role: 'group', 'aria-label': title }, highlighted(sql)));

/** The statements that make the old object again. @param {Old} old */
const oldText = (old) => [`${asThen(old)};`, `${old.text};`, ...old.grants.map((sql) => `${sql};`)].join('\n');

/**
 * Makes the old object what it was.
 * @param {{object: Program, old: Old, plan: import('./redefine.js').Plan, next?: Program, isDone: (run: (sql: string) => Promise<any>) => Promise<boolean>}} work @param {(sql: string) => Promise<any>} run
 * @param {boolean} isLost the session, with its locks
 * @param {boolean} isMade the new object was created by this change; another one of its name is somebody else's, and stays
 * @returns {Promise<import('../structure/review.js').Restored|null>}
 */
async function restore({ object, old, plan, next, isDone }, run, isLost, isMade) {
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
    for (const made of plan.made.filter((one) => one !== next?.name || isMade)) await run(dropSql(/** @type {any} */ ({ ...object, name: made })).replace(/^DROP (\w+(?: BODY)?) /, 'DROP $1 IF EXISTS ')).catch(() => {});
    if (next && kind === 'view' && now === null) await run(plan.restoring[0]);
    else if (!isUntouched) {
      // Somebody else's, or nobody can tell.
      if (now !== null && !isMade) return { good: false, text: `${title} is another one now: ${isLost ? 'your text, or one that somebody else created meanwhile' : 'somebody else created it meanwhile'}. It was left as it is. The old text is in a tab, and is offered when this page is opened again.` };
      await run(asThen(old));
      if (now !== null) await run(dropSql(/** @type {any} */ (object)));
      await run(kind === 'trigger' ? inOrder(old.text, object.db, old.order) : old.text);
    }
    await run(AS_READ);
    const lost = [];
    for (const sql of isUntouched ? [] : old.grants) await run(sql).catch((error) => lost.push(`${sql}: ${error.message}`));
    if (await textNow(object, run) !== old.text) return { good: false, text: `${title} is not as it was. Its old text is in a tab.` };
    if (lost.length) return { good: false, text: `${title} was restored, but not all privileges on it: ${lost.join('; ')}.` };
    return { good: true, text: isUntouched ? `${title} is unchanged.` : `${title} was restored.${await remarks(object, old, run)}` };
  } catch (error) {
    return { good: false, text: `${title} could not be restored: ${error.message}. Its old text is in a tab, and is offered when this page is opened again.` };
  } finally {
    if (kind === 'trigger') await run('UNLOCK TABLES').catch(() => {});
  }
}

/** Sentences for what differs after an object was restored. @param {Program} object @param {Old} old @param {(sql: string) => Promise<any>} run */
async function remarks(object, old, run) {
  const [{ client }, { rows: [[me]] }] = await Promise.all([shown(/** @type {any} */ (null), object, run), run('SELECT CURRENT_USER()')]);
  const grantors = (old.grantors ?? []).filter((one) => one !== me);
  return [
    old.client === client ? '' : ` The recorded character set of its text is ${client} now, and was ${old.client}.`,
    grantors.length ? ` Its privileges are recorded as granted by ${me} now, and were by ${grantors.join(', ')}.` : '',
  ].join('');
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

/** The old text is offered again even where an object of that name exists. @param {Host} host @param {string} id */
const mark = ({ store }, id) => store.write(KEPT, list(store).map((one) => (one.id === id ? { ...one, isLeft: true } : one)));

/** Looks at changes that a page before did not end, and offers what is missing. @param {Host} host */
export async function offerUnfinished(host) {
  const held = new Set((await navigator.locks?.query())?.held?.map(({ name }) => name) ?? []);
  for (const one of list(host.store).filter(({ id }) => !held.has(lockName(id)))) await offer(one, host).catch((error) => host.notify(`Could not look at the ${one.object.kind} ${one.object.name}, which was being changed: ${error.message}`, 'warn'));
}

async function offer({ id, object, old, plan, next, isLeft }, host) {
  const run = (sql) => ask(host.api, { sql, db: object.db });
  const now = await textNow(object, run);
  const isThere = now !== null || (next && await textNow(next, run) !== null);
  const rows = isThere && old.grants.length && !next ? grantsSql(object, await grantRows(object, host.api).catch(() => []), host.mariadb) : [];
  const missing = isThere && !next ? old.grants.filter((sql) => !rows.includes(sql)) : [];
  const left = await Promise.all(plan.made.filter((made) => made !== next?.name).map(async (made) => (await textNow({ ...object, name: made }, run).catch(() => null)) !== null && made));
  const drops = left.filter(Boolean).map((made) => dropSql({ ...object, name: made }));
  const statements = [...drops, ...(isThere ? missing : [asThen(old), object.kind === 'trigger' ? inOrder(old.text, object.db, old.order) : old.text, ...old.grants])];
  if (isLeft && now !== null && now !== old.text) {
    return host.notify(`The ${object.kind} ${object.name} is another one than before your change of it, which failed. The old text is kept.`, 'warn', { text: 'Open the old text', run: () => { host.keep(object.db, oldText(old), object.name); forget(host, id); } });
  }
  if (!statements.length) return forget(host, id);
  const text = isThere ? `A change of the ${object.kind} ${object.name} did not end: privileges on it, or a trial of it, are left.` : `The ${object.kind} ${object.name} is missing: a change of it was interrupted. Its old text is kept.`;
  return host.notify(text, 'warn', {
    text: isThere ? 'Review' : 'Restore', run: async () => {
      const { review } = await import('../structure/review.js');
      const end = await review({ title: `Restore ${object.kind} ${object.name}`, action: 'Restore', notes: [text], statements, db: object.db, server: { mariadb: host.mariadb }, api: host.api, newId: host.newId, notify: host.notify, remember: host.remember, open: (sql) => host.keep(object.db, sql, object.name) });
      if (end.failed || end.done < statements.length) return;
      forget(host, id);
      host.changed();
      // Of several offers one is shown.
      await offerUnfinished(host);
    },
  });
}
