// Scripts from files: opened by a button, dropped on the editor, saved as a download.
import { h } from '../../common/dom.js';

/** The longest script that is put into the editor, in characters; a longer one is run from memory. */
export const MAX_EDITABLE = 1_500_000;
/** The largest file that is read, in bytes: a text of a browser page may not be longer than about 500 MB. */
export const MAX_FILE = 256 * 1024 * 1024;
/** How much of a larger script is shown, in characters. */
const SHOWN = 50_000;

/** Lets a user choose a file. @returns {Promise<File|null>} */
export function chooseFile() {
  const input = h('input', { type: 'file', accept: '.sql,.txt,text/*,application/sql' });
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
 * Reads a script as UTF-8 text with line ends as the editor has them.
 * @param {File} file
 * @returns {Promise<{name: string, text: string, shown: string, large: boolean}>}
 */
export async function readScript(file) {
  if (file.size > MAX_FILE) throw new Error(`${file.name} is larger than ${MAX_FILE / 1024 / 1024} MB; run it with the mariadb command line client`);
  const bytes = await file.arrayBuffer();
  let text;
  try {
    text = new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    throw new Error(`${file.name} is not UTF-8 text; convert it first`);
  }
  text = text.replace(/\r\n?/g, '\n');
  const large = text.length > MAX_EDITABLE;
  return { name: file.name, text, large, shown: large ? text.slice(0, text.lastIndexOf('\n', SHOWN) + 1 || SHOWN) : text };
}

/** Saves text as a download. @param {string} name @param {string} text */
export function saveScript(name, text) {
  const url = URL.createObjectURL(new Blob([text], { type: 'application/sql' }));
  h('a', { href: url, download: /\.sql$/i.test(name) ? name : `${name}.sql` }).click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}
