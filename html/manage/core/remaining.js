// Remaining time of a share. No DOM.
import { rfc3339 } from '../../common/times.js';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** A length of time in its two greatest units: `45 s`, `52 min`, `1 h 5 min`, `3 d 4 h`. @param {number} ms */
export function lengthText(ms) {
  const left = Math.max(0, ms);
  if (left < MINUTE) return `${Math.ceil(left / 1000)} s`;
  if (left < HOUR) return `${Math.floor(left / MINUTE)} min`;
  const [unit, small, names] = left < DAY ? [HOUR, MINUTE, ['h', 'min']] : [DAY, HOUR, ['d', 'h']];
  const rest = Math.floor((left % unit) / small);
  return `${Math.floor(left / unit)} ${names[0]}${rest ? ` ${rest} ${names[1]}` : ''}`;
}

/** Time since a moment, `2 min ago`; empty if `time` is no time. @param {string|null|undefined} time RFC 3339 @param {number} now in ms */
export function agoText(time, now) {
  const at = Date.parse(time ?? '');
  if (Number.isNaN(at)) return '';
  return now - at < 5000 ? 'just now' : `${lengthText(now - at)} ago`;
}

/**
 * End of an application: the active one while it is shared, else the saved one. Null if it has no end.
 * @param {App} app @param {number} now in ms
 * @returns {{at: number, isLive: boolean, isOver: boolean}|null}
 */
export function endOf(app, now) {
  const exposed = app.connection?.exposed;
  const at = Date.parse((exposed ? exposed.expires : app.expires) ?? '');
  if (Number.isNaN(at)) return null;
  // The server counts by a clock that nobody moves, too.
  return { at, isLive: Boolean(exposed), isOver: at <= now || (!exposed && app.connection?.error_class === 'expired') };
}

/** True if an application has expired and can be extended. @param {App} app @param {number} now in ms */
export function isExpired(app, now) {
  const end = endOf(app, now);
  return end !== null && end.isOver && !end.isLive;
}

/** The end of an application in words; empty where it has none. @param {App} app @param {number} now in ms @param {boolean} [short] for a narrow column */
export function endText(app, now, short = false) {
  const end = endOf(app, now);
  if (!end) return '';
  if (!end.isOver) return short ? lengthText(end.at - now) : `Ends in ${lengthText(end.at - now)}`;
  if (end.isLive) return short ? 'ending' : 'Ending now';
  return short ? 'expired' : end.at <= now ? `Expired ${agoText(new Date(end.at).toISOString(), now)}` : 'Expired';
}

/** The end moved by `ms`, counted from now where it is over. @param {App} app @param {number} ms @param {number} now in ms */
export function extendedBy(app, ms, now) {
  const end = endOf(app, now);
  return rfc3339(Math.max(end?.at ?? now, now) + ms);
}
