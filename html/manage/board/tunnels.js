// The main tunnels in the top bar, and the notices of the server under it.
import { byId, fill, h, icon, iconButton } from '../../common/dom.js';
import { formatMs } from '../../common/figures.js';
import { openDialog } from '../../common/dialog.js';
import { hostOf } from '../core/links.js';
import { failureClass, formatWait } from '../core/status.js';
import { HOST_KEY_CHANGED, fingerprints, isHostKey } from './hostkey.js';

/** Failures that need action from the user. */
const NEEDS_YOU = ['wrong-password', 'host-key-changed'];
const STATUSES = ['connected', 'connecting', 'failed'];
/** Notices dismissed since the page was loaded. */
const dismissed = new Set();

/** Draws the strip. @param {import('./store.js').Store} store */
export function drawTunnel(store) {
  const { status, kind, text } = describe(store);
  const button = byId('tunnel');
  button.className = `button quiet tunnel ${status}`;
  byId('tunnel-kind').textContent = kind ? `${kind} · ` : '';
  byId('tunnel-text').textContent = text;
  button.title = 'Main tunnels: where they lead and how they are';
  redraw(store);
}

function describe({ tunnels, version }) {
  if (tunnels.length === 0) return { status: 'idle', text: noTunnel(version) };
  const status = worst(tunnels);
  if (tunnels.length > 1) return { status, text: `${tunnels.length} main tunnels · ${tunnels.filter((tunnel) => tunnel.status === 'connected').length} connected` };
  const [{ latency_ms: latency }] = tunnels;
  const last = status === 'connected' ? (Number.isFinite(latency) ? formatMs(latency) : '')
    : needsYou(tunnels[0]) ? failureClass(tunnels[0].error_class)?.label.toLowerCase() : status === 'connecting' ? 'connecting…' : 'failed';
  return { status, kind: 'main tunnel', text: [placeOf(tunnels[0], version), last].filter(Boolean).join(' · ') };
}

/** The remote end of a main tunnel, for display. */
function placeOf({ server }, version) {
  const host = hostOf(server);
  return version.embedded && host === hostOf(version.server) ? 'relay on this computer' : host;
}

function noTunnel({ server, embedded, version }) {
  if (embedded) return 'relay on this computer';
  if (server) return [hostOf(server), 'no main tunnel yet'].filter(Boolean).join(' · ');
  return version ? 'no server named' : 'main tunnel';
}

function worst(tunnels) {
  if (tunnels.some(needsYou)) return 'failed';
  return ['failed', 'connecting', 'connected'].find((status) => tunnels.some((tunnel) => tunnel.status === status)) ?? 'idle';
}

function needsYou({ status, error_class: errorClass }) {
  return status !== 'connected' && NEEDS_YOU.includes(errorClass);
}

/** Redraws the open dialog, if there is one. */
/** @type {(store: import('./store.js').Store) => void} */
let redraw = () => {};

/** Shows all main tunnels, as they are while it is open. @param {import('./store.js').Store} store @param {import('./actions.js').Actions} actions */
export async function showTunnels(store, actions) {
  const list = h('div', { class: 'tunnel-list' });
  const entries = new Entries(list, actions);
  redraw = (now) => entries.draw(now);
  redraw(store);
  const body = [
    h('p', { class: 'dim', text: 'A main tunnel leads to each remote server in use. It is made with the first connect and stays; applications have tunnels of their own beside it.' }),
    list,
    h('p', { class: 'dim', text: `postern ${store.version.version ?? ''}` }),
  ];
  await openDialog({ title: 'Main tunnels', body, actions: [{ label: 'Done', value: null }] });
  redraw = () => {};
}

/** The entries of the dialog: rebuilt only when their structure changes; numbers are updated in place. */
class Entries {
  #list;
  #actions;
  #key = '';
  #figures = [];

  constructor(list, actions) {
    this.#list = list;
    this.#actions = actions;
  }

  draw({ tunnels, version }) {
    const key = JSON.stringify(tunnels.map(({ server, status, error, error_class: errorClass, host_key: hostKey }) => [server, status, error, errorClass, hostKey]));
    if (key !== this.#key) {
      this.#key = key;
      const focused = this.#list.contains(document.activeElement);
      this.#figures = tunnels.map(() => h('p', { class: 'dim' }));
      fill(this.#list, tunnels.length
        ? h('ul', { class: 'tunnels' }, tunnels.map((tunnel, i) => entry(tunnel, placeOf(tunnel, version), this.#figures[i], this.#actions)))
        : h('p', { text: `There is none now (${noTunnel(version)}).` }));
      if (focused) this.#list.closest('dialog')?.querySelector('.dialog-foot button')?.focus();
    }
    tunnels.forEach((tunnel, i) => { this.#figures[i].textContent = figures(tunnel); });
  }
}

function statusOf({ status }) {
  return STATUSES.includes(status) ? status : 'idle';
}

function figures(tunnel) {
  const { local_port: port, latency_ms: latency, next_retry_ms: wait } = tunnel;
  return [statusOf(tunnel), Number.isFinite(latency) && formatMs(latency), port && `local port ${port}`, Number.isFinite(wait) && `next try in ${formatWait(wait)}`].filter(Boolean).join(' · ');
}

function entry(tunnel, place, facts, actions) {
  const { server, error, error_class: errorClass, host_key: key } = tunnel;
  const known = failureClass(errorClass);
  return h('li', { class: `tunnel-entry ${statusOf(tunnel)}` },
    h('p', {}, h('span', { class: 'dot', 'aria-hidden': 'true' }), ' ', h('strong', { text: place || 'unknown server', title: hostOf(server) })),
    facts,
    error && h('p', { class: 'bad' }, known && `${known.label}: `, isHostKey(key) ? HOST_KEY_CHANGED : String(error)),
    error && known?.hint && !isHostKey(key) && h('p', { class: 'dim', text: known.hint }),
    isHostKey(key) && fingerprints(key),
    h('div', { class: 'tunnel-actions' },
      isHostKey(key) && h('button', { type: 'button', class: 'button', text: 'Compare and trust …', on: { click: () => actions.trust(key) } }),
      place && h('button', { type: 'button', class: 'button', text: 'Start afresh …', 'aria-label': `Start afresh … ${place}`, on: { click: () => actions.resetServer(server) } })));
}

/** Draws the notices that were not dismissed. @param {{notices?: unknown}} version */
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
