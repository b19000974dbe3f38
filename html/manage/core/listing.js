// Selection and order of the applications shown.

import { APP_FIELDS } from './appfields.js';
import { healthError, isReconnecting } from './status.js';

/** Number of applications from which the list is a table, unless somebody chose. */
export const TABLE_FROM = 8;

/** Fields that a query looks at. */
const SOUGHT = Object.keys(APP_FIELDS).filter((field) => ['text', 'paragraph', 'siteName', 'protocol', 'host', 'port'].includes(APP_FIELDS[field].kind));

/** Orders that can be chosen. */
export const ORDERS = [
  { name: 'name', label: 'Name' },
  { name: 'status', label: 'Status' },
  { name: 'recent', label: 'Last connected' },
  { name: 'visited', label: 'Last visited' },
  { name: 'ends', label: 'Ends first' },
];
/** Heading of the applications without a group, where others have one. */
export const UNGROUPED = 'No group';

/** Sort rank: what needs attention comes first. */
const RANK = { failed: 0, failing: 1, connecting: 2, connected: 3, idle: 4 };
const names = new Intl.Collator(undefined, { numeric: true, sensitivity: 'base' });

/** True if an application matches all words of a query. @param {App} app @param {string} query */
export function matches(app, query) {
  const hay = [...SOUGHT.map((field) => app[field]), app.conn_status, app.connection?.exposed?.target, app.connection?.site_url]
    .filter((part) => part !== null && part !== undefined).join('\n').toLowerCase();
  return query.toLowerCase().split(/\s+/).every((word) => hay.includes(word));
}

/** A sorted copy. @param {App[]} apps @param {string|null} order one of ORDERS */
export function sorted(apps, order) {
  const byName = (a, b) => names.compare(String(a.name), String(b.name)) || (a.id < b.id ? -1 : 1);
  const later = (of) => (a, b) => String(of(b) ?? '').localeCompare(String(of(a) ?? '')) || byName(a, b);
  const ends = ({ connection, expires }) => connection?.exposed?.expires ?? expires ?? '9';
  const by = {
    status: (a, b) => rank(a) - rank(b) || byName(a, b),
    recent: later((app) => app.last_connected_at),
    visited: later((app) => app.connection?.visitors?.last_at),
    ends: (a, b) => ends(a).localeCompare(ends(b)) || byName(a, b),
  }[order ?? ''] ?? byName;
  return [...apps].sort(by);
}

function rank(app) {
  return healthError(app) ? RANK.failing : RANK[app.conn_status] ?? RANK.idle;
}

/**
 * The applications of each group, named groups by name and those without one last; one entry without a name where nobody has a group.
 * @param {App[]} apps in their order
 * @returns {{name: string, apps: App[]}[]}
 */
export function groupsOf(apps) {
  /** @type {Map<string, App[]>} */
  const groups = new Map();
  for (const app of apps) {
    const name = String(app.group ?? '').trim();
    const group = groups.get(name);
    if (group) group.push(app);
    else groups.set(name, [app]);
  }
  const named = [...groups.keys()].filter((name) => name !== '').sort(names.compare);
  return [...named, ...groups.has('') ? [''] : []].map((name) => ({ name, apps: groups.get(name) ?? [] }));
}

/** The heading's count, `60`, or `3 of 60` while a search leaves some out. @param {number} shown @param {number} all */
export function countText(shown, all) {
  return shown === all ? String(all) : `${shown} of ${all}`;
}

/** Numbers of applications that are up and down, for the title; empty if both are 0. @param {App[]} apps */
export function upDown(apps) {
  const isDown = (app) => app.conn_status === 'failed' || (app.conn_status === 'connecting' && isReconnecting(app.connection)) || healthError(app) !== '';
  const down = apps.filter(isDown).length;
  const up = apps.filter((app) => app.conn_status === 'connected' && healthError(app) === '').length;
  const parts = [up > 0 && `${up} up`, down > 0 && `${down} down`].filter(Boolean);
  return parts.length ? `${up > 0 ? '●' : '○'} ${parts.join(', ')}` : '';
}

/** Numbers of applications by status, for the heading. @param {App[]} apps */
export function summary(apps) {
  const count = (status) => apps.filter((app) => app.conn_status === status).length;
  const parts = ['connected', 'connecting', 'failed'].map((status) => ({ n: count(status), status })).filter(({ n }) => n > 0);
  const silent = apps.filter((app) => healthError(app)).length;
  if (silent > 0) parts.push({ n: silent, status: 'not answering' });
  return parts.map(({ n, status }) => `${n} ${status}`).join(' · ');
}
