/**
 * Ways out of the page: the clipboard and files.
 * @module
 */

import { copyText, h } from '../../common/dom.js';
import { openDialog } from '../../common/dialog.js';

/** Lifetime of the object URL of a saved file, in milliseconds. The browser has read it by then. */
const LINK_MS = 60_000;

/**
 * Copies a text that takes a while to write. The clipboard gets a promise: the right to write ends with the click.
 * @param {Promise<string[]>} pieces
 * @returns {Promise<number>} the text's length in characters
 */
export async function copyPieces(pieces) {
  const blob = pieces.then((list) => new Blob(list, { type: 'text/plain' }));
  blob.catch(() => {}); // reported below, where the pieces themselves are awaited
  try {
    await navigator.clipboard.write([new ClipboardItem({ 'text/plain': blob })]);
  } catch {
    const text = (await pieces).join('');
    if (!(await copyText(text))) await copyByHand(text);
  }
  return (await pieces).reduce((sum, piece) => sum + piece.length, 0);
}

/** Fallback where the browser refuses both ways. */
function copyByHand(text) {
  const field = h('textarea', { class: 'copy-field', readonly: true, 'aria-label': 'Text to copy' });
  field.value = text;
  return openDialog({
    title: 'Copy manually',
    wide: true,
    body: [h('p', { text: 'The browser blocked the clipboard. Press Ctrl+C or Cmd+C now.' }), field],
    onOpen: () => {
      field.focus();
      field.select();
    },
  });
}

/** Lets the browser save a blob as a file. */
export function saveBlob(blob, name) {
  const url = URL.createObjectURL(blob);
  followDownload(url, name);
  setTimeout(() => URL.revokeObjectURL(url), LINK_MS);
}

/** Lets the browser download an address of our own. */
export function followDownload(url, name) {
  const link = h('a', { href: url, download: name, hidden: true });
  document.body.append(link);
  link.click();
  link.remove();
}

/** A file name from a title and the time, so that names do not collide. */
export function fileName(title, extension) {
  const now = new Date();
  const two = (number) => String(number).padStart(2, '0');
  const day = `${now.getFullYear()}${two(now.getMonth() + 1)}${two(now.getDate())}`;
  const time = `${two(now.getHours())}${two(now.getMinutes())}${two(now.getSeconds())}`;
  return `${plainName(title)}-${day}-${time}.${extension}`;
}

/** A title as a file name that any system takes. @param {string} title */
export function plainName(title) {
  const safe = title.replaceAll('`', '').replace(/[^\p{L}\p{N}._-]+/gu, '-').replace(/^[-.]+|[-.]+$/g, '').slice(0, 60);
  return safe || 'result';
}
