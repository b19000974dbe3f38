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
 * @typedef {{at: number, delimiter: string, dialect?: Dialect}} Resume a place between two statements
 * @typedef {{mariadb?: boolean, ansiQuotes?: boolean, noBackslashEscapes?: boolean}} Dialect what a server and its session read
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
 * @param {Dialect} [dialect]
 * @returns {Statement[]}
 */
export function splitScript(text, dialect) {
  return [...statements(text, undefined, dialect)];
}

/**
 * The statements of a script, one at a time.
 * @param {string} text
 * @param {Resume} [from] where a statement may begin; it is moved on behind each that is given
 * @param {Dialect} [dialect]
 * @returns {Generator<Statement>}
 */
export function* statements(text, from = { at: 0, delimiter: ';' }, dialect = {}) {
  const lexer = new Lexer(text, { dialect: from.dialect ?? dialect });
  let { delimiter } = from;
  lexer.at = from.at || (text.startsWith('\ufeff') ? 1 : 0);
  lexer.delimiter = delimiter === ';' ? '' : delimiter;
  for (;;) {
    const changed = lexer.takeDelimiterLine();
    if (changed !== null) {
      delimiter = changed || delimiter;
      lexer.delimiter = delimiter === ';' ? '' : delimiter;
      continue;
    }
    const statement = lexer.takeCommand() ?? (lexer.delimiter ? delimited(text, lexer) : oneStatement(text, lexer));
    if (!statement) return;
    if (statement.start === statement.end) continue;
    lexer.dialect = { ...dialect, ...modesAfter(statement.sql, lexer.dialect, dialect) };
    from.at = lexer.at;
    from.delimiter = delimiter;
    from.dialect = lexer.dialect;
    yield statement;
  }
}

/** Dialect after a statement that may set `sql_mode`. A variable or DEFAULT as value restores the dialect from before the script. @param {string} sql @param {Dialect} now @param {Dialect} before @returns {Dialect} */
function modesAfter(sql, now, before) {
  if (sql.length > LONGEST_SETTING || !/^(?:SET\b|\/\*M?!\d*\s*SET\b)/i.test(sql)) return now;
  const value = /(?<!@@GLOBAL\.|\bGLOBAL\s{1,9}|@)\bsql_mode`?\s*:?=\s*(CONCAT\s*\([^)]*\)|'[^']*'|"[^"]*"|[^\s,*;]+)/i.exec(sql)?.[1];
  if (!value) return now;
  const names = (mode) => new RegExp(`\\b(?:${mode})\\b`, 'i').test(value);
  const adds = /^CONCAT/i.test(value);
  if (!adds && /^(?:@|DEFAULT)/i.test(value)) return before;
  const ansiQuotes = names('ANSI_QUOTES|ANSI|ORACLE|MSSQL|DB2|POSTGRESQL|MAXDB') || Boolean(adds && now.ansiQuotes);
  return { ...now, ansiQuotes, noBackslashEscapes: names('NO_BACKSLASH_ESCAPES') || Boolean(adds && now.noBackslashEscapes) };
}

/** @param {string} text @param {Lexer} lexer @returns {Statement|null} */
function oneStatement(text, lexer) {
  const first = lexer.next();
  if (!first || (first.kind === 'comment' && first.end === text.length)) return null;
  // A command of the console may follow an empty statement.
  if (first.kind === 'semicolon') return { start: first.end, end: first.end, sql: '', delimiter: ';' };
  const compound = new Compound(text);
  compound.take(first, lexer);
  let { end } = first;
  for (let token = lexer.next(); token; token = lexer.next()) {
    if (token.kind === 'semicolon' && !compound.isOpen()) break;
    compound.take(token, lexer);
    end = token.end;
  }
  return { start: first.start, end, sql: text.slice(first.start, end), delimiter: ';' };
}

/** Up to the delimiter that was set, as the console reads: quotes, comments and hints hide it. @param {string} text @param {Lexer} lexer @returns {Statement|null} */
function delimited(text, lexer) {
  const { delimiter } = lexer;
  const start = lexer.skipBlank();
  if (start >= text.length) return null;
  const end = lexer.findDelimiter();
  return { start, end, sql: text.slice(start, end), delimiter };
}

/** @param {string} text @param {RawToken} token */
function isDelimiterWord(text, token) {
  return token.end - token.start === 9 && /^delimiter$/i.test(text.slice(token.start, token.end)) && /[\s]|^$/.test(text.charAt(token.end));
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

/** True if the caret stands on the line the statement ends on, behind it. */
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

/** Longest statement that is searched for a setting. */
const LONGEST_SETTING = 4096;

/** Longest sign that may end statements, in bytes. */
const MAX_DELIMITER = 32;

/** Commands of the consoles: a backslash and a letter, or a line that begins with a word. @type {RegExp[]} */
const COMMANDS = [
  /\\(?:[?CrhPR.!Tu][^\n]*|[-ceGqgntwp#xsW])/y,
  /(?:use|source|charset|connect|help|pager|prompt|system|tee|\?)[ \t]+[^\s][^\n]*/iy,
  /(?:clear|edit|ego|exit|go|help|nopager|notee|nowarning|pager|print|quit|rehash|resetconnection|sandbox|status|tee|warnings|\?)[ \t\r]*(?=\n|$)/iy,
];

const SINGLE = { '(': 'open', ')': 'close', ',': 'comma', ';': 'semicolon' };

/** The server's lexer, for an editor: what is not closed runs to the end, and a sign that means nothing is an operator. */
export class Lexer {
  /**
   * @param {string} sql
   * @param {{comments?: boolean, dialect?: Dialect}} [options] comments: give them as tokens; one that is not closed always is
   */
  constructor(sql, options = {}) {
    this.sql = sql;
    this.dialect = options.dialect ?? {};
    this.isMysql = this.dialect.mariadb === false;
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
   * @returns {string|null} the new delimiter, empty where the line sets none
   */
  takeDelimiterLine() {
    const start = this.skipBlank();
    const word = { kind: /** @type {Kind} */ ('word'), start, end: start + 9 };
    if (start + 9 > this.sql.length || !isDelimiterWord(this.sql, word)) return null;
    let end = this.sql.indexOf('\n', word.end);
    if (end < 0) end = this.sql.length;
    this.at = end;
    const line = this.sql.slice(word.end, end).trim();
    const sign = /^['"`]/.test(line) ? line.slice(1).split(line[0])[0] : line.split(/\s/)[0];
    return sign.includes('\\') || new TextEncoder().encode(sign).length > MAX_DELIMITER ? '' : sign;
  }

  /**
   * Takes a command of the consoles where a statement could start; see src/sqlweb/gate/console.rs.
   * @returns {Statement|null} an empty one where it would do nothing
   */
  takeCommand() {
    const start = this.at;
    const delimiter = this.delimiter || ';';
    const matched = (/** @type {RegExp} */ one) => {
      one.lastIndex = start;
      return one.exec(this.sql)?.[0] ?? '';
    };
    const line = COMMANDS.map(matched).find(Boolean);
    if (!line) return null;
    const isLetter = line[0] === '\\';
    const found = line.indexOf(delimiter);
    if (!isLetter && (found >= 0 || /\\g/i.test(line))) return null;
    const sql = (found < 0 ? line : line.slice(0, found)).trim();
    this.at = start + (found < 0 ? line.length : found + delimiter.length);
    if (/^(?:\\[Ggc-]|go|ego|clear|sandbox)$/i.test(sql)) return { start, end: start, sql: '', delimiter };
    return { start, end: start + sql.length, sql, delimiter };
  }

  /** Takes space and comments; two dashes are one, whatever follows. @returns {number} where something else begins */
  skipBlank() {
    for (;;) {
      while (isSpace(this.sql.charCodeAt(this.at))) this.at += 1;
      const start = this.at;
      if (this.delimiter && this.sql.startsWith(this.delimiter, start)) return start;
      if (this.sql.startsWith('/*+', start)) return start;
      if (this.sql.startsWith('--', start)) this.#skipLine();
      else if (this.at < this.sql.length) this.#skipComment();
      if (this.at === start) return start;
    }
  }

  /** Takes all up to the delimiter, and that; what stands in quotes, comments and hints is none. @returns {number} where what stands before it ends */
  findDelimiter() {
    const { sql, delimiter } = this;
    let end = this.at;
    while (this.at < sql.length) {
      const start = this.at;
      const c = sql[start];
      const isGo = c === '\\' && /g/i.test(sql.charAt(start + 1));
      if (isGo || sql.startsWith(delimiter, start)) {
        this.at += isGo ? 2 : delimiter.length;
        return end;
      }
      if (c === "'" || c === '"' || c === '`') this.#quoted(c);
      else if (c === '#' || c === '-' || c === '/') this.#skipComment();
      else if (c === '$' && this.isMysql) this.#dollar();
      else if (c === '\\' && /['"`]/.test(sql.charAt(start + 1))) this.at += 2;
      const isComment = this.at > start && (c === '#' || c === '-' || c === '/') && !sql.startsWith('/*+', start);
      if (this.at === start) this.at += 1;
      if (!isComment && !isSpace(sql.charCodeAt(start))) end = this.at;
    }
    return end;
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
      this.#skipLine();
    } else if (c === '/' && sql[this.at + 1] === '*' && !this.#atExecutable()) {
      const end = sql.indexOf('*/', this.at + 2);
      this.at = end < 0 ? sql.length : end + 2;
      return end >= 0;
    }
    return true;
  }

  #skipLine() {
    const end = this.sql.indexOf('\n', this.at);
    this.at = end < 0 ? this.sql.length : end;
  }

  #startsDashes() {
    if (this.sql[this.at + 1] !== '-') return false;
    const third = this.#code(2);
    return Number.isNaN(third) || third <= 32 || third === 127;
  }

  #atExecutable() {
    return this.sql.startsWith('/*!', this.at) || (!this.isMysql && this.sql.startsWith('/*M!', this.at));
  }

  #token(start) {
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
    // A console ends a statement so.
    if (/^\\g$/i.test(two)) return this.#take(2, 'semicolon');
    // A quote behind a backslash opens nothing for a console.
    if (two === ':=' || /^\\[N'"`]/.test(two)) return this.#take(2, 'operator');
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
    if (c === '$' && this.isMysql && this.#dollar()) return 'text';
    return this.#nameFrom(this.at);
  }

  /** Takes `$tag$ … $tag$`, if that is here. */
  #dollar() {
    const { sql, at } = this;
    let end = at + 1;
    while (isWord(sql.charCodeAt(end)) && sql[end] !== '$') end += 1;
    if (sql[end] !== '$') return false;
    const tag = sql.slice(at, end + 1);
    const close = sql.indexOf(tag, end + 1);
    this.at = close < 0 ? sql.length : close + tag.length;
    return true;
  }

  #nameFrom(start) {
    this.#skipWhile(isWord);
    this.wordEnd = this.at;
    const beforeDot = this.sql[this.at] === '.' && isWord(this.#code(1));
    return beforeDot || this.dotEnd === start ? 'name' : 'word';
  }

  #literal(digit) {
    const quote = this.at + 1;
    this.at += 2;
    this.#skipWhile(digit);
    if (this.#code(0) === 39) return this.#take(1, 'text');
    // An editor's text may be open here; a script's is a text all the same.
    if (this.comments) return 'number';
    this.at = quote;
    return this.#quoted("'", false);
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

  #quoted(quote, mayEscape = !this.dialect.noBackslashEscapes) {
    const { sql } = this;
    const isText = quote === "'" || (quote === '"' && !this.dialect.ansiQuotes);
    const escapes = isText && mayEscape;
    const kind = isText ? 'text' : 'quoted';
    this.at += 1;
    for (;;) {
      const c = sql[this.at];
      if (c === undefined) {
        this.at = sql.length;
        return kind;
      }
      if (c === '\\' && escapes) this.at = Math.min(this.at + 2, sql.length);
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

const words = (text) => new Set(text.split(' '));
const OPENERS = words('BEGIN IF CASE LOOP REPEAT WHILE FOR');
const ROUTINES = words('FUNCTION PROCEDURE TRIGGER EVENT');
const BEFORE_NAMES = words('EXISTS ON RETURNS FOLLOWS PRECEDES');
const BEFORE_OPERANDS = words('AND AS BETWEEN BY CASE DIV DROP ELSEIF FROM IN INTO IS LIKE MOD NOT ON OR RETURN SELECT SET TABLE UNTIL '
  + 'UPDATE WHEN WHILE XOR');
const BODILESS = words('CATALOG DATABASE FULLTEXT INDEX LIBRARY LOGFILE RESOURCE ROLE SCHEMA SEQUENCE SERVER SPATIAL TABLE '
  + 'TABLESPACE TEMPORARY UNDO UNIQUE USER VIEW');
const BODIES = words('ALTER ANALYZE CALL CLOSE COMMIT CREATE DEALLOCATE DELETE DO DROP EXECUTE FETCH FLUSH GET GRANT HANDLER INSERT '
  + 'KILL LOAD LOCK OPEN OPTIMIZE PREPARE RELEASE RENAME REPLACE RESIGNAL RETURN REVOKE ROLLBACK SAVEPOINT SELECT SET SHOW '
  + 'SIGNAL START TABLE TRUNCATE UNLOCK UPDATE USE VALUES WITH XA');
const MAYBE_NAMES = words('END BEGIN DO UNTIL AS IS');
const VALUES = words('NULL NOT TRUE FALSE UNKNOWN DISTINCT');

/** @typedef {'list'|'condition'|'cases'|'loop'|'repeat'|'until'|'declare'|'case-value'} Block */

class Compound {
  constructor(text) {
    this.sql = text;
    this.stage = 'start';
    /** @type {Block[]} */
    this.blocks = [];
    this.parentheses = 0;
    this.atStatement = false;
    this.atOperand = false;
    this.hasEnded = false;
    this.inHandler = false;
    this.inRoutine = false;
    this.inLabel = false;
    this.mayLabel = false;
    this.created = '';
    this.last = '';
  }

  isOpen() {
    return this.blocks.length > 1 || !['condition', 'loop', undefined].includes(this.blocks[0]);
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
    else if (this.stage === 'head') this.#head(token, word, lexer);
    else this.#body(token, word, lexer);
    this.last = word;
    this.atOperand = BEFORE_OPERANDS.has(word) || ((word === 'THEN' || word === 'ELSE') && this.blocks.at(-1) === 'case-value')
      || ['comma', 'operator', 'open', 'dot'].includes(token.kind);
  }

  #word(token) {
    if (!token || token.kind !== 'word' || token.end - token.start > LONGEST_KEYWORD) return '';
    return this.sql.slice(token.start, token.end).toUpperCase();
  }

  #isSign(token, signs) {
    return token?.kind === 'operator' && signs.includes(this.sql.slice(token.start, token.end));
  }

  #start(token, word, lexer) {
    const next = lexer.peek();
    if ([token, next].some((one) => one?.kind === 'colon' || this.#isSign(one, ['<', '>']))) return;
    if (word === 'CREATE' || word === 'ALTER') this.stage = 'create';
    else if (word === 'BEGIN' && (!next || ['semicolon', 'executable-end'].includes(next.kind) || ['WORK', 'TRANSACTION'].includes(this.#word(next)))) this.stage = 'plain';
    else if (word === 'DECLARE') {
      this.stage = 'body';
      this.blocks.push('declare');
    } else if (OPENERS.has(word)) this.#openBody(word);
    else this.stage = 'plain';
  }

  #create(word) {
    if (word === 'PACKAGE') {
      this.stage = 'body';
      this.blocks.push('declare');
    } else if (ROUTINES.has(word)) {
      this.stage = 'head';
      this.created = word;
    } else if (BODILESS.has(word)) this.stage = 'plain';
  }

  #head(token, word, lexer) {
    if (this.parentheses > 0 || token.kind !== 'word' || ROUTINES.has(this.last) || BEFORE_NAMES.has(this.last)) return;
    const { created } = this;
    if (word === 'DO' && created === 'EVENT') this.created = '';
    else if (word === 'ROW' && created === 'TRIGGER' && this.last === 'EACH') this.created = '';
    else if (created === 'EVENT' || created === 'TRIGGER' || (word === 'SET' && this.last === 'CHARACTER')) return;
    else if ((word === 'AS' || word === 'IS') && created && this.#mayDeclare(lexer)) {
      this.stage = 'body';
      this.#declare();
    } else if (word === 'RETURN' && created === 'FUNCTION') this.created = 'RETURN';
    else if (created === 'RETURN') return;
    else if (OPENERS.has(word)) this.#openBody(word);
    else if (BODIES.has(word)) this.stage = 'plain';
  }

  #mayDeclare(lexer) {
    const next = lexer.peek();
    if (next?.kind === 'word') return !VALUES.has(this.#word(next));
    return ['quoted', 'name', 'operator'].includes(next?.kind ?? '');
  }

  #declare() {
    this.blocks.push('declare');
    this.atStatement = true;
  }

  #openBody(word) {
    this.stage = 'body';
    this.#open(word);
  }

  #open(word) {
    /** @type {Block} */
    const block = word === 'IF' || word === 'CASE' ? 'condition' : word === 'WHILE' || word === 'FOR' ? 'loop' : word === 'REPEAT' ? 'repeat' : 'list';
    if (word === 'BEGIN' && this.blocks.at(-1) === 'declare') this.blocks.pop();
    this.blocks.push(block);
    this.atStatement = block === 'list' || block === 'repeat';
  }

  #body(token, word, lexer) {
    const starts = this.atStatement;
    const ended = this.hasEnded;
    const labels = this.mayLabel;
    this.atStatement = false;
    this.hasEnded = false;
    this.mayLabel = starts && ['word', 'quoted', 'name'].includes(token.kind);
    if (token.kind === 'semicolon') this.#statementEnds();
    else if (token.kind === 'colon') this.atStatement = labels;
    else if (starts && this.#isSign(token, ['<', '>'])) {
      this.inLabel = this.#isSign(token, ['<']);
      this.atStatement = true;
    } else if (starts && this.inLabel) this.atStatement = true;
    else if (this.inHandler) this.#condition(token, word, lexer);
    else if (token.kind === 'word' && !(ended && OPENERS.has(word))) this.#bodyWord(word, starts, lexer);
  }

  #statementEnds() {
    while (this.blocks.at(-1) === 'case-value') this.blocks.pop();
    this.atStatement = true;
    this.inHandler = false;
    this.inRoutine = false;
    this.parentheses = 0;
  }

  #condition(token, word, lexer) {
    this.inHandler = token.kind === 'comma' || word === 'SQLSTATE' || word === 'NOT' || (word === 'VALUE' && this.last === 'SQLSTATE') || lexer.peek()?.kind === 'comma';
    this.atStatement = !this.inHandler;
  }

  #bodyWord(word, starts, lexer) {
    const top = this.blocks.at(-1);
    if (MAYBE_NAMES.has(word) && this.#isName(word, starts, lexer)) return;
    if (word === 'END' && (starts || top === 'case-value' || top === 'until')) {
      this.blocks.pop();
      this.hasEnded = true;
    } else if ((word === 'NOT' && this.last === 'BEGIN') || (word === 'ATOMIC' && this.last === 'NOT')) this.atStatement = starts;
    else if (word === 'CASE' && !starts) this.blocks.push('case-value');
    else if (this.inRoutine && this.parentheses === 0 && ['BEGIN', 'AS', 'IS'].includes(word)) {
      this.inRoutine = false;
      this.#declare();
      if (word === 'BEGIN') this.#open(word);
    } else if (starts && OPENERS.has(word)) this.#open(word);
    else if (word === 'THEN' || word === 'ELSE') {
      this.#goesOn('condition', 'cases');
      this.atStatement = top !== 'case-value';
    }
    else if ((word === 'DO' || word === 'LOOP') && this.parentheses === 0) this.#goesOn('loop', 'list');
    else if (word === 'UNTIL' && starts) this.#goesOn('repeat', 'until');
    else if (word === 'FOR' && this.last === 'HANDLER') this.inHandler = true;
    else if ((word === 'PROCEDURE' || word === 'FUNCTION') && top === 'declare') this.inRoutine = true;
  }

  #isName(word, starts, lexer) {
    if (this.atOperand) return true;
    const next = lexer.peek();
    return starts && (next?.kind === 'colon' || (word === 'UNTIL' ? this.#isSign(next, [':=', '=']) : next?.kind === 'operator'));
  }

  /** @param {Block} from @param {Block} to */
  #goesOn(from, to) {
    if (this.blocks.at(-1) !== from) return;
    this.blocks[this.blocks.length - 1] = to;
    this.atStatement = to === 'list';
  }
}
