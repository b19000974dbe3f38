// Server data: applications, main tunnels, version. Refreshed every 5 s, and kept while the server is not reachable.
import { retryPause } from '../../common/transport.js';
import { STATUSES } from '../core/status.js';

/** Time between two refreshes, in ms, as the specification has it. */
export const REFRESH_MS = 5_000;
/** Time between two requests for the version, in ms: it carries the server's notices. */
const VERSION_MS = 60_000;

/** Holds the applications, tunnels and version, and keeps them fresh. */
export class Store {
  #api;
  #timer = 0;
  #misses = 0;
  /** @type {Promise<void>|null} */
  #running = null;
  #again = false;
  /** Counts local changes; a list requested before one is stale and is dropped. */
  #changes = 0;
  /** Time of the last request for the version, in ms; null if it must be requested. @type {number|null} */
  #versionAt = null;
  /** @type {Set<() => void>} */
  #listeners = new Set();

  /** @type {App[]|null} null until they are known */
  apps = null;
  /** @type {MainTunnel[]} */
  tunnels = [];
  /** @type {Partial<Version>} */
  version = {};
  /** Reason for which the list is not fresh; empty when it is. */
  trouble = '';

  /** @param {ReturnType<typeof import('../api.js').createApi>} api @param {() => void} onChange */
  constructor(api, onChange) {
    this.#api = api;
    this.#listeners.add(onChange);
  }

  /** Calls `listener` after every change, until what it answers is called. @param {() => void} listener @returns {() => void} */
  subscribe(listener) {
    this.#listeners.add(listener);
    return () => { this.#listeners.delete(listener); };
  }

  #changed() {
    for (const listener of this.#listeners) listener();
  }

  /** Loads now and from then on every 5 s. */
  start() {
    this.refresh();
    addEventListener('online', () => this.refresh());
    document.addEventListener('visibilitychange', () => { if (!document.hidden) this.refresh(); });
  }

  /** Asks now; while a question is under way, once more after it. @returns {Promise<void>} */
  refresh() {
    this.#again = this.#running !== null;
    this.#running ??= this.#load().finally(() => {
      this.#running = null;
      if (this.#again) this.refresh();
    });
    return this.#running;
  }

  async #load() {
    clearTimeout(this.#timer);
    const began = performance.now();
    try {
      do {
        this.#again = false;
        await this.#ask();
      } while (this.#again);
      this.#misses = 0;
      this.trouble = '';
    } catch (error) {
      this.#again = false;
      this.trouble = error.message;
      this.#misses += 1;
      // The next answer may come from another process, so the version is fetched again.
      this.#versionAt = null;
    }
    this.#later(performance.now() - began);
    this.#changed();
  }

  async #ask() {
    const changes = this.#changes;
    const [apps, tunnels] = await Promise.all([this.#api.apps(), this.#api.tunnels().catch(() => this.tunnels)]);
    if (changes !== this.#changes) this.#again = true;
    else this.apps = this.#kept(listOf(apps));
    this.tunnels = listOf(tunnels);
    if (this.#versionAt === null || performance.now() - this.#versionAt > VERSION_MS) await this.#askVersion();
  }

  /** Replaces unchanged applications by their old objects, so that they are not redrawn. Every answer for a connected application is a new sample. */
  #kept(apps) {
    const before = new Map((this.apps ?? []).map((app) => [app.id, app]));
    return apps.map((app) => {
      const old = before.get(app.id);
      return old && app.conn_status !== 'connected' && JSON.stringify(old) === JSON.stringify(app) ? old : app;
    });
  }

  async #askVersion() {
    try {
      this.version = await this.#api.version() ?? {};
      this.#versionAt = performance.now();
    } catch (error) {
      if (error.unreachable) throw error;
    }
  }

  #later(tookMs) {
    const pause = this.trouble ? retryPause(this.#misses - 1) : Math.max(REFRESH_MS - tookMs, 0);
    this.#timer = setTimeout(() => this.refresh(), pause);
  }

  /** The application of that id, if there still is one. @param {string} id */
  find(id) {
    return this.apps?.find((app) => app.id === id);
  }

  /** The applications that are connected, or connecting, through a server. @param {string} server its origin @returns {App[]} */
  connectedTo(server) {
    return (this.apps ?? []).filter(({ conn_status: status = 'idle', connection }) => ['connecting', 'connected'].includes(status) && connection?.server === server);
  }

  /** Takes what the status endpoint or an action told of an application. @param {string} id @param {ConnectResult} connection a ConnectResult, or its status alone */
  patch(id, connection) {
    if (!this.find(id)) return;
    this.#changes += 1;
    const status = /** @type {App['conn_status']} */ (STATUSES.includes(connection.status) ? connection.status : 'idle');
    this.apps = (this.apps ?? []).map((app) => (app.id === id ? { ...app, conn_status: status, connection: status === 'idle' ? undefined : connection } : app));
    this.#changed();
  }

  /** Takes an application as it was saved. @param {App} saved */
  put(saved) {
    this.#changes += 1;
    const before = this.find(saved.id);
    /** @type {App} */
    const app = { conn_status: 'idle', ...before, ...saved };
    this.apps = [...(this.apps ?? []).filter(({ id }) => id !== saved.id), app];
    this.#changed();
  }

  /** Forgets an application. @param {string} id */
  drop(id) {
    this.#changes += 1;
    this.apps = (this.apps ?? []).filter((app) => app.id !== id);
    this.#changed();
  }
}

function listOf(value) {
  return Array.isArray(value) ? value.filter((entry) => entry !== null && typeof entry === 'object') : [];
}
