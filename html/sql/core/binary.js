/**
 * Bytes that arrive as `0x…` hex: dumps, images, geometry, vectors.
 * @module
 */

import { hexSize } from './types.js';

/** Greatest nesting of geometry collections. */
const MAX_WKB_DEPTH = 16;

/**
 * @param {string} hex `0x…`
 * @param {number} [limit] bytes at most
 * @returns {Uint8Array<ArrayBuffer>}
 */
export function hexBytes(hex, limit = Infinity) {
  const bytes = new Uint8Array(Math.min(hexSize(hex), limit));
  for (let i = 0; i < bytes.length; i += 1) {
    bytes[i] = (digit(hex.charCodeAt(2 + 2 * i)) << 4) | digit(hex.charCodeAt(3 + 2 * i));
  }
  return bytes;
}

/** Bytes of which the digits are put together at once. */
const SLICE = 1 << 14;

/** Bytes as the API gives them. @param {Uint8Array} bytes */
export function toHex(bytes) {
  const parts = ['0x'];
  for (let at = 0; at < bytes.length; at += SLICE) parts.push(Array.from(bytes.subarray(at, at + SLICE), (byte) => byte.toString(16).toUpperCase().padStart(2, '0')).join(''));
  return parts.join('');
}

const digit = (code) => (code <= 57 ? code - 48 : (code | 32) - 87);

/**
 * Lines of a classic hex dump: offset, 16 bytes, the printable characters.
 * @param {Uint8Array} bytes
 * @returns {string}
 */
export function hexDump(bytes) {
  const lines = [];
  for (let at = 0; at < bytes.length; at += 16) lines.push(dumpLine(bytes.subarray(at, at + 16), at));
  return lines.join('\n');
}

function dumpLine(row, at) {
  const pairs = Array.from(row, (byte) => byte.toString(16).padStart(2, '0'));
  const hex = `${pairs.slice(0, 8).join(' ')}  ${pairs.slice(8).join(' ')}`.padEnd(48);
  const text = Array.from(row, (byte) => (byte >= 32 && byte < 127 ? String.fromCharCode(byte) : '.')).join('');
  return `${at.toString(16).padStart(8, '0')}  ${hex}  ${text}`;
}

const SIGNATURES = [
  { type: 'image/png', magic: [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a] },
  { type: 'image/jpeg', magic: [0xff, 0xd8, 0xff] },
  { type: 'image/gif', magic: [0x47, 0x49, 0x46, 0x38] },
];

/**
 * The image type of the bytes by their signature; null for what is not shown as an image. SVG is not: it is a document.
 * @param {Uint8Array} bytes
 */
export function imageType(bytes) {
  const found = SIGNATURES.find(({ magic }) => magic.every((byte, i) => bytes[i] === byte));
  if (found) return found.type;
  const word = (at) => String.fromCharCode(...bytes.subarray(at, at + 4));
  return word(0) === 'RIFF' && word(8) === 'WEBP' ? 'image/webp' : null;
}

/** File extension for saving bytes of the type. */
export function extensionOf(type) {
  return { 'image/png': 'png', 'image/jpeg': 'jpg', 'image/gif': 'gif', 'image/webp': 'webp' }[type] ?? 'bin';
}

/**
 * 16 bytes as a UUID is written.
 * @param {Uint8Array} bytes
 * @param {boolean} [swapped] whether the time parts stand in the order of MySQL's `UUID_TO_BIN(…, 1)`: high, middle, low
 */
export function uuidText(bytes, swapped = false) {
  const hex = Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
  const [low, middle, high] = swapped ? [hex.slice(8, 16), hex.slice(4, 8), hex.slice(0, 4)] : [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16)];
  return `${low}-${middle}-${high}-${hex.slice(16, 20)}-${hex.slice(20)}`;
}

/** True if 16 bytes have a version and the variant of RFC 9562 where a UUID has them, in either order. @param {Uint8Array} bytes */
export function looksLikeUuid(bytes) {
  const isVersion = (byte) => byte >> 4 >= 1 && byte >> 4 <= 8;
  return bytes.length === 16 && bytes[8] >> 6 === 2 && (isVersion(bytes[6]) || isVersion(bytes[0]));
}

/** Bytes of one number of a VECTOR. */
const FLOAT_BYTES = 4;

/** Significant digits that tell any two numbers of 32 bits apart. */
const FLOAT_DIGITS = 9;

/**
 * The numbers of a VECTOR as the server's functions take them, `[1,2.5,-3e-8]`; null where the bytes are none.
 * @param {Uint8Array} bytes little-endian numbers of 32 bits
 * @returns {string|null}
 */
export function vectorText(bytes) {
  if (bytes.length % FLOAT_BYTES !== 0) return null;
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const numbers = Array.from({ length: bytes.length / FLOAT_BYTES }, (_, i) => shortest(view.getFloat32(i * FLOAT_BYTES, true)));
  return `[${numbers.join(',')}]`;
}

/** The fewest digits that are this number of 32 bits again. @param {number} number */
export function shortest(number) {
  if (Number.isInteger(number)) return String(number);
  for (let digits = 1; digits < FLOAT_DIGITS; digits += 1) {
    const text = number.toPrecision(digits);
    if (Math.fround(Number(text)) === number) return String(Number(text));
  }
  return String(Number(number.toPrecision(FLOAT_DIGITS)));
}

/**
 * The server's geometry value (SRID, then WKB) as well-known text; null when it is not one.
 * @param {Uint8Array} bytes
 * @returns {{wkt: string, srid: number}|null}
 */
export function geometryText(bytes) {
  try {
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    const reader = new WkbReader(view, 4);
    const wkt = reader.geometry(0);
    return reader.at === view.byteLength ? { wkt, srid: view.getUint32(0, true) } : null;
  } catch (cause) {
    if (cause instanceof RangeError) return null;
    throw cause;
  }
}

const NAMES = ['', 'POINT', 'LINESTRING', 'POLYGON', 'MULTIPOINT', 'MULTILINESTRING', 'MULTIPOLYGON', 'GEOMETRYCOLLECTION'];

/** Reads well-known binary; throws a RangeError for other bytes. */
class WkbReader {
  #view;
  #little = true;

  constructor(view, at) {
    this.#view = view;
    this.at = at;
  }

  geometry(depth) {
    const kind = this.#header(depth);
    const body = this.#body(kind, depth);
    return kind === 1 ? `POINT(${body})` : `${NAMES[kind]}${body}`;
  }

  #header(depth) {
    if (depth > MAX_WKB_DEPTH) throw new RangeError('nested too deeply');
    this.#little = this.#view.getUint8(this.at) === 1;
    const kind = this.#view.getUint32(this.at + 1, this.#little);
    if (!NAMES[kind]) throw new RangeError('unknown kind of geometry');
    this.at += 5;
    return kind;
  }

  #body(kind, depth) {
    switch (kind) {
      case 1:
        return this.#point();
      case 2:
        return this.#list(() => this.#point());
      case 3:
        return this.#list(() => this.#list(() => this.#point()));
      case 7:
        return this.#list(() => this.geometry(depth + 1));
      default:
        return this.#list(() => this.#body(this.#header(depth + 1), depth + 1));
    }
  }

  #list(item) {
    const count = this.#view.getUint32(this.at, this.#little);
    this.at += 4;
    if (count > this.#view.byteLength - this.at) throw new RangeError('more members than bytes');
    const items = [];
    for (let i = 0; i < count; i += 1) items.push(item());
    return count === 0 ? ' EMPTY' : `(${items.join(',')})`;
  }

  #point() {
    const [x, y] = [this.#double(), this.#double()];
    return `${x} ${y}`;
  }

  #double() {
    const value = this.#view.getFloat64(this.at, this.#little);
    this.at += 8;
    return value;
  }
}
