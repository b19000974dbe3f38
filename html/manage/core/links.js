// Addresses from a server: those that may be shown, those that may become links, and the one given to others.

/** Schemes that are shown. */
const SHOWN = ['http:', 'https:', 'tcp:'];
/** Schemes that become links. */
const FOLLOWED = ['http:', 'https:'];
/** Longest URL shown, in characters; no site's is longer. */
const MAX_LENGTH = 2048;
// Control characters and bidirectional marks: an address must read as what it is.
const DECEPTIVE = /[\u0000-\u0020\u007f-\u009f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]/;
/** A user name that a shell takes as it is, and that is no flag. */
const PLAIN_USER = /^[A-Za-z0-9_][A-Za-z0-9._-]{0,63}$/;

/** A host that a shell takes as it is, and that is no flag: of schemes it does not know, a URL's may be anything. */
const PLAIN_HOST = /^(?:[A-Za-z0-9][A-Za-z0-9._-]*|\[[0-9A-Fa-f:.]+\])$/;

/** @typedef {{text: string, href: string|null, host: string, url: URL}} Link `href` is null where it must not become a link */

/**
 * Checks an address from a server; null when it must not be shown.
 * @param {unknown} text
 * @returns {Link|null}
 */
export function siteLink(text) {
  if (typeof text !== 'string' || text === '' || text.length > MAX_LENGTH || DECEPTIVE.test(text)) return null;
  let url;
  try {
    url = new URL(text);
  } catch {
    return null;
  }
  if (!SHOWN.includes(url.protocol) || url.host === '' || url.username || url.password) return null;
  return { text, href: FOLLOWED.includes(url.protocol) ? url.href : null, host: url.hostname, url };
}

/**
 * An address as people write it: without `http://` and a default port; of a shell the command, of a port `host:port`.
 * @param {Link} link @param {App} app
 */
export function addressText({ url, href }, app) {
  const { host, hostname, port, pathname, search, protocol } = url;
  if (href) return `${protocol === 'https:' ? 'https://' : ''}${host}${pathname === '/' && search === '' ? '' : pathname + search}`;
  const kind = app.connection?.exposed?.protocol ?? app.protocol;
  if (!PLAIN_HOST.test(hostname)) return host;
  if (kind === 'ssh') return `ssh ${port && port !== '22' ? `-p ${port} ` : ''}${PLAIN_USER.test(app.username ?? '') ? `${app.username}@` : ''}${bare(hostname)}`;
  if (kind === 'telnet') return `telnet ${bare(hostname)} ${port}`;
  return host;
}

/** A host without the brackets that are a URL's. */
function bare(hostname) {
  return hostname.replace(/^\[(.*)\]$/, '$1');
}

/** The sign-in of a relay, and of this end in its place: it leads on to a path of the site. */
const OWN_SIGN_IN = '/.postern/auth?';

/** An address of the site, so that it opens the path that was chosen for it. @param {unknown} url @param {App} app */
function opened(url, app) {
  const path = app.connection?.exposed?.path;
  if (!path || typeof url !== 'string' || !/^https?:/.test(url)) return url;
  if (url.includes(OWN_SIGN_IN)) return `${url}&next=${encodeURIComponent(path)}`;
  return url === app.connection?.site_url ? url.replace(/\/$/, '') + path : url;
}

/**
 * The addresses of a connection; null where it has none that may be shown.
 * `shared` is what is given to others: the link with the code where one is asked for. `own` is what the owner opens.
 * @param {App} app
 * @returns {{site: Link, shown: string, shared: string, hasCode: boolean, own: string|null}|null}
 */
export function addressesOf(app) {
  const site = siteLink(opened(app.connection?.site_url, app));
  if (!site) return null;
  const auth = siteLink(opened(app.connection?.auth_url, app));
  const shown = addressText(site, app);
  return { site, shown, shared: auth?.href ? auth.text : site.href ? site.text : shown, hasCode: Boolean(auth?.href), own: auth?.href ?? site.href };
}

/**
 * Link to open after an application has connected: the site, or its sign-in page if that is on the same origin.
 * @param {App} app @returns {Link|null}
 */
export function openedLink(app) {
  const site = siteLink(opened(app.connection?.site_url, app));
  const auth = siteLink(opened(app.connection?.auth_url, app));
  return site && auth && auth.url.origin === site.url.origin ? auth : site;
}

/** True if browsers resolve the name without DNS; other programs do not. @param {string} host */
export function isLocalhostName(host) {
  return host.endsWith('.localhost');
}

/** True if an address leads to the computer that opens it: `localhost`, names below it, 127.0.0.0/8, ::1. @param {unknown} text */
export function isLoopback(text) {
  try {
    return /^(.*\.)?localhost\.?$|^127\.[0-9.]+$|^\[::1\]$/.test(new URL(String(text)).hostname);
  } catch {
    return false;
  }
}

/** The host of a server's URL for people; empty where it is no web address. @param {unknown} text */
export function hostOf(text) {
  try {
    const url = new URL(String(text));
    return FOLLOWED.includes(url.protocol) ? url.host : '';
  } catch {
    return '';
  }
}
