// Matches of a search: words to mark in them, and the object that each stands for. No DOM.

/**
 * @typedef {{kind: 'database'|'table'|'view'|'column'|'routine'|'trigger'|'event', db: string, table: string|null, name: string, type: string|null, comment: string|null}} Match
 */

/** Words of a search, as the server reads them. @param {string} text */
export const wordsOf = (text) => text.toLowerCase().split(/[\s.`]+/).filter(Boolean);

/**
 * A text in parts, of which some match a word.
 * @param {string} text @param {string[]} words
 * @returns {{text: string, hit: boolean}[]}
 */
export function hits(text, words) {
  const folded = text.toLowerCase();
  const found = new Uint8Array(text.length);
  // Places in both texts differ if letters become longer in lower case.
  for (const word of folded.length === text.length ? words : []) {
    for (let at = folded.indexOf(word); at >= 0; at = folded.indexOf(word, at + 1)) found.fill(1, at, at + word.length);
  }
  const parts = [];
  for (let from = 0, to = 0; from < text.length; from = to) {
    while (to < text.length && found[to] === found[from]) to += 1;
    parts.push({ text: text.slice(from, to), hit: found[from] === 1 });
  }
  return parts;
}

/** Object whose pane shows a match; a column is shown in its table's. @param {Match} match @returns {{kind: any, db: string, name: string, on?: string}} */
export function objectOf({ kind, db, table, name, type }) {
  switch (kind) {
    case 'column': return { kind: 'table', db, name: table ?? '' };
    case 'trigger': return { kind, db, name, on: table ?? '' };
    case 'routine': return { kind: (type ?? 'procedure').toLowerCase(), db, name };
    case 'table': return { kind: type === 'SEQUENCE' ? 'sequence' : kind, db, name };
    default: return { kind, db, name };
  }
}

/** Table or view whose rows a match leads to; empty for a routine, an event and the like. @param {Match} match */
export function rowsOf({ kind, table, name, type }) {
  if (kind === 'column') return table ?? '';
  return kind === 'view' || (kind === 'table' && type !== 'SEQUENCE') ? name : '';
}

/** Place of a match: its database, or its table with that. @param {Match} match */
export function placeOf({ kind, db, table }) {
  if (kind === 'database') return '';
  return table === null ? db : `${db}.${table}`;
}

/** Word for what a match is. @param {Match} match */
export function kindText({ kind, type }) {
  if (kind === 'routine') return (type ?? kind).toLowerCase();
  return kind === 'table' && type === 'SEQUENCE' ? 'sequence' : kind;
}

/** Further facts that a line shows: the type of a column, the moment of a trigger. @param {Match} match */
export function factOf({ kind, type }) {
  return kind === 'column' || kind === 'trigger' || kind === 'event' ? (type ?? '') : '';
}

/** Time since something, in words. @param {number} ms */
export function agoText(ms) {
  const minutes = Math.floor(ms / 60_000);
  if (!(minutes > 0)) return 'just now';
  const [count, unit] = minutes < 120 ? [minutes, 'minute'] : [Math.floor(minutes / 60), 'hour'];
  return `${count} ${unit}${count === 1 ? '' : 's'} ago`;
}
