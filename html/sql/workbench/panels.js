// The dialogs of the workbench: history, settings, advice on the account.
import { fill, h } from '../../common/dom.js';
import { confirmDialog, openDialog } from '../../common/dialog.js';
import { searchHistory } from '../core/history.js';
import { formatMs } from '../../common/figures.js';
import { highlighted } from '../objects/parts.js';

/** Entries drawn at once; searching finds the others. */
const SHOWN = 100;

/**
 * The history with search. Resolves with the chosen entry, or undefined.
 * @param {{list: () => import('../core/history.js').Entry[], clear: () => void}} history
 * @returns {Promise<import('../core/history.js').Entry|undefined>}
 */
export function showHistory(history) {
  const search = h('input', { class: 'field', type: 'search', placeholder: 'Search statements', 'aria-label': 'Search the history', autofocus: true, autocomplete: 'off' });
  const list = h('ul', { class: 'history-list', 'aria-label': 'Statements, newest first' });
  const note = h('p', { class: 'dim', role: 'status' });
  return openDialog({
    title: 'History',
    wide: true,
    body: [search, note, list],
    onOpen: (dialog, close) => {
      const draw = () => drawHistory(list, note, searchHistory(history.list(), search.value), search.value, close);
      search.addEventListener('input', draw);
      dialog.addEventListener('keydown', (event) => historyKey(event, search, list, close));
      draw();
      dialog.append(h('div', { class: 'dialog-foot' }, h('span', { class: 'dim foot-note', text: 'Kept in this browser, for this server and user. Passwords are masked.' }),
        h('button', { type: 'button', class: 'button', text: 'Clear history', on: { click: async () => {
          if (await confirmDialog({ title: 'Clear history', text: 'Delete the history of this server and user?', action: 'Clear' })) { history.clear(); draw(); }
        } } })));
    },
  });
}

function drawHistory(list, note, found, query, close) {
  note.textContent = found.length === 0 ? (query ? `Nothing matches “${query}”.` : 'Statements that you run are listed here.')
    : found.length > SHOWN ? `${found.length} statements; the newest ${SHOWN} are shown. Search to narrow them down.` : `${found.length} ${found.length === 1 ? 'statement' : 'statements'}`;
  fill(list, found.slice(0, SHOWN).map((entry) => h('li', {}, h('button', { type: 'button', class: 'history-entry', on: { click: () => close(entry) } },
    h('span', { class: 'history-sql' }, highlighted(entry.sql.length > 400 ? `${entry.sql.slice(0, 400)} …` : entry.sql)),
    h('span', { class: entry.error ? 'history-meta bad' : 'history-meta', text: meta(entry) })))));
}

function meta(entry) {
  const outcome = entry.error ? `failed: ${entry.error.slice(0, 160)}` : entry.rows === null ? '' : `${entry.rows.toLocaleString('en')} ${entry.rows === 1 ? 'row' : 'rows'}`;
  return [new Date(entry.at).toLocaleString(), entry.db, formatMs(entry.ms), outcome, entry.cut && 'shortened'].filter(Boolean).join(' · ');
}

function historyKey(event, search, list, close) {
  const entries = [...list.querySelectorAll('.history-entry')];
  const at = entries.indexOf(document.activeElement);
  if (event.key === 'ArrowDown') entries[Math.min(at + 1, entries.length - 1)]?.focus();
  else if (event.key === 'ArrowUp' && at >= 0) (at === 0 ? search : entries[at - 1]).focus();
  else if (event.key === 'Enter' && document.activeElement === search) entries[0]?.click();
  // A search field takes the key to empty itself.
  else if (event.key === 'Escape') close();
  else return;
  event.preventDefault();
}

/**
 * The settings; each applies at once.
 * @param {Settings} settings
 * @param {(key: string, value: any) => void} change
 */
export function showSettings(settings, change) {
  const check = (key, title, text) => {
    const input = h('input', { type: 'checkbox' });
    input.checked = settings[key];
    input.addEventListener('change', () => change(key, input.checked));
    return h('label', { class: 'check' }, input, h('span', {}, h('b', { text: title }), h('br'), h('span', { class: 'dim', text })));
  };
  return openDialog({
    title: 'Settings',
    body: [
      check('stopOnError', 'Stop a script at the first error', 'Otherwise later statements run too.'),
      check('confirmDanger', 'Ask before data is lost', 'Before DROP, TRUNCATE, ALTER TABLE that drops columns or partitions, and DELETE or UPDATE without WHERE, in read-write mode.'),
      check('autoComplete', 'Complete while typing', 'Otherwise Ctrl+Space opens the list.'),
    ],
    actions: [{ label: 'Close', value: undefined, kind: 'primary' }],
  });
}

/** Explains that the server itself takes no writes. @param {string[]} by  the server's variables that say so */
export function showReplicaAdvice(by) {
  return openDialog({
    title: 'This server is read-only',
    body: [
      h('p', { text: `The server has ${by.map((name) => `${name} = ON`).join(' and ')}, like a replica. It rejects statements that write, and its data may lag behind the primary server.` }),
      h('p', { text: 'To write, connect to the primary server. Accounts with READ_ONLY ADMIN, CONNECTION_ADMIN or SUPER can still write here, unless super_read_only or innodb_read_only is on.' }),
    ],
    actions: [{ label: 'Close', value: undefined, kind: 'primary' }],
  });
}

/** Explains the risk of an account that could write in read-only mode, and how to avoid it. @param {{user: string}} info */
export function showAccountAdvice({ user }) {
  const sql = "CREATE USER 'reader'@'%' IDENTIFIED BY '…';\nGRANT SELECT, SHOW VIEW ON `mydb`.* TO 'reader'@'%';";
  return openDialog({
    title: 'This account can write',
    body: [
      h('p', { text: `Read-only mode is on: the page, the server and the database session each reject statements that write. However, the account “${user}” has write privileges.` }),
      h('p', { text: 'Only the account limits what views and functions do outside tables, such as setting a global variable. A read-only account is safer, especially if you share this page:' }),
      h('pre', { class: 'quote', text: sql }),
    ],
    actions: [{ label: 'Close', value: undefined, kind: 'primary' }],
  });
}
