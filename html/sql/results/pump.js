/**
 * A download that the page itself writes to a file.
 * @module
 */

import { formatBytes, formatMs } from '../../common/figures.js';

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
