// Completion: what the caret stands on, and the ranked list of what may stand there.
import { tokens } from './lexer.js';
import { joinConditions, joinTables } from './joins.js';
import { quoteIdentifier, unquoteIdentifier } from './identifiers.js';
import { KEYWORDS, functionsOf, serverOf, showWords } from './offers.js';
import { CLAUSE_WORDS, columnsOf, introduces, isCalled, isWord, scopeAt, significant } from './scope.js';

export { serverOf };

/** The most items offered. */
const MAX_ITEMS = 80;

/** Words after which a table is named. */
const TABLE_WORDS = new Set(['FROM', 'JOIN', 'STRAIGHT_JOIN', 'INTO', 'UPDATE', 'TABLE', 'TABLES', 'VIEW', 'DESCRIBE', 'TRUNCATE', 'REFERENCES']);

/**
 * @typedef {import('./scope.js').TableRef} TableRef
 * @typedef {'table'|'database'|'alias'|'expression'|'member'|'show'|'routine'|'value'} Kind
 * @typedef {{from: number, to: number, prefix: string, kind: Kind, qualifier: string[], scope: TableRef[], withs: TableRef[], inTablePlace: boolean, inCall: boolean,
 *   join: 'table'|'on'|null, before: TableRef[], compared: {of: string|null, name: string}|null, words: string[]}} Context
 *   `join`: what a JOIN waits for; `before`: the tables named before the caret; `compared`: the column whose value may stand here;
 *   `words`: those that stand there after SHOW
 */

/**
 * Context for completion at `caret` of one statement, or null inside a comment, number or variable, and in a text that is compared with no column.
 * @param {string} sql one statement
 * @param {number} caret
 * @returns {Context|null}
 */
export function completionContext(sql, caret) {
  const literal = literalAt(sql, caret);
  if (literal && literal.type !== 'string') return null;
  const list = significant(literal ? sql : withName(sql, caret));
  const word = literal ? null : list.find((token) => token.start <= caret && caret <= token.end && isWord(token) && (token.start < caret || token.text === HOLE));
  const hole = word?.text === HOLE && sql[caret - 1] === '.';
  const from = literal ? literal.start : word ? word.start : caret;
  const before = list.filter((token) => token.end <= from);
  const qualifier = literal ? [] : qualifierOf(before);
  const rest = qualifier.length ? before.slice(0, before.length - 2 * qualifier.length) : before;
  const compared = qualifier.length ? null : comparedWith(rest);
  if (literal && !compared) return null;
  const { own, outer, withs } = scopeAt(list, caret);
  const stands = place(rest);
  const kind = literal ? 'value' : qualifier.length ? 'member' : stands;
  return {
    from,
    to: literal ? caret + (sql[caret] === literal.quote ? 1 : 0) : word && !hole ? word.end : caret,
    prefix: literal ? sql.slice(literal.start + 1, caret) : word && !hole ? unquoteIdentifier(sql.slice(word.start, caret)) : '',
    kind,
    qualifier,
    scope: [...own, ...outer],
    withs,
    inTablePlace: stands === 'table' || stands === 'routine',
    inCall: stands === 'routine',
    join: qualifier.length ? null : joinAt(rest),
    before: own.filter(({ at }) => at < from),
    compared,
    words: stands === 'show' ? rest.slice(1).map(({ upper }) => upper) : [],
  };
}

/** Part that a JOIN needs after these tokens. */
function joinAt(before) {
  const last = before.at(-1)?.upper;
  return last === 'JOIN' || last === 'STRAIGHT_JOIN' ? 'table' : last === 'ON' ? 'on' : null;
}

/** The column before a comparison that these tokens end in: `a.b =`, `b <>`, `b IN (1,`. */
function comparedWith(before) {
  let i = before.length - 1;
  const open = openList(before, i);
  if (open !== null) i = open;
  else {
    const end = i;
    while (i >= 0 && end - i < 2 && before[i].type === 'operator') i -= 1;
    if (!['=', '<>', '!='].includes(before.slice(i + 1).map(({ text }) => text).join(''))) return null;
  }
  if (!isWord(before[i]) || before[i].type === 'keyword') return null;
  const of = before[i - 1]?.text === '.' && isWord(before[i - 2]) ? unquoteIdentifier(before[i - 2].text) : null;
  return { of, name: unquoteIdentifier(before[i].text) };
}

/** Within `x IN (1, 2,`: where x is. */
function openList(before, last) {
  let i = last;
  while (i >= 0 && (before[i].text === ',' || ['string', 'number'].includes(before[i].type))) i -= 1;
  if (i < 1 || before[i].text !== '(' || before[i - 1].upper !== 'IN' || !['(', ','].includes(before[last].text)) return null;
  return before[i - 2]?.upper === 'NOT' ? i - 3 : i - 2;
}

/** Placeholder for the name after a dot, so that the next word is not taken for it (`SELECT o.| FROM t o`). */
const HOLE = '\uffee';

function withName(sql, caret) {
  const next = sql[caret] ?? ' ';
  if (sql[caret - 1] !== '.' || /[\w$`\u0080-\uffff]/.test(next)) return sql;
  return sql.slice(0, caret) + HOLE + sql.slice(caret);
}

/** The text, comment, number or variable that the caret is in. */
function literalAt(sql, caret) {
  for (const { type, start, end } of tokens(sql)) {
    if (start >= caret) return null;
    const text = sql.slice(start, end);
    const open = type === 'string' || type === 'comment';
    const within = open ? caret < end || (caret === end && !closed(text, type)) : (type === 'number' || type === 'variable') && caret <= end;
    // A text with a word before its quote (x'4a') is no plain one.
    if (within) return { type: type === 'string' && !/^['"]/.test(text) ? 'number' : type, start, quote: text[0] };
  }
  return null;
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

/** Kind of name that follows these tokens. */
function place(before) {
  const last = before.at(-1);
  if (!last) return 'expression';
  if (before.length === 1 && (last.upper === 'DESC' || last.upper === 'EXPLAIN')) return 'table';
  if (last.upper === 'USE' && before.length === 1) return 'database';
  if (before[0].upper === 'CALL' && before.length === 1) return 'routine';
  if (before[0].upper === 'SHOW') return placeInShow(before);
  if (last.upper === 'DATABASE' || last.upper === 'SCHEMA') return 'database';
  if (last.upper === 'UPDATE' && !introduces(before, before.length - 1)) return 'expression';
  if (isWord(last) && TABLE_WORDS.has(last.upper)) return 'table';
  return inTableList(before);
}

/** After SHOW: a table, a database, a routine, or more of its words. */
function placeInShow(before) {
  const words = before.map(({ upper }) => upper);
  const last = words[words.length - 1];
  if (words.some((word) => ['LIKE', 'WHERE', '='].includes(word))) return 'expression';
  if (last === 'FROM' || last === 'IN') return words.some((word) => ['TABLES', 'TRIGGERS', 'EVENTS', 'STATUS'].includes(word)) || words.filter((word) => word === 'FROM' || word === 'IN').length > 1 ? 'database' : 'table';
  if (words.length > 2 && words[1] === 'CREATE') return ['TABLE', 'VIEW', 'SEQUENCE'].includes(last) ? 'table' : last === 'DATABASE' ? 'database' : ['PROCEDURE', 'FUNCTION'].includes(last) ? 'routine' : 'expression';
  return before.slice(1).every(isWord) ? 'show' : 'expression';
}

/** After a FROM: a comma asks for a table, a name may be followed by an alias. */
function inTableList(before) {
  let depth = 0;
  for (let i = before.length - 1; i >= 0; i -= 1) {
    const { text, upper } = before[i];
    if (text === ')') depth += 1;
    else if (text === '(' && (depth -= 1) < 0) return 'expression';
    else if (depth === 0 && introduces(before, i)) return afterReference(before, i);
    else if (depth === 0 && isWord(before[i]) && CLAUSE_WORDS.has(upper) && before[i - 1]?.text !== '.') return 'expression';
  }
  return 'expression';
}

function afterReference(before, start) {
  if (before.at(-1).text === ',') return before[start].upper === 'FROM' || before[start].upper === 'UPDATE' ? 'table' : 'expression';
  return 'alias';
}

/**
 * @typedef {{table: string, columns: string[], refDb: string, refTable: string, refColumns: string[]}} Relation a foreign key of a table
 * @typedef {{name: string, kind: string}} Routine
 * @typedef {{db: string, databases: string[], tables: (db: string) => {name: string, kind: string}[]|undefined,
 *   columns: (db: string, table: string) => {name: string, type: string, key?: string}[]|undefined,
 *   relations?: (db: string) => Relation[]|undefined, routines?: (db: string) => Routine[]|undefined, server?: import('./offers.js').Server}} Catalogue
 * @typedef {{label: string, name: string, insert: string, kind: string, detail: string, match: 'whole'|'beginning'|'part'}} Item
 *   `name` is what is compared with what is typed, `match` how: it is the whole name, its beginning, or something inside (or nothing yet)
 * @typedef {{db: string, table?: string, what?: 'relations'|'routines'}} Missing
 */

/**
 * The ranked items for a context, and which tables' columns or databases' tables are still to be loaded.
 * @param {Context} context
 * @param {Catalogue} catalogue
 * @param {{asked?: boolean}} [options] `asked`: the person wants a list, so that words that only contain what is typed are offered too
 * @returns {{items: Item[], missing: Missing[]}}
 */
export function completionItems(context, catalogue, { asked = true } = {}) {
  /** @type {Missing[]} */
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

/** True if the only offer is what is already typed. */
function onlyEcho(items) {
  return items.length === 1 && items[0].match === 'whole';
}

const MARIADB = { maria: true, version: Infinity };

function collect(context, catalogue, missing) {
  const { kind, scope } = context;
  if (kind === 'value') return values(context, catalogue, missing);
  if (kind === 'member') return members(context, catalogue, missing);
  if (kind === 'database') return databases(catalogue);
  if (kind === 'routine') return [...routines(catalogue.db, catalogue, missing), ...databases(catalogue)];
  if (kind === 'show') return showWords(context.words, catalogue.server ?? MARIADB).map((words) => ({ ...keyword(words, 0), detail: 'SHOW' }));
  if (kind === 'table') return [...joined(context, catalogue, missing), ...named(context), ...tables(catalogue.db, catalogue, missing), ...databases(catalogue)];
  if (kind === 'alias') return keywords(0);
  return [...joined(context, catalogue, missing), ...values(context, catalogue, missing), ...scope.flatMap((reference) => columns(reference, catalogue, missing)), ...aliases(scope), ...keywords(2), ...storedFunctions(catalogue.db, catalogue, missing), ...functions(catalogue),
    ...(scope.length ? [] : tables(catalogue.db, catalogue, missing, 4))];
}

/** Offers for a JOIN from the foreign keys: tables with their condition, or the condition alone. */
function joined({ join, before, withs }, catalogue, missing) {
  const real = before.filter(({ output }) => !output);
  if (!join || !real.length || !catalogue.relations || !catalogue.db) return [];
  const home = (ref) => ref.db ?? catalogue.db;
  const relations = [...new Set([catalogue.db, ...real.map(home)])].flatMap((db) => {
    const known = catalogue.relations(db);
    if (!known) missing.push({ db, what: 'relations' });
    return (known ?? []).map((relation) => ({ ...relation, db }));
  });
  const found = join === 'on' ? joinConditions(real, relations, catalogue.db) : joinTables(real, relations, catalogue.db, withs);
  return found.map(({ name, text }) => ({ label: text, name, insert: text, kind: 'join', detail: 'foreign key', weight: -3 }));
}

/** Common table expressions, where a table is named. */
function named({ withs }) {
  return withs.map(({ name }) => entry(name, 'table', 'WITH', -1));
}

/** The values of the ENUM or SET that the caret's value is compared with. */
function values({ compared, scope }, catalogue, missing) {
  if (!compared) return [];
  const refs = compared.of === null ? scope : scope.filter((ref) => isCalled(ref, compared.of));
  const found = refs.flatMap((ref) => columnsOf(ref, (other) => described(other, catalogue, missing))).find(({ name }) => name.toLowerCase() === compared.name.toLowerCase());
  const [, kind, list] = /^(enum|set)\((.*)\)/is.exec(found?.type ?? '') ?? [];
  return [...(list ?? '').matchAll(/'((?:[^']|'')*)'/g)].map(([, text]) => {
    const name = text.replaceAll("''", "'");
    return { label: name === '' ? "''" : name, name, insert: `'${text.replaceAll('\\', '\\\\')}'`, kind: 'value', detail: kind.toUpperCase(), weight: -2 };
  });
}

function routines(db, catalogue, missing) {
  return routinesOf(db, catalogue, missing).filter(({ kind }) => kind !== 'function').map(({ name, kind }) => entry(name, 'function', kind, 0));
}

/** Functions that somebody has made in a database. */
function storedFunctions(db, catalogue, missing, weight = 1) {
  const known = routinesOf(db, catalogue, missing).filter(({ kind }) => kind === 'function');
  return known.map(({ name }) => ({ ...entry(name, 'function', `function of ${db}`, weight), label: `${name}()` }));
}

function routinesOf(db, catalogue, missing) {
  const known = db ? catalogue.routines?.(db) : [];
  if (!known && catalogue.routines) missing.push({ db, what: 'routines' });
  return known ?? [];
}

function members({ qualifier, scope, inTablePlace, inCall }, catalogue, missing) {
  if (qualifier.length === 2) return columns({ db: qualifier[0], name: qualifier[1] }, catalogue, missing);
  const [name] = qualifier;
  const same = (other) => other.toLowerCase() === name.toLowerCase();
  const reference = inTablePlace ? undefined : scope.find((ref) => isCalled(ref, name)) ?? scope.find((ref) => same(ref.name));
  if (reference) return columns(reference, catalogue, missing);
  const db = catalogue.databases.find(same);
  if (db !== undefined && inCall) return routines(db, catalogue, missing);
  if (db !== undefined) return [...tables(db, catalogue, missing), ...(inTablePlace ? [] : storedFunctions(db, catalogue, missing, 0))];
  return inTablePlace ? [] : columns({ db: null, name }, catalogue, missing);
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

function columns(reference, catalogue, missing) {
  const of = reference.alias ?? reference.name;
  return columnsOf(reference, (ref) => described(ref, catalogue, missing)).map(({ name, type }) => entry(name, 'column', `${type} · ${of}`, 0));
}

/** The columns of a table. They are requested only for existing tables: not for a half-typed name or an alias. */
function described(reference, catalogue, missing) {
  const db = reference.db ?? catalogue.db;
  if (!db || (reference.db && !catalogue.databases.includes(db))) return [];
  const listed = catalogue.tables(db);
  if (!listed) missing.push({ db });
  const table = listed?.find(({ name }) => name.toLowerCase() === reference.name.toLowerCase());
  if (!table) return [];
  const known = catalogue.columns(db, table.name);
  if (!known) missing.push({ db, table: table.name });
  return known ?? [];
}

function aliases(scope) {
  return scope.map(({ alias, name }) => entry(alias ?? name, 'table', alias ? name : 'table', 1));
}

function keyword(label, weight) {
  return { label, name: label, insert: label, kind: 'keyword', detail: '', weight };
}

function keywords(weight) {
  return KEYWORDS.map((label) => keyword(label, weight));
}

function functions({ server = MARIADB }) {
  return functionsOf(server).map((name) => ({ label: `${name}()`, name, insert: name, kind: 'function', detail: 'function', weight: 3 }));
}

function entry(name, kind, detail, weight) {
  return { label: name, name, insert: quoteIdentifier(name), kind, detail, weight };
}

/**
 * Rank of `label` for the typed text: 0 begins with it, 1 a later word does, 2 contains it, 3 as a subsequence, -1 not.
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
