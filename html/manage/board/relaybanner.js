// One banner for each server whose applications suffer together.
import { announce } from '../../common/announce.js';
import { byId, h, icon } from '../../common/dom.js';
import { failureClass, formatWait } from '../core/status.js';
import { HOST_KEY_CHANGED, isHostKey } from './hostkey.js';
import { areCredentialsRefused } from './reset.js';
import { setAttribute, setText } from './text.js';

/** @typedef {import('../core/relays.js').RelayTrouble} RelayTrouble */

/** @type {Map<string, Banner>} */
const banners = new Map();
let timer = 0;

/** Draws the banners. @param {Map<string, RelayTrouble>} troubles by application @param {import('./actions.js').Actions} actions */
export function drawRelayBanners(troubles, actions) {
  const now = new Map([...troubles.values()].map((trouble) => [trouble.key, trouble]));
  const host = byId('relays');
  for (const [key, banner] of banners) {
    if (now.has(key)) continue;
    banner.element.remove();
    banners.delete(key);
  }
  for (const [key, trouble] of now) {
    let banner = banners.get(key);
    const isNew = !banner;
    if (!banner) {
      banners.set(key, banner = new Banner(actions));
      host.append(banner.element);
    }
    banner.draw(trouble);
    if (isNew) announce(banner.words, 'bad');
  }
  host.hidden = banners.size === 0;
  clearInterval(timer);
  if (banners.size) timer = setInterval(() => { for (const banner of banners.values()) banner.tick(); }, 1000);
}

/** Banner for an error that one server's applications share. */
class Banner {
  #actions;
  /** @type {RelayTrouble|null} */
  #trouble = null;
  /** Time of the next retry, in ms of `performance.now()`. @type {number|null} */
  #retryAt = null;

  constructor(actions) {
    this.#actions = actions;
    this.head = h('strong');
    this.said = h('span');
    this.hint = h('span', { class: 'dim' });
    this.wait = h('span', { class: 'dim figures' });
    this.act = h('button', { type: 'button', class: 'button', data: { relay: '' }, on: { click: () => this.#press() } });
    this.element = h('li', { class: 'relay-banner' }, icon('warn'), h('p', {}, this.head, ' ', this.said, ' ', this.hint), this.wait, this.act);
  }

  /** @param {RelayTrouble} trouble */
  draw(trouble) {
    const { host, apps, connection } = trouble;
    if (this.#trouble?.connection !== connection) {
      const { next_retry_ms: wait } = connection;
      this.#retryAt = typeof wait === 'number' ? performance.now() + wait : null;
    }
    this.#trouble = trouble;
    const known = failureClass(connection.error_class, connection.error);
    const hint = connection.hint || known?.hint || '';
    setText(this.head, `${host}: ${apps.length} applications are waiting for it.`);
    setText(this.said, isHostKey(connection.host_key) ? HOST_KEY_CHANGED : `${known ? `${known.label}: ` : ''}${connection.error}.`.replace(/\.\.$/, '.'));
    setText(this.hint, hint && !isHostKey(connection.host_key) ? `${hint.charAt(0).toUpperCase()}${hint.slice(1).replace(/\.$/, '')}.` : '');
    setText(this.act, isHostKey(connection.host_key) ? 'Compare keys …' : areCredentialsRefused(connection) ? 'Reset identity …' : 'Retry now');
    setAttribute(this.act, 'aria-label', `${this.act.textContent} ${host}`);
    this.tick();
  }

  /** Text of the banner without the countdown, for screen readers. */
  get words() {
    return `${this.head.textContent} ${this.said.textContent}`;
  }

  /** Updates the countdown. */
  tick() {
    const left = this.#retryAt === null ? null : this.#retryAt - performance.now();
    setText(this.wait, left === null ? '' : left > 0 ? `Next attempt in ${formatWait(left)}.` : 'Retrying now.');
  }

  #press() {
    if (!this.#trouble) return;
    const { apps, connection, server } = this.#trouble;
    if (isHostKey(connection.host_key)) this.#actions.trust(connection.host_key);
    else if (areCredentialsRefused(connection)) this.#actions.resetServer(server, ...apps.filter(({ conn_status: status }) => status === 'failed').slice(0, 1));
    else for (const app of apps) if (app.conn_status === 'failed' && !Number.isFinite(app.connection?.next_retry_ms)) this.#actions.connect(app); else this.#actions.retry(app);
  }
}
