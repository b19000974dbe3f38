/**
 * Ways out of the page: the clipboard and files.
 * @module
 */

import { copyText, h } from '../../common/dom.js';
import { openDialog } from '../../common/dialog.js';
import { formatBytes, formatMs } from '../../common/figures.js';
import { hexBytes, hexSize } from '../core/binary.js';
import { Slicer } from '../core/slices.js';

/** Bytes decoded in one slice, which takes a few milliseconds. */
const BLOCK = 1 << 18;

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

/** A `0x…` value as a blob, decoded in slices. */
export async function hexBlob(hex, type = 'application/octet-stream') {
  const slicer = new Slicer();
  const blocks = [];
  for (let at = 0; at < hexSize(hex); at += BLOCK) {
    blocks.push(hexBytes(`0x${hex.slice(2 + 2 * at, 2 + 2 * (at + BLOCK))}`));
    if (slicer.due) await slicer.rest();
  }
  return new Blob(blocks, { type });
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

/** Time between two progress figures, in milliseconds. */
const PROGRESS_MS = 100;

/**
 * Pumps a download into a file that the person picked, a chunk at a time; a file that was there stays as it was where that fails.
 * @param {() => Promise<ReadableStreamDefaultReader<Uint8Array>>} open begins the download
 * @param {FileSystemWritableFileStream} writable
 * @param {(text: string) => void} report is told how far it is
 * @returns {Promise<number>} bytes written
 */
export async function pump(open, writable, report) {
  const started = performance.now();
  let bytes = 0;
  let reported = 0;
  const tell = () => {
    const ms = performance.now() - started;
    const speed = ms > 0 ? ` · ${formatBytes(Math.round((bytes / ms) * 1000))}/s` : '';
    report(`${formatBytes(bytes)} written · ${formatMs(ms)}${speed}`);
  };
  try {
    const reader = await open();
    for (let next = await reader.read(); !next.done; next = await reader.read()) {
      await writable.write(/** @type {Uint8Array<ArrayBuffer>} */ (next.value));
      bytes += next.value.byteLength;
      if (performance.now() - reported < PROGRESS_MS) continue;
      reported = performance.now();
      tell();
    }
    await writable.close();
  } catch (cause) {
    await writable.abort().catch(() => {}); // the file is left as it was
    throw cause;
  }
  tell();
  return bytes;
}
