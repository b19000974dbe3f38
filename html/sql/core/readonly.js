// The page's own check in read-only mode: by its first word, each statement must be a query. It stops a write before it
// is sent; the server's gate (src/sqlweb/gate) judges what passes here, and the database session does after it. No DOM.
import { Lexer } from './lexer.js';

/** The first words that the server's gate takes. INSERT, UPDATE, DELETE, DROP, ALTER, CREATE, TRUNCATE, RENAME, REPLACE, GRANT and REVOKE are not among them. */
const QUERY = /^(?:SELECT|WITH|VALUES|TABLE|SHOW|DESC|DESCRIBE|EXPLAIN|ANALYZE|USE|HELP)$/i;
/** Characters of a statement that a refusal names at most: what is not closed runs to the end. */
const MAX_NAME = 40;

/**
 * Why the page does not send this in read-only mode; null where every statement in it begins as a query does.
 * @param {string} sql
 * @returns {string|null}
 */
export function readOnlyRefusal(sql) {
  const word = firstOther(sql);
  return word && `read-only mode: ${word.slice(0, MAX_NAME).toUpperCase()} refused by the page, nothing was sent: only SELECT, WITH, VALUES, TABLE, SHOW, DESCRIBE, EXPLAIN, USE and HELP may run`;
}

/** What the first statement that is no query begins with, behind parentheses. */
function firstOther(sql) {
  const lexer = new Lexer(sql);
  let begins = true;
  for (let token = lexer.next(); token; token = lexer.next()) {
    if (token.kind === 'semicolon') begins = true;
    else if (begins && token.kind !== 'open') {
      const text = sql.slice(token.start, token.end);
      if (token.kind !== 'word' || !QUERY.test(text)) return text;
      begins = false;
    }
  }
  return null;
}
