// The logic of the application form: fields by protocol, validation, request body. No DOM.
import { APP_FIELDS } from './appfields.js';
import { siteNameProblem } from './site.js';
import { protocolNamed } from './protocols.js';

const SECRET_MAX = 1024; // characters
const HOST_MAX = 253; // characters (RFC 1035, section 2.3.4)
const URL_MAX = 2048; // characters
const PATH_MAX = 1000; // characters
const NETWORKS_MAX = 100;

const NAMES = Object.keys(APP_FIELDS);
const isKept = (field) => 'kept' in APP_FIELDS[field];
const isNumber = (field) => ['port', 'number'].includes(APP_FIELDS[field].kind);
/** Fields that are write-only. */
export const SECRETS = NAMES.filter((field) => APP_FIELDS[field].kind === 'secret');

/** True if a field applies to a protocol. @param {string} field @param {string} protocol */
export function isUsed(field, protocol) {
  const { database, visited, login } = protocolNamed(protocol);
  const isBrowsed = visited === 'browser';
  const uses = { databases: database, sites: isBrowsed && !database, browsers: isBrowsed, logins: login };
  return uses[APP_FIELDS[field]?.uses] ?? true;
}

/** Initial values of a new application. @param {string} protocol */
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
  const { kind, most = 0 } = APP_FIELDS[field] ?? {};
  const check = CHECKS[kind ?? ''];
  if (!check || !isUsed(field, protocol)) return '';
  if (field === 'port' && value.trim() === '') return protocolNamed(protocol).port === null ? 'Enter 1 to 65535.' : '';
  return check(kind === 'secret' ? value : value.trim(), most, insecure);
}

/** Checks of a text, by the kind of its field. @type {Record<string, (value: string, most: number, insecure: boolean) => string>} */
const CHECKS = {
  text,
  paragraph,
  secret,
  host,
  port: (value) => number(value, 65535),
  number,
  siteName: (value) => (value === '' ? '' : siteNameProblem(value)),
  server,
  path: (value) => (value === '' || (/^\/(?!\/)[!-~]*$/.test(value) && value.length <= PATH_MAX) ? '' : 'Begin with one /, and leave out spaces.'),
  hostHeader: (value) => (hostHeader(value) ? '' : 'Enter a host name, with a port where it has one.'),
  networks,
};

function paragraph(value, most) {
  return text(value.replace(/[\n\t]/g, ' '), most);
}

function text(value, most) {
  if ([...value].length > most) return `Use at most ${most} characters.`;
  return /[\u0000-\u001f\u007f-\u009f]/.test(value) ? 'Remove line breaks and control characters.' : '';
}

function secret(value) {
  if ([...value].length > SECRET_MAX) return `Use at most ${SECRET_MAX} characters.`;
  return value.includes('\0') ? 'A password cannot contain a NUL character.' : '';
}

function number(value, most) {
  return value === '' || (/^[0-9]{1,5}$/.test(value) && Number(value) >= 1 && Number(value) <= most) ? '' : `Enter 1 to ${most}.`;
}

function host(value) {
  if (value === '') return '';
  const bare = /^\[(.*)\]$/.exec(value)?.[1] ?? value;
  const fits = bare.includes(':') ? isIpv6(bare) : isHostName(bare);
  return fits ? '' : 'Enter an IP address or a host name.';
}

function hostHeader(value) {
  const [, name, digits] = /^(?:https?:\/\/)?(.*?)(?::([0-9]+))?$/.exec(value) ?? [];
  return value === 'visitor' || value === 'target' || (name !== '' && host(name ?? '') === '' && (digits === undefined || number(digits, 65535) === ''));
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

function server(value, _, insecure) {
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
  for (const field of NAMES.filter((name) => !isKept(name) && !SECRETS.includes(name))) {
    const shown = isUsed(field, values.protocol);
    const value = tidy(shown ? values[field] : same ? before?.[field] : undefined);
    if (value !== undefined && value !== null && value !== '') body[field] = isNumber(field) ? Number(value) : value;
    // A field left out of the body keeps its value, so an emptied one is sent as null.
    else if (field !== 'server' && (before?.[field] ?? '') !== '') body[field] = null;
  }
  // Null selects the default server. Without `server`, the application keeps the one it was connected through.
  if (before?.server && !body.server) body.server = null;
  addKept(body, values, before, same);
  for (const field of SECRETS) {
    const shown = isUsed(field, values.protocol);
    if (cleared.has(field) || (!shown && before && !same)) body[field] = '';
    else if (shown && values[field]) body[field] = values[field];
  }
  return body;
}

/** Only what has changed is sent: the rest is kept. What the protocol has no use for goes when the protocol changes. */
function addKept(body, values, before, same) {
  for (const field of NAMES.filter(isKept)) {
    const none = APP_FIELDS[field].kept;
    const shown = isUsed(field, values.protocol) && field in values;
    if (!shown && same) continue;
    const given = shown ? tidy(values[field]) : none;
    const value = given === '' || given === undefined ? none : isNumber(field) && given !== null ? Number(given) : given;
    if (JSON.stringify(value) !== JSON.stringify(before?.[field] ?? none)) body[field] = value;
  }
}

function tidy(value) {
  return typeof value === 'string' ? value.trim() : value;
}

/** The request body for a copy of an application; its secrets cannot be copied. @param {App} app */
export function copyOf(app) {
  const { id, site_name: taken, expires, ...rest } = app;
  return { ...rest, name: `${[...String(app.name)].slice(0, (APP_FIELDS.name.most ?? 0) - 7).join('')} (copy)`, has_auth_pass: false, has_db_pass: false, autoconnect: false };
}
