/**
 * The text of a file: its beginning, and all of it piece by piece.
 * @module
 */

/** Bytes that are looked at before anything is chosen. */
const SAMPLE = 512 << 10;

/** @typedef {{bytes: Uint8Array, whole: boolean}} Sample `whole`: it is all of the file */

/** @param {File} file @returns {Promise<Sample>} */
export async function sampleOf(file) {
  const bytes = new Uint8Array(await file.slice(0, SAMPLE).arrayBuffer());
  return { bytes, whole: file.size <= SAMPLE };
}

/** The text of a sample; where it is not all, up to the end of its last line. @param {Sample} sample @param {string} encoding */
export function textOf({ bytes, whole }, encoding) {
  const text = new TextDecoder(encoding).decode(bytes, { stream: !whole });
  return whole ? text : text.slice(0, text.lastIndexOf('\n') + 1 || text.length);
}

/**
 * The whole text in pieces, with how many bytes were read so far. What is not of the encoding is an error.
 * @param {File} file @param {string} encoding
 * @returns {AsyncGenerator<{text: string, bytes: number}>}
 */
export async function* piecesOf(file, encoding) {
  const reader = file.stream().getReader();
  const decoder = new TextDecoder(encoding, { fatal: true });
  let bytes = 0;
  try {
    for (;;) {
      const { done, value } = await reader.read();
      bytes += value?.byteLength ?? 0;
      yield { text: decoded(decoder, value, done, encoding), bytes };
      if (done) return;
    }
  } finally {
    reader.cancel().catch(() => {});
  }
}

function decoded(decoder, value, done, encoding) {
  try {
    return done ? decoder.decode() : decoder.decode(value, { stream: true });
  } catch {
    throw new Error(`The file is not valid ${encoding.toUpperCase()}; choose another encoding.`);
  }
}
