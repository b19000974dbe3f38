// Statements that destroy data, for the confirmation before they run.
import { tokens } from './lexer.js';

/** Every dangerous statement has one of these words somewhere; the lexer then decides. */
const PERHAPS = /\b(?:drop|truncate|delete|update|replace)\b/i;
/** Words that may stand before a statement that is executed. */
const WRAPPERS = new Set(['WITH', 'ANALYZE', 'EXPLAIN']);

/**
 * @param {string} sql one statement
 * @returns {{statement: string, reason: string}|null}
 */
export function dangerOf(sql) {
  if (!PERHAPS.test(sql)) return null;
  const words = topLevelWords(sql);
  const [first, second] = words;
  if (first === 'DROP') return { statement: `DROP ${second ?? ''}`.trim(), reason: 'It removes what it names with everything in it.' };
  if (first === 'TRUNCATE') return { statement: 'TRUNCATE', reason: 'It removes every row and cannot be rolled back.' };
  if (first === 'CREATE' && second === 'OR' && words[3] === 'TABLE') return { statement: 'CREATE OR REPLACE TABLE', reason: 'It drops a table of that name with everything in it.' };
  if (words.includes('WHERE') || (first === 'EXPLAIN' && second !== 'ANALYZE')) return null;
  const inside = WRAPPERS.has(first) || (first === 'SET' && second === 'STATEMENT');
  const verb = inside ? words.find((word) => word === 'DELETE' || word === 'UPDATE') : first;
  if (verb === 'DELETE') return { statement: 'DELETE without WHERE', reason: 'It removes every row of the table.' };
  if (verb === 'UPDATE') return { statement: 'UPDATE without WHERE', reason: 'It changes every row of the table.' };
  return null;
}

/** The words outside of any parentheses, in upper case; those of a subquery do not protect the statement around it. */
function topLevelWords(sql) {
  const words = [];
  let depth = 0;
  for (const { type, start, end } of tokens(sql)) {
    const text = sql.slice(start, end);
    if (text === '(') depth += 1;
    else if (text === ')') depth -= 1;
    else if (depth === 0 && (type === 'keyword' || type === 'identifier')) words.push(text.toUpperCase());
  }
  return words;
}
