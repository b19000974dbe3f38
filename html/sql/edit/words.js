/**
 * Words that are told at more than one place.
 * @module
 */

/** Hint about open transactions of the page's own tabs. @param {string[]} open their names */
export const openText = (open) => `${open.join(' and ')} ${open.length === 1 ? 'has an open transaction' : 'have open transactions'}: rows changed there are locked until Commit or Rollback below the editor`;

/** Warning about changes that were sent before, without an answer. */
export const UNCERTAIN = 'These changes were sent, and no answer came: they may have been applied. Reload the rows and compare first, or new rows may be added twice.';
