// Scripts from files: opened by a button, dropped on the editor, saved as a download.
import { openDialog } from '../../common/dialog.js';
import { h } from '../../common/dom.js';
import { formatBytes } from '../../common/figures.js';
import { kindOf, namesCharset, openSource } from './scriptsource.js';

/** The largest script that is put into the editor, in bytes; a larger one is run from its file. */
export const MAX_EDITABLE = 1_500_000;
/** From here on, in bytes, it is asked which of both is wanted. */
const MAY_BE_LARGE = 1_000_000;
/** Part of a larger script that is shown, in bytes. */
const SHOWN = 50_000;

/** True if a file has values, not statements. @param {File} file */
export const hasValues = (file) => /\.(?:csv|tsv|tab)$/i.test(file.name) || /^text\/(?:csv|tab-separated-values)$/.test(file.type);

/** Lets a user choose a file. @returns {Promise<File|null>} */
export function chooseFile() {
  const input = h('input', { type: 'file', accept: '.sql,.gz,.txt,.csv,.tsv,text/*,application/sql' });
  return new Promise((resolve) => {
    input.addEventListener('change', () => resolve(input.files?.[0] ?? null));
    input.addEventListener('cancel', () => resolve(null));
    input.click();
  });
}

/** Calls `onFile` for a file dropped on `host`. @param {HTMLElement} host @param {(file: File) => void} onFile */
export function openScript(host, onFile) {
  const carriesFile = (event) => event.dataTransfer?.types.includes('Files');
  host.addEventListener('dragover', (event) => {
    if (!carriesFile(event)) return;
    event.preventDefault();
    host.classList.add('drop');
  });
  host.addEventListener('dragleave', (event) => { if (!host.contains(/** @type {Node|null} */ (event.relatedTarget))) host.classList.remove('drop'); });
  host.addEventListener('drop', (event) => {
    host.classList.remove('drop');
    if (!carriesFile(event)) return;
    event.preventDefault();
    const file = event.dataTransfer?.files[0];
    if (file) onFile(file);
  });
}

/**
 * Reads a script as text with line ends as the editor has them; of a large one its beginning. Null where it is not
 * to be opened after all.
 * @param {File} file
 * @returns {Promise<{name: string, file: File|null, text: string}|null>}
 */
export async function readScript(file) {
  const text = file.size <= MAX_EDITABLE ? await textOf(file) : null;
  if (text === null) return { name: file.name, file, text: await beginning(file) };
  if (file.size > MAY_BE_LARGE) {
    const choice = await askHow(file);
    if (!choice) return null;
    if (choice === 'file') return { name: file.name, file, text: await beginning(file) };
  }
  return { name: file.name, file: null, text };
}

function askHow(file) {
  return openDialog({
    title: 'Open a large script',
    body: h('p', { text: `${file.name} has ${formatBytes(file.size)}. Run it from the file (any size works), or open it in the editor to change it first.` }),
    actions: [{ label: 'Cancel', value: '' }, { label: 'Open in the editor', value: 'editor' }, { label: 'Run from the file', value: 'file', kind: 'primary' }],
  });
}

async function beginning(file) {
  const source = await openSource(file);
  try {
    const { bytes } = await source.piece(0, SHOWN);
    const text = new TextDecoder().decode(await new Blob([bytes]).arrayBuffer()).replace(/\r\n?/g, '\n');
    return text.slice(0, text.lastIndexOf('\n') + 1 || text.length);
  } finally {
    source.end();
  }
}

/**
 * The text of a script, or null where its bytes mean more than the editor can hold: they are packed, no UTF-8, or of a
 * character set that the script names. Such a script is run from its file, so that it stores the same whatever its size.
 */
async function textOf(file) {
  const bytes = await file.arrayBuffer();
  const { packed, encoding } = kindOf(new Uint8Array(bytes.slice(0, 4)));
  if (packed) return null;
  try {
    const text = new TextDecoder(encoding || 'utf-8', { fatal: true }).decode(bytes);
    return namesCharset(text) ? null : text.replace(/\r\n?/g, '\n');
  } catch {
    return null;
  }
}

/** Saves text, or a file again, as a download. @param {string} name @param {string|File} text */
export function saveScript(name, text) {
  const url = URL.createObjectURL(new Blob([text], { type: 'application/sql' }));
  h('a', { href: url, download: /\.sql$/i.test(name) ? name : `${name}.sql` }).click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}
