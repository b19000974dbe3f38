/**
 * A table as its `SHOW CREATE TABLE` describes it: read into parts, and parts written again. Each part keeps the text
 * that it was read from, and attributes that have no field here stay word for word in `rest`. No DOM.
 * @module
 */

import { Lexer } from '../core/lexer.js';

/**
 * @typedef {{mariadb: boolean, version?: string, ansiQuotes?: boolean, noBackslashEscapes?: boolean, first?: string[]}} Server
 *   kind and version of a server (`version`: as it tells it, such as `10.11.6-MariaDB`), and the modes of the session;
 *   `first`: statements that set these modes before a change
 * @typedef {{kind: 'none'|'null'|'text'|'literal'|'expression', value: string}} Default
 *   `text`: a string, without its quotes; `literal`: as written, such as `1`, `b'0'` or `CURRENT_TIMESTAMP(3)`;
 *   `expression`: without its outer parentheses
 * @typedef {{expression: string, stored: boolean}} Generated
 * @typedef {object} Column
 * @property {string} id of the part in the page
 * @property {string|null} was name in the server; null: new
 * @property {string} name
 * @property {string} type with length, values, UNSIGNED and ZEROFILL
 * @property {string} charset empty where none is written
 * @property {string} collation
 * @property {boolean} nullable
 * @property {Default} default
 * @property {string} onUpdate such as `CURRENT_TIMESTAMP`, or empty
 * @property {Generated|null} generated
 * @property {boolean} autoIncrement
 * @property {boolean} invisible
 * @property {string} comment
 * @property {string} check condition of the column itself (MariaDB), or empty
 * @property {string} rest attributes without a field, as written
 * @property {string|null} text as read; null where a field was changed
 * @typedef {{column: string|null, expression: string|null, length: number|null, descending: boolean, rest: string}} IndexPart
 * @typedef {'primary'|'unique'|'index'|'fulltext'|'spatial'|'vector'} IndexKind
 * @typedef {{id: string, was: string|null, name: string, kind: IndexKind, parts: IndexPart[], method: string,
 *   invisible: boolean, comment: string, rest: string, text: string|null}} Index `invisible`: IGNORED on MariaDB
 * @typedef {{id: string, was: string|null, name: string, columns: string[], refDb: string, refTable: string,
 *   refColumns: string[], onUpdate: string, onDelete: string, rest: string, text: string|null}} ForeignKey
 *   `refDb`: empty for the table's own
 * @typedef {{id: string, was: string|null, name: string, expression: string, enforced: boolean, rest: string,
 *   text: string|null}} Check
 * @typedef {{name: string, value: string, isText: boolean, text: string}} Option `name`: in capitals, such as `DEFAULT CHARSET`,
 *   or in backquotes; `value`: a string without its quotes; `isText`: with quotes; `text`: as written, empty where it was changed
 * @typedef {object} Table
 * @property {string} db
 * @property {string} name
 * @property {boolean} temporary
 * @property {{db: string, name: string, text: string}|null} head name as it was read
 * @property {Column[]} columns
 * @property {Index[]} indexes
 * @property {ForeignKey[]} foreignKeys
 * @property {Check[]} checks
 * @property {string[]} others what else stands in the list, such as PERIOD FOR SYSTEM_TIME
 * @property {Option[]} options
 * @property {string} partition the clause as written, or empty
 * @property {string[]} [moved] names in the server of the columns that the user moved
 * @property {boolean} [convert] true where the columns take the new character set and collation of the table
 */

let serial = 0;
const newId = () => `part-${(serial += 1)}`;

/** @param {string} name */
export const quoted = (name) => `\`${name.replaceAll('`', '``')}\``;

const ESCAPES = { '\0': '\\0', '\n': '\\n', '\r': '\\r', '\\': '\\\\', "'": "''" };

/** A string literal as SHOW CREATE writes it in any SQL mode, or as a session reads it. @param {string} value @param {Partial<Server>} [session] */
export function textLiteral(value, session = {}) {
  if (session.noBackslashEscapes) return `'${value.replaceAll("'", "''")}'`;
  return `'${value.replace(/[\0\n\r\\']/g, (sign) => ESCAPES[sign])}'`;
}

const UNESCAPED = { 0: '\0', n: '\n', r: '\r', t: '\t', b: '\b', Z: '\x1a' };

/** Value of a string literal of SHOW CREATE, or of a session. @param {string} text with its quotes @param {Partial<Server>} [session] */
export function literalValue(text, session = {}) {
  const sign = text[0];
  const inner = text.slice(1, -1);
  if (session.noBackslashEscapes) return inner.replaceAll(sign + sign, sign);
  return inner.replace(/\\([\s\S])|''|""/g, (whole, escaped) => {
    if (escaped !== undefined) return UNESCAPED[escaped] ?? escaped;
    return whole[0] === sign ? sign : whole;
  });
}

/**
 * A statement made of what SHOW CREATE wrote, for the session that it runs in: where backslashes escape nothing, its
 * literals are written without.
 * @param {string} sql @param {Partial<Server>} [server]
 */
export function forSession(sql, server = {}) {
  if (!server.noBackslashEscapes) return sql;
  const lexer = new Lexer(sql, { comments: true, dialect: { ansiQuotes: server.ansiQuotes } });
  let text = '';
  let at = 0;
  for (let token = lexer.next(); token; token = lexer.next()) {
    const literal = token.kind === 'text' ? sql.slice(token.start, token.end) : '';
    if (!literal.startsWith("'") || !literal.includes('\\')) continue;
    const value = literalValue(literal);
    // No statement has a NUL in it.
    text += sql.slice(at, token.start) + (value.includes('\0') ? hexOf(value) : textLiteral(value, server));
    at = token.end;
  }
  return text + sql.slice(at);
}

const hexOf = (value) => `X'${Array.from(new TextEncoder().encode(value), (byte) => byte.toString(16).padStart(2, '0')).join('')}'`;

/** A server and what its session reads, from the session's `@@sql_mode`. @param {{mariadb: boolean, version?: string}} server @param {string} sqlMode @returns {Server} */
export function inMode(server, sqlMode) {
  const modes = sqlMode.toUpperCase().split(',');
  return { ...server, ansiQuotes: modes.includes('ANSI_QUOTES'), noBackslashEscapes: modes.includes('NO_BACKSLASH_ESCAPES') };
}

/**
 * A server and the session in which its tables are changed. With NO_BACKSLASH_ESCAPES, MySQL doubles the backslashes of
 * expressions by each change of their table, also of those that are left alone: there the mode is set without it first.
 * @param {{mariadb: boolean, version?: string}} server @param {string} sqlMode @returns {Server & {mode: string}}
 */
export function changingIn(server, sqlMode) {
  const mode = sqlMode.split(',').filter((one) => server.mariadb || !/^NO_BACKSLASH_ESCAPES$/i.test(one)).join(',');
  return { ...inMode(server, mode), mode, first: mode === sqlMode ? [] : [`SET SESSION sql_mode = '${mode}'`] };
}

/**
 * The SQL mode of a session in which a table cannot be changed by what SHOW CREATE says: it leaves parts out, types
 * have another meaning, or an empty text becomes NULL. Empty if there is none.
 * @param {string} sqlMode
 */
export function unfitMode(sqlMode) {
  return sqlMode.toUpperCase().split(',').find((mode) => /^(?:NO_(?:FIELD|TABLE|KEY)_OPTIONS|ORACLE|MSSQL|DB2|POSTGRESQL|MAXDB|MYSQL323|MYSQL40|EMPTY_STRING_IS_NULL)$/.test(mode)) ?? '';
}

/** Reads tokens in order. */
class Reader {
  /** @param {string} sql @param {Server} server */
  constructor(sql, server) {
    this.sql = sql;
    const lexer = new Lexer(sql, { comments: true, dialect: { mariadb: server.mariadb, ansiQuotes: server.ansiQuotes } });
    /** @type {import('../core/lexer.js').RawToken[]} */
    this.tokens = [];
    for (let token = lexer.next(); token; token = lexer.next()) this.tokens.push(token);
    this.at = 0;
  }

  get done() { return this.at >= this.tokens.length; }

  /** @param {number} [ahead] */
  kind(ahead = 0) { return this.tokens[this.at + ahead]?.kind ?? ''; }

  /** Text of a token. @param {number} [ahead] */
  text(ahead = 0) {
    const token = this.tokens[this.at + ahead];
    return token ? this.sql.slice(token.start, token.end) : '';
  }

  /** A bare word in capitals, else empty. @param {number} [ahead] */
  word(ahead = 0) {
    const kind = this.kind(ahead);
    return kind === 'word' || kind === 'name' ? this.text(ahead).toUpperCase() : '';
  }

  /** Takes words if they come next. @param {string} words */
  take(words) {
    const list = words.split(' ');
    if (!list.every((word, i) => this.word(i) === word)) return false;
    this.at += list.length;
    return true;
  }

  /** @param {string} sign */
  takeSign(sign) {
    if (this.text() !== sign || this.kind() === 'text') return false;
    this.at += 1;
    return true;
  }

  isName() { return ['word', 'name', 'quoted'].includes(this.kind()); }

  isText() { return this.kind() === 'text' && /^['"]/.test(this.text()); }

  /** A name without its quotes. */
  name() {
    if (!this.isName()) throw this.fault('a name');
    const text = this.text();
    this.at += 1;
    return this.tokens[this.at - 1].kind === 'quoted' ? text.slice(1, -1).replaceAll(text[0] + text[0], text[0]) : text;
  }

  /** Takes what stands in parentheses; returns it without them. */
  group() {
    if (this.kind() !== 'open') throw this.fault('“(”');
    const from = this.tokens[this.at].end;
    let depth = 0;
    do {
      if (this.kind() === 'open') depth += 1;
      if (this.kind() === 'close') depth -= 1;
      this.at += 1;
    } while (depth > 0 && !this.done);
    if (depth > 0) throw new Error('Cannot read this CREATE TABLE: a parenthesis is not closed');
    return this.sql.slice(from, this.tokens[this.at - 1].start);
  }

  /** Text of the tokens from one to the present one. @param {number} from */
  since(from) { return this.at > from ? this.sql.slice(this.tokens[from].start, this.tokens[this.at - 1].end) : ''; }

  /** Text of an item of the list up to its comma or the end of its line: a server may write a blank there. @param {number} from */
  item(from) {
    const last = this.tokens[this.at - 1];
    const [blank] = this.sql.slice(last.end, this.tokens[this.at]?.start).split('\n');
    return this.sql.slice(this.tokens[from].start, last.end) + blank;
  }

  string() {
    const value = literalValue(this.text());
    this.at += 1;
    return value;
  }

  /** @param {string} expected */
  fault(expected) {
    const token = this.tokens[this.at];
    const near = token ? `near “${this.sql.slice(token.start, token.start + 40)}”` : 'at its end';
    return new Error(`Cannot read this CREATE TABLE: ${expected} expected ${near}`);
  }
}

/**
 * Reads what SHOW CREATE TABLE answers. Throws an error with the reason for a text that is no table's, or that it
 * cannot read.
 * @param {string} sql @param {Server} server @param {string} [db] database of the table, where the text does not tell it
 * @returns {Table}
 */
export function parseTable(sql, server, db = '') {
  const reader = new Reader(sql, { ...server, ansiQuotes: server.ansiQuotes || /^\s*CREATE\s+(?:TEMPORARY\s+)?TABLE\s+"/i.test(sql) });
  if (!reader.take('CREATE')) throw reader.fault('CREATE');
  reader.take('OR REPLACE');
  const temporary = reader.take('TEMPORARY');
  if (!reader.take('TABLE')) throw new Error(`This is a ${/\bVIEW\b/i.test(sql) ? 'view' : reader.word().toLowerCase() || 'statement'}, not a table`);
  reader.take('IF NOT EXISTS');
  const from = reader.at;
  let name = reader.name();
  if (reader.takeSign('.')) [db, name] = [name, reader.name()];
  /** @type {Table} */
  const table = { db, name, temporary, head: { db, name, text: reader.since(from) }, columns: [], indexes: [], foreignKeys: [], checks: [], others: [], options: [], partition: '' };
  if (!reader.takeSign('(')) throw reader.fault('“(”');
  do readItem(reader, table); while (reader.takeSign(','));
  if (!reader.takeSign(')')) throw reader.fault('“)”');
  readOptions(reader, table);
  if (table.options.some((option) => option.name === 'SEQUENCE')) throw new Error('This is a sequence, not a table');
  return table;
}

const INDEX_START = /^(?:PRIMARY KEY|(?:UNIQUE|FULLTEXT|SPATIAL|VECTOR) (?:KEY|INDEX)|KEY|INDEX)\b/;

/** @param {Reader} reader @param {Table} table */
function readItem(reader, table) {
  const from = reader.at;
  const next = reader.kind() === 'quoted' ? '' : `${reader.word()} ${reader.word(1)}`;
  if (INDEX_START.test(next)) table.indexes.push(readIndex(reader));
  else if (/^(?:CONSTRAINT|FOREIGN KEY|CHECK )/.test(next)) readConstraint(reader, table);
  else if (next === 'PERIOD FOR') {
    skipItem(reader);
    table.others.push(reader.item(from));
  } else table.columns.push(readColumn(reader));
}

/** True at the end of an item of the list. @param {Reader} reader */
const atEnd = (reader) => reader.done || reader.kind() === 'comma' || reader.kind() === 'close';

/** @param {Reader} reader */
function skipItem(reader) {
  while (!atEnd(reader)) {
    if (reader.kind() === 'open') reader.group();
    else reader.at += 1;
  }
}

/** Takes one attribute that has no field: a word or a name, with its value behind `=` or in parentheses. @param {Reader} reader */
function skipAttribute(reader) {
  if (reader.kind() === 'executable') {
    while (!reader.done && reader.kind() !== 'executable-end') reader.at += 1;
    reader.at += 1;
    return;
  }
  reader.at += 1;
  if (reader.takeSign('=')) reader.at += 1;
  if (reader.kind() === 'open') reader.group();
}

/**
 * Reads attributes up to the end of the item. Those in a comment of a version are read as those outside.
 * @param {Reader} reader @param {() => boolean} known takes one attribute that has a field
 * @returns {string} the others, as written
 */
function readAttributes(reader, known) {
  const rest = [];
  while (!atEnd(reader)) {
    const from = reader.at;
    if (reader.kind() === 'executable') {
      reader.at += 1;
      const all = known() && reader.kind() === 'executable-end';
      if (all) {
        reader.at += 1;
        continue;
      }
      reader.at = from;
    } else if (known()) continue;
    skipAttribute(reader);
    rest.push(reader.since(from));
  }
  return rest.join(' ');
}

/** @param {Reader} reader @returns {Column} */
function readColumn(reader) {
  const from = reader.at;
  const name = reader.name();
  const column = { ...blankColumn(), was: name, name, type: readType(reader), nullable: true };
  column.rest = readAttributes(reader, () => readColumnAttribute(reader, column));
  column.text = reader.item(from);
  return column;
}

/** Types of more than one word, as one types them. */
const LONG_TYPE = /^(?:national\s+(?:varchar|char(?:acter)?(?:\s+varying)?)|(?:nchar|n?char(?:acter)?)\s+(?:varying|varchar|large\s+object)|long\s+(?:varchar|varbinary)|char\s+byte)\b/i;
/** Words that belong to a type and stay in its text. */
const OF_TYPE = /^(?:\s*(?:unsigned|signed|zerofill|binary|ascii|unicode|byte|compressed(?:\s*=\s*\w+)?|srid\s+\d+|ref_system_id\s*=\s*\d+))*$/i;

/**
 * Reads a type as one types it: the type itself, and the fields of the column for the rest, such as a collation.
 * @param {string} text @param {Partial<Server>} [server]
 * @returns {{fields: Partial<Column>, problem: string}} `problem`: a sentence where it cannot be read
 */
export function readTypeField(text, server = {}) {
  const none = { fields: {}, problem: '' };
  const long = LONG_TYPE.exec(text)?.[0] ?? '';
  // A word alone is the server's to judge.
  const bare = long ? `varchar${text.slice(long.length)}` : text;
  const reader = new Reader(bare, { mariadb: false, ...server });
  const column = blankColumn();
  let saysNull = false;
  try {
    column.type = readType(reader);
    const rest = bare.slice(reader.tokens[reader.at - 1].end);
    if (OF_TYPE.test(rest) || reader.done) return none;
    column.rest = readAttributes(reader, () => {
      saysNull ||= reader.word() === 'NULL';
      return readColumnAttribute(reader, column);
    });
    if (!reader.done) throw reader.fault('the end');
  } catch {
    return { ...none, problem: `Cannot read the type “${text}”.` };
  }
  if (column.rest && !OF_TYPE.test(column.rest)) return { ...none, problem: `“${column.rest}” does not belong to a type.` };
  const { name: _name, id: _id, was: _was, text: _text, rest, type, ...all } = column;
  const blank = blankColumn();
  const fields = Object.fromEntries(Object.entries(all).filter(([key, value]) => JSON.stringify(value) !== JSON.stringify(blank[key])));
  return { fields: { ...fields, ...(saysNull ? { nullable: column.nullable } : {}), type: [long ? long + type.slice('varchar'.length) : type, rest].filter(Boolean).join(' ') }, problem: '' };
}

/** @param {Reader} reader */
function readType(reader) {
  const from = reader.at;
  reader.name();
  if (reader.takeSign('.')) reader.name();
  if (reader.word(-1) === 'DOUBLE') reader.take('PRECISION');
  if (reader.kind() === 'open') reader.group();
  while (reader.take('UNSIGNED') || reader.take('SIGNED') || reader.take('ZEROFILL'));
  // MariaDB writes these as part of the type: COMPRESSED, and the format of an old one.
  if (reader.kind() === 'executable' && reader.word(1) === 'COMPRESSED') skipAttribute(reader);
  else if (reader.take('REF_SYSTEM_ID') && reader.takeSign('=')) reader.at += 1;
  else if (reader.kind() === 'comment') reader.at += 1;
  return reader.since(from);
}

const SHAPE = /^(?:geometry|point|linestring|polygon|multi(?:point|linestring|polygon)|geom(?:etry)?collection)\b/i;
/** Stands in a type whose REF_SYSTEM_ID the server did not tell. */
export const UNTOLD_ID = '/* REF_SYSTEM_ID is not known */';

/**
 * The text of SHOW CREATE TABLE with the REF_SYSTEM_ID of its columns, which MariaDB leaves out there.
 * @param {string} sql @param {Map<string, number>} ids by column
 */
export function withSystemIds(sql, ids) {
  const table = parseTable(sql, { mariadb: true });
  const columns = table.columns.map((column) => {
    const id = ids.get(column.name);
    if (!SHAPE.test(column.type) || id === 0) return column;
    const type = `${column.type} ${id === undefined ? UNTOLD_ID : `REF_SYSTEM_ID=${id}`}`;
    return { ...column, text: columnText({ ...column, type }) };
  });
  return writeTable({ ...table, columns });
}

/** @param {Reader} reader @param {Column} column @returns {boolean} */
function readColumnAttribute(reader, column) {
  if (reader.take('CHARACTER SET') || reader.take('CHARSET')) column.charset = reader.name();
  else if (reader.take('COLLATE')) column.collation = reader.name();
  else if (reader.take('NOT NULL')) column.nullable = false;
  else if (reader.take('NULL')) column.nullable = true;
  else if (reader.take('DEFAULT')) {
    column.default = readDefault(reader);
    if (reader.kind() === 'operator') throw reader.fault('the next attribute');
  }
  else if (reader.take('ON UPDATE')) column.onUpdate = readCall(reader);
  else if (reader.take('AUTO_INCREMENT')) column.autoIncrement = true;
  else if (reader.take('INVISIBLE')) column.invisible = true;
  else if (reader.word() === 'COMMENT' && reader.kind(1) === 'text') column.comment = (reader.at += 1, reader.string());
  else if (reader.word() === 'CHECK' && reader.kind(1) === 'open') column.check = (reader.at += 1, reader.group());
  else return readGenerated(reader, column);
  return true;
}

/** @param {Reader} reader @param {Column} column */
function readGenerated(reader, column) {
  const from = reader.at;
  reader.take('GENERATED ALWAYS');
  if (!reader.take('AS') || reader.kind() !== 'open') {
    reader.at = from;
    return false;
  }
  column.generated = { expression: reader.group(), stored: false };
  column.generated.stored = reader.take('STORED') || reader.take('PERSISTENT');
  if (!column.generated.stored) reader.take('VIRTUAL');
  return true;
}

/** A word with what stands in parentheses behind it. @param {Reader} reader */
function readCall(reader) {
  const from = reader.at;
  reader.name();
  while (reader.takeSign('.')) reader.name();
  if (reader.kind() === 'open') reader.group();
  return reader.since(from);
}

/** @param {Reader} reader @returns {Default} */
function readDefault(reader) {
  if (reader.take('NULL')) return { kind: 'null', value: '' };
  if (reader.isText()) return { kind: 'text', value: reader.string() };
  if (reader.kind() === 'open') return { kind: 'expression', value: reader.group() };
  const from = reader.at;
  const isName = reader.isName();
  if (isName && reader.kind(1) !== 'text') {
    const value = readCall(reader);
    const plain = /^(?:current_timestamp|now|localtime|localtimestamp)\b|^\w+$/i.test(value);
    return { kind: plain ? 'literal' : 'expression', value };
  }
  if (isName || reader.text() === '-' || reader.text() === '+') reader.at += 1;
  reader.at += 1;
  return { kind: 'literal', value: reader.since(from) };
}

const KINDS = { PRIMARY: 'primary', UNIQUE: 'unique', FULLTEXT: 'fulltext', SPATIAL: 'spatial', VECTOR: 'vector' };

/** @param {Reader} reader @param {string} [constraint] name before the kind @returns {Index} */
function readIndex(reader, constraint = '') {
  const from = reader.at;
  const index = { ...blankIndex(), kind: /** @type {IndexKind} */ (KINDS[reader.word()] ?? 'index') };
  if (index.kind !== 'index') reader.at += 1;
  reader.at += 1;
  index.name = index.kind === 'primary' ? 'PRIMARY' : constraint;
  if (reader.kind() !== 'open' && reader.word() !== 'USING') index.name = reader.name();
  if (reader.take('USING')) index.method = reader.name();
  index.was = index.name;
  if (!reader.takeSign('(')) throw reader.fault('“(”');
  do index.parts.push(readPart(reader)); while (reader.takeSign(','));
  if (!reader.takeSign(')')) throw reader.fault('“)”');
  index.rest = readAttributes(reader, () => {
    if (reader.take('USING')) index.method = reader.name();
    else if (reader.take('INVISIBLE') || reader.take('IGNORED')) index.invisible = true;
    else if (reader.word() === 'COMMENT' && reader.kind(1) === 'text') index.comment = (reader.at += 1, reader.string());
    else if (reader.take('WITH PARSER')) return (reader.at -= 2, false);
    else return false;
    return true;
  });
  index.text = reader.item(from);
  return index;
}

/** @param {Reader} reader @returns {IndexPart} */
function readPart(reader) {
  /** @type {IndexPart} */
  const part = { column: null, expression: null, length: null, descending: false, rest: '' };
  if (reader.kind() === 'open') part.expression = reader.group();
  else part.column = reader.name();
  if (reader.kind() === 'open') part.length = Number(reader.group());
  part.rest = readAttributes(reader, () => {
    if (reader.take('DESC')) part.descending = true;
    else return reader.take('ASC');
    return true;
  });
  return part;
}

/** @param {Reader} reader @param {Table} table */
function readConstraint(reader, table) {
  const from = reader.at;
  const hasName = reader.take('CONSTRAINT') && !/^(?:FOREIGN KEY|CHECK|UNIQUE (?:KEY|INDEX)|PRIMARY KEY)/.test(reader.kind() === 'quoted' ? '' : `${reader.word()} ${reader.word(1)}`);
  const name = hasName ? reader.name() : '';
  if (reader.take('FOREIGN KEY')) {
    const key = { ...blankForeignKey(), was: name, name };
    if (reader.kind() !== 'open') key.name ||= reader.name();
    key.columns = names(reader);
    if (!reader.take('REFERENCES')) throw reader.fault('REFERENCES');
    key.refTable = reader.name();
    if (reader.takeSign('.')) [key.refDb, key.refTable] = [key.refTable, reader.name()];
    key.refColumns = names(reader);
    key.rest = readAttributes(reader, () => {
      const field = reader.take('ON DELETE') ? 'onDelete' : reader.take('ON UPDATE') ? 'onUpdate' : null;
      if (field) key[field] = ACTIONS.find((action) => reader.take(action)) ?? '';
      return field !== null;
    });
    key.text = reader.item(from);
    table.foreignKeys.push(key);
  } else if (reader.take('CHECK')) {
    const check = { ...blankCheck(), was: name, name, expression: reader.group() };
    check.rest = readAttributes(reader, () => {
      if (reader.take('NOT ENFORCED')) check.enforced = false;
      else return reader.take('ENFORCED');
      return true;
    });
    check.text = reader.item(from);
    table.checks.push(check);
  } else {
    const index = readIndex(reader, name);
    index.text = reader.item(from);
    table.indexes.push(index);
  }
}

/** Actions of a foreign key, longest first. */
export const ACTIONS = ['NO ACTION', 'SET NULL', 'SET DEFAULT', 'CASCADE', 'RESTRICT'];

/** @param {Reader} reader */
function names(reader) {
  const list = [];
  if (!reader.takeSign('(')) throw reader.fault('“(”');
  do list.push(reader.name()); while (reader.takeSign(','));
  if (!reader.takeSign(')')) throw reader.fault('“)”');
  return list;
}

/** @param {Reader} reader @param {Table} table */
function readOptions(reader, table) {
  while (!reader.done) {
    const from = reader.at;
    const isPartition = reader.kind() === 'executable' ? reader.word(1) === 'PARTITION' : reader.word() === 'PARTITION';
    if (isPartition) {
      table.partition = reader.sql.slice(reader.tokens[from].start).trim().replace(/;$/, '');
      return;
    }
    if (reader.kind() === 'semicolon' || reader.kind() === 'comma') reader.at += 1;
    else table.options.push(readOption(reader));
  }
}

/** @param {Reader} reader @returns {Option} */
function readOption(reader) {
  const from = reader.at;
  if (reader.kind() === 'comment') {
    reader.at += 1;
    return { name: '', value: '', isText: false, text: reader.since(from) };
  }
  const isVersioned = reader.kind() === 'executable';
  if (isVersioned) reader.at += 1;
  const words = [];
  let value = '';
  let isText = false;
  if (['WITH SYSTEM VERSIONING', 'START TRANSACTION', 'STORAGE DISK', 'STORAGE MEMORY'].some((whole) => reader.take(whole))) words.push(reader.since(isVersioned ? from + 1 : from).toUpperCase());
  else {
    while (reader.kind() === 'word' && (words.length === 0 || /^(?:CHARSET|CHARACTER|SET|COLLATE|DIRECTORY)$/.test(reader.word()))) words.push(reader.word()), reader.at += 1;
    if (words.length === 0) {
      words.push(reader.text());
      reader.name();
    }
    if (reader.takeSign('=') || words[0] === 'TABLESPACE') {
      isText = reader.isText();
      if (isText) value = reader.string();
      else if (reader.kind() === 'open') value = reader.group();
      else if (reader.isName()) value = reader.name();
      else value = reader.text(), reader.at += 1;
    }
  }
  if (isVersioned) while (!reader.done && reader.kind(-1) !== 'executable-end') reader.at += 1;
  return { name: words.join(' '), value, isText, text: reader.since(from) };
}

// Parts that a form adds.

/** @returns {Column} */
export function blankColumn() {
  return {
    id: newId(), was: null, name: '', type: 'int', charset: '', collation: '', nullable: true, default: { kind: 'none', value: '' }, onUpdate: '', generated: null,
    autoIncrement: false, invisible: false, comment: '', check: '', rest: '', text: null,
  };
}

/** @returns {IndexPart} */
export const blankPart = (column = '') => ({ column, expression: null, length: null, descending: false, rest: '' });

/** @returns {Index} */
export const blankIndex = () => ({ id: newId(), was: null, name: '', kind: 'index', parts: [], method: '', invisible: false, comment: '', rest: '', text: null });

/** @returns {ForeignKey} */
export const blankForeignKey = () => ({ id: newId(), was: null, name: '', columns: [], refDb: '', refTable: '', refColumns: [], onUpdate: '', onDelete: '', rest: '', text: null });

/** @returns {Check} */
export const blankCheck = () => ({ id: newId(), was: null, name: '', expression: '', enforced: true, rest: '', text: null });

/** @param {Partial<Table>} [fields] @returns {Table} */
export const blankTable = (fields = {}) => ({ db: '', name: '', temporary: false, head: null, columns: [], indexes: [], foreignKeys: [], checks: [], others: [], options: [], partition: '', ...fields });

/** True for a column in which MariaDB keeps the history of a table; the server changes none. @param {Column} column */
export const isHistory = (column) => /^GENERATED ALWAYS AS ROW\b/i.test(column.rest);

/** A part with some fields changed: it is written anew. @template {{text: string|null}} P @param {P} part @param {Partial<P>} fields @returns {P} */
export const edited = (part, fields) => ({ ...part, ...fields, text: null });

/**
 * A table whose column has another name; indexes and foreign keys of the table follow. Expressions do not.
 * @param {Table} table @param {string} id of the column @param {string} name @returns {Table}
 */
export function renameColumn(table, id, name) {
  const old = table.columns.find((column) => column.id === id)?.name;
  if (old === undefined || old === name) return table;
  const follow = (column) => (column === old ? name : column);
  return {
    ...table,
    columns: table.columns.map((column) => (column.id === id ? edited(column, { name }) : column)),
    indexes: table.indexes.map((index) => (index.parts.some((part) => part.column === old) ? edited(index, { parts: index.parts.map((part) => ({ ...part, column: part.column && follow(part.column) })) }) : index)),
    foreignKeys: table.foreignKeys.map((key) => (key.columns.includes(old) ? edited(key, { columns: key.columns.map(follow) }) : key)),
  };
}

/**
 * A table without a column. Indexes go on without it, those of it alone go with it, as the server does it.
 * @param {Table} table @param {string} id of the column @returns {Table}
 */
export function dropColumn(table, id) {
  const name = table.columns.find((column) => column.id === id)?.name;
  if (name === undefined) return table;
  const indexes = table.indexes.map((index) => (index.parts.some((part) => part.column === name) ? edited(index, { parts: index.parts.filter((part) => part.column !== name) }) : index));
  return { ...table, columns: table.columns.filter((column) => column.id !== id), indexes: indexes.filter((index) => index.parts.length > 0) };
}

// Writing.

const joined = (/** @type {(string|false|null|undefined)[]} */ ...parts) => parts.filter(Boolean).join(' ');

/** @param {Default} value */
export function defaultText({ kind, value }) {
  if (kind === 'none') return '';
  if (kind === 'null') return 'DEFAULT NULL';
  if (kind === 'expression') return `DEFAULT (${value})`;
  return `DEFAULT ${kind === 'text' ? textLiteral(value) : value}`;
}

/** A column from its fields. @param {Column} column */
export function columnText(column) {
  const { generated } = column;
  // Of a timestamp without it, an old server makes one that is NOT NULL.
  const saysNull = /^timestamp\b/i.test(column.type) && !generated && !/^GENERATED\b/i.test(column.rest);
  // Neither server takes DEFAULT NULL where no NULL can be.
  const hasDefault = column.default.kind !== 'null' || (column.nullable && !generated);
  return joined(
    quoted(column.name), column.type, column.charset && `CHARACTER SET ${column.charset}`, column.collation && `COLLATE ${column.collation}`,
    generated && `GENERATED ALWAYS AS (${generated.expression}) ${generated.stored ? 'STORED' : 'VIRTUAL'}`,
    column.nullable ? saysNull && 'NULL' : 'NOT NULL', hasDefault && defaultText(column.default), column.onUpdate && `ON UPDATE ${column.onUpdate}`,
    column.autoIncrement && 'AUTO_INCREMENT', column.rest, column.invisible && 'INVISIBLE', column.comment && `COMMENT ${textLiteral(column.comment)}`,
    column.check && `CHECK (${column.check})`,
  );
}

/** @param {IndexPart} part */
function partText({ column, expression, length, descending, rest }) {
  return joined((expression === null ? quoted(column ?? '') : `(${expression})`) + (length ? `(${length})` : ''), descending && 'DESC', rest);
}

const KIND_TEXT = { primary: 'PRIMARY KEY', unique: 'UNIQUE KEY', index: 'KEY', fulltext: 'FULLTEXT KEY', spatial: 'SPATIAL KEY', vector: 'VECTOR KEY' };

/** An index from its fields. @param {Index} index @param {Partial<Server>} [server] */
export function indexText(index, server) {
  return joined(
    KIND_TEXT[index.kind], index.kind !== 'primary' && index.name && quoted(index.name), `(${index.parts.map(partText).join(',')})`, index.method && `USING ${index.method}`,
    index.rest, index.comment && `COMMENT ${textLiteral(index.comment)}`, index.invisible && (server?.mariadb ? 'IGNORED' : 'INVISIBLE'),
  );
}

const list = (columns) => `(${columns.map(quoted).join(', ')})`;

/** A foreign key from its fields. @param {ForeignKey} key */
export function foreignKeyText(key) {
  return joined(
    key.name && `CONSTRAINT ${quoted(key.name)}`, 'FOREIGN KEY', list(key.columns), 'REFERENCES', `${key.refDb ? `${quoted(key.refDb)}.` : ''}${quoted(key.refTable)}`,
    list(key.refColumns), key.onDelete && `ON DELETE ${key.onDelete}`, key.onUpdate && `ON UPDATE ${key.onUpdate}`, key.rest,
  );
}

/** A check from its fields. @param {Check} check */
export function checkText(check) {
  return joined(check.name && `CONSTRAINT ${quoted(check.name)}`, `CHECK (${check.expression})`, !check.enforced && 'NOT ENFORCED', check.rest);
}

const TEXT_OPTIONS = new Set(['COMMENT', 'CONNECTION', 'DATA DIRECTORY', 'INDEX DIRECTORY', 'COMPRESSION', 'ENCRYPTION', 'PASSWORD', 'ENGINE_ATTRIBUTE', 'SECONDARY_ENGINE_ATTRIBUTE']);

/** A table option from its fields. @param {Option} option */
export function optionText({ name, value, isText, text }) {
  if (text || !name) return text;
  if (value === '' && !isText) return name;
  if (name === 'TABLESPACE') return `TABLESPACE ${quoted(value)}`;
  return `${name}=${isText ? textLiteral(value) : name === 'UNION' ? `(${value})` : value}`;
}

/** Value of an option, or empty. @param {Table} table @param {string} name */
export const optionOf = (table, name) => table.options.find((option) => option.name === name)?.value ?? '';

/** A table with an option set; an empty value removes it. @param {Table} table @param {string} name @param {string} value @returns {Table} */
export function withOption(table, name, value) {
  if (optionOf(table, name) === value) return table;
  const option = { name, value, isText: TEXT_OPTIONS.has(name), text: '' };
  const has = table.options.some((one) => one.name === name);
  const options = has ? table.options.flatMap((one) => (one.name !== name ? [one] : value === '' ? [] : [option])) : [...table.options, option];
  return { ...table, options };
}

/**
 * The statement that creates a table. What was not changed is written as it was read.
 * @param {Table} table @param {Partial<Server>} [server] the session that it is for; none: as SHOW CREATE writes it
 */
export function writeTable(table, server) {
  const ofSystem = (period) => /^PERIOD FOR SYSTEM_TIME/i.test(period);
  const items = [
    ...table.columns.map((column) => column.text ?? columnText(column)), ...table.others.filter((one) => !ofSystem(one)),
    ...table.indexes.map((index) => index.text ?? indexText(index, server)), ...table.others.filter(ofSystem),
    ...table.foreignKeys.map((key) => key.text ?? foreignKeyText(key)), ...table.checks.map((check) => check.text ?? checkText(check)),
  ];
  const { db, name, head } = table;
  const title = head && head.db === db && head.name === name ? head.text : `${db ? `${quoted(db)}.` : ''}${quoted(name)}`;
  const options = table.options.map((option) => optionText(option)).filter(Boolean).join(' ');
  const partition = table.partition && `\n${table.partition.startsWith('/*') ? '' : ' '}${table.partition}`;
  return forSession(`CREATE ${table.temporary ? 'TEMPORARY ' : ''}TABLE ${title} (\n  ${items.join(',\n  ')}\n)${options && ` ${options}`}${partition}`, server);
}
