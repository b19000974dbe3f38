// The relays of a fleet, as the one that shows this page sees them.
import { h } from '../common/dom.js';

/** The columns: name, what it means, how it is aligned. */
const COLUMNS = [
  ['Relay', 'ID, stored in its directory'],
  ['State', 'Link from this relay'],
  ['Connectors', 'Connectors with a tunnel there; each uses two relays', 'number'],
  ['Tunnels at', 'Address for connectors'],
  ['Linked at', 'Address for other relays'],
  ['Version', ''],
];

/** Text for each state. @type {Record<RelayPeer['state'], string>} */
const STATES = { 'this one': '● this one', linked: '● linked', leaving: '○ leaving', away: '○ away' };

export function fleetHeads() {
  return COLUMNS.map(([name, title, kind]) => h('th', { scope: 'col', role: 'columnheader', class: kind, title, text: name }));
}

/** @param {RelayPeer[]} relays */
export function fleetRows(relays) {
  return relays.map((of) => {
    const isUp = of.state === 'this one' || of.state === 'linked';
    const cells = [
      h('span', { class: 'mono', text: of.id }),
      h('span', { class: isUp ? 'state on' : 'state', text: STATES[of.state] }),
      of.connected === null ? '–' : of.connected.toLocaleString(),
      h('span', { class: 'mono', text: dialled(of) }),
      h('span', { class: 'mono', text: of.peer }),
      of.version || '–',
    ];
    return h('tr', { role: 'row' }, ...cells.map((cell, at) => h('td', { role: 'cell', class: COLUMNS[at][2], data: { label: COLUMNS[at][0] } }, cell)));
  });
}

/** Name of a relay for the operator: its tunnel address. @param {RelayPeer[]} relays @param {string} id */
export function relayName(relays, id) {
  const found = relays.find((of) => of.id === id);
  return found ? dialled(found) : id;
}

function dialled(of) {
  return of.tunnel_port === 0 && of.tunnel_url ? of.tunnel_url : `${of.external_ip}:${of.tunnel_port}`;
}
