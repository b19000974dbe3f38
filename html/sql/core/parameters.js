// Parameters of a statement, `:name`: where they stand, and how their values are written so that nothing else can be read from them.
import { Lexer } from './lexer.js';

/** @typedef {'text'|'number'|'null'|'list'} ParameterType */
/** @typedef {{type: ParameterType, value: string}} Parameter */

/** Words whose value may follow at once; another word at the beginning of a statement is a label. */
const VALUES = /^(?:SELECT|KILL|DO)$/i;
const NUMBER = /^[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:e[+-]?\d+)?$/i;

/**
 * Places of the parameters in a statement. Texts, comments, `::`, times, labels and bodies of routines have none.
 * @param {string} sql
 * @returns {{start: number, end: number, name: string, enclosed: boolean}[]} `enclosed`: alone in brackets
 */
export function parametersOf(sql) {
  const lexer = new Lexer(sql);
  const list = [];
  for (let token = lexer.next(); token; token = lexer.next()) list.push(token);
  if (!list.length || /^(?:CREATE|ALTER|BEGIN|DECLARE)$/i.test(sql.slice(list[0].start, list[0].end))) return [];
  return list.flatMap((token, i) => {
    const [before, name, after] = [list[i - 1], list[i + 1], list[i + 2]];
    if (token.kind !== 'colon' || !name || !['word', 'name'].includes(name.kind) || name.start !== token.end || !/^[A-Za-z_]/.test(sql[name.start])) return [];
    const touches = before?.end === token.start && !['open', 'comma', 'operator'].includes(before.kind);
    const labels = /^(?:BEGIN|LOOP|REPEAT|WHILE|FOR)$/i.test(sql.slice(name.start, name.end)) && i === 1 && !VALUES.test(sql.slice(before.start, before.end));
    if (touches || labels || before?.kind === 'colon' || !before) return [];
    return [{ start: token.start, end: name.end, name: sql.slice(name.start, name.end), enclosed: before.kind === 'open' && after?.kind === 'close' }];
  });
}

/** Problem of a value; empty if there is none. @param {Parameter} parameter */
export function wrongWith({ type, value }) {
  if (type === 'number' && !NUMBER.test(value.trim())) return 'not a number';
  if (type === 'list' && !itemsOf(value).length) return 'the list is empty';
  return '';
}

/** The statement with values in place of its parameters. @param {string} sql @param {Record<string, Parameter>} values */
export function withParameters(sql, values) {
  let at = 0;
  let text = '';
  for (const { start, end, name, enclosed } of parametersOf(sql)) {
    text += sql.slice(at, start) + written(values[name], enclosed);
    at = end;
  }
  return text + sql.slice(at);
}

function written({ type, value }, enclosed) {
  if (type === 'null') return 'NULL';
  if (type === 'number') return numberText(value.trim());
  if (type !== 'list') return quoted(value);
  const items = itemsOf(value);
  const plain = items.every((item) => NUMBER.test(item));
  const list = items.map((item) => (plain ? numberText(item) : quoted(item))).join(', ');
  return enclosed ? list : `(${list})`;
}

function itemsOf(value) {
  return value.split(/[,\n]/).map((item) => item.trim()).filter(Boolean);
}

/** A minus before a minus would begin a comment where a space follows. */
function numberText(text) {
  return /^[+-]/.test(text) ? `(${text})` : text;
}

/** A text that means the same in every SQL mode: backslashes may or may not escape there. */
function quoted(text) {
  if (!/[\\\0]/.test(text)) return `'${text.replaceAll("'", "''")}'`;
  return `_utf8mb4 X'${Array.from(new TextEncoder().encode(text), (byte) => byte.toString(16).padStart(2, '0')).join('')}'`;
}
