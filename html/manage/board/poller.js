// Polls a connection that the user started from this page until it is connected or has failed, then opens its site.

/** Time between two polls of the status, in ms, as the specification has it. */
export const POLL_MS = 2_000;
/** Time from `connected` to the new tab, in ms, as the specification has it. */
export const OPEN_MS = 500;

/** The polls under way, by application. */
export class ConnectionPoller {
  #api;
  #store;
  #open;
  #tokens = new Map();

  /**
   * @param {{api: ReturnType<typeof import('../api.js').createApi>, store: import('./store.js').Store, open: (app: App) => void}} parts
   *   `open` opens the site of a connected application
   */
  constructor({ api, store, open }) {
    this.#api = api;
    this.#store = store;
    this.#open = open;
  }

  /** Starts polling. @param {string} id */
  start(id) {
    this.stop(id);
    const token = {};
    this.#tokens.set(id, token);
    this.#later(id, token, POLL_MS);
  }

  /** Stops polling; nothing is opened. @param {string} id */
  stop(id) {
    clearTimeout(this.#tokens.get(id)?.timer);
    this.#tokens.delete(id);
  }

  #later(id, token, ms) {
    token.timer = setTimeout(() => this.#look(id, token), ms);
  }

  async #look(id, token) {
    const began = performance.now();
    const result = await this.#ask(id);
    if (this.#tokens.get(id) !== token) return;
    if (result === 'gone') return this.#ended(id);
    if (result !== 'silence') this.#store.patch(id, result);
    if (result === 'silence' || result.status === 'connecting') this.#later(id, token, Math.max(POLL_MS - (performance.now() - began), 0));
    else if (result.status === 'connected') this.#connected(id, token, result);
    else this.#ended(id);
  }

  async #ask(id) {
    try {
      return await this.#api.status(id) ?? 'silence';
    } catch (error) {
      return error.status === 404 ? 'gone' : 'silence';
    }
  }

  #ended(id) {
    this.stop(id);
    this.#store.refresh();
  }

  #connected(id, token, { site_url: siteUrl }) {
    this.#store.refresh();
    token.timer = setTimeout(() => {
      this.stop(id);
      const app = this.#store.find(id);
      if (siteUrl && app?.conn_status === 'connected') this.#open(app);
    }, OPEN_MS);
  }
}
