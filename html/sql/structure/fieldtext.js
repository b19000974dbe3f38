/**
 * Texts of the form's fields: defaults, columns of an index, lists of names, and what is suggested for them. No DOM.
 * @module
 */

import { quoteIdentifier, unquoteIdentifier } from '../core/identifiers.js';
import { isSince } from './changes.js';
import { blankPart, literalValue, textLiteral } from './definition.js';

/** @typedef {import('./definition.js').Server} Server */
/** @typedef {{value: string, hint: string}} Suggestion */

const NUMERIC = /^(?:(?:tiny|small|medium|big)?int|integer|decimal|dec|numeric|fixed|float|double|real|bit|bool|boolean|year|serial)\b/i;
const TIME = /^(?:current_timestamp|now|localtime|localtimestamp)(?:\s*\(\s*\d?\s*\))?$/i;

// Defaults.

/** A default as its field shows it, with the escapes of SHOW CREATE; empty where there is none. @param {import('./definition.js').Default} value */
export function defaultField({ kind, value }) {
  if (kind === 'none') return '';
  if (kind === 'null') return 'NULL';
  if (kind === 'expression') return `(${value})`;
  return kind === 'text' ? textLiteral(value) : value;
}

/**
 * The default that a field's text means. A text that is no literal is one for a text without its quotes.
 * @param {string} field @param {string} type of the column
 * @returns {import('./definition.js').Default}
 */
export function readDefaultField(field, type) {
  const text = field.trim();
  if (text === '') return { kind: 'none', value: '' };
  if (/^null$/i.test(text)) return { kind: 'null', value: '' };
  if (/^'(?:[^'\\]|\\[\s\S]|'')*'$/.test(text)) return { kind: 'text', value: literalValue(text) };
  if (isGroup(text)) return { kind: 'expression', value: text.slice(1, -1) };
  if (TIME.test(text)) return { kind: 'literal', value: text.replace(/^now\b/i, 'CURRENT_TIMESTAMP').replace(/\(\s*\)$/, '') };
  if (/^(?:[bx]'[^']*'|true|false)$/i.test(text)) return { kind: 'literal', value: text };
  if (NUMERIC.test(type) && /^[+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?$/i.test(text)) return { kind: 'literal', value: text };
  if (/^\w+\s*\([\s\S]*\)$/.test(text)) return { kind: 'expression', value: text };
  return { kind: 'text', value: text };
}

/** True if a pair of parentheses holds all of it. @param {string} text */
function isGroup(text) {
  if (!text.startsWith('(') || !text.endsWith(')')) return false;
  let depth = 0;
  for (let at = 0; at < text.length; at += 1) {
    const sign = text[at];
    if (sign === "'" || sign === '"' || sign === '`') at = closing(text, at);
    else if (sign === '(') depth += 1;
    else if (sign === ')' && (depth -= 1) === 0) return at === text.length - 1;
  }
  return false;
}

/** Place of the quote that closes the one at a place. @param {string} text @param {number} at */
function closing(text, at) {
  const sign = text[at];
  for (let i = at + 1; i < text.length; i += 1) {
    if (text[i] === '\\' && sign !== '`') i += 1;
    else if (text[i] === sign) return i;
  }
  return text.length;
}

// Lists.

/** Splits at commas outside of quotes and parentheses. @param {string} text @returns {string[]} */
export function splitList(text) {
  const out = [];
  let depth = 0;
  let from = 0;
  for (let at = 0; at < text.length; at += 1) {
    const sign = text[at];
    if (sign === "'" || sign === '"' || sign === '`') at = closing(text, at);
    else if (sign === '(') depth += 1;
    else if (sign === ')') depth -= 1;
    else if (sign === ',' && depth === 0) {
      out.push(text.slice(from, at));
      from = at + 1;
    }
  }
  return [...out, text.slice(from)].map((part) => part.trim()).filter(Boolean);
}

/** @param {string[]} names */
export const namesField = (names) => names.map(quoteIdentifier).join(', ');

/** @param {string} field @returns {string[]} */
export const readNamesField = (field) => splitList(field).map((name) => unquoteIdentifier(name));

/** Columns of an index as their field shows them: `a, b(10) DESC, (lower(c))`. @param {import('./definition.js').IndexPart[]} parts */
export function partsField(parts) {
  return parts.map(({ column, expression, length, descending, rest }) => [`${expression === null ? quoteIdentifier(column ?? '') : `(${expression})`}${length ? `(${length})` : ''}`, descending && 'DESC', rest].filter(Boolean).join(' ')).join(', ');
}

/**
 * @param {string} field @param {string[]} columns of the table @param {import('./definition.js').IndexPart[]} [old] parts as they were: those that are not changed stay as they are
 * @returns {{parts: import('./definition.js').IndexPart[], problem: string}}
 */
export function readPartsField(field, columns, old = []) {
  let problem = '';
  const parts = splitList(field).map((text) => {
    const same = old.find((part) => partsField([part]) === text);
    if (same) return same;
    const descending = /\s(?:desc)$/i.test(text);
    const bare = text.replace(/\s(?:desc|asc)$/i, '').trim();
    if (isGroup(bare)) return { ...blankPart(), column: null, expression: bare.slice(1, -1), descending };
    const found = /^(`(?:[^`]|``)+`|[^\s(`]+)\s*(?:\(\s*(\d+)\s*\))?$/.exec(bare);
    if (!found) problem ||= `“${text}” is not a column, and no expression in parentheses.`;
    const name = unquoteIdentifier(found?.[1] ?? bare);
    const known = columns.find((one) => one === name) ?? columns.find((one) => one.toLowerCase() === name.toLowerCase());
    if (!known) problem ||= `The table has no column “${name}”.`;
    return { ...blankPart(), column: known ?? name, length: found?.[2] ? Number(found[2]) : null, descending };
  });
  return { parts, problem: parts.length ? problem : 'Name a column.' };
}

// Suggestions.

const TYPES = [
  ['int', 'whole number, 4 bytes'], ['bigint', 'whole number, 8 bytes'], ['int unsigned', 'whole number from 0'], ['bigint unsigned', 'whole number from 0'], ['smallint', 'whole number, 2 bytes'],
  ['mediumint', 'whole number, 3 bytes'], ['tinyint', 'whole number, 1 byte'], ['tinyint(1)', 'true or false'], ['decimal(10,2)', 'exact, with decimals'], ['double', 'approximate'], ['float', 'approximate'],
  ['bit(1)', 'bits'], ['varchar(255)', 'text up to a length'], ['char(36)', 'text of one length'], ['text', 'text up to 64 KiB'], ['mediumtext', 'text up to 16 MiB'], ['longtext', 'text up to 4 GiB'],
  ['tinytext', 'text up to 255 bytes'], ['date', ''], ['datetime', 'no time zone'], ['datetime(6)', 'with microseconds'], ['timestamp', 'a moment, kept in UTC'], ['timestamp(6)', 'with microseconds'], ['time', ''], ['year', ''],
  ["enum('a','b')", 'one of a list'], ["set('a','b')", 'some of a list'], ['json', ''], ['binary(16)', 'bytes of one length'], ['varbinary(255)', 'bytes up to a length'],
  ['blob', 'bytes up to 64 KiB'], ['mediumblob', 'bytes up to 16 MiB'], ['longblob', 'bytes up to 4 GiB'], ['tinyblob', 'bytes up to 255'],
  ['geometry', ''], ['point', ''], ['linestring', ''], ['polygon', ''], ['multipoint', ''], ['multilinestring', ''], ['multipolygon', ''], ['geometrycollection', ''],
];

/** Types that came with a version: of MariaDB, then of MySQL. */
const NEWER = /** @type {[string, string, number[]|null, number[]|null][]} */ ([['inet6', 'IPv6 address', [10, 5], null], ['uuid', '', [10, 7], null], ['inet4', 'IPv4 address', [10, 10], null],
  ['vector(768)', 'for similarity', [11, 7], [9, 0]]]);

/** Types that a server has. @param {Server} server @returns {Suggestion[]} */
export function typesOf(server) {
  const newer = NEWER.filter(([, , maria, mysql]) => {
    const since = server.mariadb ? maria : mysql;
    return since !== null && isSince(server, ...since);
  });
  return [...TYPES, ...newer].map(([value, hint]) => ({ value, hint }));
}

/** Suggestions for a text, those that begin with it first. @param {Suggestion[]} list @param {string} text @param {number} [most] */
export function matching(list, text, most = 60) {
  const sought = text.trim().toLowerCase();
  if (!sought) return list.slice(0, most);
  const begins = list.filter(({ value }) => value.toLowerCase().startsWith(sought));
  const holds = list.filter((one) => !begins.includes(one) && one.value.toLowerCase().includes(sought));
  return [...begins, ...holds].slice(0, most);
}

/** @typedef {{db: string, table: string, columns: string[], types: string[]}} Key a primary or unique key of a table that may be referenced */

/** A type as a foreign key compares it. @param {string} type */
const comparable = (type) => type.toLowerCase().replace(/\b((?:tiny|small|medium|big)?int)\s*\(\d+\)/, '$1').replace(/\binteger\b/, 'int').replace(/\b(?:var)?char\(\d+\)/, 'char').trim();

/**
 * Keys that columns may reference, those that fit best first.
 * @param {{name: string, type: string}[]} columns @param {Key[]} keys @param {string} own table that has the columns
 * @returns {(Key & {fits: boolean})[]}
 */
export function proposals(columns, keys, own) {
  const [first] = columns;
  const scored = keys.map((key) => {
    const fits = columns.length > 0 && key.columns.length === columns.length && columns.every(({ type }, i) => comparable(type) === comparable(key.types[i]));
    const score = (fits ? 4 : 0) + (first ? alike(first.name, key.table, key.columns[0]) : 0) + (key.table === own ? -1 : 0);
    return { ...key, fits, score };
  });
  return scored.sort((a, b) => b.score - a.score || a.table.localeCompare(b.table));
}

/** Weight of a column's name as that of a reference to a table. @param {string} column @param {string} table @param {string} key */
function alike(column, table, key) {
  const plain = (text) => text.toLowerCase().replace(/[^a-z0-9\u0080-\uffff]/g, '');
  const stem = plain(column.replace(/_?(?:id|uuid|key|code|no|nr)$/i, ''));
  const name = plain(table);
  const single = name.replace(/ies$/, 'y').replace(/(?:(ss|x|ch|sh)es|s)$/, '$1');
  if (stem && (stem === name || stem === single)) return 8;
  if (plain(column) === plain(`${table}${key}`) || plain(column) === plain(`${single}${key}`)) return 8;
  if (plain(column) === plain(key) && plain(key) !== 'id') return 5;
  return stem.length > 2 && (name.endsWith(stem) || stem.endsWith(single)) ? 3 : 0;
}

/** A free name for an index. @param {{column: string|null}[]} parts @param {string[]} taken */
export function indexName(parts, taken) {
  const stem = parts.map(({ column }) => column ?? 'expression').join('_').slice(0, 56) || 'index';
  return freeName(stem, taken);
}

/** A name that is not taken. @param {string} stem @param {string[]} taken */
export function freeName(stem, taken) {
  const used = new Set(taken.map((name) => name.toLowerCase()));
  let name = stem;
  for (let i = 2; used.has(name.toLowerCase()); i += 1) name = `${stem}_${i}`;
  return name;
}
