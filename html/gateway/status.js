// The operator's status page: who is enrolled, what leads where, and what passes. Asked anew every five seconds; what is
// shown stays until there is something newer.
import { showStrip } from '../common/announce.js';
import { openDialog } from '../common/dialog.js';
import { byId, fill, h } from '../common/dom.js';
import { formatBytes } from '../common/figures.js';
import { createFetch, readData } from '../common/transport.js';

/** Time between two refreshes, in ms. */
const REFRESH_MS = 5_000;

let timer = 0;
/** The status shown, as JSON. */
let shown = '';

const send = createFetch({ onResponse: (status) => { if (status === 401) location.replace('/auth'); } });

document.addEventListener('visibilitychange', () => { if (!document.hidden) refresh(); });
refresh();

async function refresh() {
  clearTimeout(timer);
  try {
    show(await ask('GET', '/api/status'));
    showStrip(byId('trouble'), '');
  } catch (error) {
    showTrouble(error);
  }
  timer = setTimeout(refresh, REFRESH_MS);
}

async function revoke(name) {
  const isSure = await openDialog({
    title: 'Revoke this connector?',
    body: [
      h('p', {}, h('strong', { class: 'mono', text: name }), ' is disconnected at once and stays out until you allow it again; its names and ports stay its own for 30 days.'),
      h('p', { text: 'The enrol token, which it knows, is renewed: the new one is shown once, for new connectors. Those that are enrolled need none.' }),
    ],
    actions: [{ label: 'Keep', value: false }, { label: 'Revoke', value: true, kind: 'danger' }],
    harmless: true,
  });
  if (!isSure) return;
  const done = await change(`/api/connectors/${encodeURIComponent(name)}`);
  showStrip(byId('unsaved'), done?.saved === false ? `${name} is revoked, but that is not saved: it lasts until the relay restarts. The relay's log says why.` : '');
  if (done?.enroll_token) showToken(done.enroll_token);
}

function showToken(token) {
  return openDialog({
    title: 'A new enrol token',
    body: [
      h('p', { text: 'The earlier one lets nobody in any more. This one is shown once: keep it for new connectors.' }),
      h('p', {}, h('code', { class: 'token', text: token })),
    ],
    actions: [{ label: 'Done', value: undefined }],
  });
}

/** Does it and shows what has come of it; nothing where it failed. */
async function change(path) {
  try {
    const done = await ask('DELETE', path);
    refresh();
    return done;
  } catch (error) {
    showTrouble(error);
    return undefined;
  }
}

/** The `data` of an answer. */
async function ask(method, path) {
  return readData(await send(path, { method }));
}

function showTrouble(error) {
  showStrip(byId('trouble'), error.unreachable ? 'The relay does not answer; what is shown may be old.' : error.message);
}

/** @param {RelayStatus} status */
function show(status) {
  // Nothing is built anew without a reason: what has the focus keeps it.
  const text = JSON.stringify(status);
  if (text === shown) return;
  shown = text;
  const connected = status.connectors.filter((connector) => connector.connected).length;
  byId('summary').textContent = `${status.connectors.length} enrolled, ${connected} connected`;
  fill(byId('facts'), ...facts(status));
  byId('empty').hidden = status.connectors.length > 0;
  byId('command').textContent = `postern start --server ${status.url} --enroll-token TOKEN`;
  const focused = /** @type {HTMLElement|null} */ (document.activeElement)?.dataset.name;
  fill(byId('connectors'), ...status.connectors.map(connector));
  byId('out').hidden = status.revoked.length === 0;
  fill(byId('revoked'), ...status.revoked.map(revoked));
  /** @type {HTMLElement|null} */
  const again = focused ? document.querySelector(`[data-name="${CSS.escape(focused)}"]`) : null;
  again?.focus();
}

function facts(status) {
  const rows = [
    ['Sites', `NAME.${status.domain}`],
    ['Tunnel port', String(status.tunnel_port)],
    ['Fingerprint', status.fingerprint],
    ['Running since', time(status.since)],
    ['Version', status.version],
  ];
  return rows.flatMap(([name, value]) => [h('dt', { text: name }), h('dd', { class: 'mono', text: value })]);
}

/** @param {Connector} of */
function connector(of) {
  const button = h('button', { type: 'button', class: 'button', text: 'Revoke…', data: { name: of.name }, 'aria-label': `Revoke ${of.name}`, on: { click: () => revoke(of.name) } });
  return h('li', { class: 'connector' },
    h('div', { class: 'connector-head' },
      h('h3', { class: 'mono', text: of.name }),
      state(of.connected),
      h('span', { class: 'dim', text: `enrolled ${time(of.enrolled_at)}, last called ${time(of.called_at)}` }),
      button),
    of.applications.length > 0 && h('div', { class: 'scroll' }, applications(of)));
}

function revoked(of) {
  const allow = () => change(`/api/revoked/${encodeURIComponent(of.name)}`);
  return h('li', { class: 'connector' },
    h('div', { class: 'connector-head' },
      h('h3', { class: 'mono', text: of.name }),
      h('span', { class: 'dim', text: `revoked ${time(of.revoked_at)}` }),
      h('button', { type: 'button', class: 'button', text: 'Allow', data: { name: of.name }, 'aria-label': `Allow ${of.name} again`, on: { click: allow } })));
}

function applications(of) {
  const names = ['Address', 'Leads to', 'State', 'Access', 'Visitors', 'Requests', 'In', 'Out'];
  const heads = names.map((name, at) => h('th', { scope: 'col', class: at > 3 ? 'number' : '', text: name }));
  return h('table', { 'aria-label': `Applications of ${of.name}` },
    h('thead', {}, h('tr', {}, ...heads)),
    h('tbody', {}, ...of.applications.map(application)));
}

/** @param {RelayApplication} of */
function application(of) {
  const figures = of.figures;
  const number = (text) => h('td', { class: 'number', text });
  const count = (value) => number(figures ? value(figures) : '–');
  return h('tr', {},
    h('td', {}, address(of.url)),
    h('td', { class: 'mono', text: `${of.protocol} ${of.target}` }),
    h('td', {}, state(of.connected)),
    h('td', { text: of.invisible ? 'with a code' : 'open' }),
    count((f) => String(f.visitors)),
    count((f) => String(f.requests)),
    count((f) => formatBytes(f.bytes_in)),
    count((f) => formatBytes(f.bytes_out)));
}

/** Only what a browser opens becomes a link. */
function address(url) {
  const opens = url.startsWith('http://') || url.startsWith('https://');
  return opens ? h('a', { href: url, target: '_blank', rel: 'noopener noreferrer', class: 'mono', text: url }) : h('span', { class: 'mono', text: url });
}

function state(isConnected) {
  return h('span', { class: isConnected ? 'state on' : 'state', text: isConnected ? '● connected' : '○ away' });
}

function time(text) {
  const date = new Date(text);
  return Number.isNaN(date.getTime()) ? '–' : date.toLocaleString();
}
