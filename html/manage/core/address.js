// Parses addresses that people type or paste: a URL, `host:port`, `:3000`, `[::1]:80`, `user@host`. No DOM.
import { PROTOCOLS, protocolNamed } from './protocols.js';

/** Schemes that are another protocol's, or that only a port tells apart. @type {Record<string, [string, number?]>} */
const SCHEMES = {
  ws: ['http'], wss: ['https'], sftp: ['ssh'], 'ssh+git': ['ssh'], 'git+ssh': ['ssh'],
  postgres: ['tcp', 5432], postgresql: ['tcp', 5432], redis: ['tcp', 6379], rediss: ['tcp', 6379], mongodb: ['tcp', 27017], amqp: ['tcp', 5672],
  smb: ['tcp', 445], ldap: ['tcp', 389], smtp: ['tcp', 25], imap: ['tcp', 143], mqtt: ['tcp', 1883], ftp: ['tcp', 21],
};

/** Usual protocol of a port, for ports that have no web site. */
const PORTS = { 22: 'ssh', 23: 'telnet', 443: 'https', 3306: 'mysql', 3389: 'rdp', 5432: 'tcp', 5900: 'vnc', 5901: 'vnc', 6379: 'tcp', 8443: 'https', 27017: 'tcp' };

/** The protocol that a port suggests; `http` where it suggests none. @param {number} port */
export function protocolOfPort(port) {
  return PORTS[port] ?? 'http';
}

/**
 * @typedef {{protocol: string|null, host: string, port: number|null, user: string, password: string, database: string, rest: string}} Address
 *   null and empty where the text does not say; `rest` is the path that was left out
 */

/**
 * Reads an address; what is wrong with it as a sentence where it is none. The host is not looked at.
 * @param {string} text
 * @returns {Address|string}
 */
export function parseAddress(text) {
  const [, scheme, after] = /^(?:jdbc:)?([a-z][a-z0-9+.-]*):\/\/(.*)$/is.exec(text.trim()) ?? [null, '', text.trim()];
  const known = scheme === '' ? [null] : protocolOfScheme(scheme.toLowerCase());
  if (!known) return `“${scheme}://” is not supported: enter only the address, and choose the protocol below.`;
  const end = after.search(/[/?#]/);
  const authority = end < 0 ? after : after.slice(0, end);
  const place = splitAuthority(authority, scheme !== '');
  if (typeof place === 'string') return place;
  const [protocol, port] = known;
  return withRest({ ...place, protocol, port: place.port ?? port ?? (protocol ? protocolNamed(protocol).port : null) }, end < 0 ? '' : after.slice(end));
}

/** Percent-encodes characters, also half ones. @param {string} text */
const encoded = (text) => [...new TextEncoder().encode(text)].map((byte) => `%${byte.toString(16).toUpperCase()}`).join('');

/** Converts the rest of an address to the path that links open. @param {string} rest */
export function opensAt(rest) {
  const path = rest.replace(/^\/+/, '');
  return path === '' ? '' : `/${path.replace(/[^!-~]/gu, encoded)}`;
}

/** @returns {[string, number?]|null} */
function protocolOfScheme(scheme) {
  if (PROTOCOLS.some(({ name }) => name === scheme)) return [scheme];
  return Object.hasOwn(SCHEMES, scheme) ? SCHEMES[scheme] : null;
}

/** The path names the database of a database, and nothing else that is shared. */
function withRest(address, path) {
  if (!address.protocol || !protocolNamed(address.protocol).database) return { ...address, database: '', rest: /^\/?$/.test(path) ? '' : path };
  const [, database, rest] = /^\/?([^/?#]*)(.*)$/s.exec(path) ?? ['', '', ''];
  return { ...address, database: decoded(database), rest };
}

function splitAuthority(authority, hasScheme) {
  const at = authority.lastIndexOf('@');
  const [user, password] = at < 0 ? ['', ''] : pair(authority.slice(0, at));
  const place = authority.slice(at + 1);
  const [, v6, host, digits] = /^(?:\[([^\]]*)\]|([^:]*))(?::([0-9]*))?$/.exec(place) ?? [];
  // An IPv6 address without brackets has no port.
  if (v6 === undefined && host === undefined) return { host: place, port: null, user, password };
  const isPort = !hasScheme && digits === undefined && at < 0 && /^[0-9]{1,5}$/.test(host ?? '');
  const port = isPort ? host : digits;
  if (port && (Number(port) < 1 || Number(port) > 65535)) return 'A port is a number from 1 to 65535.';
  return { host: isPort ? '' : v6 ?? host, port: port ? Number(port) : null, user, password };
}

function pair(text) {
  const colon = text.indexOf(':');
  return colon < 0 ? [decoded(text), ''] : [decoded(text.slice(0, colon)), decoded(text.slice(colon + 1))];
}

function decoded(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
