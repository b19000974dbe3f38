// Saved queries: the panel with folders, and saving one. Loaded when it is wanted.
import { fill, h, iconButton } from '../../common/dom.js';
import { notify } from '../../common/announce.js';
import { confirmDialog, openDialog } from '../../common/dialog.js';
import { MAX_SAVED, MAX_SAVED_SQL, foldersOf, merged, readSaved, withQuery } from '../core/savedqueries.js';
import { withoutSecrets } from '../core/secrets.js';
import { highlighted } from './schema.js';

/** @typedef {import('../core/savedqueries.js').SavedQuery} SavedQuery */
/** @typedef {{read: () => any, write: (list: SavedQuery[]) => boolean}} SavedStore `write` is false where the browser has no room */

/**
 * The panel. Resolves with the query that was chosen, or undefined.
 * @param {SavedStore} store
 * @returns {Promise<SavedQuery|undefined>}
 */
export function showSaved(store) {
  const search = h('input', { class: 'field', type: 'search', placeholder: 'Search saved queries', 'aria-label': 'Search saved queries', autofocus: true, autocomplete: 'off' });
  const list = h('div', { class: 'saved-list' });
  return openDialog({
    title: 'Saved queries',
    wide: true,
    body: [search, list],
    onOpen: (dialog, close) => {
      const draw = () => drawFolders(list, store, search.value, close, draw);
      search.addEventListener('input', draw);
      dialog.addEventListener('keydown', (event) => {
        if (event.key === 'Enter' && document.activeElement === search) list.querySelector('button')?.click();
        else if (event.key === 'Escape') close();
        else return;
        event.preventDefault();
      });
      draw();
      const button = (text, run) => h('button', { type: 'button', class: 'button', text, on: { click: run } });
      dialog.append(h('div', { class: 'dialog-foot' }, h('span', { class: 'dim foot-note', text: 'Kept in this browser, for this server and user. Passwords are masked.' }),
        button('Import …', async () => { if (await importFile(store)) draw(); }), button('Export', () => exportFile(readSaved(store.read())))));
    },
  });
}

function drawFolders(host, store, search, close, draw) {
  const folders = foldersOf(readSaved(store.read()), search);
  if (!folders.length) return fill(host, h('p', { class: 'dim', text: search ? `Nothing matches “${search}”.` : 'No saved queries yet. Use “Save query …” in the editor menu.' }));
  return fill(host, folders.map(({ folder, queries }) => h('section', { 'aria-label': folder || 'No folder' }, folder && h('h3', { text: folder }),
    h('ul', { class: 'history-list' }, queries.map((query) => entry(query, store, close, draw))))));
}

function entry(query, store, close, draw) {
  const change = async () => { if (await saveQuery(store, query, query)) draw(); };
  const remove = async () => {
    if (!await confirmDialog({ title: 'Delete saved query', text: `Delete “${query.name}”?`, detail: query.sql.slice(0, 600), action: 'Delete' })) return;
    store.write(readSaved(store.read()).filter((one) => one.name !== query.name || one.folder !== query.folder));
    draw();
  };
  return h('li', { class: 'saved-entry' }, h('button', { type: 'button', class: 'history-entry', on: { click: () => close(query) } },
    h('span', { class: 'saved-name', text: query.name }), h('span', { class: 'history-sql' }, highlighted(query.sql.slice(0, 400))), query.db && h('span', { class: 'history-meta', text: query.db })),
  iconButton('edit', `Rename or move ${query.name}`, change), iconButton('trash', `Delete ${query.name}`, remove));
}

/**
 * Asks for name and folder and saves. Resolves with whether it did.
 * @param {SavedStore} store
 * @param {{name: string, folder?: string, sql: string, db: string}} query
 * @param {SavedQuery|null} [former] that it takes the place of
 */
export async function saveQuery(store, query, former = null) {
  if (query.sql.length > MAX_SAVED_SQL) return notify('Too long to save in the browser; save it as a file.', 'warn');
  const field = (value, label, list = '') => {
    const input = h('input', { class: 'field', id: `saved-${label.toLowerCase()}`, maxlength: 120, autocomplete: 'off', list: list || null });
    input.value = value;
    return { input, nodes: [h('label', { class: 'dim', for: input.id, text: label }), input] };
  };
  const all = readSaved(store.read());
  const name = field(query.name, 'Name');
  const folder = field(query.folder ?? '', 'Folder', 'saved-folders');
  const known = h('datalist', { id: 'saved-folders' }, [...new Set(all.map((one) => one.folder))].filter(Boolean).map((value) => h('option', { value })));
  const done = await openDialog({
    title: former ? 'Rename or move' : 'Save query',
    body: [...name.nodes, ...folder.nodes, known],
    actions: [{ label: 'Cancel', value: false }],
    onOpen: (dialog, close) => {
      const save = () => (name.input.value.trim() ? close(true) : name.input.focus());
      dialog.querySelector('.dialog-foot')?.append(h('button', { type: 'button', class: 'button primary', text: 'Save', on: { click: save } }));
      dialog.addEventListener('keydown', (event) => { if (event.key === 'Enter' && !event.isComposing && /** @type {Element} */ (event.target).matches('input')) { event.preventDefault(); save(); } });
      name.input.select();
    },
  });
  if (!done) return false;
  const next = { name: name.input.value.trim(), folder: folder.input.value.trim(), sql: query.sql, db: query.db, at: Date.now() };
  const others = all.filter((one) => one !== former && !(former && one.name === former.name && one.folder === former.folder));
  const taken = others.find((one) => one.name === next.name && one.folder === next.folder);
  if (taken && !await confirmDialog({ title: 'Replace saved query', text: `“${next.name}” already exists. Replace it?`, detail: taken.sql.slice(0, 600), action: 'Replace' })) return false;
  if (!taken && others.length >= MAX_SAVED) return notify(`At most ${MAX_SAVED} saved queries; delete one first.`, 'warn');
  return told(store.write(withQuery(others, next)), `“${next.name}” saved`);
}

function told(done, text) {
  if (done) notify(text, 'good');
  else notify('Browser storage is full; export saved queries to a file and delete some.', 'bad');
  return done;
}

function exportFile(list) {
  const url = URL.createObjectURL(new Blob([JSON.stringify({ queries: list }, null, 2)], { type: 'application/json' }));
  h('a', { href: url, download: 'queries.json' }).click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}

async function importFile(store) {
  const input = h('input', { type: 'file', accept: '.json,application/json' });
  /** @type {File|null} */
  const file = await new Promise((resolve) => {
    input.addEventListener('change', () => resolve(input.files?.[0] ?? null));
    input.addEventListener('cancel', () => resolve(null));
    input.click();
  });
  if (!file) return false;
  const others = readSaved(await file.text().then(JSON.parse).catch(() => null)).map((one) => ({ ...one, sql: withoutSecrets(one.sql) }));
  if (!others.length) return notify(`${file.name} contains no saved queries; choose a file from “Export”.`, 'bad');
  const { list, added } = merged(readSaved(store.read()), others);
  return told(store.write(list), `${added.toLocaleString('en')} of ${others.length.toLocaleString('en')} queries added; the others already exist`);
}
