/**
 * Bytes of values and files.
 * @module
 */

import { formatBytes } from '../../common/figures.js';
import { h } from '../../common/dom.js';
import { FileValue } from './changes.js';

/** Bytes of a file at most: the changes are sent together, in 32 MiB, and base64 takes a third more. */
const MOST = 22 << 20;

/** A file that a person chooses, as a value; null where none is. @returns {Promise<FileValue|null>} */
export function chooseValue() {
  return new Promise((resolve, reject) => {
    const input = h('input', { type: 'file', hidden: true, on: {
      change: () => { input.remove(); valueOf(input.files?.[0]).then(resolve, reject); },
      cancel: () => { input.remove(); resolve(null); },
    } });
    document.body.append(input);
    input.click();
  });
}

/** @param {File|undefined} file @returns {Promise<FileValue|null>} */
export async function valueOf(file) {
  if (!file) return null;
  if (file.size > MOST) throw new Error(`${file.name} has ${formatBytes(file.size)}; the largest file for a value is ${formatBytes(MOST)}`);
  const url = await new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve(String(reader.result));
    reader.onerror = () => reject(new Error(`${file.name} could not be read: ${reader.error?.message}`));
    reader.readAsDataURL(file);
  });
  return new FileValue({ name: file.name, size: formatBytes(file.size), base64: url.slice(url.indexOf(',') + 1) });
}
