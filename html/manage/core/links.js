// Which addresses from a server may be shown, and which may become links.

/** Schemes that are shown. */
const SHOWN = ['http:', 'https:', 'tcp:'];
/** Schemes that become links. */
const FOLLOWED = ['http:', 'https:'];
/** Longest URL shown, in characters; no site's is longer. */
const MAX_LENGTH = 2048;
// Control characters and bidirectional marks: an address must read as what it is.
const DECEPTIVE = /[\u0000-\u0020\u007f-\u009f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]/;

/**
 * Checks an address from a server; null when it must not be shown.
 * @param {unknown} text
 * @returns {{text: string, href: string|null, host: string}|null} `href` is null where it must not become a link
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
  return { text, href: FOLLOWED.includes(url.protocol) ? url.href : null, host: url.hostname };
}

/** Whether browsers resolve the name by themselves, unlike other programs. @param {string} host */
export function isLocalhostName(host) {
  return host.endsWith('.localhost');
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
