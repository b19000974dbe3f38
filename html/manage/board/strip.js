// The main tunnels in the top bar, and the notices of the server under it.
import { byId, fill, h, icon, iconButton } from '../../common/dom.js';
import { formatMs } from '../../common/figures.js';
import { openDialog } from '../../common/dialog.js';
import { hostOf } from '../core/links.js';
import { failureClass, waitText } from '../core/status.js';
import { fingerprints, isHostKey } from './hostkey.js';

const STATUSES = ['connected', 'connecting', 'failed'];
/** Notices that were put away, until the page is loaded again. */
const dismissed = new Set();

/** Draws the strip. @param {import('./store.js').Store} store */
export function drawTunnel(store) {
  const { status, text } = describe(store);
  const button = byId('tunnel');
  button.className = `button quiet tunnel ${status}`;
  byId('tunnel-text').textContent = text;
  button.title = 'Main tunnels: where they lead and how they are';
}

function describe({ tunnels, version }) {
  if (tunnels.length === 0) return { status: 'idle', text: noTunnel(version) };
  const status = worst(tunnels);
  if (tunnels.length > 1) return { status, text: `${tunnels.length} main tunnels · ${tunnels.filter((tunnel) => tunnel.status === 'connected').length} connected` };
  const [{ server, latency_ms: latency }] = tunnels;
  const last = status === 'connected' ? (Number.isFinite(latency) ? formatMs(latency) : '') : status === 'connecting' ? 'connecting…' : 'failed';
  return { status, text: ['main tunnel', hostOf(server), last].filter(Boolean).join(' · ') };
}

function noTunnel({ server, embedded, version }) {
  if (embedded) return 'relay on this computer';
  if (server) return [hostOf(server), 'no main tunnel yet'].filter(Boolean).join(' · ');
  return version ? 'no server named' : 'main tunnel';
}

function worst(tunnels) {
  return ['failed', 'connecting', 'connected'].find((status) => tunnels.some((tunnel) => tunnel.status === status)) ?? 'idle';
}

/** Shows all main tunnels. @param {import('./store.js').Store} store @param {import('./actions.js').Actions} actions */
export function showTunnels({ tunnels, version }, actions) {
  const body = [
    h('p', { class: 'dim', text: 'A main tunnel leads to each remote server in use. It is made with the first connect and stays; applications have tunnels of their own beside it.' }),
    tunnels.length ? h('ul', { class: 'tunnels' }, tunnels.map((tunnel) => entry(tunnel, actions))) : h('p', { text: `There is none now (${noTunnel(version)}).` }),
    h('p', { class: 'dim', text: `postern ${version.version ?? ''}` }),
  ];
  return openDialog({ title: 'Main tunnels', body, actions: [{ label: 'Done', value: null }] });
}

function entry(tunnel, actions) {
  const { server, status, error, error_class: errorClass, host_key: key, local_port: port, latency_ms: latency, next_retry_ms: wait } = tunnel;
  const known = STATUSES.includes(status) ? status : 'idle';
  const facts = [known, Number.isFinite(latency) && formatMs(latency), port && `local port ${port}`, Number.isFinite(wait) && `next try in ${waitText(wait)}`].filter(Boolean);
  return h('li', { class: `tunnel-entry ${known}` },
    h('p', {}, h('span', { class: 'dot', 'aria-hidden': 'true' }), ' ', h('strong', { text: hostOf(server) || 'unknown server' })),
    h('p', { class: 'dim', text: facts.join(' · ') }),
    error && h('p', { class: 'bad' }, failureClass(errorClass) && `${failureClass(errorClass).label}: `, String(error)),
    isHostKey(key) && fingerprints(key),
    isHostKey(key) && h('button', { type: 'button', class: 'button', text: 'Compare and trust …', on: { click: () => actions.trust(key) } }));
}

/** Draws the notices that were not put away. @param {{notices?: unknown}} version */
export function drawNotices({ notices }) {
  const list = byId('notices');
  const texts = (Array.isArray(notices) ? notices : []).map(String).filter((text) => text !== '' && !dismissed.has(text));
  const key = texts.join('\n');
  if (list.dataset.key === key) return;
  list.dataset.key = key;
  list.hidden = texts.length === 0;
  fill(list, texts.map((text) => h('li', {}, icon('info'), h('span', { text }),
    iconButton('close', 'Dismiss this notice', () => { dismissed.add(text); drawNotices({ notices }); byId('tunnel').focus(); }))));
}
