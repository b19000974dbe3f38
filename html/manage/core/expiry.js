// Choices for the end of a share. No DOM.
import { rfc3339 } from '../../common/times.js';

/** The choices, with their length in seconds. */
export const LENGTHS = [
  { value: '3600', label: 'for an hour' },
  { value: '28800', label: 'for 8 hours' },
  { value: '86400', label: 'for a day' },
  { value: '604800', label: 'for a week' },
];

/**
 * End of a share: RFC 3339, null for never, undefined if the field holds no time.
 * @param {string} choice `''` for ever, seconds, or `until` @param {string} until the text of the `datetime-local` field @param {number} now in ms
 */
export function expiryOf(choice, until, now) {
  if (choice === '') return null;
  if (choice !== 'until') return rfc3339(now + Number(choice) * 1000);
  const at = Date.parse(until);
  return Number.isNaN(at) ? undefined : rfc3339(at);
}

/** Distance of a point in time from now: `in 2 h 5 min`, `3 min ago`. @param {number} ms from now */
export function distance(ms) {
  const minutes = Math.max(1, Math.round(Math.abs(ms) / 60_000));
  const [days, hours] = [Math.floor(minutes / 1440), Math.floor(minutes / 60) % 24];
  const text = days > 0 ? `${days} d${hours ? ` ${hours} h` : ''}` : hours > 0 ? `${hours} h${minutes % 60 ? ` ${minutes % 60} min` : ''}` : `${minutes} min`;
  return ms < 0 ? `${text} ago` : `in ${text}`;
}
