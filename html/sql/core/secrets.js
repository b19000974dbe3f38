// Passwords inside SQL must not reach the browser's storage: their literals are replaced before anything is kept.
import { tokens } from './lexer.js';

const HINT = /identified|password|auth_string|mysql_native|ed25519/i;
const MASK = "'***'";

/**
 * `sql` with the string literals of IDENTIFIED BY, PASSWORD(…), SET PASSWORD and *_PASSWORD = replaced.
 * @param {string} sql
 */
export function withoutSecrets(sql) {
  if (!HINT.test(sql)) return sql;
  let out = '';
  let kept = 0;
  for (const { start, end } of secretLiterals(sql)) {
    out += sql.slice(kept, start) + MASK;
    kept = end;
  }
  return out + sql.slice(kept);
}

function* secretLiterals(sql) {
  let armed = false;
  let previous = '';
  for (const { type, start, end } of tokens(sql)) {
    if (type === 'comment') continue;
    const text = sql.slice(start, end).trim().toUpperCase();
    if (text === '') continue;
    if (type === 'string' && armed && /^(BY|AS|USING|PASSWORD|=|:=|\(|TO)$/.test(previous)) yield { start, end };
    if (text === ';') armed = false;
    else if (text === 'IDENTIFIED' || /PASSWORD$/.test(text)) armed = true;
    previous = type === 'string' ? 'LITERAL' : text;
  }
}
