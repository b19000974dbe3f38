// The toolbar over the editor: database and row limit, Run, Cancel, Explain, the menu, progress of the active tab.
import { byId, fill, h, plainMarked } from '../../common/dom.js';
import { confirmDialog } from '../../common/dialog.js';
import { openMenu } from '../../common/menu.js';
import { formatBytes, formatMs } from '../../common/figures.js';
import { keyText } from './keys.js';
import { ownFirst } from '../core/entries.js';

/** Row limits offered; 0 is no limit. */
const LIMITS = [100, 1_000, 10_000, 100_000, 0];

/**
 * Wires the toolbar.
 * @param {Record<string, () => void>} commands
 * @param {Settings} settings
 * @param {{setDatabase: (db: string) => void, setLimit: (limit: number) => void, menu: () => import('../../common/menu.js').MenuItem[]}} on
 */
export function wireToolbar(commands, settings, on) {
  for (const id of ['run', 'cancel', 'explain']) {
    byId(id).addEventListener('click', () => commands[id]());
    byId(id).title = `${byId(id).textContent.trim()} (${keyText(id)})`;
  }
  byId('new-tab').addEventListener('click', () => commands.newTab());
  byId('new-tab').title = `New query tab (${keyText('newTab')})`;
  byId('more').addEventListener('click', () => openMenu(byId('more'), on.menu()));
  const db = byId('db', HTMLSelectElement);
  db.addEventListener('change', () => { drawn = {}; on.setDatabase(db.value); });
  wireLimit(settings, on);
}

function wireLimit(settings, on) {
  const select = byId('limit', HTMLSelectElement);
  fill(select, LIMITS.map((limit) => h('option', { value: limit, text: limit ? `${limit.toLocaleString('en')} rows` : 'No limit' })));
  if (!LIMITS.includes(settings.limit) || settings.limit === 0) settings.limit = 1000;
  select.value = String(settings.limit);
  select.addEventListener('change', async () => {
    const limit = Number(select.value);
    if (limit === 0 && !await confirmUnlimited()) select.value = String(settings.limit);
    on.setLimit(Number(select.value));
  });
}

function confirmUnlimited() {
  return confirmDialog({
    title: 'No row limit', action: 'No limit', kind: 'primary',
    text: 'This browser tab will hold all rows of a result; millions of rows can exhaust its memory. For large results, use Export: it streams all rows to a file. Reloading the page restores the limit.',
  });
}

/** Options of the selector; redrawn only when that changes, since redrawing closes an open list. */
let drawn = {};

/** Offers the databases in the tab's selector. @param {string[]} names @param {string} current */
export function drawDatabases(names, current) {
  if (drawn.names === names && drawn.current === current) return;
  drawn = { names, current };
  const all = ownFirst(current && !names.includes(current) ? [current, ...names] : names);
  const select = byId('db', HTMLSelectElement);
  fill(select, h('option', { value: '', text: 'no database' }), all.map((name) => h('option', { value: name, text: plainMarked(name) })));
  select.value = current;
}

/** Shows the state of the active tab. @param {import('./querytab.js').QueryTab} tab */
export function drawRunning(tab) {
  const running = tab.run !== null;
  const [run, cancel, explain] = ['run', 'cancel', 'explain'].map((id) => byId(id, HTMLButtonElement));
  const hadFocus = document.activeElement === run || document.activeElement === cancel;
  run.hidden = running;
  cancel.hidden = !running;
  drawCancel(tab.progress ?? {});
  explain.disabled = running || tab.script !== null;
  byId('progress').classList.toggle('running', running);
  byId('progress-text').textContent = running ? progressText(tab.progress) : tab.summary;
  const shown = running ? cancel : run;
  if (hadFocus && !shown.disabled) shown.focus();
}

/** A cancelled statement that the server does not end can be given up. @param {Partial<import('./runner.js').Progress>} progress */
function drawCancel({ cancelling = false, mayGiveUp = false }) {
  const cancel = byId('cancel', HTMLButtonElement);
  const words = cancel.querySelector('span');
  const label = mayGiveUp ? 'Stop waiting' : 'Cancel';
  cancel.disabled = cancelling && !mayGiveUp;
  if (!words || words.textContent === label) return;
  words.textContent = label;
  cancel.title = `${mayGiveUp ? 'Closes the session of this tab: its transaction, variables and temporary tables are lost' : label} (${keyText('cancel')})`;
}

function progressText(progress) {
  if (!progress) return 'Sending …';
  const parts = [progress.cancelling ? 'Cancel sent; waiting for the server' : 'Running', formatMs(progress.elapsedMs)];
  if (progress.note) parts.push(progress.note);
  if (progress.count > 1) parts.push(`statement ${(progress.index + 1).toLocaleString('en')} of ${progress.count.toLocaleString('en')}`);
  if (progress.rows) parts.push(`${progress.rows.toLocaleString('en')} ${progress.rows === 1 ? 'row' : 'rows'}`);
  if (progress.bytes > 100_000) parts.push(formatBytes(progress.bytes));
  return parts.join(' · ');
}
