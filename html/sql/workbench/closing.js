// The question before a tab is closed that is running or has an open transaction.
import { confirmDialog, openDialog } from '../../common/dialog.js';
import { h } from '../../common/dom.js';

/**
 * True if a tab may be closed.
 * @param {import('./querytab.js').QueryTab} tab
 * @param {() => Promise<import('./execution.js').RunEnd|void>} commit ends its transaction
 * @param {() => void} keep the tables that it shows
 */
export async function mayClose(tab, commit, keep) {
  const { unsaved } = tab.results;
  const tables = unsaved ? 'close' : await tablesOf(tab);
  if (!tables || !await mayLose(unsaved) || !await mayEnd(tab, commit)) return false;
  if (tables === 'keep') keep();
  return true;
}

/** Asks whether changes of rows may be lost with their tab; true where there are none. @param {string} unsaved which, in words */
export function mayLose(unsaved) {
  return unsaved === '' || confirmDialog({ title: 'Changes not applied', text: `${unsaved}: not applied. Closing the tab discards them.`, action: 'Close and discard' });
}

/** Asks what becomes of the tables whose data a tab shows. @returns {Promise<''|'keep'|'close'>} */
async function tablesOf(tab) {
  const tables = tab.results.places().map(({ table }) => table);
  if (!tables.length) return 'close';
  const listed = tables.length > 5 ? `${tables.slice(0, 5).join(', ')} and ${tables.length - 5} more` : tables.join(', ');
  return await openDialog({
    title: 'Close tab', body: h('p', { text: `“${tab.name}” also shows the data of ${listed}. Keep them in the next tab?` }), harmless: true,
    actions: [{ label: 'Cancel', value: '' }, { label: 'Close all', value: 'close' }, { label: 'Keep the tables', value: 'keep', kind: 'primary' }],
  }) ?? '';
}

/** True if the statement that runs in a tab, or its transaction, may end. */
async function mayEnd(tab, commit) {
  const { name, inTransaction } = tab;
  if (!tab.run) return !inTransaction || closeTransaction(tab, commit);
  const lost = inTransaction ? ' and rolls back its open transaction' : '';
  return confirmDialog({ title: 'Close tab', text: `“${name}” is running. Closing it cancels the statement${lost}.`, action: 'Cancel and close' });
}

/** Asks what becomes of the open transaction; true when the tab may go. */
async function closeTransaction(tab, commit) {
  const choice = await openDialog({
    title: 'Transaction open',
    body: h('p', { text: `“${tab.name}” has an open transaction. Its changes are lost unless you commit them.` }),
    actions: [{ label: 'Cancel', value: '' }, { label: 'Commit and close', value: 'COMMIT', kind: 'primary' }, { label: 'Roll back and close', value: 'ROLLBACK', kind: 'danger' }],
    harmless: true,
  });
  // Closing the session rolls back.
  if (choice !== 'COMMIT') return choice === 'ROLLBACK';
  const end = await commit();
  return end?.failed === 0 && !end.cancelled;
}
