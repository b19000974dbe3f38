/**
 * Waits of connections for each other's locks. No DOM.
 * @module
 */

/** @typedef {{waiting: number, blocking: number}} Wait */
/** @typedef {{type: string, db: string|null, name: string|null, mode: string, status: string, id: any}} Lock a metadata lock, asked for or held, by the id of its connection */

const OF_TRANSACTIONS = 'r.trx_mysql_thread_id AS waiting, b.trx_mysql_thread_id AS blocking';

/** Waits for locks of rows and tables of InnoDB: of MariaDB and MySQL 5.7, and of later MySQL. */
export const ROW_WAITS = {
  information: `SELECT ${OF_TRANSACTIONS} FROM information_schema.INNODB_LOCK_WAITS w JOIN information_schema.INNODB_TRX r ON r.trx_id = w.requesting_trx_id JOIN information_schema.INNODB_TRX b ON b.trx_id = w.blocking_trx_id`,
  performance: `SELECT ${OF_TRANSACTIONS} FROM performance_schema.data_lock_waits w JOIN information_schema.INNODB_TRX r ON r.trx_id = w.REQUESTING_ENGINE_TRANSACTION_ID JOIN information_schema.INNODB_TRX b ON b.trx_id = w.BLOCKING_ENGINE_TRANSACTION_ID`,
};

/** Metadata locks of what somebody waits for; there are none where the server does not record them. */
export const METADATA_LOCKS = 'SELECT l.OBJECT_TYPE AS type, l.OBJECT_SCHEMA AS db, l.OBJECT_NAME AS name, l.LOCK_TYPE AS mode, l.LOCK_STATUS AS status, t.PROCESSLIST_ID AS id'
  + ' FROM performance_schema.metadata_locks l JOIN performance_schema.threads t ON t.THREAD_ID = l.OWNER_THREAD_ID'
  + " JOIN (SELECT DISTINCT OBJECT_TYPE, OBJECT_SCHEMA, OBJECT_NAME FROM performance_schema.metadata_locks WHERE LOCK_STATUS = 'PENDING') p"
  + ' ON p.OBJECT_TYPE = l.OBJECT_TYPE AND p.OBJECT_SCHEMA <=> l.OBJECT_SCHEMA AND p.OBJECT_NAME <=> l.OBJECT_NAME';

/** Modes that statements on rows ask for, which agree with each other. */
const SHARED = new Set(['SHARED', 'SHARED_HIGH_PRIO', 'SHARED_READ', 'SHARED_WRITE', 'SHARED_WRITE_LOW_PRIO', 'SHARED_UPGRADABLE']);

/** True if one cannot have its lock beside that of another. @param {string} a @param {string} b */
function conflict(a, b) {
  if (a === 'INTENTION_EXCLUSIVE' || b === 'INTENTION_EXCLUSIVE') return a !== b;
  return !(SHARED.has(a) && SHARED.has(b)) || (a === 'SHARED_UPGRADABLE' && b === a);
}

/** Pairs of waits: a connection waits for those whose lock conflicts with its own, and behind those that ask for an exclusive one. @param {Lock[]} locks @returns {Wait[]} */
export function metadataWaits(locks) {
  const same = (a, b) => a.type === b.type && a.db === b.db && a.name === b.name && String(a.id) !== String(b.id);
  return locks.filter(({ status }) => status === 'PENDING').flatMap((one) => locks
    .filter((other) => same(one, other) && conflict(one.mode, other.mode) && (other.status === 'GRANTED' || (other.mode === 'EXCLUSIVE' && one.mode !== 'EXCLUSIVE')))
    .map((other) => ({ waiting: Number(one.id), blocking: Number(other.id) })));
}

/**
 * For each connection those it waits for, and those that wait for it.
 * @param {Wait[]} waits
 * @returns {Map<number, {waitsFor: number[], blocks: number[]}>}
 */
export function byConnection(waits) {
  /** @type {Map<number, {waitsFor: number[], blocks: number[]}>} */
  const all = new Map();
  const of = (id) => all.get(id) ?? all.set(id, { waitsFor: [], blocks: [] }).get(id);
  const add = (list, id) => { if (!list.includes(id)) list.push(id); };
  for (const { waiting, blocking } of waits) {
    if (waiting === blocking) continue;
    add(of(waiting)?.waitsFor, blocking);
    add(of(blocking)?.blocks, waiting);
  }
  return all;
}

/** Connections at the start of a chain of waits. The one that blocks most comes first. @param {ReturnType<typeof byConnection>} all */
export function roots(all) {
  const behind = (id, seen = new Set()) => {
    for (const next of all.get(id)?.blocks ?? []) if (!seen.has(next)) behind(next, seen.add(next));
    return seen;
  };
  const first = [...all].filter(([, { waitsFor, blocks }]) => blocks.length && !waitsFor.length).map(([id]) => ({ id, held: behind(id).size }));
  return first.sort((a, b) => b.held - a.held || a.id - b.id);
}

/** Ids in a line, the first ones where there are many. @param {number[]} ids */
export const idsText = (ids) => (ids.length > 4 ? `${ids.slice(0, 3).join(', ')} and ${ids.length - 3} more` : ids.join(', '));
