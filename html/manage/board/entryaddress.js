// The address of an application, whole, and the one row by which it is shared: Copy link, Open, QR.
import { h, icon } from '../../common/dom.js';
import { addressesOf, isLocalhostName } from '../core/links.js';
import { isReconnecting } from '../core/status.js';
import { relabel, setAttribute, setHidden, setText } from './text.js';

/** @typedef {NonNullable<ReturnType<typeof addressesOf>>} Addresses */

/** The address and its buttons. */
export class EntryAddress {
  /** The last that was known, kept while the tunnel is lost. @type {Addresses|null} */
  #known = null;

  /** @param {() => App} app the application now @param {import('./actions.js').Actions} actions */
  constructor(app, actions) {
    const { id } = app();
    this.link = h('a', { class: 'address', target: '_blank', rel: 'noopener noreferrer', title: 'The address of the site', data: { url: 'site', part: 'site' } });
    this.plain = h('code', { class: 'address', data: { url: 'site' } });
    this.none = h('span', { class: 'dim', text: 'The server returned no usable address.' });
    this.hint = h('span', { class: 'dim hint', text: 'Only browsers on this computer can open it.', title: 'Names under .localhost always mean this computer. Browsers can resolve them; other programs may not.' });
    this.copy = h('button', { type: 'button', class: 'button', data: { part: 'copy' }, on: { click: () => this.#known && actions.copy(this.#copied(), this.#known.shared) } }, icon('copy'), h('span'));
    this.open = h('a', { class: 'button', target: '_blank', rel: 'noopener noreferrer', data: { open: '', part: 'open' } }, icon('open'), h('span'));
    this.qr = h('button', { type: 'button', class: 'button', 'aria-haspopup': 'dialog', data: { qr: '', part: 'qr' }, on: { click: () => actions.qr(app()) } }, icon('qr'), h('span'));
    this.box = h('div', { class: 'card-address', id: `address-${id}` }, this.link, this.plain, this.none, this.hint);
    this.share = h('div', { class: 'share', role: 'group', 'aria-label': 'Share' }, this.copy, this.open, this.qr);
    this.nodes = [h('div', { class: 'card-link' }, this.box, this.share)];
    this.controls = [this.link, this.copy, this.open, this.qr];
  }

  #copied() {
    if (!this.#known?.site.href) return 'Address';
    return this.#known.hasCode ? 'Link with the code' : 'Link';
  }

  /** @param {App} app @param {string} status @param {boolean} isDead */
  update(app, status, isDead) {
    const name = String(app.name);
    const isLive = status === 'connected';
    const present = addressesOf(app);
    const isLost = status === 'failed' || (status === 'connecting' && (this.#known !== null || isReconnecting(app.connection)));
    this.#known = present ?? (isLost ? this.#known : null);
    const known = this.#known;
    setHidden(this.nodes[0], !isLive && !known);
    setAttribute(this.box, 'class', `card-address${!isLive || isDead ? ' is-gone' : ''}`);
    setHidden(this.link, !known?.site.href);
    setHidden(this.plain, !known || Boolean(known.site.href));
    setHidden(this.none, !isLive || known !== null);
    setHidden(this.hint, !isLive || !known || !isLocalhostName(known.site.host));
    setHidden(this.share, !known);
    if (!known) return;
    setText(known.site.href ? this.link : this.plain, known.shown);
    setAttribute(this.link, 'href', known.site.href);
    setAttribute(this.open, 'href', known.own);
    setHidden(this.open, !known.own || !isLive);
    setAttribute(this.open, 'class', `button${isLive ? ' primary' : ''}`);
    relabel(this.copy, known.site.href ? 'Copy link' : known.shown.includes(' ') ? 'Copy command' : 'Copy address', name);
    setAttribute(this.copy, 'title', known.hasCode ? 'Copy the link with the code; anyone who has it gets in' : this.copy.textContent ?? '');
    relabel(this.open, 'Open', name);
    setAttribute(this.open, 'title', known.hasCode ? 'Open with the code' : 'Open');
    setHidden(this.qr, present === null);
    setText(this.qr.children[1], 'QR');
    setAttribute(this.qr, 'aria-label', `QR code of ${name}`);
    setAttribute(this.qr, 'title', 'QR code');
  }
}
