// The middle of a card, for each status. Its height is fixed, so nothing below it moves.
import { fill, h, icon, iconButton, svg } from '../../common/dom.js';
import { formatBytes, formatMs } from '../../common/figures.js';
import { isLocalhostName, siteLink } from '../core/links.js';
import { STEPS, failureClass, formatWait, healthError, stepText } from '../core/status.js';
import { HOST_KEY_CHANGED, fingerprints, isHostKey } from './hostkey.js';

/** Size of the traffic line, in CSS pixels. */
const LINE = { width: 120, height: 20 };

/**
 * @typedef {{times: {since: number, retryAt: number|null}, traffic: import('../core/traffic.js').Traffic}} Figures
 * @typedef {{nodes: Node[], update?: (app: App, figures: Figures) => void, tick?: (now: number) => void}} Body
 */

/**
 * The body of a card; it must be rebuilt when its `key` changes.
 * @param {App} app @param {string} status
 * @returns {{key: string, build: (actions: import('./actions.js').Actions, current: () => App) => Body}}
 */
export function bodyFor(app, status) {
  const { key, build } = stateBody(app, status);
  const failing = healthError(app);
  const pending = app.connection?.pending_changes === true;
  return {
    key: JSON.stringify([key, failing, pending]),
    build: (actions, current) => {
      const body = build(actions);
      return { ...body, nodes: [...notes(failing, pending, actions, current), ...body.nodes] };
    },
  };
}

/** Warnings that the application does not answer, or runs with old settings. */
function notes(failing, pending, actions, current) {
  const note = (kind, text, label, part, run) => h('div', { class: `card-note ${kind}` }, icon('warn'), h('span', { text }),
    h('button', { type: 'button', class: 'button', data: { part }, on: { click: () => run(current()) } }, h('span', { text: label })));
  return [
    failing && note('failing', `Connected, but ${failing}.`, 'Ask again', 'ask', (app) => actions.ask(app)),
    pending && note('pending', 'Saved changes are not in force.', 'Reconnect', 'reconnect', (app) => actions.reconnect(app)),
  ].filter(Boolean);
}

function stateBody(app, status) {
  const connection = app.connection ?? {};
  if (status === 'connected') {
    const key = JSON.stringify(['connected', connection.site_url, connection.auth_url, connection.local_url]);
    return { key, build: (actions) => connectedBody(connection, actions) };
  }
  if (status === 'connecting' && !connection.error) return { key: 'connecting', build: () => connectingBody() };
  if (status === 'connecting' || status === 'failed') {
    const key = JSON.stringify([status, connection.error, connection.error_class, connection.hint, connection.detail, connection.host_key]);
    return { key, build: () => troubleBody(connection, status) };
  }
  return { key: 'idle', build: () => idleBody() };
}

// --- idle

function idleBody() {
  const last = h('p', { class: 'dim' });
  return { nodes: [last], update: (app) => { last.textContent = lastText(app.last_connected_at); } };
}

function lastText(time) {
  const at = new Date(time ?? NaN);
  if (Number.isNaN(at.getTime())) return 'Never connected so far.';
  return `Last connected ${at.toLocaleString(undefined, { dateStyle: 'medium', timeStyle: 'short' })}.`;
}

// --- connecting

function connectingBody() {
  const step = h('span');
  const elapsed = h('span', { class: 'dim figures' });
  const marks = Array.from({ length: STEPS }, () => h('i'));
  let since = 0;
  return {
    nodes: [h('p', { class: 'card-step' }, step, elapsed), h('div', { class: 'steps', 'aria-hidden': 'true' }, marks)],
    update: (app, { times }) => {
      const at = Number(app.connection?.step) || 0;
      step.textContent = stepText(app.connection);
      marks.forEach((mark, i) => { mark.className = i + 1 < at ? 'done' : i + 1 === at ? 'now' : ''; });
      since = times.since;
    },
    tick: (now) => { elapsed.textContent = `${Math.max(0, Math.floor((now - since) / 1000))} s`; },
  };
}

// --- an error, while connecting again or for good

/** @param {Partial<Connection>} connection @param {string} status */
function troubleBody({ error, error_class: errorClass, hint, detail, host_key: key, step }, status) {
  const known = failureClass(errorClass, error);
  const wait = h('p', { class: 'dim figures' });
  const said = isHostKey(key) ? HOST_KEY_CHANGED : String(error || 'The connection failed; the server gave no reason.');
  /** @type {number|null} */
  let retryAt = null;
  return {
    nodes: [
      h('p', { class: 'card-error' }, known && h('span', { class: 'error-class', text: known.label }), ' ', h('span', { text: said })),
      detail && detail !== error && !isHostKey(key) && h('p', { class: 'dim', text: String(detail) }),
      isHostKey(key) && fingerprints(key),
      (hint || known?.hint) && !isHostKey(key) && h('p', { class: 'dim', text: hint ? sentence(hint) : known?.hint }),
      wait,
    ].filter(Boolean),
    update: (_, { times }) => { retryAt = times.retryAt; },
    tick: (now) => {
      if (retryAt !== null) wait.textContent = retryAt > now ? `Next try in ${formatWait(retryAt - now)}.` : 'Trying again now.';
      else wait.textContent = status === 'connecting' ? `${stepText({ status, step })}…` : '';
    },
  };
}

/** As a sentence of its own. @param {unknown} text */
function sentence(text) {
  const words = String(text);
  return `${words.charAt(0).toUpperCase()}${words.slice(1)}.`;
}

// --- connected

function connectedBody(connection, actions) {
  const site = siteLink(connection.site_url);
  const auth = siteLink(connection.auth_url);
  const local = siteLink(connection.local_url);
  const figures = figuresLine();
  return {
    nodes: [
      site ? addressRow('Site', site, 'site', actions) : h('p', { class: 'dim', text: 'The server gave no address that can be shown.' }),
      auth && addressRow('Auth URL', auth, 'auth', actions),
      local?.href && addressRow('Here', local, 'local', actions),
      site && isLocalhostName(site.host) && h('p', { class: 'dim hint', text: 'Opens in browsers on this computer, not everywhere.', title: 'Names under .localhost lead to this computer. Browsers know that; other programs may not find them.' }),
      figures.node,
    ].filter(Boolean),
    update: (app, { traffic }) => figures.update(app.connection ?? {}, traffic),
  };
}

const TITLES = {
  site: 'The address of the site',
  auth: 'Lets whoever has it in; give it to those who may enter',
  local: 'The web client on this computer',
};

function addressRow(label, link, part, actions) {
  // Shows the destination; a code in the address is copied and followed but not displayed to bystanders.
  const shown = part === 'local' ? new URL(link.text).origin : link.text;
  const props = { class: 'address', title: TITLES[part], data: { part, url: part } };
  const address = link.href
    ? h('a', { ...props, href: link.href, target: '_blank', rel: 'noopener noreferrer', text: shown })
    : h('span', { ...props, text: shown });
  const what = { site: 'Site address', auth: 'Authorization URL', local: 'Local address' }[part];
  return h('div', { class: `address-row ${part}` }, h('span', { class: 'dim address-label', text: label }), address,
    iconButton('copy', `Copy ${what.toLowerCase()}`, () => actions.copy(what, link.text), { 'data-part': `copy-${part}` }));
}

function figuresLine() {
  const path = svg('path', { d: '', fill: 'none', 'vector-effect': 'non-scaling-stroke' });
  const line = svg('svg', { class: 'traffic', viewBox: `0 0 ${LINE.width} ${LINE.height}`, width: LINE.width, height: LINE.height, 'aria-hidden': 'true' }, path);
  const rates = h('span');
  const rest = h('span', { class: 'dim' });
  const update = (connection, traffic) => {
    path.setAttribute('d', traffic.path(LINE.width, LINE.height));
    fill(rates, rateText('↓', 'in', traffic.current.in), rateText('↑', 'out', traffic.current.out));
    rest.textContent = restText(connection);
    rest.title = totals(connection);
  };
  return { node: h('div', { class: 'figures-row figures' }, line, rates, rest), update };
}

function rateText(arrow, word, rate) {
  return h('span', { class: 'rate', title: `Bytes ${word} a second` }, `${arrow} ${formatBytes(rate)}/s`);
}

function restText({ latency_ms: latency, bytes_in: received, bytes_out: sent, reconnects }) {
  const parts = [];
  if (Number.isFinite(latency)) parts.push(formatMs(latency));
  if (Number.isFinite(received) && Number.isFinite(sent)) parts.push(`${formatBytes(received + sent)} in all`);
  if (reconnects > 0) parts.push(`${reconnects} reconnect${reconnects === 1 ? '' : 's'}`);
  return parts.join(' · ');
}

function totals({ bytes_in: received = 0, bytes_out: sent = 0, since }) {
  const at = new Date(since ?? NaN);
  const from = Number.isNaN(at.getTime()) ? '' : ` since ${at.toLocaleString()}`;
  return `${formatBytes(received)} in, ${formatBytes(sent)} out${from}`;
}
