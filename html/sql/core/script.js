// Splitting of large scripts in slices, so that the page stays responsive.
import { splitScript } from './lexer.js';

/** The first slice, in characters: splitting it takes a few milliseconds. */
const SLICE = 256 * 1024;

/**
 * Yields the statements of `text` in batches; a slice that ends inside a statement is continued from its start.
 * @param {string} text
 * @returns {Generator<{start: number, end: number, sql: string}[]>}
 */
export function* scriptBatches(text) {
  let at = 0;
  let size = SLICE;
  let delimiter = ';';
  while (at < text.length) {
    const last = at + size >= text.length;
    const prefix = delimiter === ';' ? '' : `DELIMITER ${delimiter}\n`;
    const found = splitScript(prefix + text.slice(at, at + size));
    if (!last && found.length < 2) {
      size *= 2;
      continue;
    }
    const whole = last ? found : found.slice(0, -1);
    const shift = at - prefix.length;
    yield whole.map(({ start, end, sql }) => ({ start: start + shift, end: end + shift, sql }));
    if (last) return;
    const next = found.at(-1);
    delimiter = next.delimiter ?? delimiter;
    at = next.start + shift;
    size = SLICE;
  }
}
