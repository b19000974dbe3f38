/**
 * Losses by a change of a table, as sentences. No DOM.
 * @module
 */

import { Lexer } from '../core/lexer.js';
import { charsetKeeper, charsetOf, checksChanged, columnRenames, columnsChanged, foreignKeysChanged, isCharsetChanged, isEngineChanged, isText, optionsChanged, readType, stayingColumns, valuesOf } from './changes.js';
import { checkText, columnText, defaultText, forSession, literalValue, optionOf, quoted, UNTOLD_ID } from './definition.js';
import { BYTES as BYTES_OF } from './locking.js';

/** @typedef {import('./definition.js').Table} Table */
/** @typedef {import('./definition.js').Column} Column */

const STRICT = 'the server refuses them, or changes them in a session without strict mode';

/**
 * Sentences about what the change loses or may lose.
 * @param {Table} before @param {Table} after @returns {string[]}
 */
export function risks(before, after) {
  const { dropped, changed } = columnsChanged(before, after);
  const renames = [...columnRenames(before, after)];
  const rewritten = [...changed.map(({ was, now }) => ({ name: was.name, old: columnText(was), text: columnText(now) })), ...checksChanged(before, after).changed.map(({ was, now }) => ({ name: was.name, old: checkText(was), text: checkText(now) }))];
  return [
    ...dropped.map(({ name, generated }) => `${name}: the column${generated ? '' : ' and all its values are'}${generated ? ' is' : ''} removed.`),
    ...dropped.flatMap((column) => indexesLosing(column, before, after)), ...usesOf(dropped, before, after),
    ...changed.flatMap(({ was, now }) => columnRisks(was, now, before, after)),
    ...required(before, after).map(({ was, now }) => `${was.name}: ${now.nullable ? 'a column of the primary key allows no NULL; ' : ''}rows with NULL make this fail, or get an empty value in a session without strict mode${fillsNull(was, now, before) && '; below, they can get the default first, which they keep even if the next statement fails'}.`),
    ...orderRisks(before, after), ...idRisks(before, after),
    // Both servers tell definitions in a character set without emoji.
    ...rewritten.filter(({ old, text }) => old.includes('?') && text.includes('?')).map(({ name }) => `${name}: the server shows “?” in place of emoji and other rare characters. Where one stands in its definition, this makes it a question mark.`),
    ...renames.map(([old, name]) => `${old} becomes ${name}: views, triggers, routines, programs and privileges that name the old one are not changed.`),
    ...keyRisks(before, after), ...optionRisks(before, after),
    ...(before.name !== after.name || before.db !== after.db ? [`${before.name} becomes ${after.db === before.db ? '' : `${after.db}.`}${after.name}: views, triggers, routines, programs and privileges that name the old one are not changed.`] : []),
  ];
}

/** The server takes a dropped column out of an index that keeps it. @param {Column} column @param {Table} before @param {Table} after */
function indexesLosing(column, before, after) {
  const kept = new Set(after.indexes.map((index) => index.was));
  return before.indexes.filter((index) => kept.has(index.name) && index.parts.some((part) => part.column === column.name))
    .map((index) => (index.parts.length === 1 ? `${index.name}: the index is removed with its column.` : `${index.name}: the index goes on without ${column.name}${index.kind === 'unique' || index.kind === 'primary' ? '; rows that are then the same make this fail' : ''}.`));
}

/** Names that an expression mentions, in lower case. @param {string} sql */
function namesIn(sql) {
  const lexer = new Lexer(sql, { comments: true });
  const names = new Set();
  for (let token = lexer.next(); token; token = lexer.next()) {
    const text = sql.slice(token.start, token.end).toLowerCase();
    if (/^[`"]/.test(text)) names.add(text.slice(1, -1).replaceAll(text[0] + text[0], text[0]));
    else if (token.kind !== 'text') names.add(text);
  }
  return names;
}

/** Parts that use dropped columns: a check of one alone goes with it, and for others the server refuses to drop it. @param {Column[]} dropped @param {Table} before @param {Table} after @returns {string[]} */
function usesOf(dropped, before, after) {
  const users = (name) => {
    const uses = (sql) => Boolean(sql) && namesIn(sql).has(name.toLowerCase());
    // One of the same name takes its place.
    if (after.columns.some((one) => one.name.toLowerCase() === name.toLowerCase())) return [];
    return [
      ...after.columns.filter((one) => uses(one.check)).map((one) => `the check of ${one.name}`),
      ...after.columns.filter((one) => uses(one.generated?.expression)).map((one) => `the column ${one.name}`),
      ...after.columns.filter((one) => one.default.kind === 'expression' && uses(one.default.value)).map((one) => `the default of ${one.name}`),
      ...after.indexes.filter((index) => index.parts.some((part) => uses(part.expression))).map((index) => `the index ${index.name}`),
      ...(uses(after.partition.split(/\(\s*PARTITION\b/i)[0]) ? ['the partitions'] : []),
    ];
  };
  const checks = after.checks.flatMap(({ was, name, expression }) => {
    const used = before.columns.filter((column) => namesIn(expression).has(column.name.toLowerCase()));
    const gone = used.filter((column) => dropped.includes(column));
    if (!gone.length) return [];
    const names = gone.map((column) => column.name).join(', ');
    if (was === null || gone.length < used.length) return [`${names}: cannot be removed while the check ${name} uses it.`];
    return [`${name}: the check is removed with ${names}${gone.length > 1 || gone[0].generated ? ', or the server refuses it' : ''}.`];
  });
  return [...checks, ...dropped.flatMap(({ name }) => { const list = users(name); return list.length ? [`${name}: cannot be removed while it is used by ${list.join(', ')}.`] : []; })];
}

/** Columns that allow no NULL any more, also as part of the primary key. @param {Table} before @param {Table} after */
function required(before, after) {
  const isKey = (name, table) => table.indexes.some((index) => index.kind === 'primary' && index.parts.some((part) => part.column === name));
  return kept(before, after).filter(({ was, now }) => !was.generated && !now.generated && was.nullable && !isKey(was.name, before) && (!now.nullable || isKey(now.name, after)));
}

/** Columns that stay, as they were and are. @param {Table} before @param {Table} after */
const kept = (before, after) => after.columns.flatMap((now) => { const was = now.was !== null && before.columns.find((one) => one.name === now.was); return was ? [{ was, now }] : []; });

/** Unique keys in which values may become the same by another collation. @param {Table} before @param {Table} after @returns {string[]} */
function orderRisks(before, after) {
  const keeps = charsetKeeper(before, after);
  const order = (column, table) => column.collation || (!column.charset && optionOf(table, 'COLLATE')) || `the default of ${charsetOf(column, table)}`;
  const nowOf = (now, was) => (isConverted(before, after) ? { charset: '', collation: '' } : keeps(now, was));
  const orders = new Map(kept(before, after).filter(({ was, now }) => isText(was.type) && isText(now.type)).map(({ was, now }) => [now.name, [order(was, before), order(nowOf(now, was), after)]]));
  return after.indexes.filter(({ was, kind }) => was !== null && (kind === 'unique' || kind === 'primary')).flatMap(({ name, parts }) => {
    const changed = parts.filter(({ column }) => { const [was, now] = orders.get(column ?? '') ?? []; return was !== now; });
    return changed.length ? [`${name}: rows whose ${changed.map(({ column }) => column).join(', ')} is the same in ${orders.get(changed[0].column ?? '')?.[1]} make this fail.`] : [];
  });
}

/** Columns of shapes whose reference system is lost (MariaDB). @param {Table} before @param {Table} after @returns {string[]} */
function idRisks(before, after) {
  const idOf = ({ type }) => /REF_SYSTEM_ID\s*=\s*(\d+)/i.exec(type)?.[1] ?? '0';
  const staying = stayingColumns(before, after);
  return kept(before, after).flatMap(({ was, now }) => {
    if (was.type.includes(UNTOLD_ID)) return columnText(was) === columnText(now) && staying.has(now) ? [] : [`${was.name}: the server does not tell its REF_SYSTEM_ID, and this makes it ${idOf(now)}.`];
    return idOf(was) !== '0' && idOf(was) !== idOf(now) ? [`${was.name}: its REF_SYSTEM_ID becomes ${idOf(now)}, and was ${idOf(was)}.`] : [];
  });
}

/**
 * A statement that gives rows with NULL the column's default; empty where it has none.
 * @param {Column} was @param {Column} now @param {Table} table @param {Partial<import('./definition.js').Server>} [server]
 */
function fillsNull(was, now, table, server) {
  if (!['text', 'literal', 'expression'].includes(now.default.kind)) return '';
  const column = quoted(was.name);
  const value = defaultText(now.default).replace(/^DEFAULT /, '');
  return forSession(`UPDATE ${table.db ? `${quoted(table.db)}.` : ''}${quoted(table.name)} SET ${column} = ${value} WHERE ${column} IS NULL`, server);
}

/**
 * Statements that make the change fit: rows with NULL get the default of a column that allows none any more. They are
 * offered, and run before the others if that is wanted.
 * @param {Table} before @param {Table} after @param {Partial<import('./definition.js').Server>} [server] @returns {string[]}
 */
export function prepare(before, after, server) {
  const statements = required(before, after).map(({ was, now }) => fillsNull(was, now, before, server)).filter(Boolean);
  return statements.length ? [...server?.first ?? [], ...statements] : [];
}

/** @param {Column} was @param {Column} now @param {Table} before @param {Table} after @returns {string[]} */
function columnRisks(was, now, before, after) {
  const { name } = was;
  const said = [];
  if (!was.generated && now.generated) return [`${name}: its values are replaced by those of the expression.`];
  if (was.generated && now.generated) return was.generated.expression === now.generated.expression ? [] : [`${name}: its values are computed anew.`];
  const type = was.type === now.type ? null : typeRisk(was.type, now.type);
  if (type) said.push(`${name}: ${type}.`);
  const [from, to] = [charsetOf(was, before), charsetOf(charsetKeeper(before, after)(now, was), after)];
  if (isText(was.type) && isText(now.type) && !isConverted(before, after) && losesCharacters(from, to)) said.push(`${name}: characters that ${to} does not have are lost: ${STRICT}.`);
  if (was.type === now.type && /^(?:tiny|medium)?text\b/i.test(was.type) && !isConverted(before, after) && (BYTES_OF[to] ?? 1) > (BYTES_OF[from] ?? 1)) said.push(`${name}: texts that take more bytes than ${now.type} has, now that a character takes more of them, are too long: ${STRICT}.`);
  if (was.autoIncrement && !now.autoIncrement) said.push(`${name}: new rows no longer get a number by themselves.`);
  return said;
}

const WIDE = /^(?:utf8mb4|utf16|utf16le|utf32|gb18030|)$/i;

/** True if a character set does not have all characters of another one. @param {string} from @param {string} to */
const losesCharacters = (from, to) => from !== to && !WIDE.test(to) && (WIDE.test(from) || !/^(?:utf8mb3|ucs2)$/.test(to));

/** True where all columns of text take the character set of the table. @param {Table} before @param {Table} after */
const isConverted = (before, after) => after.convert === true && isCharsetChanged(before, after);

const INTEGERS = { tinyint: 1, smallint: 2, mediumint: 3, int: 4, integer: 4, bigint: 8 };
/** Most bytes of types with a length in their name. */
const TEXTS = { tinytext: 255, text: 65_535, mediumtext: 16_777_215, longtext: 4_294_967_295, tinyblob: 255, blob: 65_535, mediumblob: 16_777_215, longblob: 4_294_967_295 };
const CHARACTERS = /char|text|enum|set|json/;
const TEXT = /^(?:(?:var)?char|(?:tiny|medium|long)?text)$/;
const BYTES = /^(?:(?:var)?binary|(?:tiny|medium|long)?blob)$/;
const TIMES = /^(?:datetime|timestamp|time)$/;
const APPROXIMATE = /^(?:float|double|real|decimal|numeric)/;

/** Loss of values by a change of type; null where each fits. @param {string} from @param {string} to @returns {string|null} */
function typeRisk(from, to) {
  const [was, now] = [readType(from), readType(to)];
  if (was.word && was.word === now.word && was.inner === now.inner && was.unsigned === now.unsigned) return null;
  if (was.word in INTEGERS && now.word in INTEGERS) {
    const fits = was.unsigned === now.unsigned ? INTEGERS[now.word] >= INTEGERS[was.word] : was.unsigned && INTEGERS[now.word] > INTEGERS[was.word];
    return fits ? null : `values outside the range of ${to} do not fit: ${STRICT}`;
  }
  if (was.word === now.word && (was.word === 'enum' || was.word === 'set')) {
    const left = new Set(valuesOf(now.inner));
    const gone = valuesOf(was.inner).filter((value) => !left.has(value)).map((value) => literalValue(value));
    return gone.length ? `rows with ${gone.slice(0, 5).map((value) => `“${value}”`).join(', ')}${gone.length > 5 ? ' …' : ''} do not fit: ${STRICT}` : null;
  }
  const fractions = TIMES.test(was.word) && TIMES.test(now.word) && Number(now.inner || 0) < Number(was.inner || 0) && 'fractions of a second are rounded or cut off, without an error';
  if (TIMES.test(was.word) && was.word === now.word) return fractions || null;
  if (fractions) return `${fractions}; values are converted from ${from} to ${to}, those that do not fit: ${STRICT}`;
  if (/^(?:datetime|timestamp)$/.test(was.word) && now.word === 'date') return 'the time of day is cut off, without an error';
  if (/^(?:decimal|numeric)$/.test(was.word) && was.word === now.word) return decimalRisk(was, now, to);
  if (APPROXIMATE.test(was.word) && (now.word in INTEGERS || APPROXIMATE.test(now.word))) return was.word === 'float' && now.word === 'double' ? null : 'values are rounded, without an error';
  const [old, length] = [sizeOf(was), sizeOf(now)];
  const isShort = old !== null && length !== null && length < old ? `; values longer than ${to} are too long: ${STRICT}` : '';
  if (BYTES.test(was.word) && TEXT.test(now.word)) return `bytes that are no text in its character set do not fit: ${STRICT}${isShort}`;
  if (TEXT.test(was.word) && BYTES.test(now.word)) return `it has no character set and no collation any more: values are compared and sorted by their bytes, upper and lower case differ${isShort}`;
  if (old !== null && length !== null && CHARACTERS.test(was.word) === CHARACTERS.test(now.word)) return length >= old ? null : `values longer than ${to} are too long: ${STRICT}`;
  if ((CHARACTERS.test(now.word) || now.word.includes('blob')) && (length ?? 0) >= 64 && !CHARACTERS.test(was.word)) return null;
  return `values are converted from ${from} to ${to}; those that do not fit: ${STRICT}`;
}

function decimalRisk(was, now, to) {
  const [[digits, scale], [nowDigits, nowScale]] = [was, now].map(({ inner }) => inner.split(',').map(Number)).map(([all = 10, behind = 0]) => [all || 10, behind]);
  const isNarrow = nowDigits - nowScale < digits - scale || (was.unsigned !== now.unsigned && now.unsigned);
  return [nowScale < scale && 'decimals are rounded, without an error', isNarrow && `values outside the range of ${to} do not fit: ${STRICT}`].filter(Boolean).join('; ') || null;
}

/** Length of a text or of bytes; null for other types. @param {{word: string, inner: string}} type */
function sizeOf({ word, inner }) {
  if (word in TEXTS) return TEXTS[word];
  return /^(?:var)?(?:char|binary)$/.test(word) ? Number(inner || 1) : null;
}

/** @param {Table} before @param {Table} after @returns {string[]} */
function keyRisks(before, after) {
  const again = foreignKeysChanged(before, after).changed.filter(({ was, now }) => was.name === now.name);
  return again.flatMap(({ was }) => {
    // An index that the server made for a foreign key is its own: it gets the name of the foreign key.
    const own = after.indexes.find((index) => index.was !== null && index.kind === 'index' && index.name !== was.name && index.parts.map((part) => part.column).join('\n') === was.columns.join('\n'));
    return [
      `${was.name}: the foreign key is removed first and added again by a second statement; if that fails, the table is left without it.`,
      ...(own ? [`${own.name}: if the server made this index for the foreign key, it renames it to ${was.name}.`] : []),
    ];
  });
}

/** @param {Table} before @param {Table} after @returns {string[]} */
function optionRisks(before, after) {
  const changed = optionsChanged(before, after);
  const said = [];
  const charset = charsetOf({ charset: '', collation: '' }, after);
  if (isConverted(before, after) && before.columns.some((column) => isText(column.type) && losesCharacters(charsetOf(column, before), charset))) said.push(`Characters that ${charset} does not have are lost: ${STRICT}.`);
  const engine = changed.includes('ENGINE') ? optionOf(after, 'ENGINE').toLowerCase() : '';
  const of = optionOf(after, 'ENGINE');
  if (engine && isEngineChanged(before, after)) {
    const { dropped: gone, changed: replaced } = foreignKeysChanged(before, after);
    const names = [...gone, ...replaced.map(({ was }) => was)].map(({ name }) => name);
    if (names.length) said.push(`${names.join(', ')}: no server gives a table with foreign keys another engine, so a first statement removes them; if the next one fails, the table is left without them.`);
    if (engine === 'blackhole') said.push('BLACKHOLE keeps no rows: all rows are lost.');
    else if (engine === 'memory') said.push('MEMORY loses all rows when the server stops.');
    if (engine !== 'innodb' && before.foreignKeys.length) said.push(`${of} has no foreign keys: they are refused or lost.`);
    if (engine !== 'innodb' && /^(?:innodb|)$/i.test(optionOf(before, 'ENGINE'))) said.push(`${of} has no transactions: writes cannot be rolled back, and a crash may damage the table.`);
  }
  const lost = before.options.some((option) => option.name === 'WITH SYSTEM VERSIONING') && !after.options.some((option) => option.name === 'WITH SYSTEM VERSIONING');
  if (lost) said.push('The history of all rows is removed.');
  return said;
}
