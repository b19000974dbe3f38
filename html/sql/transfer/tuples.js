/**
 * The values of a file as a statement has them, by the columns that they go to.
 * @module
 */

import { choicesOf, classOf, isNumber, literal, quoteName, quoteText } from '../data/values.js';
import { objectionOf } from './fitting.js';

/**
 * @typedef {{at: number, name: string, type: string, nullable: boolean, auto?: boolean}} Target a field of the file and the column that it goes to;
 *   `auto`: the server counts it up where there is NULL
 * @typedef {'iso'|'dmy'|'mdy'} DateForm
 * @typedef {{nullText: string|null, comma: boolean, dates: DateForm}} Reading `nullText`: what stands for NULL, out of quotes; `comma`:
 *   decimals are written with one
 * @typedef {'error'|'skip'|'replace'|'update'} Duplicates what becomes of a row whose key is there already
 */

/** @typedef {(text: string) => string} Writer */

/** Error: a value that a column does not take as it is. */
export class Misfit extends Error {
  /** @param {string} column @param {string} reason */
  constructor(column, reason) {
    super(reason);
    this.column = column;
  }
}

/**
 * Writer of a record as the row of an INSERT; throws a Misfit.
 * @param {Target[]} targets @param {Reading} reading
 * @returns {(record: import('./csv.js').Record) => string}
 */
export function tupleWriter(targets, reading) {
  const columns = targets.map((target) => ({ ...target, write: fieldWriter(target, reading) }));
  return ({ fields, quoted, stray }) => {
    if (stray) throw new Misfit(targets.find(({ at }) => stray[at])?.name ?? '', STRAY);
    let tuple = '(';
    for (const { at, write } of columns) {
      if (tuple.length > 1) tuple += ', ';
      tuple += write(fields[at], Boolean(quoted?.[at]));
    }
    return `${tuple})`;
  };
}

/** Problem of a field that continues behind its quotes. */
export const STRAY = 'text after the closing quote';

/**
 * Writer of a field into its column; throws a Misfit.
 * @param {Target} target @param {Reading} reading
 * @returns {(text: string, wasQuoted: boolean) => string}
 */
export function fieldWriter(target, reading) {
  const { name, type, nullable, auto = false } = target;
  const { nullText } = reading;
  const write = writerOf(target, reading);
  const takesEmpty = ['text', 'binary'].includes(classOf(type)) || (classOf(type) === 'choice' && choicesOf(type).includes(''));
  return (text, wasQuoted) => {
    const isNull = text === nullText && !wasQuoted;
    // Nothing, though in quotes, is no number and no date.
    if (!isNull && !(text === '' && nullText !== null && !takesEmpty)) return write(text);
    if (nullable || auto) return 'NULL';
    // Servers put 0 or an empty text there, where there are several rows.
    if (text !== '' || !takesEmpty) throw new Misfit(name, text === '' ? 'empty, but the column is NOT NULL' : 'NULL, but the column is NOT NULL');
    return "''";
  };
}

/** @param {Target} target @param {Reading} reading @returns {Writer} */
function writerOf({ name, type }, { comma, dates }) {
  const kind = classOf(type);
  const objection = objectionOf(type);
  const fit = (text) => {
    const reason = objection(text);
    if (reason) throw new Misfit(name, reason);
    return text;
  };
  if (kind === 'number' || kind === 'float') return numberWriter(type, comma, fit);
  if (kind === 'date') return (text) => quoteText(fit(dateOf(text, dates)));
  if (kind === 'shape') return shapeText;
  if (kind === 'text' || kind === 'json' || kind === 'choice') return (text) => quoteText(fit(text));
  return (text) => literal(fit(text), type);
}

/** A number with a point before its decimals, and nothing between its digits. @param {string} text @param {boolean} comma whether it has a comma there */
export function withPoint(text, comma) {
  const bare = text.trim();
  if (!comma || !/^[+-]?\d[\d.\s'\u00a0\u202f]*(?:,\d+)?(?:e[+-]?\d+)?$/i.test(bare)) return bare;
  return bare.replace(/[.\s'\u00a0\u202f]/g, '').replace(',', '.');
}

const TRUTH = { true: '1', yes: '1', false: '0', no: '0' };

function numberWriter(type, comma, fit) {
  const isFlag = /^tinyint\(1\)/i.test(type);
  return (text) => {
    const digits = withPoint(text, comma);
    if (isNumber(digits)) return fit(digits);
    return (isFlag && TRUTH[digits.toLowerCase()]) || quoteText(text);
  };
}

const DAY_FIRST = /^(\d{1,2})[./-](\d{1,2})[./-](\d{4})(?=$|[ T])/;

/** A date with the year first, as the server has it. @param {string} text @param {DateForm} form */
export function dateOf(text, form) {
  const two = (digits) => digits.padStart(2, '0');
  const parts = form === 'iso' ? null : DAY_FIRST.exec(text.trim());
  const turned = parts ? `${parts[3]}-${two(parts[form === 'dmy' ? 2 : 1])}-${two(parts[form === 'dmy' ? 1 : 2])}${text.trim().slice(parts[0].length)}` : text.trim();
  return turned.replace(/^(\d{4}-\d\d-\d\d)T/, '$1 ');
}

/** Bytes as the server has them, or a shape in words. */
function shapeText(text) {
  if (/^0x(?:[0-9a-f]{2})+$/i.test(text)) return `X'${text.slice(2)}'`;
  return /^[A-Z]+\s*\(/i.test(text) ? `ST_GeomFromText(${quoteText(text)})` : quoteText(text);
}

/**
 * Text before and behind the rows of an INSERT.
 * @param {{db: string, table: string, targets: Target[], keys: string[], duplicates: Duplicates}} into `keys`: columns of the key that rows are found by
 */
export function insertFrame({ db, table, targets, keys, duplicates }) {
  const names = targets.map(({ name }) => quoteName(name));
  const verb = duplicates === 'replace' ? 'REPLACE' : 'INSERT';
  return { before: `${verb} INTO ${quoteName(db)}.${quoteName(table)} (${names.join(', ')}) VALUES\n`, after: onDuplicate(targets, keys, duplicates) };
}

/** A row is skipped by a change that changes nothing: with IGNORE the server would bend values too that do not fit. */
function onDuplicate(targets, keys, duplicates) {
  const named = targets.map(({ name }) => name);
  const changed = named.filter((name) => !keys.includes(name));
  if (duplicates === 'skip' || (duplicates === 'update' && !changed.length)) return `\nON DUPLICATE KEY UPDATE ${quoteName(named[0])} = ${quoteName(named[0])}`;
  if (duplicates !== 'update') return '';
  return `\nON DUPLICATE KEY UPDATE ${changed.map((name) => `${quoteName(name)} = VALUES(${quoteName(name)})`).join(', ')}`;
}

/** A CREATE statement for the columns of a file. @param {{db: string, table: string, columns: {name: string, type: string, key?: boolean}[]}} made */
export function createSql({ db, table, columns }) {
  const key = columns.find((column) => column.key);
  const lines = columns.map(({ name, type }) => `  ${quoteName(name)} ${type}${name === key?.name ? ' NOT NULL' : ''}`);
  if (key) lines.push(`  PRIMARY KEY (${quoteName(key.name)})`);
  return `CREATE TABLE ${quoteName(db)}.${quoteName(table)} (\n${lines.join(',\n')}\n)`;
}
