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
 * @property {boolean} [safeFormulas] CSV: puts `'` before texts that a spreadsheet would run as a formula
 * @property {string} [name] of the table, for INSERT
 */

/** The formats by name, with the label and the file type of each. */
export const FORMATS = {
  tsv: { label: 'TSV', extension: 'tsv', mime: 'text/tab-separated-values', write: writeTsv },
  csv: { label: 'CSV', extension: 'csv', mime: 'text/csv', write: writeCsv },
  json: { label: 'JSON', extension: 'json', mime: 'application/json', write: writeJson },
  insert: { label: 'SQL INSERT', extension: 'sql', mime: 'application/sql', write: writeInsert },
  markdown: { label: 'Markdown', extension: 'md', mime: 'text/markdown', write: writeMarkdown },
};

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
  for (const text of FORMATS[format].write(table)) {
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
function* writeTsv({ columns, rows, header = false, nullText = 'NULL' }) {
  const cell = (value) => {
    if (value === null) return nullText;
    const text = String(value);
    return /[\t\r\n]|^"/.test(text) ? quoted(text) : text;
  };
  const end = '\n';
  let first = true;
  for (const row of withHeader(columns, rows, header)) {
    yield (first ? '' : end) + row.map(cell).join('\t');
    first = false;
  }
}

/** RFC 4180: CRLF after every record, the last included. */
function* writeCsv({ columns, types, rows, header = true, nullText = '', safeFormulas = false }) {
  const numeric = types.map((type) => kindOf(type) === 'number');
  const cell = (value, column) => {
    if (value === null) return csvField(nullText);
    const text = String(value);
    if (text === nullText) return quoted(text); // unlike NULL
    return csvField(safeFormulas && !numeric[column] ? defused(text) : text);
  };
  if (header) yield `${columns.map(csvField).join(',')}\r\n`;
  for (const row of rows) yield `${row.map(cell).join(',')}\r\n`;
}

const csvField = (text) => (/[",\r\n]/.test(text) ? quoted(text) : text);
const quoted = (text) => `"${text.replaceAll('"', '""')}"`;
const defused = (text) => (/^[=+\-@\t\r]/.test(text) ? `'${text}` : text);

function* withHeader(columns, rows, header) {
  if (header) yield columns;
  yield* rows;
}

/** An array of objects, a line each; values as the API gives them, so that no digit is lost. */
function* writeJson({ columns, rows }) {
  const keys = columns.map((name) => JSON.stringify(name));
  let before = '[\n  ';
  for (const row of rows) {
    yield `${before}{${row.map((value, i) => `${keys[i]}: ${JSON.stringify(value)}`).join(', ')}}`;
    before = ',\n  ';
  }
  yield before === ',\n  ' ? '\n]\n' : '[]\n';
}

function* writeInsert({ columns, types, rows, name = 'table_name' }) {
  const kinds = types.map(kindOf);
  const head = `INSERT INTO ${name} (${columns.map(quoteName).join(', ')}) VALUES`;
  let inStatement = 0;
  for (const row of rows) {
    const tuple = `(${row.map((value, i) => literal(value, kinds[i])).join(', ')})`;
    const lead = inStatement === 0 ? `${head}\n  ` : ',\n  ';
    inStatement = (inStatement + 1) % INSERT_ROWS;
    yield lead + tuple + (inStatement === 0 ? ';\n' : '');
  }
  if (inStatement !== 0) yield ';\n';
}

/** An identifier in the server's quotes. */
export const quoteName = (name) => `\`${name.replaceAll('`', '``')}\``;

const ESCAPES = { '\0': '\\0', '\n': '\\n', '\r': '\\r', '\u001a': '\\Z', "'": "''", '\\': '\\\\' };

/**
 * A value as an SQL literal.
 * @param {any} value null, a string, a number or a boolean
 * @param {string} kind of the column
 */
export function literal(value, kind) {
  if (value === null || value === undefined) return 'NULL';
  if (typeof value === 'number') return String(value);
  if (kind === 'number' && /^-?\d+(\.\d+)?$/.test(value)) return value;
  if (isBinaryKind(kind) && isHex(value)) return value.length > 2 ? value : "''";
  return `'${String(value).replace(/[\0\n\r\u001a'\\]/g, (char) => ESCAPES[char])}'`;
}

function* writeMarkdown({ columns, types, rows }) {
  const line = (cells) => `| ${cells.join(' | ')} |\n`;
  yield line(columns.map(markdownCell));
  yield line(types.map((type) => (kindOf(type) === 'number' ? '---:' : '---')));
  for (const row of rows) yield line(row.map(markdownCell));
}

function markdownCell(value) {
  if (value === null) return 'NULL';
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
