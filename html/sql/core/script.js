// All statements of a large script, in slices, so that the page stays responsive.
import { statements } from './lexer.js';
import { Slicer } from './slices.js';

/**
 * @param {string} text
 * @returns {Promise<{start: number, end: number, sql: string}[]>}
 */
export async function scriptStatements(text) {
  const found = [];
  const slicer = new Slicer();
  for (const statement of statements(text)) {
    found.push(statement);
    if (slicer.due) await slicer.rest();
  }
  return found;
}
