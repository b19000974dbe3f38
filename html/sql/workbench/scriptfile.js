// Text of a script from a file, or its beginning. Loaded when one is opened.
import { openDialog } from '../../common/dialog.js';
import { h } from '../../common/dom.js';
import { formatBytes } from '../../common/figures.js';
import { kindOf, namesCharset, openSource } from './scriptsource.js';

/** The largest script that is put into the editor, in bytes; a larger one is run from its file. */
const MAX_EDITABLE = 1_500_000;
/** From here on, in bytes, it is asked which of both is wanted. */
const MAY_BE_LARGE = 1_000_000;
/** Part of a larger script that is shown, in bytes. */
const SHOWN = 50_000;

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
