// The operator's status page: who is enrolled, what leads where, what passes and what is refused. Asked anew every five
// seconds; what is shown stays until there is something newer. The relay searches, sorts and pages: it may have thousands.
import { showStrip } from '../common/announce.js';
import { openDialog } from '../common/dialog.js';
import { byId, debounce, fill, h } from '../common/dom.js';
import { themeSwitch } from '../common/theme.js';
import { createFetch, jsonRequest, readData } from '../common/transport.js';
import { fleetHeads, fleetRows, relayName } from './fleet.js';
import { focusedPart, heading, labelOf, partOf, showConnectors, time } from './connectors.js';
import { askInvite, askTakeBack, inviteHeads, inviteRows, invitesShown, showInvite, showToken } from './invites.js';
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
/** Start of the current page, after the starts of the earlier pages. */
let starts = [0];
/** Start of the next page. @type {number|null} */
let next = null;
/** The invites as they were told last. @type {RelayInvite[]} */
let invites = [];
/** True if all invites are shown. */
let showsAll = false;
/** Data shown in each element, as JSON. @type {Map<HTMLElement, string>} */
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
byId('all-invites').addEventListener('click', () => { showsAll = !showsAll; showInvites(); });
byId('invite').addEventListener('click', invite);
fill(byId('invite-heads'), ...inviteHeads());
fill(byId('fleet-heads'), ...fleetHeads());
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
    const [status, told] = await Promise.all([ask('GET', `/api/status?${wanted}`), ask('GET', '/api/invites')]);
    if (mine !== asked) return;
    invites = told.invites;
    show(status);
    showStrip(byId('trouble'), '');
  } catch (error) {
    if (mine !== asked) return;
    showTrouble(error);
  }
  timer = setTimeout(refresh, REFRESH_MS);
}

/** @param {RelayConnector} of */
async function revoke(of) {
  const { name, invite: by } = of;
  const called = labelOf(of);
  const isSure = await openDialog({
    title: `Revoke ${called}?`,
    body: [
      h('p', {}, h('strong', { text: called }), called !== name && [' (', h('span', { class: 'mono', text: name }), ')'], ' is disconnected at once and blocked until you allow it again; its names and ports stay reserved for 30 days.'),
      h('p', { text: by
        ? `The invite it used (${by.label || by.id}) is disabled, even if it is the relay’s --enroll-token. If no valid invite is left, a new token is shown once. Enrolled connectors do not need one.`
        : 'It used no invite. If this relay needs none, anyone can enrol again under another name.' }),
    ],
    actions: [{ label: 'Keep', value: false }, { label: 'Revoke', value: true, kind: 'danger' }],
    harmless: true,
  });
  if (!isSure) return;
  const done = await change(`/api/connectors/${encodeURIComponent(name)}`);
  const untold = done?.untold?.length > 0 && `These relays could not be told that ${name} is revoked and will read it from the store: ${done.untold.join(', ')}.`;
  showStrip(byId('unsaved'), done?.saved === false ? `${name} is revoked, but the change is not saved and will be lost when the relay restarts. See the relay’s log.` : untold || '');
  if (done?.enroll_token) {
    showToken({ title: 'A new enrolment token', text: 'The old one is disabled. This one is shown only once: keep it for new connectors.', token: done.enroll_token });
  }
}

async function invite() {
  const made = await askInvite((terms) => ask('POST', '/api/invites', terms));
  if (!made) return;
  refresh();
  showInvite(made);
}

/** @param {RelayInvite} of */
async function takeBack(of) {
  if (await askTakeBack(of)) change(`/api/invites/${encodeURIComponent(of.id)}`);
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

/** The `data` of an answer. @param {string} method @param {string} path @param {object} [body] */
async function ask(method, path, body) {
  return readData(await send(path, body ? jsonRequest(method, body) : { method }));
}

function showTrouble(error) {
  showStrip(byId('trouble'), error.unreachable ? 'The relay does not answer; this page may be out of date.' : error.message);
}

/** @param {RelayStatus} status */
function show(status) {
  const { enrolled, connected, connectors, metrics } = status;
  const start = starts.at(-1) ?? 0;
  if (connectors.length === 0 && start > 0) {
    // The connectors of this page are gone.
    turnTo([0]);
    return;
  }
  byId('summary').textContent = `${enrolled.toLocaleString()} enrolled, ${connected.toLocaleString()} connected`;
  showIn(byId('facts'), facts(status), () => factRows(status));
  showIn(byId('totals'), metrics, () => totals(metrics));
  byId('fleet').hidden = status.relays === null;
  showIn(byId('relays'), status.relays, () => fleetRows(status.relays ?? []));
  showStrip(byId('store'), status.store === 'away' ? 'The shared store is unreachable: connected applications keep working, new ones have to wait. See the log.' : '');
  const refused = refusals(metrics);
  byId('refused').hidden = refused.length === 0;
  showIn(byId('refusals'), refused.map((row) => row.textContent), () => refused);
  byId('empty').hidden = enrolled > 0;
  byId('command').textContent = `postern start --server ${status.url}${status.asks_token ? ' --enroll-token TOKEN' : ''}`;
  byId('no-token').hidden = status.asks_token;
  byId('invite').hidden = !status.asks_token;
  showInvites();
  showPager(status, start);
  showConnectors(byId('connectors'), connectors, { revoke, relayName: (id) => relayName(status.relays ?? [], id) });
  showStrip(byId('notices'), status.notices.join('; '));
  byId('out').hidden = status.revoked.length === 0;
  showIn(byId('revoked'), status.revoked, () => status.revoked.map(revoked));
}

function showInvites() {
  const few = invitesShown(invites, showsAll);
  byId('invites-box').hidden = few.length === 0;
  showIn(byId('invites'), few, () => inviteRows(few, takeBack));
  const all = byId('all-invites');
  all.hidden = !showsAll && few.length === invites.length;
  all.textContent = showsAll ? 'Show fewer' : `Show all ${invites.length.toLocaleString()}`;
  byId('no-invites').hidden = few.length > 0 || !byId('no-token').hidden;
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
  // A focused button keeps the focus even if it is disabled now.
  byId('previous').setAttribute('aria-disabled', String(start === 0));
  byId('next').setAttribute('aria-disabled', String(following === null));
}

function facts(status) {
  return [
    ['Sites', `NAME.${status.domain}`],
    ['Tunnel port', status.tunnel_port === 0 ? 'none' : String(status.tunnel_port)],
    ['Tunnel URL', status.tunnel_url || 'none'],
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
  return h('li', { class: 'connector' },
    h('div', { class: 'connector-head' },
      heading(of),
      h('span', { class: 'dim', text: [`revoked ${time(of.revoked_at)}`, of.sites.length > 0 && `reserved: ${of.sites.join(', ')}`].filter(Boolean).join(' · ') }),
      h('button', { type: 'button', class: 'button', text: 'Allow', data: { name: of.name, part: `allow ${of.name}` }, 'aria-label': `Allow ${labelOf(of)} again`, on: { click: allow } })));
}
