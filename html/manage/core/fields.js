// The logic of the application form: fields by protocol, validation, request body. No DOM.
import { siteNameProblem } from './site.js';
import { protocolNamed } from './protocols.js';

const NAME_MAX = 100; // characters, as the server has it
const TEXT_MAX = 255; // characters
const SECRET_MAX = 1024; // characters
const HOST_MAX = 253; // characters (RFC 1035, section 2.3.4)
const URL_MAX = 2048; // characters
const GROUP_MAX = 60; // characters
const PATH_MAX = 1000; // characters
const NETWORKS_MAX = 100;
const STREAMS_MAX = 10_000;

/** Fields that are numbers. */
const NUMBERS = ['port', 'tunnel_port', 'max_streams'];
/** Names of the fields sent besides secrets and those of SHARING, in the order of the form. */
export const FIELDS = ['protocol', 'name', 'ip', 'port', 'db_user', 'db_name', 'db_readonly', 'invisible', 'autoconnect', 'site_name', 'display_name', 'server', 'tunnel_port', 'username'];
/** Fields that are write-only. */
export const SECRETS = ['auth_pass', 'db_pass'];
/** Fields that the server keeps when they are left out, each with what it has where nothing is chosen. */
export const SHARING = { host_header: 'visitor', allow: [], expires: null, path: null, group: null, max_streams: null, audit: false, record_sql: false, guest: [] };

/** Whether a field belongs to a protocol. @param {string} field @param {string} protocol */
export function isUsed(field, protocol) {
  const { database, visited, login } = protocolNamed(protocol);
  if (field.startsWith('db_') || field === 'record_sql' || field === 'guest') return database;
  if (field === 'host_header' || field === 'path') return visited === 'browser' && !database;
  if (field === 'invisible' || field === 'site_name' || field === 'audit') return visited === 'browser';
  if (field === 'username' || field === 'auth_pass') return login;
  return true;
}

/** What a new application of a protocol begins with. @param {string} protocol */
export function defaults(protocol) {
  return { protocol, ip: '', port: protocolNamed(protocol).port ?? '', db_readonly: true, invisible: protocolNamed(protocol).database, autoconnect: false };
}

/**
 * Validates the text of a field: an error as a sentence, or an empty string.
 * @param {string} field
 * @param {string} value
 * @param {{protocol: string, insecure?: boolean}} context `insecure`: a server may be reached without TLS
 */
export function problem(field, value, { protocol, insecure = false }) {
  const check = CHECKS[field];
  if (!check || !isUsed(field, protocol)) return '';
  return check(SECRETS.includes(field) ? value : value.trim(), { protocol, insecure });
}

const CHECKS = {
  name: (value) => text(value, NAME_MAX),
  display_name: (value) => text(value, NAME_MAX),
  username: (value) => text(value, TEXT_MAX),
  db_user: (value) => text(value, TEXT_MAX),
  db_name: (value) => text(value, TEXT_MAX),
  auth_pass: secret,
  db_pass: secret,
  ip: host,
  port: (value, { protocol }) => (value === '' && protocolNamed(protocol).port === null ? 'Enter 1 to 65535.' : port(value)),
  tunnel_port: port,
  site_name: (value) => (value === '' ? '' : siteNameProblem(value)),
  server,
  group: (value) => text(value, GROUP_MAX),
  path: (value) => (value === '' || (/^\/(?!\/)[!-~]*$/.test(value) && value.length <= PATH_MAX) ? '' : 'Begin with one /, and leave out spaces.'),
  host_header: (value) => (hostHeader(value) ? '' : 'Enter a host name, with a port where it has one.'),
  allow: networks,
  max_streams: (value) => (value === '' || (/^[0-9]{1,5}$/.test(value) && Number(value) >= 1 && Number(value) <= STREAMS_MAX) ? '' : `Enter 1 to ${STREAMS_MAX}.`),
};

function text(value, most) {
  if ([...value].length > most) return `Use at most ${most} characters.`;
  return /[\u0000-\u001f\u007f-\u009f]/.test(value) ? 'Remove line breaks and control characters.' : '';
}

function secret(value) {
  if ([...value].length > SECRET_MAX) return `Use at most ${SECRET_MAX} characters.`;
  return value.includes('\0') ? 'A password cannot contain a NUL character.' : '';
}

function port(value) {
  if (value === '') return '';
  return /^[0-9]{1,5}$/.test(value) && Number(value) >= 1 && Number(value) <= 65535 ? '' : 'Enter 1 to 65535.';
}

function host(value) {
  if (value === '') return '';
  const bare = /^\[(.*)\]$/.exec(value)?.[1] ?? value;
  const fits = bare.includes(':') ? isIpv6(bare) : isHostName(bare);
  return fits ? '' : 'Enter an IP address or a host name.';
}

function hostHeader(value) {
  const [, name, digits] = /^(?:https?:\/\/)?(.*?)(?::([0-9]+))?$/.exec(value) ?? [];
  return value === 'visitor' || value === 'target' || (name !== '' && host(name ?? '') === '' && (digits === undefined || port(digits) === ''));
}

/** The entries of a list of networks. @param {string} value @returns {string[]} */
export function networksOf(value) {
  return value.split(/[\s,;]+/).filter(Boolean);
}

function networks(value) {
  const all = networksOf(value);
  const wrong = all.find((entry) => !isNetwork(entry));
  if (wrong !== undefined) return `“${wrong.slice(0, 60)}” is not an address or network such as 192.0.2.7 or 192.0.2.0/24.`;
  return all.length > NETWORKS_MAX ? `Enter at most ${NETWORKS_MAX}.` : '';
}

function isNetwork(value) {
  const [, address, prefix] = /^([^/]*)(?:\/([0-9]{1,3}))?$/.exec(value) ?? [];
  if (address === undefined) return false;
  const bits = isIpv4(address) ? 32 : address.includes(':') && isIpv6(address) ? 128 : 0;
  return bits > 0 && (prefix === undefined || Number(prefix) <= bits);
}

function isIpv6(value) {
  try {
    return /^[0-9a-f:.]+$/i.test(value) && new URL(`http://[${value}]/`).hostname !== '';
  } catch {
    return false;
  }
}

function isHostName(value) {
  const name = value.replace(/\.$/, '');
  if (name.length > HOST_MAX || /^[0-9.]+$/.test(name) && !isIpv4(name)) return false;
  return name.split('.').every((label) => /^[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?$/i.test(label));
}

function isIpv4(value) {
  const parts = value.split('.');
  return parts.length === 4 && parts.every((part) => /^(0|[1-9][0-9]{0,2})$/.test(part) && Number(part) <= 255);
}

function server(value, { insecure }) {
  if (value === '') return '';
  let url;
  try {
    url = new URL(value);
  } catch {
    return 'Enter a whole URL, such as https://relay.example.';
  }
  if (value.length > URL_MAX || !['http:', 'https:'].includes(url.protocol)) return 'Enter a URL that begins with https:// or http://.';
  const loopback = ['localhost', '127.0.0.1', '[::1]'].includes(url.hostname) || url.hostname.endsWith('.localhost');
  if (url.protocol === 'http:' && !loopback && !insecure) return 'Use https://: without TLS the credentials are sent unencrypted.';
  return '';
}

/**
 * The request body of a form. A blank secret is kept. Hidden fields keep their values unless the protocol has changed.
 * @param {Record<string, any>} values as they stand in the form, secrets included
 * @param {Set<string>} [cleared] secrets to forget
 * @param {Record<string, any>|null} [before] the application as it was
 * @returns {Record<string, any>}
 */
export function toBody(values, cleared = new Set(), before = null) {
  const same = before?.protocol === values.protocol;
  /** @type {Record<string, any>} */
  const body = {};
  for (const field of FIELDS) {
    const shown = isUsed(field, values.protocol);
    const value = tidy(shown ? values[field] : same ? before?.[field] : undefined);
    if (value !== undefined && value !== null && value !== '') body[field] = NUMBERS.includes(field) ? Number(value) : value;
  }
  // What is left out stays with the server that it was connected through.
  if (before?.server && !body.server) body.server = null;
  addSharing(body, values, before, same);
  for (const field of SECRETS) {
    const shown = isUsed(field, values.protocol);
    if (cleared.has(field) || (!shown && before && !same)) body[field] = '';
    else if (shown && values[field]) body[field] = values[field];
  }
  return body;
}

/** Only what has changed is sent: the rest is kept. What the protocol has no use for goes when the protocol changes. */
function addSharing(body, values, before, same) {
  for (const [field, none] of Object.entries(SHARING)) {
    const shown = isUsed(field, values.protocol) && field in values;
    if (!shown && same) continue;
    const given = shown ? tidy(values[field]) : none;
    const value = given === '' || given === undefined ? none : NUMBERS.includes(field) && given !== null ? Number(given) : given;
    if (JSON.stringify(value) !== JSON.stringify(before?.[field] ?? none)) body[field] = value;
  }
}

function tidy(value) {
  return typeof value === 'string' ? value.trim() : value;
}

/** The request body for a copy of an application; its secrets cannot be copied. @param {App} app */
export function copyOf(app) {
  const { id, site_name: taken, expires, ...rest } = app;
  return { ...rest, name: `${[...String(app.name)].slice(0, NAME_MAX - 7).join('')} (copy)`, has_auth_pass: false, has_db_pass: false, autoconnect: false };
}
