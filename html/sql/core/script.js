// All statements of a large script, in slices, so that the page stays responsive.
import { statements } from './lexer.js';

/** Work between two pauses, in ms: a quarter of what is felt as a stall. */
const SLICE_MS = 12;

/** Lets the page paint and take keys. */
export function pause() {
  return new Promise((resume) => { setTimeout(resume, 0); });
}

/**
 * @param {string} text
 * @returns {Promise<{start: number, end: number, sql: string}[]>}
 */
export async function scriptStatements(text) {
  const found = [];
  let until = performance.now() + SLICE_MS;
  for (const statement of statements(text)) {
    found.push(statement);
    if (performance.now() < until) continue;
    await pause();
    until = performance.now() + SLICE_MS;
  }
  return found;
}
