// The start page while there are no applications: three presets, and programs that already listen here.
import { fill, h, icon } from '../../common/dom.js';
import { protocolOfPort } from '../core/address.js';
import { protocolNamed } from '../core/protocols.js';

/** Common kinds of applications. */
const PRESETS = [
  { protocol: 'http', icon: 'globe', label: 'Web site', text: 'A development server, an intranet page' },
  { protocol: 'mysql', icon: 'database', label: 'Database', text: 'MySQL or MariaDB, with a web client' },
  { protocol: 'ssh', icon: 'keyword', label: 'SSH', text: 'A shell on this computer or in its network' },
];
/** Listeners that are offered; the rest is counted. */
const LISTENERS_MAX = 12;
/** Ports of what is no web site, for those whose protocol the port does not tell. */
const NO_SITES = /^(sshd|postgres|redis-server|mongod|mysqld|mariadbd|cupsd|master|dnsmasq|chronyd|rpcbind|systemd.*)$/;

/**
 * Its content. Built once, when the list becomes empty; removed when there is an application.
 * @param {{actions: import('../board/actions.js').Actions}} parts
 */
export function emptyState({ actions }) {
  const isHere = actions.isHere({});
  const what = isHere ? 'gives it an address on this computer' : 'gives it an address that can be opened elsewhere';
  const found = h('div', { class: 'found', role: 'status' });
  showListeners(found, actions);
  return h('section', { class: 'empty' }, h('h3', { text: 'Share your first application' }),
    h('p', { text: `A service on this computer or in its network. Connect ${what}.` }),
    h('ul', { class: 'presets', 'aria-label': 'Begin with' }, PRESETS.map((preset, i) => h('li', {}, presetButton(preset, i === 0, () => actions.add({ protocol: preset.protocol }))))),
    found,
    isHere && h('p', {}, 'You have no server, so shares open on this computer only. ', h('button', { type: 'button', class: 'link', id: 'empty-servers', text: 'Add a server to reach others', on: { click: () => actions.servers() } })));
}

function presetButton({ icon: name, label, text }, isFirst, run) {
  return h('button', { type: 'button', class: 'preset', id: isFirst ? 'add-first' : undefined, on: { click: run } },
    icon(name), h('strong', { text: label }), h('span', { class: 'dim', text }));
}

/** Offers what listens here; nothing is said where nothing does, or where nobody knows. */
async function showListeners(host, actions) {
  let listeners = [];
  try {
    listeners = await actions.api.listeners() ?? [];
  } catch {
    // A courtesy: the presets are there without it.
  }
  if (!Array.isArray(listeners) || listeners.length === 0) return;
  const more = listeners.length - LISTENERS_MAX;
  fill(host, h('h4', { text: 'Services on this computer' }),
    h('ul', { class: 'listeners' }, listeners.slice(0, LISTENERS_MAX).map((listener) => h('li', {}, listenerButton(listener, actions)))),
    more > 0 && h('p', { class: 'dim', text: `and ${more} more` }));
}

/** @param {Listener} listener @param {import('../board/actions.js').Actions} actions */
function listenerButton({ port, process, ip = '127.0.0.1' }, actions) {
  const protocol = protocolOf(port, process);
  const { label } = protocolNamed(protocol);
  return h('button', { type: 'button', class: 'button', 'aria-label': `Share :${port} ${process}, ${label}`, title: `${label} at ${ip}`, on: { click: () => actions.add({ protocol, ip, port, name: process || undefined }) } },
    h('span', { class: 'mono', text: `:${port}` }), ' ', h('span', { text: process || label }));
}

/** Most likely protocol of an application, by its port and process. @param {number} port @param {string} process */
function protocolOf(port, process) {
  if (/^(mysqld|mariadbd)$/.test(process)) return process === 'mysqld' ? 'mysql' : 'mariadb';
  if (process === 'sshd') return 'ssh';
  const suggested = protocolOfPort(port);
  return suggested === 'http' && NO_SITES.test(process) ? 'tcp' : suggested;
}
