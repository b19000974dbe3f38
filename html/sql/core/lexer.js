// Reads SQL as the database server does. No DOM: the editor colours with it,
// scripts are split with it, and the read-only check (readonly.js) uses it.
// The rules are those of src/sqlweb/gate/lexer.rs and split.rs; vectors in
// tests/data hold the two together.

/**
 * @typedef {'word'|'name'|'quoted'|'text'|'number'|'variable'|'open'|'close'|'comma'|'dot'|'semicolon'
 *   |'delimiter'|'executable'|'executable-end'|'colon'|'operator'|'comment'} Kind
 * @typedef {{kind: Kind, start: number, end: number}} RawToken
 * @typedef {'keyword'|'identifier'|'string'|'number'|'comment'|'operator'|'variable'|'punct'} TokenType
 * @typedef {{type: TokenType, start: number, end: number}} Token
 * @typedef {{start: number, end: number, sql: string, delimiter: string}} Statement
 * @typedef {{at: number, delimiter: string}} Resume a place between two statements
 */

const KEYWORDS = new Set((
  'ADD ALL ALTER ANALYZE AND ANY AS ASC BEGIN BETWEEN BOTH BY CALL CASCADE CASE CHANGE CHARACTER CHECK COLLATE COLUMN '
  + 'COLUMNS COMMIT CONSTRAINT CREATE CROSS CURRENT_DATE CURRENT_TIME CURRENT_TIMESTAMP CURRENT_USER DATABASE DATABASES '
  + 'DECLARE DEFAULT DELETE DELIMITER DESC DESCRIBE DISTINCT DISTINCTROW DIV DO DROP DUAL ELSE ELSEIF END ENGINE ESCAPE '
  + 'EVENT EXCEPT EXECUTE EXISTS EXPLAIN FALSE FETCH FLUSH FOR FORCE FOREIGN FROM FULL FULLTEXT FUNCTION GLOBAL GRANT '
  + 'GROUP HANDLER HAVING HELP HIGH_PRIORITY IF IGNORE IN INDEX INNER INSERT INTERSECT INTERVAL INTO IS ITERATE JOIN KEY '
  + 'KEYS KILL LATERAL LEADING LEAVE LEFT LIKE LIMIT LOAD LOCK LOOP MATCH MOD NATURAL NOT NULL OFFSET ON OPTIMIZE OR '
  + 'ORDER OUTER OUTFILE OVER PARTITION PREPARE PRIMARY PROCEDURE PURGE RECURSIVE REFERENCES REGEXP RELEASE RENAME '
  + 'REPEAT REPLACE RESTRICT RETURN RETURNING RETURNS REVOKE RIGHT RLIKE ROLLBACK ROLLUP ROW ROWS SAVEPOINT SELECT '
  + 'SEPARATOR SESSION SET SHOW SIGNAL SOME START STRAIGHT_JOIN TABLE TABLES TEMPORARY THEN TO TRAILING TRANSACTION '
  + 'TRIGGER TRUE TRUNCATE UNION UNIQUE UNLOCK UNSIGNED UPDATE USE USING VALUES VIEW WHEN WHERE WHILE WINDOW WITH WORK XOR '
  + 'BIGINT BINARY BIT BLOB BOOLEAN CHAR DATE DATETIME DECIMAL DOUBLE ENUM FLOAT INT INTEGER JSON LONGBLOB LONGTEXT '
  + 'MEDIUMBLOB MEDIUMINT MEDIUMTEXT NUMERIC REAL SMALLINT TEXT TIME TIMESTAMP TINYBLOB TINYINT TINYTEXT VARBINARY '
  + 'VARCHAR YEAR').split(' '));

const LONGEST_KEYWORD = 20;

/** @type {Partial<Record<Kind, TokenType>>} */
const TYPES = {
  name: 'identifier', quoted: 'identifier', text: 'string', number: 'number', variable: 'variable',
  comment: 'comment', operator: 'operator', colon: 'operator', executable: 'comment', 'executable-end': 'comment',
};

/**
 * Tokens for highlighting; space is left out, comments are not. What is not closed runs to the end.
 * @param {string} sql
 * @returns {Token[]}
 */
export function tokens(sql) {
  const out = [];
  const lexer = new Lexer(sql, { comments: true });
  for (let token = lexer.next(); token; token = lexer.next()) {
    out.push({ type: typeOf(token, sql), start: token.start, end: token.end });
  }
  return out;
}

/**
 * @param {RawToken} token
 * @param {string} sql
 * @returns {TokenType}
 */
function typeOf(token, sql) {
  if (token.kind === 'word') {
    const short = token.end - token.start <= LONGEST_KEYWORD;
    return short && KEYWORDS.has(sql.slice(token.start, token.end).toUpperCase()) ? 'keyword' : 'identifier';
  }
  return TYPES[token.kind] ?? 'punct';
}

/**
 * Splits a script into its statements. `DELIMITER` lines work as in the command-line client, and without
 * them a compound statement (`CREATE PROCEDURE … BEGIN …; END`) is one, as it is to the server.
 * @param {string} text
 * @returns {Statement[]}
 */
export function splitScript(text) {
  return [...statements(text)];
}

/**
 * The statements of a script, one at a time.
 * @param {string} text
 * @param {Resume} [from] where a statement may begin; it is moved on behind each that is given
 * @returns {Generator<Statement>}
 */
export function* statements(text, from = { at: 0, delimiter: ';' }) {
  const lexer = new Lexer(text);
  let { delimiter } = from;
  lexer.at = from.at;
  lexer.delimiter = delimiter === ';' ? '' : delimiter;
  for (;;) {
    const changed = lexer.takeDelimiterLine();
    if (changed !== null) {
      delimiter = changed || delimiter;
      lexer.delimiter = delimiter === ';' ? '' : delimiter;
      continue;
    }
    const first = lexer.next();
    if (!first) return;
    if (first.kind === 'semicolon' || first.kind === 'delimiter') continue;
    const statement = oneStatement(text, lexer, first, delimiter);
    from.at = lexer.at;
    from.delimiter = delimiter;
    yield statement;
  }
}

/**
 * @param {string} text
 * @param {Lexer} lexer
 * @param {RawToken} first
 * @param {string} delimiter
 * @returns {Statement}
 */
function oneStatement(text, lexer, first, delimiter) {
  const compound = new Compound(text);
  compound.take(first, lexer);
  let end = first.end;
  for (let token = lexer.next(); token; token = lexer.next()) {
    if (token.kind === 'delimiter') break;
    if (token.kind === 'semicolon' && delimiter === ';' && !compound.isOpen()) break;
    compound.take(token, lexer);
    end = token.end;
  }
  return { start: first.start, end, sql: text.slice(first.start, end), delimiter };
}

/**
 * The statement the caret is in or directly behind; else the next one, else the last.
 * @param {string} text
 * @param {number} caret
 * @returns {Statement|null}
 */
export function statementAt(text, caret) {
  return choose(statements(text), text, caret);
}

/**
 * As statementAt, of statements that begin no later than the one before the caret.
 * @param {Iterable<Statement>} list @param {string} text @param {number} caret
 * @returns {Statement|null}
 */
export function choose(list, text, caret) {
  /** @type {Statement|null} */
  let found = null;
  for (const statement of list) {
    if (found && statement.start > caret && touches(text, found, caret)) return found;
    found = statement;
    if (caret <= statement.end) return found;
  }
  return found;
}

/** Whether the caret stands on the line the statement ends on, behind it. */
function touches(text, statement, caret) {
  return !text.slice(statement.end, caret).includes('\n');
}

// Characters. A table is faster than a regular expression on each of 20 million.

const SPACE = 1;
const WORD = 2;
const DIGIT = 4;
const CLASSES = new Uint8Array(128);
for (const c of ' \t\n\r\v\f') CLASSES[c.charCodeAt(0)] = SPACE;
for (const c of 'abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_$') CLASSES[c.charCodeAt(0)] = WORD;
for (const c of '0123456789') CLASSES[c.charCodeAt(0)] = WORD | DIGIT;

const is = (code, mask) => (code < 128 ? (CLASSES[code] & mask) !== 0 : code >= 128 && (mask & WORD) !== 0);
const isDigit = (code) => is(code, DIGIT);
const isWord = (code) => is(code, WORD);
const isSpace = (code) => is(code, SPACE);
const isHex = (code) => isDigit(code) || (code >= 65 && code <= 70) || (code >= 97 && code <= 102);
const isBit = (code) => code === 48 || code === 49;
const isVariable = (code) => isWord(code) || code === 46;

const SINGLE = { '(': 'open', ')': 'close', ',': 'comma', ';': 'semicolon' };

/** The server's lexer, for an editor: what is not closed runs to the end, and a sign that means nothing is an operator. */
export class Lexer {
  /**
   * @param {string} sql
   * @param {{comments?: boolean}} [options] comments: give them as tokens; one that is not closed always is
   */
  constructor(sql, options = {}) {
    this.sql = sql;
    this.at = 0;
    this.comments = options.comments ?? false;
    this.delimiter = '';
    this.inExecutable = false;
    this.wordEnd = -1;
    this.dotEnd = -1;
  }

  /** The next token, or null. @returns {RawToken|null} */
  next() {
    for (;;) {
      while (isSpace(this.sql.charCodeAt(this.at))) this.at += 1;
      const start = this.at;
      if (start >= this.sql.length) return null;
      const closed = this.#skipComment();
      if (this.at === start) return this.#token(start);
      if (this.comments || !closed) return { kind: 'comment', start, end: this.at };
    }
  }

  /** The next token without taking it. @returns {RawToken|null} */
  peek() {
    const { at, inExecutable, wordEnd, dotEnd } = this;
    const token = this.next();
    Object.assign(this, { at, inExecutable, wordEnd, dotEnd });
    return token;
  }

  /**
   * Takes `DELIMITER x` where a statement could start, to the end of its line.
   * @returns {string|null} the new delimiter
   */
  takeDelimiterLine() {
    const token = this.peek();
    if (token?.kind !== 'word' || token.end - token.start !== 9) return null;
    if (this.sql.slice(token.start, token.end).toUpperCase() !== 'DELIMITER') return null;
    let end = this.sql.indexOf('\n', token.end);
    if (end < 0) end = this.sql.length;
    this.at = end;
    return this.sql.slice(token.end, end).trim().split(/\s/)[0];
  }

  #code(ahead) {
    return this.sql.charCodeAt(this.at + ahead);
  }

  #skipWhile(wanted) {
    while (this.at < this.sql.length && wanted(this.sql.charCodeAt(this.at))) this.at += 1;
  }

  /** Skips one comment, if one starts here; false where it is not closed. */
  #skipComment() {
    const { sql } = this;
    const c = sql[this.at];
    if (c === '#' || (c === '-' && this.#startsDashes())) {
      if (this.delimiter && sql.startsWith(this.delimiter, this.at)) return true;
      const end = sql.indexOf('\n', this.at);
      this.at = end < 0 ? sql.length : end;
    } else if (c === '/' && sql[this.at + 1] === '*' && !this.#atExecutable()) {
      const end = sql.indexOf('*/', this.at + 2);
      this.at = end < 0 ? sql.length : end + 2;
      return end >= 0;
    }
    return true;
  }

  #startsDashes() {
    if (this.sql[this.at + 1] !== '-') return false;
    const third = this.#code(2);
    return Number.isNaN(third) || third <= 32 || third === 127;
  }

  #atExecutable() {
    return this.sql.startsWith('/*!', this.at) || this.sql.startsWith('/*M!', this.at);
  }

  #token(start) {
    if (this.delimiter && this.sql.startsWith(this.delimiter, start)) {
      this.at += this.delimiter.length;
      return { kind: 'delimiter', start, end: this.at };
    }
    const kind = this.#kind(this.sql[start], this.#code(0));
    return { kind, start, end: this.at };
  }

  #take(count, kind) {
    this.at += count;
    return kind;
  }

  /** Takes a token and gives its kind. */
  #kind(c, code) {
    if (SINGLE[c]) return this.#take(1, SINGLE[c]);
    if (c === "'" || c === '"' || c === '`') return this.#quoted(c);
    if (c === '.') return this.#dot();
    if (c === '@') return this.#variable();
    if (isDigit(code)) return this.#numberOrName();
    if (isWord(code)) return this.#word(c);
    return this.#sign(c);
  }

  #sign(c) {
    const two = this.sql.slice(this.at, this.at + 2);
    if (two === '/*') return this.#executable();
    if (two === '*/' && this.inExecutable) {
      this.inExecutable = false;
      return this.#take(2, 'executable-end');
    }
    if (two === ':=' || two === '\\N') return this.#take(2, 'operator');
    return this.#take(1, c === ':' ? 'colon' : 'operator');
  }

  #executable() {
    this.inExecutable = true;
    this.at = this.sql.indexOf('!', this.at) + 1;
    this.#skipWhile(isDigit);
    return 'executable';
  }

  #dot() {
    const next = this.#code(1);
    const afterWord = this.wordEnd === this.at && isWord(next);
    if (!afterWord && isDigit(next)) return this.#fraction();
    this.at += 1;
    this.dotEnd = this.at;
    return 'dot';
  }

  #word(c) {
    if (this.sql[this.at + 1] === "'" && this.dotEnd !== this.at) {
      if (c === 'n' || c === 'N') {
        this.at += 1;
        return this.#quoted("'");
      }
      if (c === 'x' || c === 'X') return this.#literal(isHex);
      if (c === 'b' || c === 'B') return this.#literal(isBit);
    }
    return this.#nameFrom(this.at);
  }

  #nameFrom(start) {
    const from = this.at;
    this.#skipWhile(isWord);
    // `END$$`: a delimiter of signs also ends a word, one of letters does not.
    if (this.delimiter.startsWith('$')) {
      const end = this.sql.slice(from, this.at).indexOf(this.delimiter);
      if (end >= 0) this.at = from + end;
    }
    this.wordEnd = this.at;
    const beforeDot = this.sql[this.at] === '.' && isWord(this.#code(1));
    return beforeDot || this.dotEnd === start ? 'name' : 'word';
  }

  #literal(digit) {
    this.at += 2;
    this.#skipWhile(digit);
    return this.#code(0) === 39 ? this.#take(1, 'text') : 'number';
  }

  #numberOrName() {
    const start = this.at;
    if (this.dotEnd === start) return this.#nameFrom(start);
    if (this.#prefixedNumber()) return 'number';
    this.#skipWhile(isDigit);
    const c = this.sql[this.at];
    if (c === '.') return this.#fraction();
    if ((c === 'e' || c === 'E') && this.#exponent()) return 'number';
    if (!isWord(this.#code(0))) return 'number';
    this.#nameFrom(start);
    return 'name';
  }

  /** `0x1F`, `0b01`; with other letters behind, it is a name. */
  #prefixedNumber() {
    const two = this.sql.slice(this.at, this.at + 2);
    if (two !== '0x' && two !== '0b') return false;
    const digit = two === '0x' ? isHex : isBit;
    let end = this.at + 2;
    while (digit(this.sql.charCodeAt(end))) end += 1;
    if (end === this.at + 2 || isWord(this.sql.charCodeAt(end))) return false;
    this.at = end;
    return true;
  }

  #exponent() {
    const sign = this.sql[this.at + 1] === '+' || this.sql[this.at + 1] === '-' ? 1 : 0;
    if (!isDigit(this.#code(1 + sign))) return false;
    this.at += 1 + sign;
    this.#skipWhile(isDigit);
    return true;
  }

  #fraction() {
    this.at += 1;
    this.#skipWhile(isDigit);
    const c = this.sql[this.at];
    if (c === 'e' || c === 'E') this.#exponent();
    return 'number';
  }

  #quoted(quote) {
    const { sql } = this;
    const escapes = quote !== '`';
    const kind = escapes ? 'text' : 'quoted';
    this.at += 1;
    for (;;) {
      const c = sql[this.at];
      if (c === undefined) {
        this.at = sql.length;
        return kind;
      }
      if (c === '\\' && escapes) this.at += 2;
      else if (c !== quote) this.at += 1;
      else if (sql[this.at + 1] === quote) this.at += 2;
      else return this.#take(1, kind);
    }
  }

  #variable() {
    const { sql } = this;
    const next = sql[this.at + 1];
    if (next === "'" || next === '"' || next === '`') return this.#quotedVariable(1, next);
    if (next === '@' && sql[this.at + 2] === '`') return this.#quotedVariable(2, '`');
    if (next === '@' && isWord(this.#code(2))) return this.#systemVariable();
    this.at += 1;
    if (!isVariable(this.#code(0))) return 'operator';
    this.#skipWhile(isVariable);
    return 'variable';
  }

  #quotedVariable(signs, quote) {
    this.at += signs;
    this.#quoted(quote);
    return 'variable';
  }

  #systemVariable() {
    this.at += 2;
    for (;;) {
      this.#skipWhile(isWord);
      if (this.sql[this.at] !== '.' || !isWord(this.#code(1))) return 'variable';
      this.at += 1;
    }
  }
}

// Compound statements. See src/sqlweb/gate/split.rs, whose names these are.

const BLOCKS = new Set(['IF', 'CASE', 'LOOP', 'REPEAT', 'WHILE', 'FOR']);
const OPENERS = new Set([...BLOCKS, 'BEGIN']);
const ROUTINES = new Set(['FUNCTION', 'PROCEDURE', 'TRIGGER', 'EVENT']);
const PLAIN = new Set(['DATABASE', 'FULLTEXT', 'INDEX', 'ROLE', 'SCHEMA', 'SEQUENCE', 'SERVER', 'SPATIAL', 'TABLE',
  'TEMPORARY', 'UNIQUE', 'USER', 'VIEW']);
const BODIES = new Set(['CALL', 'DELETE', 'INSERT', 'REPLACE', 'RETURN', 'SELECT', 'SET', 'SIGNAL', 'UPDATE', 'WITH']);

class Compound {
  constructor(text) {
    this.sql = text;
    this.stage = 'start';
    /** @type {boolean[]} open blocks; true is a `CASE` that is a value */
    this.blocks = [];
    this.parentheses = 0;
    this.atStatement = false;
    this.last = '';
  }

  isOpen() {
    return this.blocks.length > 0;
  }

  /**
   * @param {RawToken} token
   * @param {Lexer} lexer
   */
  take(token, lexer) {
    if (this.stage === 'plain' || token.kind === 'executable' || token.kind === 'executable-end') return;
    if (token.kind === 'open') this.parentheses += 1;
    if (token.kind === 'close') this.parentheses = Math.max(0, this.parentheses - 1);
    const word = this.#word(token);
    if (this.stage === 'start') this.#start(token, word, lexer);
    else if (this.stage === 'create') this.#create(word);
    else if (this.stage === 'head') this.#head(word, lexer);
    else this.#body(token, word, lexer);
    this.last = word;
  }

  #word(token) {
    if (!token || token.kind !== 'word' || token.end - token.start > LONGEST_KEYWORD) return '';
    return this.sql.slice(token.start, token.end).toUpperCase();
  }

  #start(token, word, lexer) {
    const next = lexer.peek();
    if (token.kind === 'colon' || next?.kind === 'colon') return;
    if (word === 'CREATE' || word === 'ALTER') this.stage = 'create';
    else if (word === 'BEGIN' && this.#word(next) !== 'NOT') this.stage = 'plain';
    else if (OPENERS.has(word)) this.#openBody(word);
    else this.stage = 'plain';
  }

  #create(word) {
    if (ROUTINES.has(word)) this.stage = 'head';
    else if (word === 'PACKAGE') this.#openBody(word);
    else if (PLAIN.has(word)) this.stage = 'plain';
  }

  #head(word, lexer) {
    if (this.parentheses > 0 || this.#belongsToHead(word, lexer)) return;
    if (OPENERS.has(word)) this.#openBody(word);
    else if (BODIES.has(word)) this.stage = 'body';
  }

  #belongsToHead(word, lexer) {
    switch (word) {
      case 'IF': return ROUTINES.has(this.last);
      case 'FOR': return this.#word(lexer.peek()) === 'EACH';
      case 'SET': return this.last === 'CHARACTER';
      case 'INSERT': case 'UPDATE': case 'DELETE': return ['BEFORE', 'AFTER', 'OR'].includes(this.last);
      default: return false;
    }
  }

  #openBody(word) {
    this.stage = 'body';
    this.#open(word);
  }

  #open(word) {
    this.blocks.push(false);
    this.atStatement = word === 'BEGIN' || word === 'LOOP' || word === 'REPEAT';
  }

  #body(token, word, lexer) {
    const starts = this.atStatement;
    this.atStatement = token.kind === 'semicolon' || token.kind === 'colon';
    if (this.atStatement || (this.last === 'END' && BLOCKS.has(word))) return;
    if (word === 'END') this.blocks.pop();
    else if (word === 'BEGIN' && (starts || isHandlerBody(lexer.peek()))) this.#open(word);
    else if (word === 'CASE' && !starts) this.blocks.push(true);
    else if (BLOCKS.has(word) && starts) this.#open(word);
    else if (word === 'THEN' || word === 'ELSE') this.atStatement = this.blocks.at(-1) === false;
    else if (word === 'DO') this.atStatement = !starts;
  }
}

function isHandlerBody(next) {
  return !next || !['comma', 'operator', 'close', 'dot'].includes(next.kind);
}
