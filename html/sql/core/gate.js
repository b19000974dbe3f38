// Layer 1 of the read-only mode: what the page refuses to send. The server
// checks again (src/sqlweb/gate) and the database a third time. No DOM.

import * as LISTS from "./functions.js";
import { Geometry } from "./geometry.js";
import { Lexer } from "./lexer.js";
import { Nesting } from "./nesting.js";
import { Rollups } from "./rollup.js";

/**
 * @typedef {import("./lexer.js").RawToken} RawToken
 * @typedef {{mariadb: boolean, version: number[]}} Server
 * @typedef {{statement: string, message: string}} Refusal
 */

const words = (text) => new Set(text.split(" "));

const DENIED = words(LISTS.DENIED);
const SHOWN = words(LISTS.SHOWN);
const SHOWN_CREATE = words(LISTS.SHOWN_CREATE);
const SELECT_OPTIONS = words(LISTS.SELECT_OPTIONS);
const RESETTING = LISTS.RESETTING.split(" ");
const XPATH = words("EXTRACTVALUE UPDATEXML");
const MAX_PATH = 1000;
const QUERIES = words("SELECT WITH VALUES TABLE");
const CONSTRUCTORS = words("GEOMETRYCOLLECTION LINESTRING MULTILINESTRING MULTIPOINT MULTIPOLYGON POLYGON");
const PLAIN = new Set(["word", "name", "quoted", "number", "variable"]);
const NAMES = new Set(["word", "name", "quoted"]);

const FAULTS = {
  comment: "the comment is not closed; end it with */",
  text: "the string is not closed; a quote is missing",
  identifier: "the quoted identifier is not closed; a ` is missing",
  hint: "an optimizer hint may not hold quotes or SET_VAR here; leave it out",
  number: "a number ends in the middle of its exponent",
  literal: "a hexadecimal or bit literal holds other characters",
  variable: "a name must follow @ directly",
  placeholder: "nothing fills in a placeholder here; write the value",
  dollar: "an unquoted name may not start with $; put it in backquotes",
  character: "this character means nothing outside quotes",
};

const READERS = "only SELECT, WITH, VALUES, TABLE, SHOW, DESCRIBE, EXPLAIN, USE and HELP may run";
const ONE = "one statement at a time; send them one by one";

/** @type {Map<string, {mariadb: number[]|null, mysql: number[]|null, until: number[]|null, adjacent: boolean}>} */
const FUNCTIONS = new Map();
for (const group of LISTS.GROUPS) {
  for (const name of group.names.split(" ")) FUNCTIONS.set(name, group);
}

/**
 * Whether a statement is known to only read.
 * @param {string} sql
 * @param {Server} [server] without it, a function that any server has built in counts
 * @returns {Refusal|null} null when it may be sent
 */
export function checkReadOnly(sql, server) {
  try {
    new Checker(sql, server).statement();
    return null;
  } catch (error) {
    if (error instanceof Refused) return { statement: error.statement, message: error.message };
    throw error;
  }
}

/**
 * Reads a server's version as `/api/info` gives it.
 * @param {string} text
 * @returns {Server|undefined}
 */
export function serverFromVersion(text) {
  const mariadb = /mariadb/i.test(text);
  const number = /^(\d+)\.(\d+)\.(\d+)/.exec(mariadb ? text.replace(/^5\.5\.5-/, "") : text);
  return number ? { mariadb, version: number.slice(1).map(Number) } : undefined;
}

class Refused extends Error {
  constructor(statement, reason) {
    super(reason);
    this.statement = statement;
  }
}

function refuse(statement, reason) {
  throw new Refused(statement, reason);
}

function excerpt(text) {
  const start = [...text.slice(0, 120)];
  return start.length > 40 ? `${start.slice(0, 40).join("")}…` : text;
}

class Checker {
  constructor(sql, server) {
    if (sql.includes("\0")) refuse("NUL byte", "a statement may not hold one");
    this.lexer = new Lexer(sql, { mysql: server ? !server.mariadb : false });
    this.server = server;
    /** @type {RawToken|null} */
    this.previous = null;
    this.depth = 0;
    this.nesting = new Nesting();
    this.geometry = new Geometry();
    this.rollups = new Rollups();
    /** Only options of SELECT stand between that word and here. */
    this.selectOptions = false;
    /** Parentheses around each call whose second argument must be a short path. */
    this.paths = [];
    /** @type {{depth: number, hasColumns: boolean}[]} each JSON_TABLE whose parenthesis is open */
    this.jsonTables = [];
  }

  statement() {
    this.#kind();
    if (this.jsonTables.some((table) => !table.hasColumns)) noJsonTable();
    const fault = this.geometry.fault();
    if (fault) refuse("geometry", fault);
  }

  #kind() {
    const first = this.#firstWord();
    const word = this.#upper(first);
    this.selectOptions = word === "SELECT";
    if (this.depth === 0) {
      if (word === "SHOW") return this.#show();
      if (word === "DESC" || word === "DESCRIBE" || word === "EXPLAIN") return this.#explain();
      if (word === "USE") return this.#oneToken("USE", NAMES, "it must name one database");
      if (word === "HELP") return this.#oneToken("HELP", new Set(["word", "quoted", "text"]), "it must name one topic, in quotes");
    }
    if (word === "WITH") return this.#with("WITH");
    if (QUERIES.has(word)) return this.#query(word);
    return this.#notAReader(first, word);
  }

  #firstWord() {
    for (;;) {
      const token = this.#next();
      if (!token) return refuse("empty statement", "there is nothing to run");
      if (token.kind === "word") return token;
      if (token.kind !== "open") this.#notAReader(token, this.lexer.text(token));
    }
  }

  #notAReader(token, word) {
    let reason = READERS;
    if (word === "DELIMITER") reason = "it is a word of client programs; send the statements one by one";
    else if (this.lexer.peek()?.kind === "colon") reason = "a label starts a compound statement; only queries may run";
    else if (word.startsWith("\ufeff")) reason = "the text starts with a byte-order mark; remove it";
    refuse(excerpt(word), reason);
  }

  // Tokens

  #next() {
    const token = this.lexer.next();
    switch (token?.kind) {
      case "bad": return refuse("malformed text", FAULTS[token.fault]);
      case "executable": return refuse("executable comment", "whether the server runs what is inside depends on its version; write it out or leave it out");
      case "colon": return refuse("placeholder", "nothing fills in a placeholder here, and labels start compound statements");
      case "open": this.depth += 1; break;
      case "close": this.#close(); break;
      case "comma": this.#path(); break;
      default:
    }
    const opens = token?.kind === "word" && this.lexer.peek()?.kind === "open";
    if (token && !this.rollups.take(token.kind, this.#upper(token), this.depth, opens)) {
      refuse("ROLLUP", "more than 64 expressions take hours, and the server cannot interrupt it; group by fewer");
    }
    if (token && this.server?.mariadb !== false) {
      const text = this.lexer.text(token);
      const size = token.kind === "text" || token.kind === "number" ? utf8Length(text) : 0;
      this.geometry.take(token, text, size, this.#upper(token), this.depth, opens);
    }
    if (token && !this.nesting.take(token.kind, asciiUpper(this.lexer.text(token)))) {
      refuse("nesting", "so deep an expression can end the server; write it with fewer parentheses or operators");
    }
    return token;
  }

  #close() {
    this.depth = Math.max(0, this.depth - 1);
    if (this.paths.at(-1) >= this.depth) this.paths.pop();
    if (this.jsonTables.at(-1)?.depth >= this.depth && !this.jsonTables.pop().hasColumns) noJsonTable();
  }

  /** Behind the first comma of a call that takes a path. */
  #path() {
    if (this.paths.at(-1) + 1 !== this.depth) return;
    this.paths.pop();
    const ahead = this.lexer.clone();
    const path = ahead.next();
    const end = ahead.next()?.kind;
    const short = path?.kind === "text" && utf8Length(ahead.text(path)) <= MAX_PATH;
    if (!short || (end !== "comma" && end !== "close")) {
      refuse("XPath", "a path made for that ends a MariaDB server; write it as one text, at most 1,000 bytes long");
    }
  }

  #upper(token) {
    return token?.kind === "word" ? asciiUpper(this.lexer.text(token)) : "";
  }

  #take(word) {
    if (this.#upper(this.lexer.peek()) !== word) return false;
    this.previous = this.#next();
    return true;
  }

  #complete() {
    const token = this.#next();
    if (token && token.kind !== "semicolon") {
      refuse(excerpt(this.lexer.text(token)), "the statement should have ended before this");
    }
    this.#nothingMore();
  }

  #nothingMore() {
    for (let token = this.#next(); token; token = this.#next()) {
      if (token.kind !== "semicolon") refuse("several statements", ONE);
    }
  }

  // Queries

  #query(statement) {
    for (let token = this.#next(); token; token = this.#next()) {
      if (token.kind === "semicolon") {
        this.#nothingMore();
        return;
      }
      this.#part(token, statement);
      this.#pass(token);
    }
  }

  #pass(token) {
    const word = this.#upper(token);
    this.selectOptions = word === "SELECT" || (this.selectOptions && SELECT_OPTIONS.has(word));
    this.previous = token;
  }

  /** MySQL also takes `WITH … DELETE`: a query must follow the list. */
  #with(statement) {
    const outer = this.depth;
    for (let token = this.#next(); token && token.kind !== "semicolon"; token = this.#next()) {
      this.#part(token, statement);
      const main = this.depth === outer && ["SELECT", "VALUES", "TABLE"].includes(this.#upper(token));
      const opens = token.kind === "open" && this.depth === outer + 1 && this.previous?.kind === "close";
      this.#pass(token);
      if (main || opens) {
        this.#query(statement);
        return;
      }
    }
    refuse("WITH", "no SELECT follows the common table expressions");
  }

  #part(token, statement) {
    if (token.kind === "word") this.#keyword(token, statement);
    if (NAMES.has(token.kind)) {
      this.#table(token);
      this.#call(token);
    }
  }

  #keyword(token, statement) {
    const word = this.#upper(token);
    const before = this.#upper(this.previous);
    if (DENIED.has(word) && !this.#isFunction(word)) this.#denied(word, before, statement);
    if (word === "SHARE" && before === "FOR") refuse(`${statement} … FOR SHARE`, "it locks rows");
    if (word === "SET" && before !== "CHARACTER" && before !== "CHAR") {
      refuse(`${statement} … SET`, "a query may not set anything");
    }
    const next = word === "VALUE" && (before === "NEXT" || before === "PREVIOUS");
    if (next && this.#upper(this.lexer.peek()) === "FOR") {
      refuse(`${statement} … ${before} VALUE FOR`, "it reads or moves a sequence");
    }
  }

  #isFunction(word) {
    return (word === "INSERT" || word === "REPLACE") && this.lexer.peek()?.kind === "open";
  }

  #denied(word, before, statement) {
    let what = word;
    if (word === "UPDATE" && before === "FOR") what = "FOR UPDATE";
    if (word === "LOCK" && this.#upper(this.lexer.peek()) === "IN") what = "LOCK IN SHARE MODE";
    let reason = "this word may not stand in a query; a column of that name needs backquotes";
    if (word === "INTO") reason = "it writes to a file or a variable; a column of that name needs backquotes";
    else if (what !== word || word === "LOCK") reason = "it locks rows";
    else if (word === "PROCEDURE") reason = "it runs a procedure over the result";
    refuse(`${statement} … ${what}`, reason);
  }

  /** A name that may be a table's. */
  #table(token) {
    const name = unquoted(this.lexer.text(token));
    if (RESETTING.some((table) => readsAs(name, table))) {
      refuse(`table ${excerpt(name).replace(/[A-Z]+/g, (part) => part.toLowerCase())}`, "reading it sets counters of the whole server to zero; read the one without RESET in its name");
    }
  }

  // Calls

  #call(token) {
    const open = this.lexer.peek();
    if (open?.kind !== "open") return;
    const text = this.lexer.text(token);
    const stop = (reason) => refuse(`function ${[...text.slice(0, 128)].slice(0, 64).join("").toLowerCase()}`, reason);
    if (this.previous?.kind === "dot") stop("a qualified name is a stored function, which may write");
    if (this.#isColumnList()) return;
    if (token.kind !== "word") stop("a quoted name may be a stored function; write a built-in one without quotes");
    const known = FUNCTIONS.get(asciiUpper(text));
    if (!known) stop(LISTS.REFUSED[asciiUpper(text)] ?? "not a built-in function known to be harmless");
    if (!onServer(known, this.server)) {
      stop("not built into this server, so it may be a stored function, which may write");
    }
    if (this.server?.mariadb !== false && !this.#isConstructorCall(asciiUpper(text))) {
      stop("with these arguments MariaDB may take it for a stored function; use ST_GeomFromText");
    }
    const name = asciiUpper(text);
    if (!this.#isInPlace(name)) stop("in this place it is no keyword, so it may be a stored function, which may write");
    if (known.adjacent && open.start !== token.end) {
      stop("with a space before ( it is a stored function; remove the space");
    }
    if (name === "JSON_TABLE") this.jsonTables.push({ depth: this.depth, hasColumns: false });
    if (XPATH.has(name) && this.server?.mariadb !== false) this.paths.push(this.depth);
    const table = this.jsonTables.at(-1);
    if (name === "COLUMNS" && table?.depth + 1 === this.depth) table.hasColumns = true;
  }

  /** Whether a keyword that is not reserved, and so may be a function's name, stands where it is the keyword. */
  #isInPlace(name) {
    const kind = this.previous?.kind;
    const before = this.#upper(this.previous);
    const operand = kind === "close" || kind === "name" || kind === "quoted";
    switch (name) {
      case "AGAINST": return operand;
      case "COLUMNS": return kind === "text";
      case "ESCAPE": return operand || kind === "text" || kind === "number" || kind === "variable";
      case "OF": return before === "AS" || before === "MEMBER";
      case "ROLLUP": return before === "WITH" || (before === "BY" && this.server?.mariadb !== true && isFrom(this.server?.version ?? [9, 7, 0], [9, 7, 0]));
      default: return !name.startsWith("SQL_") || this.selectOptions;
    }
  }

  /** `name (a, b) AS (`, `AS name (a, b)` and `) name (a, b)` name columns, whatever the name. */
  #isColumnList() {
    const ahead = this.lexer.clone();
    ahead.next();
    for (;;) {
      if (!NAMES.has(ahead.next()?.kind)) return false;
      const kind = ahead.next()?.kind;
      if (kind === "close") break;
      if (kind !== "comma") return false;
    }
    if (this.previous?.kind === "close" || this.#upper(this.previous) === "AS") return true;
    return this.#upper(ahead.next()) === "AS" && ahead.next()?.kind === "open";
  }

  /** MariaDB looks for a stored function when the arguments are not those of the geometry. */
  #isConstructorCall(name) {
    const ahead = this.lexer.clone();
    ahead.next();
    if (name === "POINT") return takePlain(ahead, "comma") && takePlain(ahead, "close");
    return !CONSTRUCTORS.has(name) || ahead.next()?.kind !== "close";
  }

  // The other statements

  #show() {
    const token = this.#next();
    if (!token) refuse("SHOW", "it does not say what to show");
    const word = this.#upper(token);
    if (!SHOWN.has(word)) refuse(`SHOW ${asciiUpper(excerpt(this.lexer.text(token)))}`, "not known to only read");
    this.previous = token;
    if (word === "CREATE") {
      this.previous = this.#next();
      const kind = this.#upper(this.previous);
      if (!SHOWN_CREATE.has(kind)) refuse(`SHOW CREATE ${excerpt(kind)}`, "not known to only read");
    } else if (word === "COUNT") {
      this.#part(token, "SHOW");
    }
    this.#query("SHOW");
  }

  #explain() {
    if (this.#describesTable()) return this.#query("DESCRIBE");
    while (this.#explainOption());
    if (this.#take("FOR")) return this.#explainConnection();
    const first = this.#firstWord();
    const word = this.#upper(first);
    this.#pass(first);
    if (word === "WITH") return this.#with("EXPLAIN");
    if (QUERIES.has(word)) return this.#query("EXPLAIN");
    if (word === "ANALYZE") return refuse("EXPLAIN ANALYZE", "it runs the statement");
    return refuse(`EXPLAIN ${excerpt(word)}`, "only SELECT, WITH, VALUES and TABLE may be explained");
  }

  #describesTable() {
    const ahead = this.lexer.clone();
    const next = () => {
      const token = ahead.next();
      return token?.kind === "semicolon" ? null : token;
    };
    if (!this.#isName(next())) return false;
    let token = next();
    for (let dots = 0; dots < 2 && token?.kind === "dot"; dots += 1) {
      if (!this.#isName(next())) return false;
      token = next();
    }
    return !token || ((token.kind === "text" || this.#isName(token)) && !next());
  }

  #isName(token) {
    if (!token || !NAMES.has(token.kind)) return false;
    const word = this.#upper(token);
    return !DENIED.has(word) && !QUERIES.has(word);
  }

  #explainOption() {
    if (this.#take("EXTENDED") || this.#take("PARTITIONS")) return true;
    if (!this.#take("FORMAT")) return false;
    const equals = this.#next();
    const name = this.#next();
    const right = equals && this.lexer.text(equals) === "=" && (name?.kind === "word" || name?.kind === "text");
    return right || refuse("EXPLAIN FORMAT", "write FORMAT=JSON or FORMAT=TREE");
  }

  #explainConnection() {
    if (!this.#take("CONNECTION") || this.#next()?.kind !== "number") {
      refuse("EXPLAIN FOR", "only FOR CONNECTION and its number may follow");
    }
    this.#complete();
  }

  #oneToken(statement, kinds, reason) {
    const token = this.#next();
    if (!token || !kinds.has(token.kind)) refuse(statement, reason);
    this.#complete();
  }
}

/** Takes one plain argument, `-1.5`, `t.x` or `@x`, and what ends it. */
function takePlain(ahead, end) {
  let token = ahead.next();
  if (token && ["-", "+"].includes(ahead.text(token))) token = ahead.next();
  for (let part = 0; part < 2; part += 1) {
    if (!PLAIN.has(token?.kind)) return false;
    const kind = ahead.next()?.kind;
    if (kind !== "dot") return kind === end;
    token = ahead.next();
  }
  return false;
}

/** Upper case of ASCII letters alone: `ſ` must not become `S`. */
function asciiUpper(text) {
  return text.replace(/[a-z]+/g, (part) => part.toUpperCase());
}

function onServer(group, server) {
  if (!server) return true;
  const since = server.mariadb ? group.mariadb : group.mysql;
  if (!since) return false;
  const until = server.mariadb ? null : group.until;
  return isFrom(server.version, since) && !(until && isFrom(server.version, until));
}

function isFrom(version, since) {
  const differs = since.findIndex((part, i) => part !== version[i]);
  return differs < 0 || version[differs] > since[differs];
}

function noJsonTable() {
  refuse("function json_table", "without COLUMNS it may be a stored function, which may write");
}

/** Servers compare letters beyond ASCII by rules of their own, so such a letter counts as any. */
function readsAs(name, table) {
  const letters = [...name.trimEnd()];
  const same = (letter, i) => letter > "\x7f" || asciiUpper(letter) === table[i];
  return letters.length === table.length && letters.every(same);
}

function unquoted(text) {
  const quote = text[0];
  if (quote !== "`" && quote !== '"') return text;
  return text.slice(1, -1).replaceAll(quote + quote, quote);
}

function utf8Length(text) {
  return new TextEncoder().encode(text).length;
}
