// The pill of the top bar, which tells of the main tunnels, and the notices of the server under it.
import { byId, fill, h, icon, iconButton } from '../../common/dom.js';
import { hostOf } from '../core/links.js';
import { failureClass, latencyText } from '../core/status.js';

/** Failures that need action from the user. */
const NEEDS_YOU = ['wrong-password', 'revoked', 'host-key-changed'];
/** Notices dismissed since the page was loaded. */
const dismissed = new Set();

/** Draws the pill. @param {import('./store.js').Store} store @param {boolean} isDead whether the program does not answer */
export function drawTunnel(store, isDead) {
  const { status, kind = '', text } = isDead ? { status: 'idle', text: 'postern does not answer' } : describe(store);
  const button = byId('tunnel');
  button.className = `button quiet tunnel ${status}`;
  byId('tunnel-kind').textContent = kind ? `${kind} · ` : '';
  byId('tunnel-text').textContent = text;
  button.title = 'Servers and the state of their main tunnels';
}

function describe({ tunnels, version }) {
  if (tunnels.length === 0) return { status: 'idle', text: noTunnel(version) };
  const status = worst(tunnels);
  if (tunnels.length > 1) return { status, text: `${tunnels.length} main tunnels · ${tunnels.filter((tunnel) => tunnel.status === 'connected').length} connected` };
  const [{ latency_ms: latency }] = tunnels;
  const last = status === 'connected' ? latencyText(latency)
    : needsYou(tunnels[0]) ? failureClass(tunnels[0].error_class)?.label.toLowerCase() : status === 'connecting' ? 'connecting…' : 'failed';
  return { status, kind: 'main tunnel', text: [placeOf(tunnels[0], version), last].filter(Boolean).join(' · ') };
}

/** The remote end of a main tunnel, for display. @param {MainTunnel} tunnel @param {Partial<Version>} version */
function placeOf({ server }, version) {
  const host = hostOf(server);
  return version.embedded && host === hostOf(version.server) ? 'relay on this computer' : host;
}

/** Text for no main tunnel. @param {Partial<Version>} version */
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
