// The browser's storage of the page: settings for all servers, open tabs and history for each server and user.
// Passwords never get here: literals that hold one are masked before anything is written.
import { readHistory } from '../core/history.js';
import { MOST_PENDING, readPending } from '../core/pending.js';
import { errorWithoutSecrets, withoutSecrets } from '../core/secrets.js';

/** @typedef {({kind: any, db: string, name: string, text: string})|boolean} Edits an object whose text is edited, with the text of then; true: that was not kept */

/** @typedef {{id?: string, name: string, text: string, db: string, generated: boolean, edits?: Edits, caret: number, autoName?: string, data?: any[], front?: string}} StoredTab */

/** @typedef {{session: string, used: boolean, inTransaction: boolean}} StoredSession */

const PREFIX = 'postern.sql';
/** The longest text of a tab that is kept, in characters; browsers give an origin about 5 million in all. */
export const MAX_KEPT_TEXT = 1_000_000;
/** Time a reloaded page waits for the lock of the former page, in ms. */
const RELOAD_MS = 600;
/** Limit for windows whose tabs are remembered for one server and user. */
const MAX_WORKSPACES = 5;

const DEFAULTS = { limit: 1000, stopOnError: true, confirmDanger: true, autoComplete: true, wrap: false, sidebarWidth: 264, editorShare: 0.28, bare: false };

function read(key) {
  try {
    return JSON.parse(localStorage.getItem(key) ?? 'null');
  } catch {
    return null;
  }
}

/** False when the storage is full or forbidden. */
function write(key, value) {
  try {
    localStorage.setItem(key, JSON.stringify(value));
    return true;
  } catch {
    return false;
  }
}

/** A random id, hard to guess: session and query ids are the only key to what they name. */
export function randomId() {
  return Array.from(crypto.getRandomValues(new Uint8Array(12)), (byte) => byte.toString(16).padStart(2, '0')).join('');
}

/** The settings with a stored value of the right type, else the default. */
export function loadSettings() {
  const stored = read(`${PREFIX}.settings`) ?? {};
  const settings = { ...DEFAULTS };
  for (const key of Object.keys(DEFAULTS)) if (typeof stored[key] === typeof DEFAULTS[key]) settings[key] = stored[key];
  return settings;
}

/** @param {Settings} settings */
export function saveSettings(settings) {
  write(`${PREFIX}.settings`, settings);
}

/** Tabs and history of one server and user. */
export class Workspace {
  #key;
  #id;

  /** @param {{host: string, port: number|null, user: string}} server @param {string} id of this window's workspace */
  constructor(server, id) {
    this.#key = `${PREFIX}:${server.user}@${server.host}:${server.port ?? ''}`;
    this.#id = id;
  }

  /**
   * Opens this window's workspace: the one it had before a reload, else the latest that no other window holds.
   * @param {{host: string, port: number|null, user: string}} server
   */
  static async open(server) {
    const probe = new Workspace(server, '');
    const ids = Object.entries(probe.#all()).sort(([, a], [, b]) => b.savedAt - a.savedAt).map(([id]) => id);
    const mine = windowId(`${probe.#key}.window`);
    probe.#prunePending([...ids, mine]);
    if (mine && await claim(`${probe.#key}.${mine}`, RELOAD_MS)) return probe.#named(mine);
    for (const id of ids) {
      if (id !== mine && await claim(`${probe.#key}.${id}`)) return probe.#named(id);
    }
    const id = randomId();
    await claim(`${probe.#key}.${id}`);
    return probe.#named(id);
  }

  #named(id) {
    this.#id = id;
    try {
      sessionStorage.setItem(`${this.#key}.window`, id);
    } catch {
      // Without sessionStorage a reload takes the latest free workspace.
    }
    return this;
  }

  #all() {
    const value = read(`${this.#key}.tabs`);
    return value && typeof value === 'object' && !Array.isArray(value) ? value : {};
  }

  /** `sidebar`: the database whose tables were shown, empty for the list of databases, null at the first visit. @returns {{active: number, sidebar: string|null, tabs: StoredTab[]}} */
  tabs() {
    const stored = this.#all()[this.#id];
    const tabs = Array.isArray(stored?.tabs) ? stored.tabs.filter((tab) => tab && typeof tab.text === 'string') : [];
    return { active: Number(stored?.active) || 0, sidebar: stored ? String(stored.sidebar ?? '') : null, tabs };
  }

  /** Saves the open tabs; makes room by forgetting other windows' tabs. False when they still do not fit. */
  saveTabs({ active, sidebar, tabs }) {
    const kept = tabs.map((tab) => ({ ...tab, text: tab.text.length > MAX_KEPT_TEXT ? '' : withoutSecrets(tab.text), data: tab.data?.map(withoutSecretCondition) }));
    const mine = [this.#id, { active, sidebar, tabs: kept, savedAt: Date.now() }];
    const others = Object.entries(this.#all()).filter(([id]) => id !== this.#id)
      .sort(([, a], [, b]) => b.savedAt - a.savedAt).slice(0, MAX_WORKSPACES - 1);
    for (let count = others.length; count >= 0; count -= 1) {
      if (write(`${this.#key}.tabs`, Object.fromEntries([mine, ...others.slice(0, count)]))) return true;
    }
    return false;
  }

  get #pendingKey() {
    return `${this.#key}.pending.${this.#id}`;
  }

  /** Changes of rows that the page before had not applied. */
  pending() {
    return readPending(read(this.#pendingKey));
  }

  /**
   * Keeps changes of rows that are not applied; false where they do not fit. Without the Locks API two windows could apply
   * the same ones, so none are kept.
   * @param {import('../core/pending.js').Pending[]} list
   */
  savePending(list) {
    const kept = list.filter(({ tables }) => tables.length);
    if (kept.length && navigator.locks && JSON.stringify(kept).length <= 1.5 * MOST_PENDING && write(this.#pendingKey, kept)) return true;
    this.dropPending();
    return !kept.length;
  }

  /** Forgets the kept changes of rows. */
  dropPending() {
    try {
      localStorage.removeItem(this.#pendingKey);
    } catch {
      // Without storage there are none.
    }
  }

  /** Forgets changes of windows whose tabs are forgotten. @param {(string|null)[]} known ids of windows */
  #prunePending(known) {
    const prefix = `${this.#key}.pending.`;
    try {
      const names = Object.keys(localStorage).filter((name) => name.startsWith(prefix));
      for (const name of names) if (!known.includes(name.slice(prefix.length))) localStorage.removeItem(name);
    } catch {
      // Without storage there are none.
    }
  }

  /** Other data kept for this server and user. @param {string} name */
  read(name) {
    return read(`${this.#key}.${name}`);
  }

  /** False where the browser has no room. @param {string} name @param {any} value */
  write(name, value) {
    return write(`${this.#key}.${name}`, value);
  }

  /** Keeps the sessions of the tabs, in their order, for the page that is loaded next in this browser tab. @param {StoredSession[]} sessions */
  leaveSessions(sessions) {
    try {
      sessionStorage.setItem(`${this.#key}.sessions`, JSON.stringify(sessions));
    } catch {
      // Without sessionStorage the sessions end.
    }
  }

  /** The sessions that were left, once: a copy of the browser tab must not have them too. @returns {StoredSession[]} */
  takeSessions() {
    try {
      const kept = JSON.parse(sessionStorage.getItem(`${this.#key}.sessions`) ?? '[]');
      sessionStorage.removeItem(`${this.#key}.sessions`);
      return Array.isArray(kept) ? kept : [];
    } catch {
      return [];
    }
  }

  /** @returns {import('../core/history.js').Entry[]} */
  history() {
    // Masks texts that an earlier page kept; their errors are of statements with secrets where there is a mask.
    return readHistory(read(`${this.#key}.history`)).map((entry) => {
      const sql = withoutSecrets(entry.sql);
      return { ...entry, sql, error: errorWithoutSecrets(sql.includes('***') ? '' : entry.sql, sql, entry.error) };
    });
  }

  /** Saves the history; drops its older half until it fits. @param {import('../core/history.js').Entry[]} list */
  saveHistory(list) {
    for (let size = list.length; !write(`${this.#key}.history`, list.slice(0, size)) && size > 0;) size = Math.floor(size / 2);
  }
}

/** Holds a lock until the page goes, so that two windows never write the same tabs. True without the Locks API (plain http). */
function claim(name, waitMs = 0) {
  if (!navigator.locks) return Promise.resolve(true);
  const options = waitMs ? { signal: AbortSignal.timeout(waitMs) } : { ifAvailable: true };
  return new Promise((resolve) => {
    navigator.locks.request(name, options, (lock) => {
      resolve(lock !== null);
      return lock ? new Promise(() => {}) : undefined;
    }).catch(() => resolve(false));
  });
}

/** A condition with a password is not kept. @param {{free: string}} place */
function withoutSecretCondition(place) {
  return withoutSecrets(place.free) === place.free ? place : { ...place, free: '', masked: true };
}

function windowId(key) {
  try {
    return sessionStorage.getItem(key);
  } catch {
    return null;
  }
}
