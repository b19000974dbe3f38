/**
 * Statements that commit what is open without a word.
 * @module
 */

/** Statements before which the server commits. */
const ENDS = new Set(['CREATE', 'ALTER', 'DROP', 'TRUNCATE', 'RENAME', 'LOCK', 'GRANT', 'REVOKE', 'ANALYZE', 'OPTIMIZE', 'REPAIR', 'FLUSH', 'SET', 'INSTALL', 'UNINSTALL']);

const TOLD = 'committed the open transaction';

/**
 * Note about a statement that ran while a transaction was open; empty if it left that alone or ended it by name.
 * @param {string|undefined} first its first word
 * @param {string|undefined} second
 * @param {boolean} isOpen whether a transaction is open after it
 */
export function committedBy(first = '', second = '', isOpen) {
  const [verb, next] = [first.toUpperCase(), second.toUpperCase()];
  if (isOpen && verb === 'BEGIN' && next !== 'NOT') return `BEGIN ${TOLD} and began another: earlier changes are saved`;
  if (isOpen && verb === 'START') return `START TRANSACTION ${TOLD} and began another: earlier changes are saved`;
  return !isOpen && ENDS.has(verb) ? `${verb} ${TOLD}, as the server does before such a statement: earlier changes are saved` : '';
}
