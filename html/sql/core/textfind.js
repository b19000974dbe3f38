// Finding and replacing in a text. DOM-free.

/** Matches that are kept at most. */
export const MAX_FOUND = 20_000;

/** @typedef {{text: string, matchCase: boolean, word: boolean, regex: boolean}} Wanted */
/** @typedef {{start: number, end: number}} Found */

/** Search text as an expression; throws if the person's own is not valid. @param {Wanted} wanted @returns {RegExp} */
export function expressionOf({ text, matchCase, word, regex }) {
  const source = regex ? text : text.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&');
  const whole = word ? `(?<![\\p{L}\\p{N}_$])(?:${source})(?![\\p{L}\\p{N}_$])` : source;
  return new RegExp(whole, matchCase ? 'gmu' : 'gmiu');
}

/** All places of what is looked for; an empty match is none. @param {string} text @param {RegExp} expression @returns {Found[]} */
export function findAll(text, expression) {
  const found = [];
  for (const match of text.matchAll(expression)) {
    if (match[0] === '') continue;
    found.push({ start: match.index, end: match.index + match[0].length });
    if (found.length >= MAX_FOUND) break;
  }
  return found;
}

/** Replacement of one match: as it is typed, or with $1 and $& of a person's own expression. @param {string} text @param {Found} at @param {RegExp} expression @param {string} by @param {boolean} regex */
export function replacementOf(text, { start, end }, expression, by, regex) {
  if (!regex) return by;
  const alone = new RegExp(expression.source, expression.flags.replace('g', 'y'));
  alone.lastIndex = start;
  const match = alone.exec(text);
  if (!match || match[0].length !== end - start) return by;
  return by.replace(/\$(?:(\$)|(&)|(\d{1,2})|<([^>]*)>)/g, (whole, dollar, all, number, name) => {
    if (dollar) return '$';
    if (all) return match[0];
    if (number !== undefined) return match[Number(number)] ?? (Number(number) < match.length && Number(number) > 0 ? '' : whole);
    return match.groups?.[name] ?? whole;
  });
}

/**
 * One change that replaces every match.
 * @param {string} text @param {RegExp} expression @param {string} by @param {boolean} regex
 * @returns {{start: number, end: number, text: string, count: number}|null} null where nothing matches
 */
export function replaceAll(text, expression, by, regex) {
  const found = [];
  for (const match of text.matchAll(expression)) if (match[0] !== '') found.push({ start: match.index, end: match.index + match[0].length });
  if (!found.length) return null;
  const start = found[0].start;
  const pieces = [];
  let at = start;
  for (const one of found) {
    pieces.push(text.slice(at, one.start), replacementOf(text, one, expression, by, regex));
    at = one.end;
  }
  return { start, end: at, text: pieces.join(''), count: found.length };
}
