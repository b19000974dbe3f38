/**
 * Words that are told at more than one place.
 * @module
 */

/** Hint about open transactions of the page's own tabs. @param {string[]} open their names */
export const openText = (open) => `${open.join(' and ')} ${open.length === 1 ? 'has an open transaction' : 'have open transactions'}: rows changed there are locked until Commit or Rollback below the editor`;
