// Sources that a statement reads from at a place: tables, common table expressions and derived tables, each query by itself.
import { unquoteIdentifier } from './identifiers.js';
import { tokens } from './lexer.js';

/** Words that introduce table references. */
const SCOPE_WORDS = new Set(['FROM', 'JOIN', 'STRAIGHT_JOIN', 'INTO', 'UPDATE']);
/** Words that end a list of table references, or follow a reference where an alias could stand. */
export const CLAUSE_WORDS = new Set(['SELECT', 'WHERE', 'ON', 'USING', 'SET', 'GROUP', 'ORDER', 'HAVING', 'LIMIT', 'VALUES', 'UNION', 'EXCEPT', 'INTERSECT',
  'JOIN', 'LEFT', 'RIGHT', 'INNER', 'OUTER', 'CROSS', 'NATURAL', 'STRAIGHT_JOIN', 'FROM', 'INTO', 'UPDATE', 'FOR', 'WINDOW', 'PARTITION', 'USE', 'FORCE', 'IGNORE',
  'RETURNING', 'LATERAL', 'WHEN', 'THEN', 'ELSE', 'END', 'LOCK', 'OFFSET', 'FETCH', 'PROCEDURE', 'WITH']);
const SET_OPERATORS = new Set(['UNION', 'EXCEPT', 'INTERSECT']);
/** Words between SELECT and what it selects. */
const MODIFIERS = /^(?:ALL|DISTINCT|DISTINCTROW|HIGH_PRIORITY|STRAIGHT_JOIN|SQL_\w+)$/;
/** Depth to which derived tables are followed to their columns. */
const MAX_DEPTH = 8;

/**
 * A column that a query gives: by its name, with the column it is made of, or all columns of a table (`of`) or of all tables.
 * @typedef {{name: string, column: string|null, star: boolean, of: string|null, refs: TableRef[]}} Output
 * @typedef {{db: string|null, name: string, alias: string|null, at: number, output?: Output[]}} TableRef `output` of what is no table of a database
 * @typedef {{type: import('./lexer.js').TokenType, start: number, end: number, text: string, upper: string}} Word
 */

/** The tokens of a statement without comments. @param {string} sql @returns {Word[]} */
export function significant(sql) {
  const list = [];
  for (const token of tokens(sql)) {
    if (token.type === 'comment') continue;
    const text = sql.slice(token.start, token.end);
    if (text.trim() === '') continue;
    list.push({ type: token.type, start: token.start, end: token.end, text, upper: text.toUpperCase() });
  }
  return list;
}

/** @param {Word|undefined} token */
export function isWord(token) {
  return token?.type === 'keyword' || token?.type === 'identifier';
}

/** True if the word at `i` introduces tables: an UPDATE does as a statement, not in ON DUPLICATE KEY UPDATE, FOR UPDATE or ON UPDATE. @param {Word[]} list @param {number} i */
export function introduces(list, i) {
  if (!isWord(list[i]) || !SCOPE_WORDS.has(list[i].upper) || list[i - 1]?.text === '.') return false;
  return list[i].upper !== 'UPDATE' || !['KEY', 'FOR', 'ON'].includes(list[i - 1]?.upper);
}

/** @param {TableRef} ref @param {string} name */
export function isCalled(ref, name) {
  return (ref.alias ?? ref.name).toLowerCase() === name.toLowerCase();
}

/**
 * The tables that are in scope at `caret`: those of the innermost query first, then of the queries around it that it may name.
 * @param {Word[]} list
 * @param {number} caret
 * @returns {{own: TableRef[], outer: TableRef[], withs: TableRef[]}} `withs`: common table expressions that can be read from
 */
export function scopeAt(list, caret) {
  const reader = new Reader(list);
  let level = reader.level(0, list.length, caret, []);
  let outer = [];
  for (const open of reader.around(caret)) {
    if (!reader.isQuery(open + 1)) continue;
    outer = reader.isSource(open) ? [] : [...level.own, ...outer];
    level = reader.level(open + 1, reader.close(open), caret, level.withs);
  }
  return { own: level.own, outer, withs: level.withs };
}

/**
 * The columns of a reference that is no table of a database, found through `columns` of those that are.
 * @param {TableRef} ref
 * @param {(ref: TableRef) => {name: string, type: string}[]} columns
 * @param {number} [depth]
 * @returns {{name: string, type: string}[]}
 */
export function columnsOf(ref, columns, depth = 0) {
  if (!ref.output) return columns(ref);
  if (depth > MAX_DEPTH) return [];
  return ref.output.flatMap(({ name, column, star, of, refs }) => {
    const from = of === null ? refs : refs.filter((other) => isCalled(other, of));
    if (star) return from.flatMap((other) => columnsOf(other, columns, depth + 1));
    const origin = column === null ? [] : from.flatMap((other) => columnsOf(other, columns, depth + 1));
    return [{ name, type: origin.find((found) => found.name.toLowerCase() === column?.toLowerCase())?.type ?? 'expression' }];
  });
}

class Reader {
  /** Index of the closing bracket of each opening one. @type {Map<number, number>} */
  #closes = new Map();

  /** @param {Word[]} list */
  constructor(list) {
    this.list = list;
    const open = [];
    list.forEach(({ text, type }, i) => {
      if (type !== 'punct') return;
      if (text === '(') open.push(i);
      else if (text === ')' && open.length) this.#closes.set(/** @type {number} */ (open.pop()), i);
    });
  }

  close(open) {
    return this.#closes.get(open) ?? this.list.length;
  }

  /** The brackets around a place, the outermost first. */
  around(caret) {
    const found = [];
    this.list.forEach(({ text, end }, i) => {
      const close = this.list[this.close(i)];
      if (text === '(' && end <= caret && (!close || caret <= close.start)) found.push(i);
    });
    return found;
  }

  isQuery(i) {
    while (this.list[i]?.text === '(') i += 1;
    return ['SELECT', 'WITH', 'VALUES', 'TABLE'].includes(this.list[i]?.upper);
  }

  /** True if the bracket holds what a FROM reads or a WITH names: it sees nothing of the query around it. */
  isSource(open) {
    const { upper, text } = this.list[open - 1] ?? {};
    if (['FROM', 'JOIN', 'STRAIGHT_JOIN'].includes(upper)) return true;
    return upper === 'AS' || (text === ',' && this.#afterFrom(open));
  }

  #afterFrom(open) {
    let depth = 0;
    for (let i = open - 1; i >= 0; i -= 1) {
      const { text, upper } = this.list[i];
      if (text === ')') depth += 1;
      else if (text === '(' && (depth -= 1) < 0) return false;
      else if (depth === 0 && isWord(this.list[i]) && CLAUSE_WORDS.has(upper)) return upper === 'FROM';
    }
    return false;
  }

  /** Sources that one query, [from, to), reads where the caret is. */
  level(from, to, caret, withs) {
    const { named, start } = this.#withs(from, to, withs);
    let [begin, end] = [start, to];
    for (let i = start; i < to; i = this.#next(i)) {
      if (!this.#isSetOperator(i)) continue;
      if (this.list[i].start >= caret) {
        end = i;
        break;
      }
      begin = i + 1;
    }
    return { own: this.#references(begin, end, named), withs: named };
  }

  #isSetOperator(i) {
    return isWord(this.list[i]) && SET_OPERATORS.has(this.list[i].upper);
  }

  /** The next token of the same level. */
  #next(i) {
    return this.list[i].text === '(' ? this.close(i) + 1 : i + 1;
  }

  /** WITH a AS (…), b (x, y) AS (…): the names, after those that are known, and where the query itself begins. */
  #withs(from, to, known) {
    const named = [...known];
    if (this.list[from]?.upper !== 'WITH') return { named, start: from };
    let i = from + 1;
    if (this.list[i]?.upper === 'RECURSIVE') i += 1;
    while (i < to && isWord(this.list[i])) {
      /** @type {TableRef} */
      const ref = { db: null, name: unquoteIdentifier(this.list[i].text), alias: null, at: this.list[i].start, output: [] };
      const names = this.list[i + 1]?.text === '(' ? this.#names(i + 2, this.close(i + 1)) : null;
      i = names ? this.close(i + 1) + 1 : i + 1;
      if (this.list[i]?.upper === 'AS') i += 1;
      if (this.list[i]?.text !== '(') break;
      named.unshift(ref);
      const output = this.#output(i + 1, Math.min(to, this.close(i)), named);
      ref.output = names ? names.map((name) => ({ name, column: null, star: false, of: null, refs: [] })) : output;
      i = this.close(i) + 1;
      if (this.list[i]?.text !== ',') break;
      i += 1;
    }
    return { named, start: i };
  }

  #names(from, to) {
    return this.list.slice(from, to).filter(isWord).map(({ text }) => unquoteIdentifier(text));
  }

  /** @returns {TableRef[]} */
  #references(from, to, withs) {
    const found = [];
    for (let i = from; i < to;) {
      if (!introduces(this.list, i)) i = this.#next(i);
      else i = this.#list(i + 1, to, ['FROM', 'UPDATE'].includes(this.list[i].upper), withs, found, this.list[i].upper === 'INTO');
    }
    return found;
  }

  /** Reads `a, b AS c, (SELECT …) d` from `i` on; where it ends. */
  #list(i, to, many, withs, found, isInto = false) {
    for (;;) {
      if (this.list[i]?.upper === 'LATERAL') i += 1;
      if (i >= to) return i;
      if (this.list[i].text === '(') i = this.#bracket(i, to, withs, found);
      else if (isWord(this.list[i]) && !(this.list[i].type === 'keyword' && CLAUSE_WORDS.has(this.list[i].upper))) i = this.#table(i, withs, found, isInto);
      else return i;
      if (!many || this.list[i]?.text !== ',') return i;
      i += 1;
    }
  }

  /** A derived table, or tables in brackets. */
  #bracket(open, to, withs, found) {
    const end = Math.min(to, this.close(open));
    if (!this.isQuery(open + 1)) {
      this.#list(open + 1, end, true, withs, found);
      found.push(...this.#references(open + 1, end, withs));
      return end + 1;
    }
    const { alias, next } = this.#alias(end + 1);
    if (alias !== null) found.push({ db: null, name: alias, alias, at: this.list[open].start, output: this.#output(open + 1, end, withs) });
    return next;
  }

  #table(i, withs, found, isInto) {
    const { at } = { at: this.list[i].start };
    /** @type {string|null} */
    let db = null;
    let name = unquoteIdentifier(this.list[i].text);
    if (this.list[i + 1]?.text === '.' && isWord(this.list[i + 2])) {
      db = name;
      name = unquoteIdentifier(this.list[i + 2].text);
      i += 2;
    }
    const isCall = !isInto && this.list[i + 1]?.text === '(';
    const { alias, next } = this.#alias(isCall ? this.close(i + 1) + 1 : i + 1);
    const named = db === null ? withs.find((ref) => isCalled(ref, name)) : undefined;
    found.push({ db, name, alias, at, ...(named ? { output: named.output } : isCall ? { output: [] } : {}) });
    return next;
  }

  #alias(i) {
    if (this.list[i]?.upper === 'AS') i += 1;
    const token = this.list[i];
    if (!isWord(token) || (token.type === 'keyword' && CLAUSE_WORDS.has(token.upper))) return { alias: null, next: i };
    return { alias: unquoteIdentifier(token.text), next: i + 1 };
  }

  /** The columns that a query gives: those of its first SELECT. @returns {Output[]} */
  #output(from, to, withs) {
    if (this.list[from]?.text === '(') return this.#output(from + 1, this.close(from), withs);
    const { named, start } = this.#withs(from, to, withs);
    if (this.list[start]?.upper !== 'SELECT') return [];
    let end = start;
    while (end < to && !this.#isSetOperator(end)) end = this.#next(end);
    end = Math.min(end, to);
    const refs = this.#references(start, end, named);
    let i = start + 1;
    while (i < end && MODIFIERS.test(this.list[i].upper)) i += 1;
    const outputs = [];
    for (let item = i; item < end && i <= end; i = i < end ? this.#next(i) : end + 1) {
      const over = i >= end || (isWord(this.list[i]) && ['FROM', 'INTO', 'WHERE', 'GROUP', 'HAVING', 'WINDOW', 'ORDER', 'LIMIT'].includes(this.list[i].upper));
      if (!over && this.list[i].text !== ',') continue;
      outputs.push(...this.#item(item, Math.min(i, end), refs));
      item = i + 1;
      if (over) break;
    }
    return outputs;
  }

  /** One of the things selected; none where it has no name of its own. @returns {Output[]} */
  #item(from, to, refs) {
    const last = this.list[to - 1];
    if (to <= from || !last) return [];
    const before = this.list[to - 2];
    const of = to - from >= 3 && before.text === '.' ? unquoteIdentifier(this.list[to - 3].text) : null;
    if (last.text === '*') return to - from === 1 || of !== null ? [{ name: '', column: null, star: true, of, refs }] : [];
    const isPlain = to - from === 1 || (of !== null && (to - from === 3 || to - from === 5));
    const name = last.type === 'string' ? last.text.slice(1, -1) : unquoteIdentifier(last.text);
    if (isPlain && isWord(last)) return [{ name, column: name, star: false, of, refs }];
    const isNamed = to - from > 1 && (before.upper === 'AS' ? isWord(last) || last.type === 'string' : last.type === 'identifier' && before.type !== 'operator' && before.text !== '.');
    if (!isNamed) return [];
    const origin = this.list.slice(from, before.upper === 'AS' ? to - 2 : to - 1);
    const column = (origin.length === 1 || (origin.length === 3 && origin[1].text === '.')) && isWord(origin.at(-1)) ? unquoteIdentifier(origin[origin.length - 1].text) : null;
    return [{ name, column, star: false, of: origin.length === 3 && column !== null ? unquoteIdentifier(origin[0].text) : null, refs }];
  }
}
