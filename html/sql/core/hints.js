/**
 * Hints in place of running a text that only a console understands, or of explaining a statement without a plan.
 * @module
 */

/** Commands of the console clients at the beginning of a statement, and what to do here. @type {[RegExp, string][]} */
const COMMANDS = [
  [/^(?:source|\\\.)\s+\S/i, 'source is a console command. Open the file here: drop it on the editor, or choose “Open file …” in the menu.'],
  [/^(?:\?|\\[h?]|help\s*$)/i, 'This is a console command. Press F1 or the ? button for the keys; HELP \'topic\' asks the server.'],
  [/^\\[a-zA-Z#!]/, 'Commands with a backslash belong to the console; this page only sends statements.'],
  [/^(?:exit|quit)\s*$/i, 'Nothing to quit here: close the tab with Alt+W.'],
];

/** @param {string} sql @returns {string} empty where there is nothing to say */
export function consoleHint(sql) {
  const text = sql.trim();
  for (const [command, hint] of COMMANDS) if (command.test(text)) return hint;
  return '';
}

/** Statements that a server explains. */
const EXPLAINED = /^[\s(]*(?:SELECT|WITH|INSERT|REPLACE|UPDATE|DELETE|TABLE|VALUES|EXPLAIN|ANALYZE|DESCRIBE|DESC|FOR)\b/i;

/** @param {string} sql as it is sent, EXPLAIN in front included @returns {string} empty where it may have a plan */
export function noPlan(sql) {
  const statement = sql.replace(/^EXPLAIN FORMAT=JSON /, '').replace(/^(?:\s|--\s[^\n]*\n|#[^\n]*\n|\/\*(?!!|M!)[\s\S]*?\*\/)+/, '');
  if (EXPLAINED.test(statement) || statement.startsWith('/*')) return '';
  const word = /^\w+/.exec(statement)?.[0].toUpperCase();
  return word ? `${word} has no plan: servers explain SELECT, INSERT, REPLACE, UPDATE and DELETE.` : '';
}

/** ER_TABLE_EXISTS_ERROR (of a view), ER_SP_ALREADY_EXISTS, ER_TRG_ALREADY_EXISTS, ER_EVENT_ALREADY_EXISTS. */
const EXISTS = new Set([1050, 1304, 1359, 1537]);

/** True if a CREATE was refused for what is there already, which can be dropped first. @param {number} errno */
export const isThere = (errno) => EXISTS.has(errno);

/** Hint beside a server's error at a command of the console. @param {{errno?: number, message?: string}|null} error */
export function hintOf(error) {
  if (error?.errno !== 1064) return '';
  const near = /near '([^\n;]*)/.exec(error.message ?? '')?.[1].replace(/'(?: at line \d+)?$/, '') ?? '';
  const hint = consoleHint(near);
  return hint && ` ${hint}`;
}
