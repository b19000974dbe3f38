/**
 * Bytes of the API as a blob.
 * @module
 */

import { hexBytes } from '../core/binary.js';
import { Slicer } from '../core/slices.js';
import { hexSize } from '../core/types.js';

/** Bytes decoded in one slice, which takes a few milliseconds. */
const BLOCK = 1 << 18;

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
