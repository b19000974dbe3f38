/**
 * Rows as text for the clipboard and for files.
 * @module
 */

import { Slicer } from './slices.js';
import { isBinaryKind, isHex, kindOf } from './types.js';

/** Rows of one INSERT statement: long enough to be quick, short enough for the server's packet limit. */
const INSERT_ROWS = 100;

/** Characters gathered before they become one piece. */
const PIECE = 1 << 16;

/**
 * @typedef {object} Table
 * @property {string[]} columns
 * @property {string[]} types
 * @property {Iterable<Array<any>>} rows
 * @property {boolean} [header] whether the column names come first (TSV, CSV)
 * @property {string} [nullText] text for NULL (TSV, CSV); default `NULL` in TSV, empty in CSV
 * @property {',' | ';' | 'tab'} [delimiter] CSV
 * @property {'.' | ','} [decimal] TSV, CSV: sign in numbers
 * @property {boolean} [safeFormulas] CSV: puts `'` before texts that a spreadsheet would run as a formula
 * @property {string} [name] of the table, for INSERT
 * @property {string[]} [leaveOut] INSERT: columns that are left out, such as generated ones
 * @property {boolean} [script] INSERT: a file of its own, which sets the session's mode
 * @property {string[]} [nested] JSON: columns of texts that are JSON
 * @property {string[]} [key] UPDATE: columns that tell rows apart
 */

/** The formats by name, with the label and the file type of each. */
export const FORMATS = {
  tsv: { label: 'TSV', extension: 'tsv', mime: 'text/tab-separated-values', write: writeTsv },
  csv: { label: 'CSV', extension: 'csv', mime: 'text/csv', write: writeCsv },
  json: { label: 'JSON', extension: 'json', mime: 'application/json', write: writeJson },
  insert: { label: 'SQL INSERT', extension: 'sql', mime: 'application/sql', write: writeInsert },
  markdown: { label: 'Markdown', extension: 'md', mime: 'text/markdown', write: writeMarkdown },
  jsonl: { label: 'JSON lines', extension: 'jsonl', mime: 'application/x-ndjson', write: later },
  update: { label: 'SQL UPDATE', extension: '', mime: 'application/sql', write: later },
  list: { label: 'IN list', extension: '', mime: 'application/sql', write: later },
};

/** Its writer is loaded when it is asked for. @param {Table} _table @returns {Iterable<string>} */
function later(_table) {
  return [];
}

/**
 * Writes a table in slices.
 * @param {keyof typeof FORMATS} format
 * @param {Table} table
 * @param {{signal?: AbortSignal}} [options]
 * @returns {Promise<string[]>} the text in pieces, as `Blob` takes them
 */
export async function writeTable(format, table, { signal } = {}) {
  const slicer = new Slicer(signal);
  const pieces = [];
  let piece = '';
  const { write } = FORMATS[format];
  for (const text of write === later ? (await import('./moreformats.js')).WRITERS[format](table, { document, literal, quoteName }) : write(table)) {
    piece += text;
    if (piece.length >= PIECE) {
      pieces.push(piece);
      piece = '';
    }
    if (slicer.due) await slicer.rest();
  }
  return [...pieces, piece];
}

/** Quoted where it holds a tab, line end or quote, so that spreadsheets read it as one cell. */
function* writeTsv({ columns, types, rows, header = false, nullText = 'NULL', decimal = '.' }) {
  const numeric = types.map((type) => kindOf(type) === 'number');
  const cell = (value, column) => {
    if (value === null) return nullText;
    const text = withDecimal(String(value), numeric[column], decimal);
    if (text === nullText) return quoted(text); // unlike NULL
    return /[\t\r\n]|^"/.test(text) ? quoted(text) : text;
  };
  const end = '\n';
  if (header) yield columns.map((name) => cell(name, -1)).join('\t');
  let first = !header;
  for (const row of rows) {
    yield (first ? '' : end) + row.map(cell).join('\t');
    first = false;
  }
}

/** A number as a server writes it. */
const NUMBER = /^[+-]?[\d.]+(?:e[+-]?\d+)?$/i;

/** A number with the decimal sign. @param {string} text @param {boolean} isNumeric @param {string} decimal */
const withDecimal = (text, isNumeric, decimal) => (decimal === ',' && isNumeric && NUMBER.test(text) ? text.replace('.', ',') : text);

/** RFC 4180: CRLF after every record, the last included. @param {Table} table */
function* writeCsv({ columns, types, rows, header = true, nullText = '', safeFormulas = false, delimiter = ',', decimal = '.' }) {
  const numeric = types.map((type) => kindOf(type) === 'number');
  const sign = delimiter === 'tab' ? '\t' : delimiter;
  const csvField = (text) => (/["\r\n]/.test(text) || text.includes(sign) ? quoted(text) : text);
  const cell = (value, column) => {
    if (value === null) return csvField(nullText);
    const plain = String(value);
    const text = withDecimal(plain, numeric[column], decimal);
    if (text === nullText || text === '' || /^(?:\\N|null)$/i.test(text)) return quoted(text); // unlike NULL, whatever stands for it where it is read
    return csvField(safeFormulas && !numeric[column] ? defused(text) : text);
  };
  if (header) yield `${columns.map(csvField).join(sign)}\r\n`;
  for (const row of rows) yield `${row.map(cell).join(sign)}\r\n`;
}

const quoted = (text) => `"${text.replaceAll('"', '""')}"`;
const defused = (text) => (/^[=+\-@\t\r]/.test(text) ? `'${text}` : text);

/**
 * An array of objects, a line each; values as the API gives them, so that no digit is lost, and JSON as what it is.
 * @param {Table} table
 */
function* writeJson({ columns, types, rows, nested = [] }) {
  const keys = columns.map((name) => JSON.stringify(name));
  const isNested = columns.map((name, i) => kindOf(types[i]) === 'json' || nested.includes(name));
  const cell = (value, i) => (isNested[i] ? document(value) : null) ?? JSON.stringify(value);
  let before = '[\n  ';
  for (const row of rows) {
    yield `${before}{${row.map((value, i) => `${keys[i]}: ${cell(value, i)}`).join(', ')}}`;
    before = ',\n  ';
  }
  yield before === ',\n  ' ? '\n]\n' : '[]\n';
}

/** A text that is JSON, in one line and with every digit; null where it is none. @param {any} value */
function document(value) {
  if (typeof value !== 'string') return null;
  try {
    JSON.parse(value);
  } catch {
    return null;
  }
  return value.replace(/[\r\n]+/g, '').trim();
}

/** Begin and end of a file of INSERTs: its values mean the same whatever session reads them. */
const SCRIPT = {
  before: "SET NAMES utf8mb4;\nSET @postern_sql_mode = @@sql_mode, sql_mode = 'NO_AUTO_VALUE_ON_ZERO,STRICT_ALL_TABLES,ALLOW_INVALID_DATES';\n",
  after: 'SET sql_mode = @postern_sql_mode;\n',
};

/** @param {Table} table */
function* writeInsert({ columns, types, rows, name = 'table_name', leaveOut = [], script = false }) {
  const kept = columns.map((_, i) => i).filter((i) => !leaveOut.includes(columns[i]));
  const kinds = types.map(kindOf);
  const head = `INSERT INTO ${name} (${kept.map((i) => quoteName(columns[i])).join(', ')}) VALUES`;
  let inStatement = 0;
  if (script) yield SCRIPT.before;
  for (const row of kept.length ? rows : []) {
    const tuple = `(${kept.map((i) => literal(row[i], kinds[i], script)).join(', ')})`;
    const lead = inStatement === 0 ? `${head}\n  ` : ',\n  ';
    inStatement = (inStatement + 1) % INSERT_ROWS;
    yield lead + tuple + (inStatement === 0 ? ';\n' : '');
  }
  if (inStatement !== 0) yield ';\n';
  if (script) yield SCRIPT.after;
}

/** An identifier in the server's quotes. */
export const quoteName = (name) => `\`${name.replaceAll('`', '``')}\``;

const ESCAPES = { '\0': '\\0', '\n': '\\n', '\r': '\\r', '\u001a': '\\Z', "'": "''", '\\': '\\\\' };

/**
 * A value as an SQL literal.
 * @param {any} value null, a string, a number or a boolean
 * @param {string} kind of the column
 * @param {boolean} [escapes] whether a backslash is sure to be read as an escape: a mode of the session decides
 */
export function literal(value, kind, escapes = false) {
  if (value === null || value === undefined) return 'NULL';
  if (typeof value === 'number') return String(value);
  if (kind === 'number' && /^-?\d+(\.\d+)?$/.test(value)) return value;
  if (isBinaryKind(kind) && isHex(value)) return value.length > 2 ? value : "''";
  const text = String(value);
  if (escapes) return `'${text.replace(/[\0\n\r\u001a'\\]/g, (char) => ESCAPES[char])}'`;
  return /[\\\0\r\u001a]/.test(text) ? bytesOf(text) : `'${text.replaceAll("'", "''")}'`;
}

/** A text by its bytes, which reads the same under every mode. */
function bytesOf(text) {
  return `_utf8mb4 X'${Array.from(new TextEncoder().encode(text), (byte) => byte.toString(16).padStart(2, '0')).join('')}'`;
}

function* writeMarkdown({ columns, types, rows }) {
  const line = (cells) => `| ${cells.join(' | ')} |\n`;
  yield line(columns.map(markdownCell));
  yield line(types.map((type) => (kindOf(type) === 'number' ? '---:' : '---')));
  for (const row of rows) yield line(row.map(markdownCell));
}

/** NULL in italics, which no text is: its stars are escaped. */
function markdownCell(value) {
  if (value === null) return '*NULL*';
  return String(value)
    .replace(/[\\|*_`<>[\]]/g, '\\$&')
    .replace(/\r\n|\r|\n/g, '<br>');
}

/**
 * The table that a simple SELECT reads, as it is written there; null when there is no single one.
 * @param {string} sql
 */
export function sourceTable(sql) {
  const name = '(?:`(?:[^`]|``)+`|[\\w$\\u0080-\\uffff]+)';
  const pattern = new RegExp(`\\bfrom\\s+(${name}(?:\\s*\\.\\s*${name})?)\\s*(,|\\bjoin\\b)?`, 'gi');
  const found = [...sql.matchAll(pattern)];
  return found.length === 1 && !/,|join/i.test(found[0][2] ?? '') && !/\bjoin\b/i.test(sql) ? found[0][1] : null;
}
