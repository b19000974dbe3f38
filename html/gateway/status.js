// The operator's status page: who is enrolled, what leads where, what passes and what is refused. Asked anew every five
// seconds; what is shown stays until there is something newer. The relay searches, sorts and pages: it may have thousands.
import { showStrip } from '../common/announce.js';
import { openDialog } from '../common/dialog.js';
import { byId, debounce, fill, h } from '../common/dom.js';
import { themeSwitch } from '../common/theme.js';
import { createFetch, readData } from '../common/transport.js';
import { focusedPart, partOf, showConnectors, time } from './connectors.js';
import { refusals, totals } from './totals.js';

/** Time between two refreshes, in ms. */
const REFRESH_MS = 5_000;

/** Lines of a page: a connector is one, and each of its applications. */
const LINES = 200;
/** Connectors from which on there is a search. */
const MANY = 5;
/** Time after the last key before a search, in ms. */
const TYPING_MS = 200;

let timer = 0;
/** Counts what was asked: an answer that was overtaken is not shown. */
let asked = 0;
/** Where this page begins, after those where the earlier ones did. */
let starts = [0];
/** Where the next page begins. @type {number|null} */
let next = null;
/** What is shown where, as JSON. @type {Map<HTMLElement, string>} */
const shown = new Map();
const search = byId('search', HTMLInputElement);
const sort = byId('sort', HTMLSelectElement);

const send = createFetch({ onResponse: (status) => { if (status === 401) location.replace('/auth'); } });

document.addEventListener('visibilitychange', () => { if (!document.hidden) refresh(); });
document.addEventListener('keydown', (event) => {
  const isTyping = event.target instanceof HTMLInputElement || event.target instanceof HTMLSelectElement;
  if (event.key !== '/' || isTyping || event.ctrlKey || event.metaKey || event.altKey || byId('tools').hidden || document.querySelector('dialog')) return;
  event.preventDefault();
  search.focus();
});
search.addEventListener('input', debounce(() => turnTo([0]), TYPING_MS));
sort.addEventListener('change', () => turnTo([0]));
byId('previous').addEventListener('click', () => starts.length > 1 && turnTo(starts.slice(0, -1)));
byId('next').addEventListener('click', () => next !== null && turnTo([...starts, next]));
themeSwitch();
refresh();

/** Shows another page. @param {number[]} to */
async function turnTo(to) {
  starts = to;
  await refresh();
}

async function refresh() {
  clearTimeout(timer);
  asked += 1;
  const mine = asked;
  const wanted = new URLSearchParams({ search: search.value, sort: sort.value, offset: String(starts.at(-1)), lines: String(LINES) });
  try {
    const status = await ask('GET', `/api/status?${wanted}`);
    if (mine !== asked) return;
    show(status);
    showStrip(byId('trouble'), '');
  } catch (error) {
    if (mine !== asked) return;
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
  const { enrolled, connected, connectors, metrics } = status;
  const start = starts.at(-1) ?? 0;
  if (connectors.length === 0 && start > 0) {
    // Those of this page have gone.
    turnTo([0]);
    return;
  }
  byId('summary').textContent = `${enrolled.toLocaleString()} enrolled, ${connected.toLocaleString()} connected`;
  showIn(byId('facts'), facts(status), () => factRows(status));
  showIn(byId('totals'), metrics, () => totals(metrics));
  const refused = refusals(metrics);
  byId('refused').hidden = refused.length === 0;
  showIn(byId('refusals'), refused.map((row) => row.textContent), () => refused);
  byId('empty').hidden = enrolled > 0;
  byId('command').textContent = `postern start --server ${status.url} --enroll-token TOKEN`;
  showPager(status, start);
  showConnectors(byId('connectors'), connectors, { revoke });
  showStrip(byId('notices'), status.notices.join('; '));
  byId('out').hidden = status.revoked.length === 0;
  showIn(byId('revoked'), status.revoked, () => status.revoked.map(revoked));
}

/** Nothing is built anew without a reason: what has the focus keeps it. @param {HTMLElement} host @param {any} data @param {() => Node[]} build */
function showIn(host, data, build) {
  const text = JSON.stringify(data);
  if (shown.get(host) === text) return;
  shown.set(host, text);
  const focused = focusedPart(host);
  fill(host, ...build());
  if (focused) partOf(host, focused)?.focus();
}

/** @param {RelayStatus} status @param {number} start */
function showPager({ enrolled, matching, connectors, next: following }, start) {
  next = following;
  const query = search.value.trim();
  byId('tools').hidden = enrolled <= MANY && query === '';
  byId('none').hidden = matching > 0 || enrolled === 0;
  byId('none').textContent = `Nothing matches “${query}”.`;
  const isWhole = start === 0 && following === null;
  byId('pager').hidden = isWhole;
  const range = isWhole ? '' : `${(start + 1).toLocaleString()} to ${(start + connectors.length).toLocaleString()} of ${matching.toLocaleString()}`;
  byId('range').textContent = range;
  byId('found').textContent = query === '' ? '' : `${matching.toLocaleString()} found`;
  // One that has the focus keeps it though it can do nothing now.
  byId('previous').setAttribute('aria-disabled', String(start === 0));
  byId('next').setAttribute('aria-disabled', String(following === null));
}

function facts(status) {
  return [
    ['Sites', `NAME.${status.domain}`],
    ['Tunnel port', String(status.tunnel_port)],
    ['Fingerprint', status.fingerprint],
    ['Running since', time(status.since)],
    ['Version', status.version],
  ];
}

function factRows(status) {
  return facts(status).flatMap(([name, value]) => [h('dt', { text: name }), h('dd', { class: 'mono', text: value })]);
}

function revoked(of) {
  const allow = () => change(`/api/revoked/${encodeURIComponent(of.name)}`);
  const called = of.label || of.name;
  return h('li', { class: 'connector' },
    h('div', { class: 'connector-head' },
      h('h3', { class: of.label ? '' : 'mono', text: called }),
      h('span', { class: 'dim', text: [of.label && of.name, `revoked ${time(of.revoked_at)}`].filter(Boolean).join(' · ') }),
      h('button', { type: 'button', class: 'button', text: 'Allow', data: { name: of.name, part: `allow ${of.name}` }, 'aria-label': `Allow ${called} again`, on: { click: allow } })));
}
