// Lays SQL out afresh: only the space between tokens changes, and a statement whose tokens would not be the same stays as it is.
import { Lexer, statements } from './lexer.js';

/** Characters up to which a clause or a subquery stays on one line. */
const SHORT = 72;
/** First words of statements that are laid out; others stay as they are written. */
const KNOWN = new Set(['SELECT', 'WITH', 'INSERT', 'REPLACE', 'UPDATE', 'DELETE', '(']);
/** Words that begin a line of their query. */
const CLAUSES = new Set(['SELECT', 'FROM', 'WHERE', 'HAVING', 'LIMIT', 'WINDOW', 'UNION', 'EXCEPT', 'INTERSECT', 'RETURNING', 'SET', 'VALUES', 'JOIN', 'STRAIGHT_JOIN', 'GROUP', 'ORDER', 'LEFT', 'RIGHT', 'INNER', 'CROSS', 'NATURAL', 'ON', 'FOR']);
const JOINED = /^(?:LEFT|RIGHT|INNER|CROSS|NATURAL|OUTER)$/;
/** Signs that have a space on both sides. */
const SPACED = new Set(['=', '<', '>', '<=', '>=', '<>', '!=', '<=>', ':=']);

/**
 * @typedef {{kind: string, text: string, upper: string, gap: string, depth: number, close: number, query: boolean, flat: number}} Piece
 *   `gap`: the space before it; `close`: of an opening bracket, the index of its closing one; `flat`: characters up to its end on one line
 */

/** Every statement of a script laid out on lines of its own; what else is between them stays. @param {string} text */
export function formatScript(text) {
  const pieces = [];
  let at = 0;
  let before = '';
  for (const { start, end, sql, delimiter } of statements(text)) {
    pieces.push(before ? apart(text.slice(at, start), before) : text.slice(at, start), formatStatement(sql));
    at = end;
    before = delimiter;
  }
  return pieces.join('') + text.slice(at);
}

const COMMENTS = /^(?:\s|--\s[^\n]*\n|#[^\n]*\n|\/\*[^]*?\*\/)*/;
/** The rest of a line: comments alone. */
const LINE_END = /^[ \t]*(?:\/\*[^\n]*?\*\/[ \t]*)*(?:(?:--[ \t]|#)[^\n]*)?\r?\n/;

/** The text between two statements, with a line end behind the delimiter. @param {string} between @param {string} delimiter */
function apart(between, delimiter) {
  let at = COMMENTS.exec(between)?.[0].length ?? 0;
  if (!between.startsWith(delimiter, at)) return between;
  while (between.startsWith(delimiter, at)) at += delimiter.length;
  const rest = between.slice(at);
  return LINE_END.test(rest) ? between : `${between.slice(0, at)}\n${rest.trimStart()}`;
}

/** One statement laid out, or as it is. @param {string} sql */
export function formatStatement(sql) {
  const list = piecesOf(sql);
  if (!KNOWN.has(list[0]?.upper) || list.some(({ kind }) => kind === 'executable')) return sql;
  const done = new Layout(list).text();
  return stream(done) === stream(sql) ? done : sql;
}

/** New place of the caret: after as many non-space characters as before. @param {string} before @param {number} caret @param {string} after */
export function samePlace(before, caret, after) {
  let count = before.slice(0, caret).replace(/\s/g, '').length;
  let at = 0;
  for (; count > 0 && at < after.length; at += 1) if (/\S/.test(after[at])) count -= 1;
  return at;
}

/** The tokens of a text, as one that can be compared: signs that touch each other are one. @param {string} sql */
export function stream(sql) {
  const list = piecesOf(sql);
  return list.map((piece, i) => (touches(piece, list[i - 1]) ? piece.text : `\n${piece.kind} ${piece.text}`)).join('');
}

/** True if a sign is the rest of the one before it. */
function touches(piece, before) {
  return piece.kind === 'operator' && before?.kind === 'operator' && piece.gap === '';
}

/** @returns {Piece[]} */
function piecesOf(sql) {
  const lexer = new Lexer(sql, { comments: true });
  const list = [];
  const open = [];
  let at = 0;
  for (let token = lexer.next(); token; token = lexer.next()) {
    const text = sql.slice(token.start, token.end);
    const gap = sql.slice(at, token.start);
    if (token.kind === 'close') open.pop();
    list.push({ kind: token.kind, text, upper: token.kind === 'word' || text === '(' ? text.toUpperCase() : '', gap, depth: open.length, close: -1, query: false, flat: 0 });
    if (token.kind === 'open') open.push(list.length - 1);
    at = token.end;
  }
  match(list);
  return list;
}

/** Finds brackets' ends, those that hold a query, and how long all is on one line. */
function match(list) {
  const open = [];
  let flat = 0;
  list.forEach((piece, i) => {
    flat += piece.text.length + (piece.gap === '' && i > 0 ? 0 : 1);
    piece.flat = flat;
    if (piece.kind === 'open') open.push(i);
    else if (piece.kind === 'close' && open.length) {
      const from = list[open[open.length - 1]];
      from.close = i;
      from.query = /^(?:SELECT|WITH)$/.test(list[/** @type {number} */ (open.pop()) + 1]?.upper ?? '');
    }
  });
}

class Layout {
  #list;
  #out = '';
  /** The queries around the current piece: depth of brackets, indentation, whether its lists are broken. @type {{depth: number, indent: number, clause: string, broken: boolean, close: number}[]} */
  #queries = [{ depth: 0, indent: 0, clause: '', broken: false, close: -1 }];
  #between = false;
  #cases = 0;

  /** @param {Piece[]} list */
  constructor(list) {
    this.#list = list;
  }

  text() {
    this.#list.forEach((piece, i) => this.#piece(piece, i));
    return this.#out;
  }

  get #query() {
    return this.#queries[this.#queries.length - 1];
  }

  #piece(piece, i) {
    const before = this.#list[i - 1];
    const query = this.#query;
    const own = piece.depth === query.depth;
    if (before) this.#out += this.#space(piece, i, before, query, own);
    this.#out += piece.text;
    this.#track(piece, i, own);
  }

  /** Space before a piece. */
  #space(piece, i, before, query, own) {
    const line = (more) => `\n${' '.repeat(query.indent + more)}`;
    if (before.kind === 'comment' && (/^(?:--|#)/.test(before.text) || piece.gap.includes('\n'))) return line(own && this.#begins(piece, i) ? 0 : 2);
    if (piece.kind === 'comment') return piece.gap.includes('\n') ? line(2) : piece.gap && ' ';
    if (query.close === i) {
      this.#queries.pop();
      return `\n${' '.repeat(query.indent - 2)}`;
    }
    if (before.kind === 'open' && this.#list[i - 1] && query.close >= 0 && this.#opened === i - 1) return line(0);
    if (own && this.#begins(piece, i)) return line(0);
    if (own && this.#joins(piece)) return line(2);
    if (before.kind === 'comma') return own && query.broken && this.#list[i - 2]?.kind !== 'comment' ? line(2) : ' ';
    if (before.kind === 'open' || piece.kind === 'close' || piece.kind === 'comma') return '';
    if (touches(piece, before)) return '';
    if (this.#isSpaced(i) || this.#isSpaced(i - 1)) return ' ';
    return piece.gap === '' ? '' : ' ';
  }

  #opened = -1;

  /** True if a word begins a line of its query. */
  #begins(piece, i) {
    if (piece.kind !== 'word' || !CLAUSES.has(piece.upper)) return false;
    const before = this.#list[i - 1]?.upper ?? '';
    const after = this.#list[i + 1]?.upper ?? '';
    const { clause } = this.#query;
    switch (piece.upper) {
      case 'FROM': return before !== 'DELETE';
      case 'GROUP': case 'ORDER': return after === 'BY';
      case 'LEFT': case 'RIGHT': case 'INNER': case 'CROSS': case 'NATURAL': return !JOINED.test(before) && /^(?:JOIN|OUTER|LEFT|RIGHT|INNER)$/.test(after);
      case 'JOIN': return !JOINED.test(before);
      case 'STRAIGHT_JOIN': return clause === 'FROM';
      case 'SET': return this.#queries.length === 1 && /^(?:UPDATE|INSERT|REPLACE)$/.test(this.#list[0].upper) && before !== 'CHARACTER';
      case 'VALUES': return /^(?:INSERT|REPLACE)$/.test(this.#list[0].upper) && clause !== 'ON';
      case 'ON': return after === 'DUPLICATE';
      case 'FOR': return after === 'UPDATE' || after === 'SHARE';
      default: return true;
    }
  }

  /** True if AND or OR begins a line: in a condition, not in BETWEEN or CASE. */
  #joins({ kind, upper }) {
    return kind === 'word' && (upper === 'AND' || upper === 'OR') && !(upper === 'AND' && this.#between) && this.#cases === 0 && this.#query.broken && /^(?:WHERE|HAVING|FROM)$/.test(this.#query.clause);
  }

  /** True if the sign at `i` is, with those that touch it, one that has space on both sides. */
  #isSpaced(i) {
    const isSign = (piece) => piece?.kind === 'operator';
    if (!isSign(this.#list[i])) return false;
    let [from, to] = [i, i];
    while (isSign(this.#list[from - 1]) && this.#list[from].gap === '') from -= 1;
    while (isSign(this.#list[to + 1]) && this.#list[to + 1].gap === '') to += 1;
    return SPACED.has(this.#list.slice(from, to + 1).map(({ text }) => text).join('')) && (from === to || this.#list.slice(from + 1, to + 1).every(({ gap }) => gap === ''));
  }

  #track(piece, i, own) {
    const query = this.#query;
    if (piece.kind === 'open' && piece.query && this.#isLong(i, piece.close)) {
      this.#opened = i;
      this.#queries.push({ depth: piece.depth + 1, indent: query.indent + 2, clause: '', broken: false, close: piece.close });
    } else if (piece.kind === 'word' && piece.upper === 'BETWEEN') this.#between = true;
    else if (piece.kind === 'word' && piece.upper === 'AND') this.#between = false;
    else if (piece.kind === 'word' && piece.upper === 'CASE') this.#cases += 1;
    else if (piece.kind === 'word' && piece.upper === 'END') this.#cases = Math.max(0, this.#cases - 1);
    if (!own || !(i === 0 || this.#begins(piece, i))) return;
    query.clause = JOINED.test(piece.upper) || piece.upper === 'JOIN' || piece.upper === 'STRAIGHT_JOIN' ? 'FROM' : piece.upper || query.clause;
    query.broken = this.#isLong(i, this.#clauseEnd(i, piece.depth));
  }

  #clauseEnd(i, depth) {
    let end = i + 1;
    while (end < this.#list.length && this.#list[end].depth >= depth && !(this.#list[end].depth === depth && this.#begins(this.#list[end], end))) end += 1;
    return end - 1;
  }

  #isLong(from, to) {
    const end = this.#list[to < 0 ? this.#list.length - 1 : to];
    return end.flat - this.#list[from].flat + this.#list[from].text.length > SHORT || this.#list.slice(from + 1, to < 0 ? undefined : to).some(({ kind, text }) => kind === 'comment' && /^(?:--|#)/.test(text));
  }
}
