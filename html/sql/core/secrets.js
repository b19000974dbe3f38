// Passwords inside SQL must not reach the browser's storage: their literals are replaced before anything is kept.
import { tokens } from './lexer.js';

/** Whether there may be a secret at all; the lexer then decides. */
const HINT = /identified|pass|pwd|auth_string|authentication_string|ed25519|connection|:\/\/|(?:create|alter)\s+user|\bby\s*(?:\/\*|--|#|\w*\s*['"])/i;
const MASK = "'***'";

/** From such a word on, to the end of its statement, what is in quotes may be a secret. */
const SECRET_WORD = /^@{0,2}[\w$.]*?(?:IDENTIFIED|PASSWORD|PASSWD|PASSPHRASE|AUTH_STRING|AUTHENTICATION_STRING)|^(?:@?(?:\w*_)?PWD|CONNECTION)$/;
/** The same in a text that is itself a statement, or a part of one. */
const SECRET_INSIDE = /\bidentified\s+(?:by|with|via|as)\b|\bset\s+password\b|\bpassword\s*\(?\s*(?:'|"|\\|$)/i;
/** `…password=…` of options and addresses, inside of a text. */
const OPTION = /((?:passw(?:or)?d|passphrase|pwd)\w*\s*[=:]\s*)[^\s,;&'"]+/gi;
/** `scheme://user:password@host`, where the password may have any sign but blanks and quotes. */
const IN_ADDRESS = /(:\/\/)(?:[^\s'"`@/]*:[^\s'"`]*|[^\s'"`/?#]*)@/g;
/** What is put in quotes and is no secret: the way in which an account is proved. */
const PLUGIN = /^.(?:\w*(?:_password|_socket|_pam|ldap_\w+|kerberos|fido|webauthn)|pam|ed25519|parsec|gssapi|named_pipe).$/i;
/** `BY` of LOAD DATA and the like. */
const OTHER_BY = new Set(['TERMINATED', 'ENCLOSED', 'ESCAPED', 'STARTING', 'ORDER', 'GROUP', 'PARTITION', 'INCREMENT']);
/** What a name of an account stands behind, not its secret. */
const BEFORE_ACCOUNT = new Set(['USER', 'EXISTS', ',', 'TO', 'FOR']);

/**
 * `sql` without what may be a password: what is in quotes behind IDENTIFIED, PASSWORD and the like, and the passwords of
 * addresses. Where quotes are out of step, all from the first of them to the last goes.
 * @param {string} sql
 * @returns {string}
 */
export function withoutSecrets(sql) {
  if (!HINT.test(sql)) return sql;
  let out = '';
  let kept = 0;
  for (const { start, end, text } of secretParts(sql)) {
    out += sql.slice(kept, start) + text;
    kept = end;
  }
  return (out + sql.slice(kept)).replace(IN_ADDRESS, '$1***@');
}

/** Where the first password stands that was left out when the statement was kept; -1 where all are there. @param {string} sql */
export function leftOutAt(sql) {
  if (!sql.includes(MASK)) return -1;
  for (const { start, end } of secretParts(sql)) if (sql.slice(start, end) === MASK) return start;
  return -1;
}

/**
 * What a server said of a statement, as it may be kept: it repeats a part of the statement, which may hold what is masked there.
 * @param {string} sql @param {string} kept the statement as it is kept @param {string|null} error
 */
export function errorWithoutSecrets(sql, kept, error) {
  return error && kept !== sql ? error.replace(/['"`‘“][\s\S]*$/, '…') : error;
}

function* secretParts(sql) {
  /** What the statement has told so far. @type {''|'account'|'secret'} */
  let armed = '';
  let masked = false; // whether the token before was
  let previous = '';
  let before = '';
  const list = tokens(sql);
  for (let i = 0; i < list.length; i += 1) {
    const { type, start, end } = list[i];
    const source = sql.slice(start, end);
    if (type === 'comment' && !/^\/\*M?!|^\*\/$/.test(source)) {
      const close = source.startsWith('/*') && source.endsWith('*/') ? 2 : 0;
      const inside = source.slice(0, 2) + withoutSecrets(source.slice(2, source.length - close)) + source.slice(source.length - close);
      if (inside !== source) yield { start, end, text: inside };
      continue;
    }
    if (type === 'comment') continue; // one that is executed: what is in it follows
    const text = source.toUpperCase();
    const literal = type === 'string' || (type === 'number' && /^0X/.test(text));
    if (literal) {
      const isAccount = sql[end] === '@' || (armed === 'account' && BEFORE_ACCOUNT.has(previous));
      const isSecret = masked || (armed !== '' && !isAccount && !PLUGIN.test(source)) || (previous === 'BY' && !OTHER_BY.has(before));
      masked = false;
      if (isSecret && /^[\w$\u0080-\uffff]/.test(sql.slice(end, end + 1))) {
        // A quote too many or too few: what seems to be outside may be the secret.
        const last = Math.max(sql.lastIndexOf("'"), sql.lastIndexOf('"')) + 1;
        const open = list[list.length - 1].type === 'string' ? sql.length : last;
        yield { start, end: Math.max(end, open), text: MASK };
        while (i + 1 < list.length && list[i + 1].start < open) i += 1;
      } else if (isSecret) {
        masked = true;
        yield { start, end, text: MASK };
      } else {
        const inside = insideOf(source);
        if (inside !== source) yield { start, end, text: inside };
      }
      if (SECRET_INSIDE.test(source)) armed = 'secret';
      [before, previous] = [previous, 'LITERAL'];
      continue;
    }
    // A character set before a text says nothing of it.
    if (/^_[A-Z0-9]+$/.test(text) && list[i + 1]?.type === 'string') continue;
    masked = false;
    if (text === ';') armed = '';
    else if (SECRET_WORD.test(text.replaceAll('`', ''))) armed = 'secret';
    else if (armed === '' && text === 'USER' && (previous === 'CREATE' || previous === 'ALTER' || previous === 'REPLACE')) armed = 'account';
    [before, previous] = [previous, text];
  }
}

/** A text that is not secret as a whole, without the secrets in it. */
function insideOf(text) {
  const found = SECRET_INSIDE.exec(text);
  const plain = found ? `${text.slice(0, found.index)}***${text[0] === '"' ? '"' : "'"}` : text;
  return plain.replace(OPTION, '$1***');
}
