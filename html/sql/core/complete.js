// Completion: what the caret stands on, which tables are in scope, and the ranked list of what may stand there.
import { tokens } from './lexer.js';
import { quoteIdentifier, unquoteIdentifier } from './identifiers.js';
import { FUNCTIONS, KEYWORDS } from './words.js';

/** The most items offered. */
const MAX_ITEMS = 80;

/** Words after which a table is named. */
const TABLE_WORDS = new Set(['FROM', 'JOIN', 'STRAIGHT_JOIN', 'INTO', 'UPDATE', 'TABLE', 'TABLES', 'VIEW', 'DESCRIBE', 'TRUNCATE', 'REFERENCES']);
/** Words that introduce table references, for the scope. */
const SCOPE_WORDS = new Set(['FROM', 'JOIN', 'STRAIGHT_JOIN', 'INTO', 'UPDATE']);
/** Words that end a list of table references, or follow a reference where an alias could stand. */
const CLAUSE_WORDS = new Set(['SELECT', 'WHERE', 'ON', 'USING', 'SET', 'GROUP', 'ORDER', 'HAVING', 'LIMIT', 'VALUES', 'UNION', 'EXCEPT', 'INTERSECT',
  'JOIN', 'LEFT', 'RIGHT', 'INNER', 'OUTER', 'CROSS', 'NATURAL', 'STRAIGHT_JOIN', 'FROM', 'INTO', 'UPDATE', 'FOR', 'WINDOW', 'PARTITION', 'USE', 'FORCE', 'IGNORE',
  'RETURNING', 'LATERAL', 'WHEN', 'THEN', 'ELSE', 'END', 'LOCK', 'OFFSET', 'FETCH', 'PROCEDURE', 'WITH']);

/**
 * @typedef {{db: string|null, name: string, alias: string|null}} TableRef
 * @typedef {{from: number, to: number, prefix: string, kind: 'table'|'database'|'alias'|'expression'|'member',
 *   qualifier: string[], scope: TableRef[], inTablePlace: boolean}} Context
 */

/**
 * What can be completed at `caret` of one statement, or null inside a string, comment, number or variable.
 * @param {string} sql one statement
 * @param {number} caret
 * @returns {Context|null}
 */
export function completionContext(sql, caret) {
  if (insideLiteral(sql, caret)) return null;
  const list = significant(withName(sql, caret));
  const word = list.find((token) => token.start <= caret && caret <= token.end && isWord(token) && (token.start < caret || token.text === HOLE));
  const hole = word?.text === HOLE && sql[caret - 1] === '.';
  const before = list.filter((token) => token.end <= (word ? word.start : caret));
  const qualifier = qualifierOf(before);
  const rest = qualifier.length ? before.slice(0, before.length - 2 * qualifier.length) : before;
  return {
    from: word ? word.start : caret,
    to: word && !hole ? word.end : caret,
    prefix: word && !hole ? unquoteIdentifier(sql.slice(word.start, caret)) : '',
    kind: qualifier.length ? 'member' : place(rest),
    qualifier,
    scope: tablesInScope(list),
    inTablePlace: place(rest) === 'table',
  };
}

/** Placeholder for the name after a dot, so that the next word is not taken for it (`SELECT o.| FROM t o`). */
const HOLE = '\uffee';

function withName(sql, caret) {
  const next = sql[caret] ?? ' ';
  if (sql[caret - 1] !== '.' || /[\w$`\u0080-\uffff]/.test(next)) return sql;
  return sql.slice(0, caret) + HOLE + sql.slice(caret);
}

function significant(sql) {
  const list = [];
  for (const token of tokens(sql)) {
    if (token.type === 'comment') continue;
    const text = sql.slice(token.start, token.end);
    if (text.trim() === '') continue;
    list.push({ type: token.type, start: token.start, end: token.end, text, upper: text.toUpperCase() });
  }
  return list;
}

function isWord(token) {
  return token.type === 'keyword' || token.type === 'identifier';
}

function insideLiteral(sql, caret) {
  for (const { type, start, end } of tokens(sql)) {
    if (start >= caret) return false;
    const open = type === 'string' || type === 'comment';
    if (open && caret < end) return true;
    if (open && caret === end && !closed(sql.slice(start, end), type)) return true;
    if ((type === 'number' || type === 'variable') && caret > start && caret <= end) return true;
  }
  return false;
}

function closed(text, type) {
  if (type === 'string') return text.length > 1 && text.at(-1) === text.match(/['"]/)?.[0] && text.length > text.search(/['"]/) + 1;
  return text.startsWith('/*') ? text.length > 3 && text.endsWith('*/') : text.endsWith('\n');
}

/** The names before the dots that end `before`: `a.` gives [a], `a.b.` gives [a, b]. */
function qualifierOf(before) {
  const names = [];
  for (let i = before.length - 1; i > 0 && names.length < 2; i -= 2) {
    if (before[i].text !== '.' || !isWord(before[i - 1])) break;
    names.unshift(unquoteIdentifier(before[i - 1].text));
  }
  return names;
}

/** What stands after these tokens. */
function place(before) {
  const last = before.at(-1);
  if (!last) return 'expression';
  if (before.length === 1 && (last.upper === 'DESC' || last.upper === 'EXPLAIN')) return 'table';
  if (last.upper === 'USE' && before.length === 1) return 'database';
  if (last.upper === 'DATABASE' || last.upper === 'SCHEMA') return 'database';
  if (last.upper === 'UPDATE' && !namesTable(before, before.length - 1)) return 'expression';
  if (isWord(last) && TABLE_WORDS.has(last.upper)) return 'table';
  return inTableList(before);
}

/** Whether the UPDATE at `i` is a statement's, not that of ON DUPLICATE KEY UPDATE, FOR UPDATE or ON UPDATE. */
function namesTable(list, i) {
  return !['KEY', 'FOR', 'ON'].includes(list[i - 1]?.upper);
}

/** After a FROM: a comma asks for a table, a name may be followed by an alias. */
function inTableList(before) {
  let depth = 0;
  for (let i = before.length - 1; i >= 0; i -= 1) {
    const { text, upper } = before[i];
    if (text === ')') depth += 1;
    else if (text === '(' && (depth -= 1) < 0) return 'expression';
    else if (depth === 0 && SCOPE_WORDS.has(upper) && isWord(before[i])) return afterReference(before, i);
    else if (depth === 0 && isWord(before[i]) && CLAUSE_WORDS.has(upper) && before[i - 1]?.text !== '.') return 'expression';
  }
  return 'expression';
}

function afterReference(before, start) {
  if (before.at(-1).text === ',') return before[start].upper === 'FROM' || before[start].upper === 'UPDATE' ? 'table' : 'expression';
  return 'alias';
}

/**
 * The tables that a statement names, with their aliases.
 * @param {ReturnType<typeof significant>} list
 * @returns {TableRef[]}
 */
function tablesInScope(list) {
  const found = [];
  for (let i = 0; i < list.length; i += 1) {
    if (!SCOPE_WORDS.has(list[i].upper) || !isWord(list[i]) || list[i - 1]?.text === '.') continue;
    if (list[i].upper === 'UPDATE' && !namesTable(list, i)) continue;
    readReferences(list, i + 1, list[i].upper === 'FROM' || list[i].upper === 'UPDATE', found);
  }
  return found;
}

function readReferences(list, start, many, found) {
  let i = start;
  for (;;) {
    if (!list[i] || !isWord(list[i]) || (list[i].type === 'keyword' && CLAUSE_WORDS.has(list[i].upper))) return;
    const [reference, next] = readReference(list, i);
    found.push(reference);
    if (!many || list[next]?.text !== ',') return;
    i = next + 1;
  }
}

function readReference(list, start) {
  let i = start;
  /** @type {string|null} */
  let db = null;
  let name = unquoteIdentifier(list[i].text);
  if (list[i + 1]?.text === '.' && list[i + 2] && isWord(list[i + 2])) {
    db = name;
    name = unquoteIdentifier(list[i + 2].text);
    i += 2;
  }
  i += 1;
  if (list[i]?.upper === 'AS') i += 1;
  /** @type {string|null} */
  let alias = null;
  if (list[i] && isWord(list[i]) && !(list[i].type === 'keyword' && CLAUSE_WORDS.has(list[i].upper))) {
    alias = unquoteIdentifier(list[i].text);
    i += 1;
  }
  return [{ db, name, alias }, i];
}

/**
 * @typedef {{db: string, databases: string[], tables: (db: string) => {name: string, kind: string}[]|undefined,
 *   columns: (db: string, table: string) => {name: string, type: string, key?: string}[]|undefined}} Catalogue
 * @typedef {{label: string, name: string, insert: string, kind: string, detail: string, match: 'whole'|'beginning'|'part'}} Item
 *   `name` is what is compared with what is typed, `match` how: it is the whole name, its beginning, or something inside (or nothing yet)
 */

/**
 * The ranked items for a context, and which tables' columns or databases' tables are still to be loaded.
 * @param {Context} context
 * @param {Catalogue} catalogue
 * @param {{asked?: boolean}} [options] `asked`: the person wants a list, so that words that only contain what is typed are offered too
 * @returns {{items: Item[], missing: {db: string, table?: string}[]}}
 */
export function completionItems(context, catalogue, { asked = true } = {}) {
  const missing = [];
  const candidates = collect(context, catalogue, missing);
  const seen = new Set();
  const ranked = [];
  candidates.forEach((item, order) => {
    const key = `${item.kind}:${item.label}`;
    const score = matchScore(item.name, context.prefix);
    if (score < 0 || score > farthest(item, asked) || seen.has(key)) return;
    seen.add(key);
    const match = matchOf(item, score, context.prefix);
    ranked.push({ item: { ...item, match }, rank: (match === 'whole' ? -1 : score) * 10 + item.weight, order });
  });
  ranked.sort((a, b) => a.rank - b.rank || a.order - b.order);
  const items = ranked.slice(0, MAX_ITEMS).map(({ item }) => item);
  return { items: onlyEcho(items) ? [] : items, missing };
}

/** The worst score at which an item is offered: keywords and functions match by their beginning only. */
function farthest({ kind }, asked) {
  return !asked && (kind === 'keyword' || kind === 'function') ? 0 : Infinity;
}

function matchOf({ name }, score, prefix) {
  if (name.toLowerCase() === prefix.toLowerCase()) return 'whole';
  return score === 0 && prefix !== '' ? 'beginning' : 'part';
}

/** Whether the only offer is what is already typed. */
function onlyEcho(items) {
  return items.length === 1 && items[0].match === 'whole';
}

function collect(context, catalogue, missing) {
  const { kind, scope } = context;
  if (kind === 'member') return members(context, catalogue, missing);
  if (kind === 'database') return databases(catalogue);
  if (kind === 'table') return [...tables(catalogue.db, catalogue, missing), ...databases(catalogue)];
  if (kind === 'alias') return keywords(0);
  return [...scope.flatMap((reference) => columns(reference, catalogue, missing)), ...aliases(scope), ...keywords(2), ...functions(),
    ...(scope.length ? [] : tables(catalogue.db, catalogue, missing, 4))];
}

function members({ qualifier, scope, inTablePlace }, catalogue, missing) {
  if (qualifier.length === 2) return columns({ db: qualifier[0], name: qualifier[1] }, catalogue, missing);
  const [name] = qualifier;
  const same = (other) => other !== null && other.toLowerCase() === name.toLowerCase();
  const reference = inTablePlace ? undefined : scope.find(({ alias }) => same(alias)) ?? scope.find((table) => same(table.name));
  if (reference) return columns(reference, catalogue, missing);
  if (catalogue.databases.some(same)) return tables(catalogue.databases.find(same), catalogue, missing);
  return columns({ db: null, name }, catalogue, missing);
}

function databases({ databases: names }) {
  return names.map((name) => entry(name, 'database', 'database', 2));
}

function tables(db, catalogue, missing, weight = 0) {
  if (!db) return [];
  const known = catalogue.tables(db);
  if (!known) missing.push({ db });
  return (known ?? []).map(({ name, kind }) => entry(name, kind, db, weight));
}

/** Columns are requested only for existing tables: not for a half-typed name, an alias or a CTE. */
function columns(reference, catalogue, missing) {
  const db = reference.db ?? catalogue.db;
  if (!db || (reference.db && !catalogue.databases.includes(db))) return [];
  const listed = catalogue.tables(db);
  if (!listed) missing.push({ db });
  const table = listed?.find(({ name }) => name.toLowerCase() === reference.name.toLowerCase());
  if (!table) return [];
  const known = catalogue.columns(db, table.name);
  if (!known) missing.push({ db, table: table.name });
  return (known ?? []).map(({ name, type }) => entry(name, 'column', `${type} · ${reference.alias ?? reference.name}`, 0));
}

function aliases(scope) {
  return scope.map(({ alias, name }) => entry(alias ?? name, 'table', alias ? name : 'table', 1));
}

function keywords(weight) {
  return KEYWORDS.map((label) => ({ label, name: label, insert: label, kind: 'keyword', detail: '', weight }));
}

function functions() {
  return FUNCTIONS.map((name) => ({ label: `${name}()`, name, insert: name, kind: 'function', detail: 'function', weight: 3 }));
}

function entry(name, kind, detail, weight) {
  return { label: name, name, insert: quoteIdentifier(name), kind, detail, weight };
}

/**
 * How well `label` matches what is typed: 0 begins with it, 1 a later word does, 2 contains it, 3 as a subsequence, -1 not.
 * @param {string} label
 * @param {string} prefix
 */
export function matchScore(label, prefix) {
  if (prefix === '') return 0;
  const text = label.toLowerCase();
  const typed = prefix.toLowerCase();
  if (text.startsWith(typed)) return 0;
  const at = text.indexOf(typed);
  if (at > 0) return /[_\s.-]/.test(text[at - 1]) ? 1 : 2;
  return typed.length > 1 && isSubsequence(text, typed) ? 3 : -1;
}

function isSubsequence(text, typed) {
  let at = text[0] === typed[0] ? 0 : -1;
  if (at < 0) return false;
  for (const char of typed.slice(1)) {
    at = text.indexOf(char, at + 1);
    if (at < 0) return false;
  }
  return true;
}
