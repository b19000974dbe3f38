// The state of a connection in words: steps, failures, pauses.

import { formatMs } from '../../common/figures.js';
import { FAILURES } from './failures.js';
import { hostOf } from './links.js';
import { addressOf } from './protocols.js';
import { agoText } from './remaining.js';

/** The statuses of an application; any other counts as idle. */
export const STATUSES = ['idle', 'connecting', 'connected', 'failed'];
/** Steps until a connection is made; a greater one is waiting for its end. */
export const STEPS = 5;
/** Calls of a server before a connection fails. */
const ATTEMPTS = 5;

/** Failure of a database whose plugin is not installed. */
const NO_PLUGIN = { label: 'Database plugin', hint: 'Add it with the button or with “postern plugin add mysql”.' };

/** A class of failure in words. @param {unknown} given @param {unknown} [error] its words, which may tell more @returns {{label: string, hint: string}|null} */
export function failureClass(given, error = '') {
  if (typeof given !== 'string' || given === '') return null;
  if (isPluginMissing(given, error)) return NO_PLUGIN;
  return Object.hasOwn(FAILURES, given) ? FAILURES[given] : { label: given.replaceAll('-', ' ').slice(0, 40), hint: '' };
}

/** True if a connection failed only because its plugin is missing. @param {Partial<ConnectResult>|undefined} connection */
export function lacksPlugin(connection) {
  return isPluginMissing(connection?.error_class, connection?.error);
}

function isPluginMissing(errorClass, error) {
  return errorClass === 'plugin' && String(error).startsWith('unsupported protocol');
}

/** True if a connection was established and is now reconnecting. @param {Partial<ConnectResult>|undefined} connection */
export function isReconnecting(connection) {
  return Number(connection?.step) > STEPS || Boolean(connection?.exposed) || Number(connection?.reconnects) > 0;
}

/** Current step of a connection, for example `asking relay.example for an address (attempt 2 of 5)`. @param {Partial<ConnectResult>|undefined} connection */
export function stepText(connection) {
  const step = Number(connection?.step);
  const host = hostOf(connection?.server) || 'the server';
  if (!Number.isInteger(step) || step < 1) return 'starting';
  if (step > STEPS) return `the tunnel to ${host} is lost; reconnecting`;
  if (connection?.step_name === 'web client') return 'starting the web client of the database';
  if (step <= 2) return `asking ${host} for an address${attemptText(connection?.attempt)}`;
  return step === 3 ? `opening the tunnel to ${host}` : 'opening target: the application’s own address tunnel';
}

function attemptText(attempt) {
  return Number.isInteger(attempt) && attempt > 1 ? ` (attempt ${attempt} of ${ATTEMPTS})` : '';
}

/** A round trip, `23 ms`; a dash before there is one. @param {unknown} ms */
export function latencyText(ms) {
  if (typeof ms !== 'number' || !Number.isFinite(ms) || ms <= 0) return '–';
  return ms < 0.05 ? '< 0.1 ms' : formatMs(ms);
}

/** The badge of an application that is shared on this computer only. */
const HERE = { kind: 'note', icon: 'plug', label: 'This computer only', title: 'Its address works only on this computer.' };

/** A wait in whole seconds: `4 s`, `2 min 5 s`. @param {number} ms */
export function formatWait(ms) {
  const seconds = Math.max(0, Math.ceil(ms / 1000));
  return seconds < 60 ? `${seconds} s` : `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
}

/** The badges of access and mode: as in force, then the label for settings not yet in force. */
const BADGES = {
  invisible: [{ kind: 'closed', icon: 'key', label: 'Invisible', title: 'Visitors need the authorization code.' }, 'Will be invisible'],
  public: [{ kind: 'open', icon: 'globe', label: 'Public', title: 'Anyone who knows the address gets in.' }, 'Will be public'],
  port: [{ kind: 'open', icon: 'globe', label: 'Public port', title: 'Anyone who can reach the port can reach the application; its own login protects it.' }, 'Will be a public port'],
  readOnly: [{ kind: 'read-only', icon: 'lock', label: 'Read-Only', title: 'Statements that write are refused.' }, 'Will be read-only'],
  readWrite: [{ kind: 'read-write', icon: 'unlock', label: 'Read-Write', title: 'Statements that write are executed.' }, 'Will be read-write'],
};

/**
 * The badges that say how an application is protected; grey while not in force.
 * @param {{protocol: string, invisible?: boolean, db_readonly?: boolean|null, allow?: string[], guest?: string[], guest_tables?: number|null, guest_views?: number|null}} settings @param {{database: boolean, visited: string}} protocol
 * @param {{isHere?: boolean, inForce?: boolean}} [how] whether it is shared on this computer only, and whether it is so now
 */
export function accessBadges(settings, protocol, { isHere = false, inForce = true } = {}) {
  const badge = (name) => {
    const [now, label] = BADGES[name];
    return inForce ? now : { ...now, kind: 'note', label };
  };
  const badges = [];
  const allow = textsOf(settings.allow);
  const guest = textsOf(settings.guest);
  if (protocol.visited === 'browser' && settings.invisible) badges.push(badge('invisible'));
  else if (isHere) badges.push(HERE);
  else if (!allow.length) badges.push(badge(protocol.visited === 'browser' ? 'public' : 'port'));
  if (allow.length) badges.push(allowBadge(allow, inForce));
  if (protocol.database) badges.push(badge(settings.db_readonly ? 'readOnly' : 'readWrite'));
  if (protocol.database && guest.length) badges.push(guestBadge(guest, settings, inForce));
  if (settings.protocol === 'https') badges.push({ kind: 'note', icon: 'warn', label: 'Certificate not verified', title: 'The application’s certificate is not verified.' });
  return badges;
}

function textsOf(value) {
  return Array.isArray(value) ? value.map(String) : [];
}

function allowBadge(allow, inForce) {
  const label = allow.length === 1 ? `nly from ${allow[0]}` : `nly from ${allow.length} networks`;
  return { kind: inForce ? 'closed' : 'note', icon: 'shield', label: inForce ? `O${label}` : `Will be o${label}`, title: `Access from: ${allow.join(', ')}` };
}

/** With views it says so, as those are not limited to what else is listed. @param {string[]} guest @param {{guest_tables?: number|null, guest_views?: number|null}} counts @param {boolean} inForce */
function guestBadge(guest, { guest_tables: tables, guest_views: views }, inForce) {
  const title = `The database itself limits visitors to: ${guest.join(', ')}`;
  if (!inForce) return { kind: 'note', icon: 'database', label: 'Will use a guest account', title };
  const count = (number, word) => `${number} ${word}${number === 1 ? '' : 's'}`;
  const badge = { kind: 'closed', icon: 'database', label: 'Guest account', title };
  if (!views) return badge;
  return { ...badge, label: `Guest account: ${count(tables, 'table')}, ${count(views, 'view')}`, title: `${title}. A view shows whatever its definer may read.` };
}

/** Warning that visitors can change the database; empty for everything else. @param {{db_readonly?: boolean|null, guest?: string[], inForce: boolean}} settings @param {{database: boolean}} protocol */
export function writingText({ db_readonly: isReadOnly, guest, inForce }, { database }) {
  if (!database || isReadOnly || textsOf(guest).length) return '';
  return inForce ? 'visitors can change data' : 'visitors will be able to change data';
}

/** Text for the number of visitors: `3 visitors, last 2 min ago`. It counts connections if visitors are unknown, and is empty if the server sends no count. @param {VisitorCount|null|undefined} visitors @param {number} now in ms */
export function visitorsText(visitors, now) {
  if (!visitors || !Number.isFinite(visitors.now)) return '';
  const last = agoText(visitors.last_at, now);
  const word = visitors.counts === 'connections' ? 'connection' : 'visitor';
  if (visitors.now === 0) return last ? `no ${word} now, last ${last}` : `no ${word} yet`;
  return `${visitors.now} ${word}${visitors.now === 1 ? '' : 's'}${last && `, last ${last}`}`;
}

/**
 * The settings a card shows: those in force while connected, else the saved ones.
 * @param {App} app
 * @returns {{inForce: boolean, protocol: string, target: string, invisible: boolean, db_readonly?: boolean|null, allow?: string[], guest?: string[], guest_tables?: number|null, guest_views?: number|null}}
 */
export function effectiveSettings(app) {
  const exposed = app.connection?.exposed;
  if (exposed) return { ...exposed, inForce: true };
  const { protocol, invisible, db_readonly, allow, guest } = app;
  return { inForce: false, protocol, target: addressOf(app), invisible, db_readonly, allow, guest };
}

/** Error of a connected application that does not answer, and the setting to change if known; empty if it answers or that is unknown. @param {App} app */
export function healthError(app) {
  const health = app.connection?.health;
  if (app.conn_status !== 'connected' || health?.state !== 'failing') return '';
  const error = String(health.error || 'the application does not answer');
  return health.hint ? `${error}: ${health.hint}` : error;
}
