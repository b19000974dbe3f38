/**
 * Asks the server which connections wait for each other. No DOM.
 * @module
 */

import { askRows } from '../ask.js';
import { byConnection, METADATA_LOCKS, metadataWaits, ROW_WAITS } from './locks.js';

/** Asks for the waits again and again; what the server refuses once is not asked again. */
export class Waits {
  #api;
  #rows;
  #metadata = METADATA_LOCKS;

  constructor(api, mariadb) {
    this.#api = api;
    this.#rows = mariadb ? [ROW_WAITS.information] : [ROW_WAITS.performance, ROW_WAITS.information];
  }

  /** @param {AbortSignal} signal @param {boolean} performance whether the account may read the performance schema */
  async waits(signal, performance) {
    if (!performance) [this.#rows, this.#metadata] = [this.#rows.filter((sql) => sql !== ROW_WAITS.performance), ''];
    const [rows, locks] = [await this.#rowWaits(signal), await this.#locks(signal)];
    return byConnection([...rows.map(({ waiting, blocking }) => ({ waiting: Number(waiting), blocking: Number(blocking) })), ...metadataWaits(locks)]);
  }

  async #rowWaits(signal) {
    while (this.#rows.length) {
      const rows = await this.#ask(this.#rows[0], signal);
      if (rows) return rows;
      this.#rows.shift();
    }
    return [];
  }

  async #locks(signal) {
    const locks = this.#metadata ? await this.#ask(this.#metadata, signal) : [];
    if (!locks) this.#metadata = '';
    return /** @type {import('./locks.js').Lock[]} */ (locks ?? []);
  }

  /** Null where it is refused. */
  #ask(sql, signal) {
    return askRows(this.#api, { sql, limit: 10_000, signal }).catch((error) => {
      if (signal.aborted || !error.errno) throw error;
      return null;
    });
  }
}
