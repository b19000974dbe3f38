// Which applications are shown, in which order.

import { healthError } from './status.js';

/** Number of applications from which the search box is shown. */
export const SEARCH_FROM = 9;

/** Orders that can be chosen. */
export const ORDERS = [
  { name: 'name', label: 'Name' },
  { name: 'status', label: 'Status' },
  { name: 'recent', label: 'Last connected' },
];

/** Sort rank: what needs attention comes first. */
const RANK = { failed: 0, failing: 1, connecting: 2, connected: 3, idle: 4 };
const names = new Intl.Collator(undefined, { numeric: true, sensitivity: 'base' });

/** Whether an application matches all words of a query. @param {App} app @param {string} query */
export function matches(app, query) {
  const hay = [app.name, app.protocol, app.ip, app.port, app.conn_status, app.site_name, app.display_name, app.db_name, app.connection?.exposed?.target, app.connection?.site_url]
    .filter((part) => part !== null && part !== undefined).join('\n').toLowerCase();
  return query.toLowerCase().split(/\s+/).every((word) => hay.includes(word));
}

/** A sorted copy. @param {App[]} apps @param {string|null} order one of ORDERS */
export function sorted(apps, order) {
  const byName = (a, b) => names.compare(String(a.name), String(b.name)) || (a.id < b.id ? -1 : 1);
  const by = {
    status: (a, b) => rank(a) - rank(b) || byName(a, b),
    recent: (a, b) => String(b.last_connected_at ?? '').localeCompare(String(a.last_connected_at ?? '')) || byName(a, b),
  }[order ?? ''] ?? byName;
  return [...apps].sort(by);
}

function rank(app) {
  return healthError(app) ? RANK.failing : RANK[app.conn_status] ?? RANK.idle;
}

/** How many there are and how they are, for the heading. @param {App[]} apps */
export function summary(apps) {
  const count = (status) => apps.filter((app) => app.conn_status === status).length;
  const parts = ['connected', 'connecting', 'failed'].map((status) => ({ n: count(status), status })).filter(({ n }) => n > 0);
  const silent = apps.filter((app) => healthError(app)).length;
  if (silent > 0) parts.push({ n: silent, status: 'not answering' });
  return parts.map(({ n, status }) => `${n} ${status}`).join(' · ');
}
