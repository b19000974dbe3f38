// The address that an application will get, as far as it can be told before it is connected. No DOM.
import { hostOf, isLoopback, siteLink } from './links.js';
import { addressOf, protocolNamed } from './protocols.js';

/** Longest name of a site, in characters: a label of a host name (RFC 1035, section 2.3.4). */
const NAME_MAX = 63;
const NAME_MIN = 2;
/** Names that relays keep for themselves, also with a number behind: `src/relay/names.rs`. */
export const RESERVED = ['admin', 'api', 'auth', 'autoconfig', 'autodiscover', 'dns', 'doh', 'enterpriseenrollment', 'enterpriseregistration', 'gateway', 'imap',
  'isatap', 'ldap', 'localhost', 'login', 'lyncdiscover', 'mail', 'mta-sts', 'ns', 'openpgpkey', 'pop', 'postern', 'proxy', 'relay', 'sip', 'smtp', 'sso',
  'status', 'tunnel', 'wpad', 'www'];
/** Names that people take for the server’s own, also with a number or a suffix: `src/relay/names.rs`. */
export const RESERVED_WORDS = ['abuse', 'account', 'accounts', 'admin', 'administrator', 'auth', 'billing', 'console', 'dashboard', 'helpdesk', 'hostmaster', 'idp', 'log-in',
  'login', 'logon', 'mail', 'mfa', 'noc', 'noreply', 'oauth', 'oauth2', 'oidc', 'operator', 'passwd', 'password', 'payment', 'payments', 'postern',
  'postmaster', 'register', 'relay', 'root', 'saml', 'secure', 'security', 'sign-in', 'sign-on', 'sign-up', 'signin', 'signon', 'signup', 'sso',
  'support', 'sysadmin', 'verification', 'verify', 'vpn', 'webadmin', 'webmail', 'webmaster', 'www'];

/** True for a reserved word, with a number or a suffix perhaps. @param {string} name @param {string} stem */
const isWord = (name, stem) => RESERVED_WORDS.some((word) => word === name || word === stem || name.startsWith(`${word}-`));

/** Error in the name of a site; empty if the name is valid. @param {string} name */
export function siteNameProblem(name) {
  const fits = name.length >= NAME_MIN && name.length <= NAME_MAX && /^[a-z0-9-]+$/.test(name) && !/^-|-$|--/.test(name);
  if (!fits) return `Use ${NAME_MIN} to ${NAME_MAX} characters: a-z, 0-9 and -, without - at an end or --.`;
  const stem = name.replace(/[0-9]+$/, '');
  return RESERVED.includes(stem) || isWord(name, stem) ? `“${name}” is reserved, like www, admin, mail and login. Choose another.` : '';
}

/** Stands for the two words and the number that are drawn where nobody chose a name. */
const DRAWN = 'brave-otter-123';

/**
 * The name of a site that is wished for, as `src/manager/apps/site_words.rs` has it; `isDrawn` where a part of it is only an example.
 * @param {string} called @param {string} address what it is called where nobody calls it anything
 */
export function nameFrom(called, address) {
  const name = called.toLowerCase().replace(/[^a-z0-9]+/g, '-').replace(/^-/, '').slice(0, NAME_MAX).replace(/-$/, '');
  if (called === address || name === '') return { name: DRAWN, isDrawn: true };
  const longer = siteNameProblem(`${name}-${DRAWN}`) === '' ? `${name}-${DRAWN}` : DRAWN;
  return siteNameProblem(name) === '' ? { name, isDrawn: false } : { name: longer, isDrawn: true };
}

/**
 * Common end of the site addresses behind a server. `isSeen` is false if it is only a guess.
 * @param {string} server its URL @param {App[]} apps @param {Partial<Version>} version
 * @returns {{scheme: string, end: string, isSeen: boolean, isHere: boolean}|null}
 */
export function endOfSites(server, apps, version) {
  const origin = originOf(server || version.server);
  if (!origin) return null;
  const isHere = version.embedded === true && origin === originOf(version.server);
  for (const { connection } of apps) {
    const link = originOf(connection?.server) === origin ? siteLink(connection?.site_url) : null;
    const seen = link?.href && /^(https?:)\/\/[^./]+\.([^/]*[a-z][^/]*)/.exec(link.href);
    if (seen) return { scheme: seen[1], end: seen[2], isSeen: true, isHere };
  }
  const { protocol, port, host, hostname } = new URL(origin);
  // Behind a number there are no names: the server has to tell.
  if (!isHere && /^\[|^[0-9.]+$/.test(hostname)) return { scheme: '', end: host, isSeen: false, isHere };
  return isHere ? { scheme: 'http:', end: `localhost${port && `:${port}`}`, isSeen: true, isHere } : { scheme: protocol, end: host, isSeen: false, isHere };
}

/**
 * True if an application is shared on this computer only. Without an address, the built-in relay decides.
 * @param {Partial<App>} app @param {Partial<Version>} version
 */
export function isSharedHere({ server, connection, conn_status: status = 'idle' }, version) {
  // A live connection counts by what it has, not by what was saved since.
  const live = ['connecting', 'connected'].includes(status) ? connection : undefined;
  if (live?.site_url) return isLoopback(live.site_url);
  if (version.embedded !== true) return false;
  return live?.server ? hostOf(live.server) === hostOf(version.server) : !server;
}

function originOf(text) {
  return hostOf(text) === '' ? '' : new URL(String(text)).origin;
}

/** Fields that decide the name of a site. */
const NAMING = ['name', 'site_name', 'display_name', 'protocol', 'ip', 'port', 'server'];

/**
 * The address that the form's values lead to, and a sentence about it. `app`, as it was saved, keeps the one it has while nothing of
 * that has changed.
 * @param {{name: string, site_name?: string, display_name?: string, protocol: string, ip: string, port: number|string}} values
 * @param {ReturnType<typeof endOfSites>} ends @param {App|null} [app]
 * @returns {{address: string, text: string}}
 */
export function siteOf(values, ends, app = null) {
  const current = app?.connection?.site_url;
  const isSame = (/** @type {string} */ name) => String(values[name] ?? '') === String(app?.[name] ?? '');
  if (current && NAMING.every(isSame)) return { address: current, text: 'as it is now' };
  if (!ends) return { address: '', text: 'Add a server to share this.' };
  const { visited } = protocolNamed(values.protocol);
  const host = ends.end.replace(/:[0-9]+$/, '');
  if (visited === 'client') return { address: '', text: ends.isHere ? 'It gets a port of its own on this computer.' : `It gets a public port at ${host}.` };
  const { protocol, ip, port } = values;
  const address = `${protocol} ${addressOf({ ip: ip || '127.0.0.1', port: Number(port) })}`;
  const { name, isDrawn } = values.site_name ? { name: values.site_name, isDrawn: false } : nameFrom(values.display_name || values.name || address, address);
  if (!ends.scheme) return { address: '', text: isDrawn ? `It gets a name of two words, such as “${name}”; enter a name to choose your own.` : `It will be called “${name}”; the whole address is known once it is connected.` };
  const text = isDrawn ? 'for example; enter a name to choose your own' : ends.isSeen ? 'where that name is free' : 'or as the server decides';
  return { address: `${ends.scheme}//${name}.${ends.end}/`, text };
}
