// Passwords inside SQL must not reach the browser's storage: the literals of password clauses are replaced before a text is
// kept. Ordinary literals stay as they are, and a text with a replaced one never runs (`leftOutAt`).
import { statements, tokens } from './lexer.js';

/** Words without which there is no password clause; the lexer then decides. */
const HINT = /ident|passw|pwd|connection|option_list|immediate|prepare|user\b|\bby\s*(?:\/\*|--|#|(?:\w+\s*)?['"])/i;
const MASK = "'***'";

/** Names of ways to prove an account, which are put in quotes and are no secrets. */
const PLUGIN = /^.(?:\w*(?:_password|_socket|_pam|ldap_\w+|kerberos|fido|webauthn)|pam|ed25519|parsec|gssapi|named_pipe).$/i;
/** `BY` of other clauses. */
const OTHER_BY = new Set(['TERMINATED', 'ENCLOSED', 'ESCAPED', 'STARTING', 'ORDER', 'GROUP', 'PARTITION', 'SUBPARTITION', 'INCREMENT']);
/** Words before the name of an account or a role. */
const BEFORE_ACCOUNT = new Set(['USER', 'EXISTS', ',', 'TO', 'FOR', 'ROLE', 'ON']);
/** Words before other literals of an account's statement. */
const BEFORE_OTHER = new Set(['SUBJECT', 'ISSUER', 'CIPHER', 'COMMENT', 'ATTRIBUTE']);
/** Words that begin what reads or writes rows, where PASSWORD is the name of a column. */
const OF_ROWS = new Set(['SELECT', 'INSERT', 'UPDATE', 'DELETE', 'VALUES', 'TABLE', 'WHERE', 'LOAD', 'REPLACE']);
/** Words before the name of a table and the like. */
const NAMED = new Set(['TABLE', 'INTO', 'EXISTS', 'KEY', 'INDEX', 'UNIQUE', 'REFERENCES', 'FUNCTION', 'PROCEDURE', 'VIEW', 'ON', 'JOIN', '.']);
/** Words of a server in which its password may stand. */
const OF_SERVER = new Set(['SERVER', 'MASTER', 'SLAVE', 'REPLICA', 'REPLICATION', 'GROUP_REPLICATION']);
/** Words in the place of a password that are none. */
const NO_SECRET = new Set(['PASSWORD', 'OLD_PASSWORD', 'RANDOM', 'NULL', 'DEFAULT', 'FOR', 'TO']);
const VARIABLE = /^@[\w$.`]*(?:PASSWORD|PASSWD|PASSPHRASE|PWD)`?$/;
const URL_WITH_PASSWORD = /^.\s*\w+:\/\/[^\s/@]*:\S*@/;
const UNFINISHED_URL = /^.\s*\w+:\/\/[^\s/@]*:\S/;
/** A password clause in a text that may run later. */
const CLAUSE = /\bident\w*\s+(?:by|with|via|as)\b|\bset\s+password\b|(?:master|source)_password\b/i;
/** Password clauses in a text whose quotes are out of step, where no token can be trusted. */
const RAW = /\bident\w*\s+(?:by|with|via|as)\b|\bset\s+password\b|\b(?:old_)?password\s*\(|(?:master|source)_password\b|\b(?:create|alter)\s+user\b/gi;

/**
 * `sql` with `'***'` in place of the literals of password clauses. Where quotes are out of step, all from the first of such
 * a literal to the end goes.
 * @param {string} sql
 * @returns {string}
 */
export function withoutSecrets(sql) {
  let out = '';
  let kept = 0;
  for (const { start, end } of secretParts(sql)) {
    out += sql.slice(kept, start) + MASK;
    kept = end;
  }
  return out + sql.slice(kept);
}

/** The last line of a text of which only the beginning was kept. */
export const CUT = '\n… the rest was cut off when this text was kept';

/** Reason for which a text does not run as it stands, and the place; null if it does. @param {string} sql @returns {{at: number, text: string}|null} */
export function whyAltered(sql) {
  const cut = sql.lastIndexOf(CUT.trim());
  if (cut >= 0) return { at: cut, text: 'Nothing was run: the rest of this statement was cut off when it was saved. Replace the last line with the rest.' };
  const at = leftOutAt(sql);
  return at < 0 ? null : { at, text: "Nothing was run: the saved text has no password. Replace '***' with it." };
}

/** Place of the first password that was masked when the statement was stored; -1 if there is none. @param {string} sql */
export function leftOutAt(sql) {
  if (!sql.includes(MASK)) return -1;
  return secretParts(sql).find(({ start, end }) => sql.slice(start, end) === MASK)?.start ?? -1;
}

/**
 * A server's message about a statement, as it may be kept: it repeats a part of the statement, which may hold what is masked there.
 * @param {string} sql @param {string} kept the statement as it is kept @param {string|null} error
 */
export function errorWithoutSecrets(sql, kept, error) {
  return error && kept !== sql ? error.replace(/['"`‘“][\s\S]*$/, '…') : error;
}

/** The literals of password clauses, in order. @param {string} sql @returns {{start: number, end: number}[]} */
function secretParts(sql) {
  if (!HINT.test(sql) && !sql.includes(MASK)) return [];
  const all = [...statements(sql)];
  const isSkipped = hidesQuotes(sql);
  const isOpen = isSkipped || endsInQuotes(sql);
  const parts = all.flatMap(({ start, end }) => new Clauses(sql, start, end, isOpen).parts);
  const from = isOpen ? rawStart(sql, isSkipped ? 0 : all.at(-1)?.start ?? 0, parts) : -1;
  if (from >= 0) parts.push({ start: from, end: sql.length });
  let done = 0;
  return parts.sort((a, b) => a.start - b.start || b.end - a.end).filter(({ start, end }) => start >= done && (done = end));
}

/** True if what is added at the end would be in quotes. */
function endsInQuotes(sql) {
  const last = tokens(`${sql} x`).at(-1);
  return last !== undefined && last.type !== 'comment' && last.start < sql.length;
}

/** True if a comment that some servers run and others skip has a quote too many. @param {string} sql */
const hidesQuotes = (sql) => [...sql.matchAll(/\/\*M?![\s\S]*?\*\//g)].some(([text]) => ["'", '"', '`'].some((quote) => text.split(quote).length % 2 === 0));

/** Place of the first literal that looks like a password, but that no token was found for; -1 if there is none. */
function rawStart(sql, start, parts) {
  let quote = -1;
  for (const { index, 0: { length } } of sql.slice(start).matchAll(RAW)) {
    const after = start + index + length;
    if (quote < after) quote = after + sql.slice(after).search(/['"]/);
    if (quote < after) return -1;
    if (!parts.some((part) => part.start <= quote && quote < part.end)) return quote;
  }
  return -1;
}

/** The password clauses of one statement, found token by token. */
class Clauses {
  /** @type {{start: number, end: number}[]} */ parts = [];
  #sql;
  #end;
  #isTorn;
  #list;
  /** Words so far, and the first of them. @type {Set<string>} */ #seen = new Set();
  #first = '';
  /** The last two words and signs, in capitals; a literal is `LITERAL` or `SECRET`. */
  #before = '';
  #previous = '';
  /** @type {''|'account'|'secret'|'server'|'table'|'dynamic'|'values'} */ #kind = '';
  #isOfRows = false;
  /** Brackets that are open from that of PASSWORD( on. */
  #brackets = 0;

  /** @param {string} sql @param {number} start @param {number} end @param {boolean} isOpen the whole text ends in quotes */
  constructor(sql, start, end, isOpen) {
    this.#sql = sql;
    this.#end = end;
    this.#isTorn = isOpen && end === sql.length;
    this.#list = tokens(sql.slice(start, end)).filter(({ type }) => type !== 'comment').map((token) => ({ ...token, start: token.start + start, end: token.end + start }));
    for (let i = 0; i < this.#list.length && this.#take(this.#list[i], this.#list[i + 1]);) i += 1;
  }

  /** @returns {boolean} whether to go on */
  #take({ type, start, end }, next) {
    const text = this.#sql.slice(start, end).toUpperCase();
    if (type === 'string' || /^0X/.test(text)) return this.#literal(start, end);
    // A character set before a text says nothing of it.
    if (/^_[A-Z0-9]+$/.test(text) && next?.type === 'string') return true;
    if (this.#isBare(type, text)) return this.#hide(start, this.#end, false);
    if (text === ';') this.#restart();
    else this.#word(text);
    return true;
  }

  #restart() {
    this.#seen.clear();
    [this.#first, this.#before, this.#previous, this.#kind, this.#isOfRows, this.#brackets] = ['', '', '', '', false, 0];
  }

  #word(text) {
    const [before, previous] = [this.#before, this.#previous];
    const isMade = /^(?:CREATE|ALTER)$/.test(previous) || (previous === 'REPLACE' && before === 'OR');
    if (this.#brackets) this.#brackets += text === '(' ? 1 : text === ')' ? -1 : 0;
    else if (text === '(' && /^(?:OLD_)?PASSWORD$/.test(previous) && !NAMED.has(before)) this.#brackets = 1;
    if (text === 'USER' && isMade) this.#kind = 'account';
    else if (OF_SERVER.has(text) && (isMade || /^(?:CHANGE|START)$/.test(previous))) [this.#kind, this.#isOfRows] = ['server', false];
    else if (text === 'TABLE' && (isMade || this.#seen.has('CREATE'))) [this.#kind, this.#isOfRows] = ['table', true];
    else if ((text === 'IMMEDIATE' && previous === 'EXECUTE') || (text === 'FROM' && before === 'PREPARE')) this.#kind = 'dynamic';
    else if (this.#isClause(text, previous)) this.#kind = 'secret';
    else if (OF_ROWS.has(text) && !/^(?:account|secret)$/.test(this.#kind)) this.#isOfRows = true;
    this.#push(text);
  }

  #isClause(text, previous) {
    const setsColumn = ['UPDATE', 'INSERT', 'REPLACE', 'LOAD'].some((word) => this.#seen.has(word)) && !this.#seen.has('VALUES');
    if (text === 'PASSWORD') return (previous === 'SET' && !setsColumn) || (previous === ',' && this.#first === 'SET' && !this.#isOfRows);
    return previous === 'IDENTIFIED' && (text === 'BY' || (/^(?:WITH|VIA|AS)$/.test(text) && !this.#isOfRows));
  }

  #push(text) {
    this.#seen.add(text);
    this.#first ||= text;
    [this.#before, this.#previous] = [this.#previous, text];
  }

  #literal(start, end) {
    // A quote too many or too few: what seems to be outside may be the secret.
    if (this.#isSecret(start, end)) return this.#hide(start, end, this.#isTorn || /^[\w$\u0080-\uffff]/.test(this.#sql.slice(end, end + 1)));
    this.#push('LITERAL');
    return true;
  }

  #hide(start, end, isTorn) {
    this.parts.push({ start, end: isTorn ? this.#sql.length : end });
    this.#push('SECRET');
    return !isTorn && end < this.#end;
  }

  #isSecret(start, end) {
    const source = this.#sql.slice(start, end);
    const [before, previous] = [this.#before, this.#previous];
    if (previous === 'SECRET' || this.#brackets || this.#kind === 'values') return true;
    if (previous === 'BY') return !OTHER_BY.has(before);
    if (/^(?:account|secret)$/.test(this.#kind)) return !this.#isOther(source, end);
    if (this.#kind === 'dynamic') return this.#isStatementWithSecret(source);
    // A text that a procedure or a later PREPARE runs.
    if ((this.#first === 'SET' || this.#seen.has('CALL')) && (source === MASK || CLAUSE.test(contentOf(source)))) {
      this.#kind = 'values';
      return true;
    }
    const isAssigned = previous === '=' || previous === ':=';
    const name = isAssigned ? before : previous;
    if (this.#kind === 'table' && this.#seen.has('SELECT')) return false;
    if (this.#kind === 'table') return (name === 'CONNECTION' && isMasked(source, this.#isTorn ? UNFINISHED_URL : URL_WITH_PASSWORD)) || (name === 'OPTION_LIST' && isMasked(source, /passw/i));
    if (VARIABLE.test(name)) return previous === ':=' || (isAssigned && this.#first === 'SET');
    return !this.#isOfRows && this.#isPasswordOf(name, isAssigned);
  }

  /** A literal of an account's statement that is a name, a plugin's, or a text beside the password. */
  #isOther(source, end) {
    const previous = this.#previous;
    const isNewPassword = previous === 'TO' && this.#first === 'SET';
    if (this.#sql[end] === '@' || BEFORE_OTHER.has(previous) || (BEFORE_ACCOUNT.has(previous) && !isNewPassword)) return true;
    return /^(?:WITH|VIA|OR)$/.test(previous) && PLUGIN.test(source);
  }

  #isStatementWithSecret(source) {
    const content = contentOf(source);
    const is = source === MASK || secretParts(content).length > 0;
    if (is || content.search(RAW) >= 0) this.#kind = 'values';
    return is;
  }

  /** True if the word before a literal says that this is a password. */
  #isPasswordOf(name, isAssigned) {
    if (/^(?:MASTER|SOURCE)_PASSWORD$|^IDENTI?F\w*D$/.test(name)) return true;
    return name === 'PASSWORD' && this.#first !== 'PASSWORD' && (this.#kind === 'server' || !isAssigned || /^(?:START|CHANGE)$/.test(this.#first));
  }

  /** True if a password stands here without its quotes. */
  #isBare(type, text) {
    const [before, previous] = [this.#before, this.#previous];
    if (!/^(?:identifier|keyword|number)$/.test(type) || NO_SECRET.has(text)) return false;
    if (this.#kind === 'server') return previous === '=' && /PASSWORD$/.test(before);
    if (this.#kind !== 'secret') return false;
    return (previous === 'BY' && before === 'IDENTIFIED') || (this.#first === 'SET' && (previous === '=' || previous === 'PASSWORD'));
  }
}

const isMasked = (source, pattern) => source === MASK || pattern.test(source);

/** Quoted content, as a server reads it. */
const contentOf = (source) => source.replace(/^[^'"]*['"]|['"]$/g, '').replace(/\\(.)|''|""/gs, (pair, escaped) => escaped ?? pair[0]);
