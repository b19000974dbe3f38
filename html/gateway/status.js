// The operator's status page: who is enrolled, what leads where, and what passes. Asked anew every five seconds; what is
// shown stays until there is something newer.
import { showStrip } from '../common/announce.js';
import { openDialog } from '../common/dialog.js';
import { byId, fill, h } from '../common/dom.js';
import { formatBytes } from '../common/figures.js';
import { themeSwitch } from '../common/theme.js';
import { createFetch, readData } from '../common/transport.js';

/** Time between two refreshes, in ms. */
const REFRESH_MS = 5_000;

let timer = 0;
/** The status shown, as JSON. */
let shown = '';

const send = createFetch({ onResponse: (status) => { if (status === 401) location.replace('/auth'); } });

document.addEventListener('visibilitychange', () => { if (!document.hidden) refresh(); });
themeSwitch();
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

/** @param {{name: string, label?: string|null}} of */
async function revoke({ name, label }) {
  const isSure = await openDialog({
    title: 'Revoke this connector?',
    body: [
      h('p', {}, h('strong', { class: 'mono', text: name }), label && ` (${label})`, ' is disconnected at once and stays out until you allow it again; its names and ports stay its own for 30 days.'),
      h('p', { text: 'The invite that it came by lets nobody in any more, also where it is the relay’s --enroll-token; where no other is left, a new token is shown once. Connectors that are enrolled need none.' }),
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
  const called = of.label || of.name;
  const button = h('button', { type: 'button', class: 'button', text: 'Revoke…', data: { name: of.name }, 'aria-label': `Revoke ${called}`, on: { click: () => revoke(of) } });
  const told = [
    of.label && of.name,
    of.source && `from ${of.source}`,
    of.version && `postern ${of.version}`,
    of.invite && `by invite ${of.invite.label || of.invite.id}`,
    `enrolled ${time(of.enrolled_at)}`,
    `last called ${time(of.called_at)}`,
    of.last_visit && `last visit ${time(of.last_visit)}`,
  ];
  return h('li', { class: 'connector' },
    h('div', { class: 'connector-head' },
      h('h3', { class: of.label ? '' : 'mono', text: called }),
      state(of.connected),
      h('span', { class: 'dim', text: told.filter(Boolean).join(' · ') }),
      button),
    of.applications.length > 0 && h('div', { class: 'scroll' }, applications(of)));
}

function revoked(of) {
  const allow = () => change(`/api/revoked/${encodeURIComponent(of.name)}`);
  const called = of.label || of.name;
  return h('li', { class: 'connector' },
    h('div', { class: 'connector-head' },
      h('h3', { class: of.label ? '' : 'mono', text: called }),
      h('span', { class: 'dim', text: [of.label && of.name, `revoked ${time(of.revoked_at)}`].filter(Boolean).join(' · ') }),
      h('button', { type: 'button', class: 'button', text: 'Allow', data: { name: of.name }, 'aria-label': `Allow ${called} again`, on: { click: allow } })));
}

/** The columns of the table: name, what it means, how it is aligned. */
const COLUMNS = [
  ['Address', 'Where visitors come'],
  ['Leads to', 'As its owner’s computer sees it'],
  ['State', ''],
  ['Access', 'Who gets in'],
  ['Last visit', ''],
  ['Now', 'Requests or connections of visitors that are under way at this moment', 'number'],
  ['Visits', 'Requests of a site, connections of a port, since the relay started', 'number'],
  ['In', 'Bytes from visitors since the relay started', 'number'],
  ['Out', 'Bytes to visitors since the relay started', 'number'],
];

function applications(of) {
  const heads = COLUMNS.map(([name, title, kind]) => h('th', { scope: 'col', role: 'columnheader', class: kind, title, text: name }));
  // On narrow screens rows are blocks, which would make it no table: so it says that it is one.
  return h('table', { role: 'table', 'aria-label': `Applications of ${of.label || of.name}` },
    h('thead', { role: 'rowgroup' }, h('tr', { role: 'row' }, ...heads)),
    h('tbody', { role: 'rowgroup' }, ...of.applications.map(application)));
}

/** @param {RelayApplication} of */
function application(of) {
  const { figures } = of;
  const count = (value) => (figures ? value(figures) : '–');
  const cells = [
    address(of.url),
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
