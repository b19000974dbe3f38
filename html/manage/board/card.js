// One application's card. It is built once and updated in place, so its buttons never move.
import { fill, h, icon, iconButton, setIcon } from '../../common/dom.js';
import { isFigure } from '../../common/figures.js';
import { openMenu } from '../../common/menu.js';
import { siteLink } from '../core/links.js';
import { protocolNamed } from '../core/protocols.js';
import { accessBadges, effectiveSettings, healthError } from '../core/status.js';
import { Traffic } from '../core/traffic.js';
import { areCredentialsRefused, isResetUseful } from './reset.js';
import { bodyFor } from './cardbody.js';
import { isHostKey } from './hostkey.js';

/** What each status is called. */
const WORDS = { idle: 'not connected', connecting: 'connecting…', connected: 'connected', failed: 'failed' };

/** A card. `element` is its list item. */
export class Card {
  #actions;
  /** As it was drawn last; none before. @type {any} */
  #app;
  #status = '';
  /** @type {({key: string} & import('./cardbody.js').Body)|null} */
  #body = null;
  /** When the current status began and when the next retry is due, both in ms of `performance.now()`. */
  /** @type {{since: number, retryAt: number|null}} */
  #times = { since: 0, retryAt: null };
  #traffic = new Traffic();

  /** @param {App} app @param {import('./actions.js').Actions} actions */
  constructor(app, actions) {
    this.#actions = actions;
    const { id } = app;
    this.dot = h('span', { class: 'dot', 'aria-hidden': 'true' });
    this.name = h('h3', { class: 'card-name', id: `name-${id}` });
    this.word = h('span', { class: 'card-status' });
    this.target = h('p', { class: 'card-target' });
    this.badges = h('p', { class: 'badges' });
    this.body = h('div', { class: 'card-body' });
    this.act = h('button', { type: 'button', class: 'button', data: { act: '' } }, h('span'));
    this.open = h('a', { class: 'button primary', target: '_blank', rel: 'noopener noreferrer', hidden: true, data: { open: '' } }, icon('open'), h('span', { text: 'Open' }));
    this.end = h('button', { type: 'button', class: 'button', data: { end: '' }, on: { click: () => this.#actions.disconnect(this.#app) } }, h('span'));
    this.qr = iconButton('qr', 'QR code', () => this.#actions.qr(this.#app), { 'data-qr': '', 'aria-haspopup': 'dialog' });
    const more = iconButton('dots', 'More', () => openMenu(more, this.#menu()), { 'data-more': '', 'aria-haspopup': 'menu', 'aria-expanded': 'false' });
    this.more = more;
    this.act.addEventListener('click', () => this.#press());
    this.element = h('li', { class: 'card', data: { id }, 'aria-labelledby': `name-${id}` },
      h('div', { class: 'card-head' }, this.dot, this.name, this.word), this.target, this.badges, this.body,
      h('div', { class: 'card-foot' }, h('div', { class: 'slot' }, this.act, this.open), this.end, this.qr, this.more));
    this.update(app);
  }

  /** Draws what has changed. @param {App} app */
  update(app) {
    const now = performance.now();
    const status = app.conn_status && app.conn_status in WORDS ? app.conn_status : 'idle';
    if (status !== this.#status) {
      this.#times.since = now;
      if (status !== 'connected') this.#traffic = new Traffic();
    }
    // Redrawing the same answer, because another card changed, adds no traffic sample and restarts no countdown.
    if (app.connection !== this.#app?.connection) this.#measure(app.connection ?? {}, status, now);
    this.#app = app;
    this.#drawHead(app, status);
    this.#drawBody(app, status);
    this.#keepFocus(() => this.#drawFoot(app, status));
    this.#status = status;
  }

  /** @param {Partial<Connection>} connection @param {string} status @param {number} now */
  #measure({ next_retry_ms: wait, bytes_in: received, bytes_out: sent }, status, now) {
    this.#times.retryAt = isFigure(wait) ? now + wait : null;
    if (status === 'connected' && isFigure(received) && isFigure(sent)) this.#traffic.add(received, sent, now);
  }

  /** Updates elapsed time and countdown. */
  tick() {
    this.#body?.tick?.(performance.now());
  }

  #drawHead(app, status) {
    const settings = effectiveSettings(app);
    const protocol = protocolNamed(settings.protocol);
    const failing = healthError(app) !== '';
    this.element.dataset.status = status;
    this.element.dataset.health = failing ? 'failing' : '';
    setText(this.name, String(app.name));
    this.name.title = String(app.name);
    setText(this.word, failing ? 'connected, no answer' : WORDS[status]);
    setText(this.target, `${protocol.label} · ${settings.target}`);
    const badges = accessBadges(settings, protocol, { isHere: this.#actions.isHere(app), inForce: settings.inForce });
    const key = badges.map(({ label }) => label).join('|');
    if (this.badges.dataset.key === key) return;
    this.badges.dataset.key = key;
    fill(this.badges, badges.map(({ kind, icon: name, label, title }) => h('span', { class: `badge ${kind}`, title }, icon(name), label)));
  }

  /** Rebuilds the body only when its structure changes; numbers and times are updated in place. */
  #drawBody(app, status) {
    const make = bodyFor(app, status);
    if (this.#body?.key !== make.key) {
      const had = /** @type {HTMLElement|null} */ (document.activeElement);
      const focused = this.body.contains(had) ? had?.dataset.part : undefined;
      this.#body = { key: make.key, ...make.build(this.#actions, () => this.#app) };
      fill(this.body, this.#body.nodes);
      if (focused !== undefined) /** @type {HTMLElement} */ (this.body.querySelector(`[data-part="${CSS.escape(focused)}"]`) ?? this.more).focus({ preventScroll: true });
    }
    this.#body?.update?.(app, { times: this.#times, traffic: this.#traffic });
    this.#body?.tick?.(performance.now());
  }

  #drawFoot(app, status) {
    const connection = app.connection ?? {};
    const site = status === 'connected' ? siteLink(connection.site_url) : null;
    const name = String(app.name);
    this.act.hidden = Boolean(site?.href);
    this.open.hidden = !site?.href;
    if (site?.href) {
      this.open.href = site.href;
      this.open.setAttribute('aria-label', `Open ${name}`);
    }
    const { label, kind = '', symbol, waits = false } = this.#first(status, connection, site);
    this.act.className = `button ${kind}`;
    // Not `disabled`: that would take the focus away.
    this.act.setAttribute('aria-disabled', String(waits));
    relabel(this.act, symbol, label, name);
    const word = { connecting: 'Cancel', connected: 'Disconnect', failed: 'Dismiss' }[status];
    this.end.classList.toggle('absent', !word);
    relabel(this.end, null, word ?? 'Disconnect', name);
    this.qr.classList.toggle('absent', !site);
    this.qr.setAttribute('aria-label', `QR code of ${name}`);
    this.more.setAttribute('aria-label', `More for ${name}`);
  }

  /** What the first button does in a status; `run` is absent while there is nothing to do. */
  #first(status, connection, site) {
    const { connect, retry, copy, trust, reset } = bound(this.#actions, this.#app);
    if (status === 'idle') return { label: 'Connect', kind: 'primary', symbol: 'plug', run: connect };
    if (status !== 'connected' && isHostKey(connection.host_key)) return { label: 'Compare keys …', symbol: 'key', run: trust };
    if (status === 'failed' && areCredentialsRefused(connection)) return { label: 'Start afresh …', symbol: 'key', run: reset };
    if (status === 'failed') return { label: 'Retry now', kind: 'primary', symbol: 'refresh', run: Number.isFinite(connection.next_retry_ms) ? retry : connect };
    if (status === 'connecting' && Number.isFinite(connection.next_retry_ms)) return { label: 'Retry now', symbol: 'refresh', run: retry };
    if (status === 'connecting') return { label: 'Connecting…', symbol: 'plug', waits: true };
    if (site) return { label: 'Copy address', symbol: 'copy', run: () => copy(site.text) };
    return { label: 'No address', symbol: 'link', waits: true };
  }

  #press() {
    const app = this.#app;
    const site = siteLink(app.connection?.site_url);
    this.#first(this.#status, app.connection ?? {}, site).run?.();
  }

  #menu() {
    const app = this.#app;
    const { connect, reset } = bound(this.#actions, app);
    const failed = this.#status === 'failed' && isResetUseful(app.connection) ? [
      areCredentialsRefused(app.connection) && { label: 'Retry now', icon: 'refresh', run: connect },
      { label: 'Start afresh …', icon: 'key', run: reset },
      null,
    ].filter((entry) => entry !== false) : [];
    return [
      ...failed,
      { label: 'Edit …', icon: 'edit', run: () => this.#actions.edit(app) },
      { label: 'Duplicate …', icon: 'duplicate', run: () => this.#actions.duplicate(app) },
      null,
      { label: 'Delete …', icon: 'trash', run: () => this.#actions.remove(app) },
    ];
  }

  /** If the focused control disappears, focus moves to the one that replaces it. */
  #keepFocus(draw) {
    const had = [this.act, this.open, this.end, this.qr].find((control) => control === document.activeElement);
    draw();
    if (!had || (!had.hidden && !had.classList.contains('absent'))) return;
    (this.open.hidden ? this.act : this.open).focus({ preventScroll: true });
  }
}

function bound(actions, app) {
  return { connect: () => actions.connect(app), retry: () => actions.retry(app), copy: (text) => actions.copy('Address', text), trust: () => actions.trust(app.connection.host_key), reset: () => actions.resetServer(app.connection.server, app) };
}

function setText(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

/** The accessible name begins with the visible label, as voice control needs. */
function relabel(button, symbol, label, name) {
  const text = button.lastElementChild;
  setText(text, label);
  button.setAttribute('aria-label', `${label} ${name}`);
  if (!symbol || button.dataset.icon === symbol) return;
  button.dataset.icon = symbol;
  if (button.querySelector('.icon')) setIcon(button, symbol);
  else button.prepend(icon(symbol));
}
