// The page's own check in read-only mode: by its first word, each statement must be a query. It stops a write before it
// is sent; the server's gate (src/sqlweb/gate) judges what passes here, and the database session does after it. No DOM.
import { Lexer } from './lexer.js';

/** The first words that the server's gate takes. INSERT, UPDATE, DELETE, DROP, ALTER, CREATE, TRUNCATE, RENAME, REPLACE, GRANT and REVOKE are not among them. */
const QUERY = /^(?:SELECT|WITH|VALUES|TABLE|SHOW|DESC|DESCRIBE|EXPLAIN|ANALYZE|USE|HELP)$/i;
/** First words of statements that do more than read. Anything else is no statement at all, such as a word with a slip in it. */
const OTHER = new Set(('INSERT UPDATE DELETE DROP ALTER CREATE TRUNCATE RENAME REPLACE GRANT REVOKE SET CALL DO LOAD LOCK UNLOCK START BEGIN COMMIT ROLLBACK '
  + 'SAVEPOINT RELEASE KILL FLUSH RESET PREPARE EXECUTE DEALLOCATE HANDLER IMPORT INSTALL UNINSTALL OPTIMIZE REPAIR CHECK CHECKSUM CACHE CHANGE PURGE STOP '
  + 'SHUTDOWN RESTART XA SIGNAL RESIGNAL GET BINLOG CLONE DECLARE BACKUP IF WHILE LOOP REPEAT FOR CASE RETURN').split(' '));
/** Characters of a statement that a refusal names at most: what is not closed runs to the end. */
const MAX_NAME = 40;

/**
 * Reason for which the page does not send this in read-only mode; null if every statement in it begins as a query does.
 * @param {string} sql
 * @returns {string|null}
 */
export function readOnlyRefusal(sql) {
  const word = firstOther(sql);
  if (word && /^\w+$/.test(word) && !OTHER.has(word.toUpperCase())) return unknown(word.slice(0, MAX_NAME));
  return word && `read-only mode: ${word.slice(0, MAX_NAME).toUpperCase()} refused by the page, nothing was sent: only SELECT, WITH, VALUES, TABLE, SHOW, DESCRIBE, EXPLAIN, USE and HELP may run`;
}

const MAY_RUN = 'read-only mode takes SELECT, WITH, VALUES, TABLE, SHOW, DESCRIBE, EXPLAIN, USE and HELP';

/** A slip of the finger is no write. */
function unknown(word) {
  const upper = word.toUpperCase();
  const meant = ['SELECT', 'WITH', 'VALUES', 'TABLE', 'SHOW', 'DESCRIBE', 'EXPLAIN', 'USE', 'HELP'].find((known) => near(upper, known));
  return `${upper} does not start a known statement, nothing was sent${meant ? `: did you mean ${meant}?` : ''} (${MAY_RUN})`;
}

/** True if two words differ by at most two changed, missing or added letters, or a pair in the wrong order. */
function near(a, b) {
  if (Math.abs(a.length - b.length) > 2 || b.length < 4) return a === b;
  let row = Array.from({ length: b.length + 1 }, (_, i) => i);
  for (let i = 1; i <= a.length; i += 1) {
    const next = [i];
    for (let j = 1; j <= b.length; j += 1) next[j] = Math.min(row[j] + 1, next[j - 1] + 1, row[j - 1] + (a[i - 1] === b[j - 1] ? 0 : 1));
    row = next;
  }
  return row[b.length] <= 2;
}

/** First word of the first statement that is no query, behind parentheses. */
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
