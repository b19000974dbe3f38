// Moments as the API and as fields have them. No DOM.

/** The latest time that a date can hold, in ms since the epoch. */
const LATEST = 8.64e15;

/** RFC 3339 in UTC, in whole seconds. @param {number} ms since the epoch */
export function rfc3339(ms) {
  return new Date(Math.min(ms, LATEST)).toISOString().replace(/\.\d+Z$/, 'Z');
}

/** The text of a `datetime-local` field, in the time zone of this computer. @param {number} ms since the epoch */
export function localText(ms) {
  return new Date(ms - new Date(ms).getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
}
