// The cards of connectors: who shares what, from where, and what passes.
import { h } from '../common/dom.js';
import { formatBytes } from '../common/figures.js';

/** @typedef {{revoke: (of: RelayConnector) => void, relayName: (id: string) => string}} Actions */

/** A card, and the text that it was made of. @type {WeakMap<Element, string>} */
const madeOf = new WeakMap();

/**
 * Shows these connectors and no others. A card is made anew only where something of it has changed, and moved only where
 * its place has: so what has the focus keeps it, and a long list costs what has changed.
 * @param {HTMLElement} host @param {RelayConnector[]} connectors @param {Actions} actions
 */
export function showConnectors(host, connectors, actions) {
  const before = new Map([...host.children].map((card) => [/** @type {HTMLElement} */ (card).dataset.id, card]));
  const focused = focusedPart(host);
  connectors.forEach((of, at) => {
    const text = JSON.stringify(of);
    const old = before.get(of.name);
    before.delete(of.name);
    const card = old && madeOf.get(old) === text ? old : connectorCard(of, actions);
    madeOf.set(card, text);
    if (old && old !== card) old.replaceWith(card);
    if (host.children[at] !== card) host.insertBefore(card, host.children[at] ?? null);
  });
  for (const card of before.values()) card.remove();
  if (focused && !host.contains(document.activeElement)) partOf(host, focused)?.focus();
}

/** Returns the `data-part` of the focused element, to find it again after its card is rebuilt. @param {Element} host */
export function focusedPart(host) {
  const focused = /** @type {HTMLElement|null} */ (document.activeElement);
  return host.contains(focused) ? focused?.dataset.part : undefined;
}

/** @param {Element} host @param {string} part @returns {HTMLElement|null} */
export function partOf(host, part) {
  return host.querySelector(`[data-part="${CSS.escape(part)}"]`);
}

/** Name of a connector for the operator: the label of its invite, or else its machine's name. @param {{name: string, label?: string|null, invite?: {label: string}|null}} of */
export function labelOf({ name, label, invite }) {
  return invite?.label || label || name;
}

/** Its heading: that, and its name where it is another one. @param {{name: string, label?: string|null, invite?: {label: string}|null}} of */
export function heading(of) {
  const called = labelOf(of);
  return [h('h3', { class: called === of.name ? 'mono' : '', text: called }), called !== of.name && h('span', { class: 'mono name', text: of.name })];
}

/** Limits of a connector, with its use of them. @param {RelayConnector} of */
function quota({ quota: { sites, mbps }, applications: all }) {
  return [sites !== null && `${all.length} of ${sites} applications`, mbps !== null && `${mbps} Mbit/s`];
}

/** @param {RelayConnector} of @param {Actions} actions */
function connectorCard(of, { revoke, relayName }) {
  const called = labelOf(of);
  const button = h('button', { type: 'button', class: 'button', text: 'Revoke…', data: { name: of.name, part: `revoke ${of.name}` }, 'aria-label': `Revoke ${called}`, on: { click: () => revoke(of) } });
  const { figures } = of;
  const told = [
    of.label && of.label !== called && `machine ${of.label}`,
    of.source && `from ${of.source}`,
    of.version && `postern ${of.version}`,
    ...quota(of),
    of.invite && `by invite ${of.invite.id}`,
    `enrolled ${time(of.enrolled_at)}`,
    `last called ${time(of.called_at)}`,
    of.last_visit && `last visit ${time(of.last_visit)}`,
    of.relays && of.relays.length > 0 && `tunnels at ${of.relays.map(relayName).join(' and ')}`,
    (figures.bytes_in > 0 || figures.bytes_out > 0) && `${formatBytes(figures.bytes_in)} in, ${formatBytes(figures.bytes_out)} out${figures.since ? ` since ${time(figures.since)}` : ''}`,
  ];
  return h('li', { class: 'connector', data: { id: of.name } },
    h('div', { class: 'connector-head' },
      heading(of),
      state(of.connected),
      h('span', { class: 'dim', text: told.filter(Boolean).join(' · ') }),
      button),
    of.applications.length > 0 && h('div', { class: 'scroll stacked' }, applications(of)));
}

/** The columns of the table: name, what it means, how it is aligned. */
const COLUMNS = [
  ['Address', 'Address for visitors'],
  ['Target', 'As seen from the owner’s computer'],
  ['State', ''],
  ['Access', 'Access'],
  ['Last visit', ''],
  ['Now', 'Requests or connections of visitors at this moment', 'number'],
  ['Visits', 'Requests to a site or connections to a port since counting began; a restart of the relay does not reset it', 'number'],
  ['In', 'Bytes from visitors since counting began', 'number'],
  ['Out', 'Bytes to visitors since counting began', 'number'],
];

/** @param {RelayConnector} of */
function applications(of) {
  const heads = COLUMNS.map(([name, title, kind]) => h('th', { scope: 'col', role: 'columnheader', class: kind, title, text: name }));
  // On narrow screens rows are blocks, which would make it no table: so it says that it is one.
  return h('table', { role: 'table', 'aria-label': `Applications of ${labelOf(of)}` },
    h('thead', { role: 'rowgroup' }, h('tr', { role: 'row' }, ...heads)),
    h('tbody', { role: 'rowgroup' }, ...of.applications.map(application)));
}

/** @param {RelayApplication} of */
function application(of) {
  const { figures } = of;
  const count = (value) => (figures ? value(figures) : '–');
  const cells = [
    address(of),
    h('span', { class: 'mono', text: `${of.protocol} ${of.target}` }),
    state(of.connected),
    of.invisible ? 'with a code' : 'open',
    of.last_visit ? time(of.last_visit) : '–',
    count((f) => String(f.visitors)),
    count((f) => String(f.requests)),
    count((f) => formatBytes(f.bytes_in)),
    count((f) => formatBytes(f.bytes_out)),
  ];
  return h('tr', { role: 'row' }, ...cells.map((cell, at) => h('td', { role: 'cell', class: COLUMNS[at][2], data: { label: COLUMNS[at][0] } }, cell)));
}

/** Only what a browser opens becomes a link. @param {RelayApplication} of */
function address({ url, app_id: id }) {
  const opens = url.startsWith('http://') || url.startsWith('https://');
  return opens ? h('a', { href: url, target: '_blank', rel: 'noopener noreferrer', class: 'mono', data: { part: `open ${id}` }, text: url }) : h('span', { class: 'mono', text: url });
}

function state(isConnected) {
  return h('span', { class: isConnected ? 'state on' : 'state', text: isConnected ? '● connected' : '○ away' });
}

/** A moment as people here write it. @param {string} text */
export function time(text) {
  const date = new Date(text);
  return Number.isNaN(date.getTime()) ? '–' : date.toLocaleString(undefined, { dateStyle: 'medium', timeStyle: 'short' });
}
