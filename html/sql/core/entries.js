// Facts about databases and tables from their names and figures alone. No DOM.

/** Databases of the server's own. */
const SYSTEM = new Set(['information_schema', 'mysql', 'performance_schema', 'sys']);
/** Engines that count their rows; others guess. */
const EXACT = /^(?:MyISAM|Aria|MEMORY|ARCHIVE|CSV|MRG_MyISAM)$/i;

/** True if a database is the server's own. @param {string} name */
export const isSystem = (name) => SYSTEM.has(name.toLowerCase());

/** Own databases before the server's, each in the server's order. @param {string[]} names */
export const ownFirst = (names) => [...names.filter((name) => !isSystem(name)), ...names.filter(isSystem)];

/** Number of rows, with `≈` if the engine only estimates it; empty if unknown. @param {{engine?: string|null, rows_estimate?: number|null, kind?: string}} entry @param {(count: number) => string} [write] */
export function rowsText({ engine, rows_estimate: rows, kind }, write = (count) => count.toLocaleString('en')) {
  if (typeof rows !== 'number' || (kind ?? 'table') !== 'table') return '';
  return `${EXACT.test(engine ?? '') ? '' : '≈ '}${write(rows)}`;
}

/** Seconds as `5 s`, `3 min 2 s`, `2 h 5 min`, `3 d 4 h`. @param {number} seconds */
export function lasting(seconds) {
  const [d, hours, min, s] = [Math.floor(seconds / 86_400), Math.floor(seconds / 3600) % 24, Math.floor(seconds / 60) % 60, Math.floor(seconds) % 60];
  if (d) return `${d} d ${hours} h`;
  if (hours) return `${hours} h ${min} min`;
  return min ? `${min} min ${s} s` : `${s} s`;
}

/**
 * Number of entries found in a list, and of all; a list that is still loading says so.
 * @param {{found: number, all: number, awaited?: number, drawn: number, unit: string}} list `all`: that have come; `drawn`: at most
 */
export function listedText({ found, all, awaited = 0, drawn, unit }) {
  const number = (count) => count.toLocaleString('en');
  const whole = all + awaited;
  const come = awaited ? `${number(all)} of ${number(whole)}` : number(all);
  const units = `${unit}${whole === 1 ? '' : 's'}${awaited ? ' so far' : ''}`;
  const cut = found > drawn ? `; the first ${number(drawn)} are shown, search to find others` : '';
  return `${found === all ? come : `${number(found)} of ${number(all)}`} ${units}${cut}`;
}
