/**
 * The bytes of a script's file as the server is to get them, a piece at a time: what is packed by gzip is unpacked, UTF-16
 * becomes UTF-8, and all else stays as it is. Which of them it is, its first bytes say.
 * @module
 */

/** Bytes by which a file is told. */
const LOOKED_AT = 4;

/**
 * Facts that a file's first bytes tell.
 * @param {Uint8Array} bytes
 * @returns {{packed: boolean, encoding: ''|'utf-16le'|'utf-16be'}}
 */
export function kindOf([a, b, c]) {
  const packed = a === 0x1f && b === 0x8b && c === 8;
  const encoding = a === 0xff && b === 0xfe ? 'utf-16le' : a === 0xfe && b === 0xff ? 'utf-16be' : '';
  return { packed, encoding };
}

/**
 * True if a text names a character set for its bytes that is not UTF-8: what it says is then of its file alone.
 * @param {string} text
 */
export function namesCharset(text) {
  const setting = /\b(?:SET\s+NAMES|SET\s+CHARSET|SET\s+CHARACTER\s+SET|character_set_client\s*:?=)\s*['"`]?([\w@]+)/gi;
  return [...text.matchAll(setting)].some(([, name]) => !/^(?:utf8|utf8mb3|utf8mb4|default|@\w*)$/i.test(name));
}

/** @typedef {{bytes: Uint8Array<ArrayBuffer>|Blob, length: number, isLast: boolean}} Piece */
/** @typedef {{piece: (at: number, size: number) => Promise<Piece>, share: (at: number) => number, end: () => void}} Source `share`: how much of the file was read, from 0 to 1 */

/**
 * Opens a file. Pieces are asked for in order, each from where the next one is to begin.
 * @param {File} file
 * @returns {Promise<Source>}
 */
export async function openSource(file) {
  const { packed, encoding } = kindOf(new Uint8Array(await file.slice(0, LOOKED_AT).arrayBuffer()));
  if (packed || encoding) return streamed(file, packed, encoding);
  return {
    piece: async (at, size) => {
      const bytes = file.slice(at, at + size);
      return { bytes, length: bytes.size, isLast: at + size >= file.size };
    },
    share: (at) => (file.size ? at / file.size : 1),
    end: () => {},
  };
}

/** Source of a file whose bytes have to be made: they are kept from the last piece's beginning on. */
function streamed(file, packed, encoding) {
  let read = 0;
  const counted = new TransformStream({ transform(chunk, to) { read += chunk.byteLength; to.enqueue(chunk); } });
  let stream = file.stream().pipeThrough(counted);
  if (packed) stream = stream.pipeThrough(new DecompressionStream('gzip'));
  const kept = new Kept(encoding ? asUtf8(stream, encoding) : stream);
  return {
    piece: (at, size) => kept.piece(at, size),
    share: () => (file.size ? read / file.size : 1),
    end: () => kept.end(),
  };
}

const asUtf8 = (stream, encoding) => stream.pipeThrough(new TextDecoderStream(encoding, { fatal: true })).pipeThrough(new TextEncoderStream());

class Kept {
  #reader;
  /** @type {Uint8Array[]} */ #chunks = [];
  #from = 0;
  #length = 0;
  #isDone = false;

  /** @param {ReadableStream<Uint8Array>} stream */
  constructor(stream) {
    this.#reader = stream.getReader();
  }

  async piece(at, size) {
    while (!this.#isDone && this.#from + this.#length <= at + size) await this.#more();
    const all = new Uint8Array(await new Blob(/** @type {BlobPart[]} */ (this.#chunks)).arrayBuffer()).subarray(at - this.#from);
    // Earlier bytes are not asked for again.
    [this.#chunks, this.#from, this.#length] = [[all], at, all.length];
    const bytes = all.slice(0, size);
    return { bytes, length: bytes.length, isLast: this.#isDone && all.length <= size };
  }

  async #more() {
    const { done, value } = await this.#reader.read();
    this.#isDone = done;
    if (!value) return;
    this.#chunks.push(value);
    this.#length += value.length;
  }

  end() {
    this.#reader.cancel().catch(() => {});
  }
}
