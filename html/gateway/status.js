// The operator's status page: who is enrolled, what leads where, and what passes. Asked anew every five seconds; what is
// shown stays until there is something newer.
import { byId, fill, h } from '../common/dom.js';

/** Milliseconds between two looks. */
const REFRESH = 5000;

let timer = 0;
let shown = '';

byId('confirm').addEventListener('close', () => {
  const dialog = byId('confirm');
  if (dialog.returnValue === 'revoke') revoke(dialog.dataset.name);
});
byId('renewed').addEventListener('close', () => { byId('token').textContent = ''; });
document.addEventListener('visibilitychange', () => { if (!document.hidden) refresh(); });
refresh();

async function refresh() {
  clearTimeout(timer);
  try {
    show(await ask('GET', '/api/status'));
    trouble('');
  } catch (error) {
    trouble(error.message);
  }
  timer = setTimeout(refresh, REFRESH);
}

async function revoke(name) {
  const done = await change(`/api/connectors/${encodeURIComponent(name)}`);
  if (done?.saved === false) {
    byId('unsaved').textContent = `${name} is revoked, but that is not saved: it lasts until the relay restarts. The relay's log says why.`;
  }
  byId('unsaved').hidden = done?.saved !== false;
  if (!done?.enroll_token) return;
  byId('token').textContent = done.enroll_token;
  byId('renewed').showModal();
}

/** Does it and shows what has come of it; nothing where it failed. */
async function change(path) {
  try {
    const done = await ask('DELETE', path);
    refresh();
    return done;
  } catch (error) {
    trouble(error.message);
    return undefined;
  }
}

/** The `data` of an answer; an error with a message for people. */
async function ask(method, path) {
  const response = await fetch(path, { method, credentials: 'same-origin' }).catch(() => {
    throw new Error('The relay does not answer; what is shown may be old.');
  });
  if (response.status === 401) location.replace('/auth');
  const answer = await response.json().catch(() => ({}));
  if (!response.ok) throw new Error(answer.message ?? `The relay answered ${response.status}.`);
  return answer.data;
}

function trouble(text) {
  byId('trouble').textContent = text;
  byId('trouble').hidden = text === '';
}

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
  const focused = document.activeElement?.dataset?.name;
  fill(byId('connectors'), ...status.connectors.map(connector));
  byId('out').hidden = status.revoked.length === 0;
  fill(byId('revoked'), ...status.revoked.map(revoked));
  if (focused) document.querySelector(`[data-name="${CSS.escape(focused)}"]`)?.focus();
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

function connector(of) {
  const button = h('button', { type: 'button', class: 'button', text: 'Revoke…', data: { name: of.name }, 'aria-label': `Revoke ${of.name}`, on: { click: () => confirm(of.name) } });
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

function confirm(name) {
  const dialog = byId('confirm');
  dialog.dataset.name = name;
  dialog.returnValue = 'no';
  byId('confirm-name').textContent = name;
  dialog.showModal();
}

function applications(of) {
  const names = ['Address', 'Leads to', 'State', 'Access', 'Visitors', 'Requests', 'In', 'Out'];
  const heads = names.map((name, at) => h('th', { scope: 'col', class: at > 3 ? 'number' : '', text: name }));
  return h('table', { 'aria-label': `Applications of ${of.name}` },
    h('thead', {}, h('tr', {}, ...heads)),
    h('tbody', {}, ...of.applications.map(application)));
}

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
    count((f) => bytes(f.bytes_in)),
    count((f) => bytes(f.bytes_out)));
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

function bytes(count) {
  const units = ['B', 'KB', 'MB', 'GB', 'TB'];
  let value = count;
  let unit = 0;
  while (value >= 1000 && unit < units.length - 1) {
    value /= 1000;
    unit += 1;
  }
  return `${unit === 0 ? value : value.toFixed(1)} ${units[unit]}`;
}
