// Scripts from files: opened by a button, dropped on the editor, saved as a download.
import { h } from '../../common/dom.js';

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

/** Saves text, or a file again, as a download. @param {string} name @param {string|File} text */
export function saveScript(name, text) {
  const url = URL.createObjectURL(new Blob([text], { type: 'application/sql' }));
  h('a', { href: url, download: /\.sql$/i.test(name) ? name : `${name}.sql` }).click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}
