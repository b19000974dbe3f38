// Content of an application's list item, built once and updated in place, so that no button moves under the pointer.
import { fill, focusedIn, h, icon, iconButton, query } from '../../common/dom.js';
import { isFigure } from '../../common/figures.js';
import { openMenu } from '../../common/menu.js';
import { isExpired } from '../core/remaining.js';
import { protocolNamed } from '../core/protocols.js';
import { STATUSES, accessBadges, effectiveSettings, healthError, isReconnecting, lacksPlugin, writingText } from '../core/status.js';
import { Traffic } from '../core/traffic.js';
import { EntryAddress } from './entryaddress.js';
import { EntryEnd } from './entryend.js';
import { EntryRates } from './entryrates.js';
import { menuOf } from './entrymenu.js';
import { partsFor } from './entryparts.js';
import { isHostKey } from './hostkey.js';
import { areCredentialsRefused } from './reset.js';
import { relabel, setAttribute, setHidden, setText } from './text.js';

/** Text for each status. */
const WORDS = { idle: 'not connected', connecting: 'connecting…', connected: 'connected', failed: 'failed' };

/** The elements of an application. */
export class EntryView {
  #actions;
  /** @type {App} */
  #app;
  /** @type {Surroundings} */
  #around = { isDead: false, isHere: false, trouble: null };
  /** As it was drawn last; none before. @type {App|undefined} */
  #drawn;
  #status = '';
  #wasCancel = false;
  /** True if it was connected since it was last idle; `connecting` then means reconnecting. */
  #wasConnected = false;
  /** @type {({key: string} & import('./entryparts.js').Parts)|null} */
  #parts = null;
  /** Start of the current status and time of the next retry, both in ms of `performance.now()`. */
  /** @type {{since: number, retryAt: number|null}} */
  #times = { since: 0, retryAt: null };
  #traffic = new Traffic();
  /** @type {{element: HTMLElement, close: () => void}|null} */
  #log = null;

  /** @param {HTMLElement} element its list item, which has its name already @param {App} first @param {import('./actions.js').Actions} actions */
  constructor(element, first, actions) {
    this.element = element;
    this.#app = first;
    this.#actions = actions;
    const app = () => this.#app;
    this.dot = h('span', { class: 'dot', 'aria-hidden': 'true' });
    this.toggle = iconButton('chevron-right', 'Details', () => this.#toggle(), { 'class': 'button quiet square toggle', 'aria-expanded': 'false', data: { part: 'toggle' } });
    this.word = h('span', { class: 'card-status' });
    this.target = h('span', { class: 'card-target' });
    this.badges = h('p', { class: 'badges' });
    this.note = h('p', { class: 'card-text' });
    this.address = new EntryAddress(app, this.#actions);
    this.rates = new EntryRates();
    this.end = new EntryEnd(app, this.#actions);
    this.line = h('div', { class: 'card-line' });
    this.detail = h('div', { class: 'card-detail' });
    this.act = h('button', { type: 'button', class: 'button', data: { act: '' }, on: { click: () => this.#first().run?.() } }, h('span'));
    this.stop = h('button', { type: 'button', class: 'button', data: { end: '' }, on: { click: (event) => this.#stop(event) } }, h('span'));
    const more = iconButton('dots', 'More', () => openMenu(more, menuOf(this.#app, this.#status, this.#actions, (what) => this.#openLog(what))), { 'data-more': '', 'aria-haspopup': 'menu', 'aria-expanded': 'false' });
    this.more = more;
    this.element.append(this.dot, this.toggle, h('p', { class: 'card-facts' }, this.word, this.target), this.badges, this.note, this.line, ...this.address.nodes, ...this.rates.nodes, ...this.end.nodes, this.detail,
      h('div', { class: 'card-foot' }, h('div', { class: 'slot' }, this.act, this.stop), this.more));
  }

  /** Draws what has changed. @param {App} app @param {Surroundings} around */
  update(app, around) {
    const now = performance.now();
    const { conn_status: given = 'idle' } = app;
    const status = STATUSES.includes(given) ? given : 'idle';
    const isSame = app === this.#drawn && around.isDead === this.#around.isDead && around.isHere === this.#around.isHere && around.trouble?.key === this.#around.trouble?.key;
    this.#app = app;
    this.#around = around;
    if (isSame) return;
    if (status !== this.#status) {
      this.#times.since = now;
      if (status !== 'connected') this.#traffic = new Traffic();
    }
    // Redrawing the same answer, because another changed, adds no sample and restarts no countdown.
    if (app.connection !== this.#drawn?.connection) this.#measure(app.connection ?? {}, status, now);
    this.#status = status;
    this.#wasConnected = status === 'connected' || (this.#wasConnected && status !== 'idle');
    this.#drawn = app;
    this.#drawHead(app, status);
    this.#keepFocus(() => {
      this.address.update(app, status, around.isDead);
      this.#drawFoot(app);
    });
    this.rates.update(this.#traffic, status === 'connected' && !around.isDead);
    this.end.update(app);
    this.#drawParts(app, status);
  }

  /** @param {Partial<ConnectResult>} connection @param {string} status @param {number} now */
  #measure({ next_retry_ms: wait, bytes_in: received, bytes_out: sent }, status, now) {
    this.#times.retryAt = isFigure(wait) ? now + wait : null;
    if (status === 'connected' && isFigure(received) && isFigure(sent)) this.#traffic.add(received, sent, now);
  }

  /** Updates elapsed time and countdowns. */
  tick() {
    const wasOver = this.element.dataset.over;
    this.#parts?.tick?.(performance.now());
    this.end.tick();
    this.#mark();
    if (wasOver !== this.element.dataset.over) this.#drawFoot(this.#app);
  }

  #mark() {
    const isOver = this.#status !== 'connected' && isExpired(this.#app, Date.now());
    setAttribute(this.element, 'data-over', isOver ? 'yes' : null);
    setText(this.word, this.#word(isOver));
  }

  #word(isOver) {
    const { connection } = this.#app;
    if (isOver) return 'expired';
    if (this.#around.isDead) return this.#status === 'idle' ? WORDS.idle : this.#status === 'failed' ? 'had failed' : `was ${this.#status}`;
    if (this.#status === 'connecting' && (this.#wasConnected || isReconnecting(connection))) return 'reconnecting…';
    return healthError(this.#app) ? 'connected, no answer' : WORDS[this.#status];
  }

  #drawHead(app, status) {
    const settings = effectiveSettings(app);
    const protocol = protocolNamed(settings.protocol);
    setAttribute(this.element, 'data-health', healthError(app) ? 'failing' : '');
    this.#mark();
    setAttribute(this.word, 'title', lastText(app.last_connected_at));
    setText(this.target, `${protocol.label} · ${settings.target}`);
    setAttribute(this.target, 'title', settings.target);
    setText(this.note, app.note ?? '');
    const isLive = settings.inForce && status !== 'failed';
    const badges = accessBadges(settings, protocol, { isHere: this.#around.isHere, inForce: isLive });
    const writing = writingText({ ...settings, inForce: isLive }, protocol);
    const key = [...badges.map(({ label }) => label), writing].join('|');
    if (this.badges.dataset.key === key) return;
    this.badges.dataset.key = key;
    fill(this.badges, badges.map(({ kind, icon: name, label, title }) => h('span', { class: `badge ${kind}`, title }, icon(name), h('span', { text: label }))),
      writing && h('span', { class: 'badge-words', text: writing }));
  }

  /** Rebuilds the state's own parts only when their structure changes; numbers and times are updated in place. */
  #drawParts(app, status) {
    const make = partsFor(app, status, this.#around);
    if (this.#parts?.key !== make.key) {
      const had = focusedIn(this.line) ?? focusedIn(this.detail);
      this.#parts = { key: make.key, ...make.build(this.#actions, () => this.#app, (what) => this.#openLog(what)) };
      fill(this.line, this.#parts.line);
      fill(this.detail, this.#parts.detail);
      if (had) (query(this.element, `[data-part="${CSS.escape(had.dataset.part ?? '')}"]`) ?? this.more)?.focus({ preventScroll: true });
    }
    this.#parts?.update?.(app, this.#times);
    this.#parts?.tick?.(performance.now());
  }

  #drawFoot(app) {
    const name = String(app.name);
    const { label, kind = '', symbol } = this.#first();
    const word = { connecting: 'Cancel', connected: 'Disconnect' }[this.#status];
    setHidden(this.act, word !== undefined);
    setHidden(this.stop, word === undefined);
    setAttribute(this.act, 'class', `button ${kind}`);
    relabel(this.act, label, name);
    if (this.act.dataset.icon !== symbol) {
      this.act.dataset.icon = symbol;
      query(this.act, '.icon')?.remove();
      if (symbol) this.act.prepend(icon(symbol));
    }
    relabel(this.stop, word ?? 'Disconnect', name);
    setAttribute(this.more, 'aria-label', `More for ${name}`);
    setAttribute(this.toggle, 'aria-label', `Details of ${name}`);
  }

  /** Label and action of the first button. */
  #first() {
    const app = this.#app;
    /** @type {Partial<ConnectResult>} */
    const connection = app.connection ?? {};
    if (isExpired(app, Date.now())) return { label: 'Extend …', kind: 'primary', symbol: 'history', run: () => this.#actions.extend(app) };
    const { host_key: key, server } = connection;
    if (isHostKey(key)) return { label: 'Compare keys …', symbol: '', run: () => this.#actions.trust(key) };
    if (server && areCredentialsRefused(connection)) return { label: 'Reset identity …', kind: 'primary', symbol: '', run: () => this.#actions.resetServer(server, app) };
    if (this.#status === 'failed' && lacksPlugin(connection)) return { label: 'Add the plugin', kind: 'primary', symbol: '', run: () => this.#actions.addPlugin(app) };
    if (this.#status === 'failed') return { label: 'Retry now', kind: 'primary', symbol: 'refresh', run: () => (Number.isFinite(connection.next_retry_ms) ? this.#actions.retry(app) : this.#actions.connect(app)) };
    return { label: 'Connect', kind: 'primary', symbol: 'plug', run: () => this.#actions.connect(app) };
  }

  /** The second press of a double click on Connect is not meant for the Cancel that has taken its place. */
  #stop(event) {
    if (event.detail < 2) this.#actions.disconnect(this.#app);
  }

  #toggle() {
    const isOpen = this.element.classList.toggle('is-open');
    this.toggle.setAttribute('aria-expanded', String(isOpen));
  }

  /** Shows what visitors did, under the rest; loaded with the first that is asked for. */
  async #openLog(what) {
    const same = this.#log?.element.dataset.log === what;
    this.#log?.close();
    if (same) return;
    const log = await this.#actions.openLog(what, this.#app, () => { this.#log = null; this.element.classList.remove('has-log'); this.more.focus({ preventScroll: true }); });
    if (!log) return;
    this.#log = log;
    this.element.classList.add('has-log');
    this.element.append(log.element);
    query(log.element, 'input')?.focus({ preventScroll: true });
    log.element.scrollIntoView({ block: 'nearest' });
  }

  /** Ends what it does by itself: it has left the list. */
  close() {
    this.#log?.close();
  }

  /** If the focused control disappears, the focus moves to the one that replaces it. */
  #keepFocus(draw) {
    const controls = [this.act, this.stop, ...this.address.controls];
    const had = controls.find((control) => control === document.activeElement);
    draw();
    // A key that is still held down must not end what it began.
    const begun = had === this.stop && this.#status === 'connected' && this.#wasCancel && !this.address.open.hidden;
    this.#wasCancel = this.#status === 'connecting';
    if (begun) this.address.open.focus({ preventScroll: true });
    else if (had && had.closest('[hidden]')) (this.act.hidden ? this.stop : this.act).focus({ preventScroll: true });
  }

}

function lastText(time) {
  const at = new Date(time ?? NaN);
  if (Number.isNaN(at.getTime())) return 'Never connected.';
  return `Last connected ${at.toLocaleString(undefined, { dateStyle: 'medium', timeStyle: 'short' })}.`;
}
