// Statements that destroy data, for the confirmation before they run.
import { tokens } from './lexer.js';

/** Every dangerous statement has one of these words somewhere; the lexer then decides. */
const PERHAPS = /\b(?:drop|truncate|delete|update|replace|exchange|discard|blackhole|ignore)\b/i;
/** Words that may stand before a statement that is executed. */
const WRAPPERS = new Set(['WITH', 'ANALYZE', 'EXPLAIN']);
/** Objects that are dropped without any data. */
const BARE = new Set(['INDEX', 'PREPARE']);
/** Parts of a table that are dropped without any data; other words after DROP name a column. */
const PARTS = new Set(['INDEX', 'KEY', 'PRIMARY', 'FOREIGN', 'CHECK', 'CONSTRAINT', 'DEFAULT']);
/** Objects with data that CREATE OR REPLACE drops first. */
const REPLACED = new Set(['TABLE', 'DATABASE', 'SCHEMA', 'SEQUENCE']);

/** @typedef {{statement: string, reason: string}} Danger */

/**
 * @param {string} sql one statement
 * @returns {Danger|null}
 */
export function dangerOf(sql) {
  if (!PERHAPS.test(sql)) return null;
  return ofWords(topLevelWords(sql));
}

/** @param {string[]} words @returns {Danger|null} */
function ofWords(words) {
  const [first, second] = words;
  if (first === 'SET' && second === 'STATEMENT') return ofWords(words.slice(words.indexOf('FOR') + 1 || words.length));
  if (first === 'DROP') return BARE.has(second) ? null : { statement: `DROP ${second ?? ''}`.trim(), reason: 'It removes the object with everything in it.' };
  if (first === 'TRUNCATE') return { statement: 'TRUNCATE', reason: 'It removes every row and cannot be rolled back.' };
  if (first === 'ALTER') return ofAlter(words);
  if (first === 'CREATE' && second === 'OR') return ofReplace(words.slice(3).filter((word) => word !== 'TEMPORARY'));
  if (words.includes('WHERE') || (first === 'EXPLAIN' && second !== 'ANALYZE')) return null;
  const verb = WRAPPERS.has(first) ? words.find((word) => word === 'DELETE' || word === 'UPDATE') : first;
  if (verb === 'DELETE') return { statement: 'DELETE without WHERE', reason: 'It removes every row of the table.' };
  if (verb === 'UPDATE') return { statement: 'UPDATE without WHERE', reason: 'It changes every row of the table.' };
  return null;
}

/** @param {string[]} words after CREATE OR REPLACE @returns {Danger|null} */
function ofReplace([kind]) {
  return REPLACED.has(kind) ? { statement: `CREATE OR REPLACE ${kind}`, reason: `It drops a ${kind.toLowerCase()} of that name with everything in it.` } : null;
}

/** @param {string[]} words of an ALTER @returns {Danger|null} */
function ofAlter(words) {
  const kind = words.find((word) => word === 'TABLE' || word === 'TABLESPACE');
  const is = (word, at, ...next) => words[at] === word && next.includes(words[at + 1]);
  const found = (word, ...next) => words.some((_, at) => is(word, at, ...next));
  if (kind === 'TABLESPACE') return found('DROP', 'DATAFILE') ? { statement: 'ALTER TABLESPACE … DROP DATAFILE', reason: 'It removes the file with everything in it.' } : null;
  if (kind !== 'TABLE') return null;
  if (found('DROP', 'PARTITION')) return { statement: 'ALTER TABLE … DROP PARTITION', reason: 'It removes the partitions with every row in them.' };
  if (found('TRUNCATE', 'PARTITION')) return { statement: 'ALTER TABLE … TRUNCATE PARTITION', reason: 'It removes every row of the partitions and cannot be rolled back.' };
  if (found('EXCHANGE', 'PARTITION')) return { statement: 'ALTER TABLE … EXCHANGE PARTITION', reason: 'It swaps the rows of the partition with those of the other table.' };
  if (found('DISCARD', 'TABLESPACE', 'PARTITION')) return { statement: 'ALTER TABLE … DISCARD TABLESPACE', reason: 'It removes the file with every row in it.' };
  if (found('DROP', 'SYSTEM')) return { statement: 'ALTER TABLE … DROP SYSTEM VERSIONING', reason: 'It removes all old versions of the rows.' };
  if (words.some((word, at) => word === 'DROP' && !PARTS.has(words[at + 1]) && !is('PERIOD', at + 1, 'FOR'))) return { statement: 'ALTER TABLE … DROP COLUMN', reason: 'It removes the column with its value in every row, and cannot be rolled back.' };
  if (found('ENGINE', 'BLACKHOLE')) return { statement: 'ALTER TABLE … ENGINE = BLACKHOLE', reason: 'That engine keeps no rows.' };
  if (is('ALTER', 0, 'IGNORE') || is('ONLINE', 1, 'IGNORE')) return { statement: 'ALTER IGNORE TABLE', reason: 'It removes duplicates under a unique key, and truncates values that do not fit.' };
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
