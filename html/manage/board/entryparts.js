// The parts of an application for each status: a line that is always shown, and details.
import { h, icon } from '../../common/dom.js';
import { formatBytes } from '../../common/figures.js';
import { protocolNamed } from '../core/protocols.js';
import { STEPS, failureClass, formatWait, healthError, latencyText, stepText, visitorsText } from '../core/status.js';
import { HOST_KEY_CHANGED, fingerprints, isHostKey } from './hostkey.js';
import { areCredentialsRefused } from './reset.js';
import { setAttribute, setText } from './text.js';

/**
 * @typedef {{since: number, retryAt: number|null}} Times
 * @typedef {{line: Node[], detail: Node[], update?: (app: App, times: Times) => void, tick?: (now: number) => void}} Parts
 * @typedef {(what: 'requests'|'statements') => void} OpenLog
 */

/**
 * The parts of an application; they must be rebuilt when their `key` changes.
 * @param {App} app @param {string} status @param {Surroundings} around
 * @returns {{key: string, build: (actions: import('./actions.js').Actions, current: () => App, openLog: OpenLog) => Parts}}
 */
export function partsFor(app, status, { trouble }) {
  /** @type {Partial<ConnectResult>} */
  const connection = app.connection ?? {};
  if (status === 'connected') {
    const failing = healthError(app);
    const pending = connection.pending_changes === true;
    const wanted = connection.site_name_wanted ?? '';
    return { key: JSON.stringify([status, failing, pending, wanted]), build: (actions, current, openLog) => connectedParts(failing, pending, wanted, actions, current, openLog) };
  }
  if (status === 'connecting' && !connection.error) return { key: 'connecting', build: () => connectingParts() };
  // Of one that has ended its end tells.
  if (connection.error_class !== 'expired' && (status === 'connecting' || status === 'failed')) {
    const { error, error_class: errorClass, hint, detail, host_key: key } = connection;
    return { key: JSON.stringify([status, error, errorClass, hint, detail, key, trouble?.host]), build: (actions, current) => troubleParts(connection, status, trouble, actions, current) };
  }
  return { key: 'idle', build: () => ({ line: [], detail: [] }) };
}

function button(label, part, run) {
  return h('button', { type: 'button', class: 'button', data: { part }, on: { click: run } }, h('span', { text: label }));
}

// --- connecting

/** @returns {Parts} */
function connectingParts() {
  const step = h('span');
  const elapsed = h('span', { class: 'dim figures' });
  const marks = Array.from({ length: STEPS }, () => h('i'));
  let since = 0;
  return {
    line: [h('p', { class: 'card-step' }, step, ' ', elapsed), h('div', { class: 'steps', 'aria-hidden': 'true' }, marks)],
    detail: [],
    update: (app, times) => {
      const at = Number(app.connection?.step) || 0;
      setText(step, stepText(app.connection));
      marks.forEach((mark, i) => setAttribute(mark, 'class', i + 1 < at ? 'done' : i + 1 === at ? 'now' : null));
      since = times.since;
    },
    tick: (now) => setText(elapsed, `${Math.max(0, Math.floor((now - since) / 1000))} s`),
  };
}

// --- an error, while connecting again or for good

/**
 * @param {Partial<ConnectResult>} connection @param {string} status @param {Surroundings['trouble']} trouble
 * @returns {Parts}
 */
function troubleParts(connection, status, trouble, actions, current) {
  const { error, error_class: errorClass, hint, detail, host_key: key, step } = connection;
  const known = failureClass(errorClass, error);
  const wait = h('span', { class: 'dim figures' });
  const said = isHostKey(key) ? HOST_KEY_CHANGED : String(error || 'The connection failed; the server gave no reason.');
  const canRetry = status === 'connecting' && Number.isFinite(connection.next_retry_ms) && !areCredentialsRefused(connection);
  const buttons = trouble ? [] : [
    isHostKey(key) && status === 'connecting' && button('Compare keys …', 'keys', () => actions.trust(key)),
    canRetry && !isHostKey(key) && button('Retry now', 'again', () => actions.retry(current())),
    status === 'connecting' && areCredentialsRefused(connection) && button('Reset identity …', 'afresh', () => actions.resetServer(connection.server, current())),
    errorClass === 'forbidden' && button('Servers …', 'servers', () => actions.servers()),
    status === 'failed' && button('Dismiss', 'dismiss', () => actions.disconnect(current())),
  ].filter((node) => node !== false);
  /** @type {number|null} */
  let retryAt = null;
  return {
    // Above the list it is told once; here only that this application waits for it.
    line: [h('p', { class: 'card-error', title: said }, known && h('span', { class: 'error-class', text: known.label }), ' ',
      h('span', { text: trouble ? `${status === 'failed' ? 'failed with' : 'waits for'} ${trouble.host}, see above` : said })),
    ...trouble ? [] : [h('div', { class: 'line-row' }, wait, ...buttons)]],
    detail: trouble ? [status === 'failed' && h('p', { class: 'dim', text: said })].filter((node) => node !== false) : troubleDetail(said, hint || known?.hint, detail, key),
    update: (_, times) => { retryAt = times.retryAt; },
    tick: (now) => {
      if (retryAt !== null) setText(wait, retryAt > now ? `Next attempt in ${formatWait(retryAt - now)}.` : 'Retrying now.');
      else setText(wait, status === 'connecting' ? `${sentence(stepText({ ...connection, status, step }))}…` : '');
    },
  };
}

function troubleDetail(said, hint, detail, key) {
  if (isHostKey(key)) return [fingerprints(key)];
  return [
    detail && detail !== said && h('p', { class: 'dim', text: String(detail) }),
    hint && h('p', { class: 'dim', text: `${sentence(hint).replace(/\.$/, '')}.` }),
  ].filter((node) => node !== false && node !== '' && node !== undefined && node !== null);
}

/** With a capital, as a sentence of its own begins. @param {unknown} text */
function sentence(text) {
  const words = String(text);
  return `${words.charAt(0).toUpperCase()}${words.slice(1)}`;
}

// --- connected

/** @returns {Parts} */
function connectedParts(failing, pending, wanted, actions, current, openLog) {
  const rest = h('span', { class: 'dim figures figures-row' });
  const visitors = h('span', { class: 'visitors' });
  const { database, visited } = protocolNamed(current().connection?.exposed?.protocol ?? current().protocol);
  const log = database ? button('Statements', 'log', () => openLog('statements')) : button('Requests', 'log', () => openLog('requests'));
  const note = (kind, text, label, part, run) => h('div', { class: `card-note ${kind}` }, icon('warn'), h('span', { text }), button(label, part, () => run(current())));
  const tick = () => setText(visitors, visitorsText(current().connection?.visitors, Date.now()));
  return {
    line: [
      failing && note('failing', `Connected, but ${failing}.`, 'Check again', 'ask', (app) => actions.ask(app)),
      pending && note('pending', 'Saved changes take effect after reconnecting.', 'Reconnect', 'reconnect', (app) => actions.reconnect(app)),
      wanted && h('div', { class: 'card-note', data: { part: 'renamed' } }, icon('warn'), h('span', { text: `The site name “${wanted}” is taken, so the site has another one.` })),
    ].filter((node) => node !== false && node !== ''),
    detail: [h('div', { class: 'line-row' }, visitors, visited === 'browser' && log), rest].filter((node) => node instanceof Node),
    update: (app) => {
      setText(rest, restText(app.connection ?? {}));
      setAttribute(rest, 'title', totals(app.connection ?? {}));
      tick();
    },
    tick,
  };
}

/** @param {Partial<ConnectResult>} connection */
function restText({ latency_ms: latency, tunnel_way: way, bytes_in: received, bytes_out: sent, reconnects, visitors }) {
  return [
    latencyText(latency),
    way === 'url' && 'through the web port',
    received !== undefined && sent !== undefined && `${formatBytes(received + sent)} in all`,
    visitors?.requests !== undefined && visitors.requests > 0 && `${visitors.requests} request${visitors.requests === 1 ? '' : 's'}`,
    reconnects !== undefined && reconnects > 0 && `${reconnects} reconnect${reconnects === 1 ? '' : 's'}`,
  ].filter(Boolean).join(' · ');
}

/** @param {Partial<ConnectResult>} connection */
function totals({ bytes_in: received = 0, bytes_out: sent = 0, since }) {
  const at = new Date(since ?? NaN);
  const from = Number.isNaN(at.getTime()) ? '' : ` since ${at.toLocaleString()}`;
  return `${formatBytes(received)} in, ${formatBytes(sent)} out${from}`;
}
