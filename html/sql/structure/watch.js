/**
 * Looks at a statement that runs: its progress, the connections that block it, and those that wait for it. No DOM.
 * @module
 */

import { askRows } from '../ask.js';
import { lasting } from '../core/entries.js';
import { ownGrants, reach } from '../objects/privileges.js';
import { idsText } from '../server/locks.js';
import { Waits } from '../server/waits.js';

/** Connections that are named at most. */
const MOST = 3;
/** Statement of another connection that is shown, in characters. */
const SHOWN = 80;
const WAITS = /^Waiting for .*(?:metadata|table).* lock/i;

const COLUMNS = 'ID AS id, USER AS user, COMMAND AS command, TIME AS time, STATE AS state, INFO AS info';
const PROCESSES = {
  mariadb: `SELECT ${COLUMNS}, STAGE AS stage, MAX_STAGE AS stages, PROGRESS AS progress FROM information_schema.PROCESSLIST`,
  mysql: `SELECT ${COLUMNS} FROM performance_schema.processlist`,
  old: `SELECT ${COLUMNS} FROM information_schema.PROCESSLIST`,
};
const OPEN = 'SELECT trx_mysql_thread_id AS id, TIMESTAMPDIFF(SECOND, trx_started, NOW()) AS seconds FROM information_schema.INNODB_TRX ORDER BY trx_started';
/** Progress of MySQL; there is none unless the server was set to record it. */
const STAGE = (id) => `SELECT s.EVENT_NAME AS name, s.WORK_COMPLETED AS done, s.WORK_ESTIMATED AS whole FROM performance_schema.events_stages_current s JOIN performance_schema.threads t USING (THREAD_ID) WHERE t.PROCESSLIST_ID = ${id} AND s.WORK_ESTIMATED > 0`;

/** @typedef {{state: string, blockers: string[], waiting: string[], note: string}} Sight `note`: part that this account cannot see */

/** Watches one connection. */
export class Watch {
  #api;
  #id;
  #waits;
  #from;
  #stage;
  /** True if the server records who waits for which lock of a table. */
  #tells;

  /** @param {import('../objects/privileges.js').Api} api @param {number} id of the connection @param {boolean} mariadb */
  constructor(api, id, mariadb) {
    this.#api = api;
    this.#id = id;
    this.#waits = new Waits(api, mariadb);
    this.#from = mariadb ? [PROCESSES.mariadb, PROCESSES.old] : [PROCESSES.mysql, PROCESSES.old];
    this.#stage = !mariadb;
    this.#tells = !mariadb;
  }

  /** @param {AbortSignal} signal @returns {Promise<Sight>} */
  async look(signal) {
    const grants = await ownGrants(this.#api);
    const all = reach(grants, 'PROCESS') === 'all';
    if (reach(grants, 'SELECT', 'performance_schema') === 'none') this.#tells = false;
    const rows = await this.#processes(signal);
    const own = rows.find(({ id }) => Number(id) === this.#id);
    const waits = all ? await this.#waits.waits(signal, reach(grants, 'SELECT', 'performance_schema') !== 'none') : new Map();
    const { waitsFor = [], blocks: behind = [] } = waits.get(this.#id) ?? {};
    const blocks = behind.filter(isSession);
    const open = all ? await this.#open(signal) : [];
    const isStuck = WAITS.test(own?.state ?? '');
    const byId = new Map(rows.map((row) => [Number(row.id), row]));
    const since = new Map(open.map(({ id, seconds }) => [Number(id), Number(seconds)]));
    const said = (id) => saidOf(id, byId.get(id), since.get(id));
    return {
      state: await this.#state(own, signal),
      blockers: waitsFor.length ? listed(waitsFor, said, 'blocks it') : isStuck ? guessed(open.filter(({ id }) => Number(id) !== this.#id), said) : [],
      waiting: blocks.length ? listed(blocks, said, 'waits for it') : this.#tells && all ? [] : queued(rows.filter(({ id, state }) => isSession(Number(id)) && Number(id) !== this.#id && WAITS.test(state ?? '')), said),
      note: all ? '' : 'This account sees its own connections only; to see others it needs the PROCESS privilege.',
    };
  }

  async #processes(signal) {
    for (;;) {
      const rows = await askRows(this.#api, { sql: this.#from[0], limit: 10_000, signal }).catch((error) => {
        if (signal.aborted || !error.errno || this.#from.length === 1) throw error;
        return null;
      });
      if (rows) return rows;
      this.#from.shift();
    }
  }

  async #open(signal) {
    return askRows(this.#api, { sql: OPEN, limit: 10_000, signal }).catch(() => /** @type {Record<string, any>[]} */ ([]));
  }

  async #state(own, signal) {
    if (!own) return '';
    const state = String(own.state ?? '');
    if (Number(own.progress) > 0 || Number(own.stages) > 1) return `${state}, stage ${own.stage} of ${own.stages}, ${Number(own.progress).toFixed(1)} %`;
    const [stage] = this.#stage ? await askRows(this.#api, { sql: STAGE(this.#id), signal }).catch(() => { this.#stage = false; return []; }) : [];
    return stage ? `${String(stage.name).replace(/^stage\/\w+\//, '')}, ${(Number(stage.done) * 100 / Number(stage.whole)).toFixed(1)} %` : state;
  }
}

/** False for threads of the server itself, and for a prepared transaction without a connection. @param {number} id */
const isSession = (id) => id > 0;

/** @param {number} id @param {(id: number) => string} said */
const subject = (id, said) => (isSession(id) ? `connection ${said(id)}` : 'a thread of the server, or a prepared transaction without a connection (XA RECOVER lists them)');

const capital = (text) => text[0].toUpperCase() + text.slice(1);

/** A connection in words. @param {number} id @param {Record<string, any>|undefined} row @param {number|undefined} open seconds since its transaction began */
function saidOf(id, row, open) {
  const does = row?.info ? `runs ${String(row.info).replace(/\s+/g, ' ').slice(0, SHOWN)}` : row ? 'runs nothing' : '';
  const held = open === undefined ? '' : `transaction open ${lasting(Math.max(0, open))}`;
  const more = [does, held].filter(Boolean).join(', ');
  return `${id}${row ? ` of ${row.user}` : ''}${more ? ` (${more})` : ''}`;
}

/** @param {number[]} ids @param {(id: number) => string} said @param {string} verb */
function listed(ids, said, verb) {
  const lines = ids.slice(0, MOST).map((id) => capital(`${subject(id, said)} ${verb}.`));
  return ids.length > MOST ? [...lines, `${ids.length - MOST} more: ${idsText(ids.slice(MOST))}.`] : lines;
}

/** The server does not say who blocks: a transaction that is open may. */
function guessed(open, said) {
  const lines = open.slice(0, MOST).map(({ id }) => `Perhaps blocked by ${subject(Number(id), said)}.`);
  return lines.length ? lines : ['It waits for a lock; the server does not say which connection holds it.'];
}

/** Others that wait for a lock of a table; the server does not say for whom. */
function queued(rows, said) {
  return rows.slice(0, MOST).map(({ id }) => `Connection ${said(Number(id))} waits for a table’s lock.`).concat(rows.length > MOST ? [`${rows.length - MOST} more wait for locks of tables.`] : []);
}
