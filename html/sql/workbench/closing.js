// The question before a tab is closed that is running or has an open transaction.
import { confirmDialog, openDialog } from '../../common/dialog.js';
import { h } from '../../common/dom.js';
import { mayLose } from './panels.js';

/**
 * Whether a tab may be closed.
 * @param {import('./querytab.js').QueryTab} tab
 * @param {() => Promise<import('./execution.js').RunEnd|void>} commit ends its transaction
 */
export async function mayClose(tab, commit) {
  const { name, inTransaction } = tab;
  if (!await mayLose(tab.results.unsaved)) return false;
  if (!tab.run) return !inTransaction || closeTransaction(tab, commit);
  const lost = inTransaction ? ' and rolls its open transaction back' : '';
  return confirmDialog({ title: 'Close tab', text: `“${name}” is running. Closing it cancels the statement${lost}.`, action: 'Cancel and close' });
}

/** Asks what becomes of the open transaction; true when the tab may go. */
async function closeTransaction(tab, commit) {
  const choice = await openDialog({
    title: 'Transaction open',
    body: h('p', { text: `“${tab.name}” has an open transaction. What was changed in it is lost if the tab is closed without a commit.` }),
    actions: [{ label: 'Cancel', value: '' }, { label: 'Commit and close', value: 'COMMIT', kind: 'primary' }, { label: 'Roll back and close', value: 'ROLLBACK', kind: 'danger' }],
    harmless: true,
  });
  // Closing the session rolls back.
  if (choice !== 'COMMIT') return choice === 'ROLLBACK';
  const end = await commit();
  return end?.failed === 0 && !end.cancelled;
}
