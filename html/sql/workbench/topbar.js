// The top bar: where one is connected, as whom, in which mode, and whether the server still answers.
import { byId, fill, h, icon } from '../../common/dom.js';
import { announce, showStrip } from '../../common/announce.js';
import { formatMs } from '../../common/figures.js';
import { retryPause } from '../../common/transport.js';
import { later } from './querytab.js';

/** Time between two health checks while all is well, in ms. */
const HEALTHY_MS = 15_000;
/** Time to the second check, in ms: the first one also paid for loading the page, its latency misleads. */
const SECOND_MS = 1_500;
/** Texts of the strip while the server or its database is away; the API's message follows. */
const OUTAGES = {
  offline: 'Server not reachable; retrying. Your text is kept.',
  database: 'The database does not answer; retrying.',
  away: 'This database is not shared now; retrying. Your text is kept.',
};

/** Fills the strip from the server's info. @param {ServerInfo} info */
export function showInfo(info) {
  const address = info.port ? `${info.host.includes(':') ? `[${info.host}]` : info.host}:${info.port}` : info.host;
  fill(byId('connection'), h('span', { class: 'where-host', text: address }), h('span', { class: 'where-user', text: ` · ${info.user}${info.database ? `@${info.database}` : ''}` }));
  byId('connection').title = [`${address}, user ${info.user}`, info.version, info.time_zone && `time zone ${info.time_zone}`, info.tool].filter(Boolean).join('\n');
  byId('version').textContent = info.version;
  const readOnly = info.readonly === true || info.mode === 'read-only';
  const badge = byId('mode');
  badge.className = `mode ${readOnly ? 'read-only' : 'read-write'}`;
  badge.title = readOnly ? 'Statements that write are rejected. Set when postern was started.' : 'Statements that write are executed. Set when postern was started.';
  fill(badge, icon(readOnly ? 'lock' : 'unlock'), readOnly ? 'Read-Only' : 'Read-Write');
  badge.hidden = false;
  const could = byId('could-write');
  could.hidden = !(readOnly && info.can_write);
  could.onclick = async () => (await later(import('./panels.js')))?.showAccountAdvice(info);
  showReplica(info);
}

/** The server's own variables that keep it from writing, in its words. @param {ServerInfo} info */
const readOnlyBy = (info) => ['super_read_only', 'read_only', 'innodb_read_only'].filter((name) => info[name] === true);

/** Shows beside the mode that the server takes no writes; that may change at any time. @param {ServerInfo} info */
function showReplica(info) {
  const by = readOnlyBy(info);
  const badge = byId('replica');
  badge.hidden = !by.length;
  badge.title = `This server is a read-only replica (${by.join(', ')})`;
  badge.setAttribute('aria-label', 'Replica: this server is read-only. Show details');
  badge.onclick = async () => (await later(import('./panels.js')))?.showReplicaAdvice(by);
}

/** Watches whether the server answers: a dot with the latency, and a strip while it does not. */
export class Health {
  #api;
  #timer = 0;
  #tries = 0;
  #checking = false;
  #seen = false;
  #databaseDoubtful = false;
  state = 'connecting';

  /** @param {{health: () => Promise<{info: ServerInfo, ms: number}>, databases: () => Promise<string[]>}} api @param {(info: ServerInfo) => void} onInfo */
  constructor(api, onInfo) {
    this.#api = api;
    this.onInfo = onInfo;
    document.addEventListener('visibilitychange', () => { if (!document.hidden) this.check(); });
    addEventListener('online', () => this.check());
    byId('retry-now').addEventListener('click', () => this.check());
  }

  /** Told by any request that failed to reach the server. */
  serverLost() {
    if (this.state === 'offline') return;
    this.#set('offline', 'not reachable');
    announce('Server not reachable; retrying', 'bad');
    this.#later(retryPause(0));
  }

  /** Told by any request that the database did not answer: it is asked too, for the info comes without it. */
  databaseLost() {
    this.#databaseDoubtful = true;
    this.check();
  }

  /** Asks now. */
  async check() {
    if (this.#checking || this.state === 'ended') return;
    this.#checking = true;
    clearTimeout(this.#timer);
    // Postern tells of itself without the database: what refuses that stands in front of it, as where sharing has ended.
    let failing = 'away';
    try {
      const { info, ms } = await this.#api.health();
      failing = 'database';
      if (this.#databaseDoubtful) await this.#api.databases();
      this.#found(info, ms);
    } catch (error) {
      this.#missed(error, failing);
    } finally {
      this.#checking = false;
    }
  }

  #found(info, ms) {
    const back = this.state in OUTAGES;
    this.#tries = 0;
    this.#databaseDoubtful = false;
    this.#set('connected', `connected ${formatMs(ms)}`);
    if (back) announce('Reconnected', 'good');
    this.onInfo(info);
    this.#later(this.#seen ? HEALTHY_MS : SECOND_MS);
    this.#seen = true;
  }

  #missed(error, failing) {
    if (error.status === 401) return;
    if (error.unreachable) this.serverLost();
    else this.#set(failing, failing === 'away' ? 'not shared now' : 'database not reachable', error.message);
    this.#later(retryPause(this.#tries));
    this.#tries += 1;
  }

  #later(ms) {
    clearTimeout(this.#timer);
    // A hidden page that is well asks nothing; one that lost its server goes on trying.
    const idle = () => document.hidden && this.state === 'connected';
    this.#timer = setTimeout(() => (idle() ? this.#later(ms) : this.check()), ms);
  }

  #set(state, text, detail = '') {
    this.state = state;
    byId('health').className = `health ${state}`;
    byId('health-text').textContent = text;
    showStrip(byId('offline'), `${OUTAGES[state] ?? ''} ${detail}`.trim());
  }

  /** The session is over: nothing is asked any more. */
  end() {
    this.state = 'ended';
    clearTimeout(this.#timer);
    byId('health').className = 'health offline';
    byId('health-text').textContent = 'signed out';
    showStrip(byId('offline'), '');
  }
}
