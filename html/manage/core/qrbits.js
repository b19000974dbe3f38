// The codewords of a QR symbol: data in byte mode, Reed-Solomon codewords behind it (ISO/IEC 18004, sections 7.4 and 7.5).

/** Largest version made; it holds 666 bytes at level M, and a larger symbol is hard to scan from a screen. */
export const MAX_VERSION = 20;

/** Error correction codewords of one block at level M, by version from 1 (ISO/IEC 18004, table 9). */
const EC_PER_BLOCK = [10, 16, 26, 18, 24, 16, 18, 22, 22, 26, 30, 22, 22, 24, 24, 28, 28, 26, 26, 26];
/** Blocks at level M, by version from 1 (the same table). */
const BLOCKS = [1, 1, 1, 2, 2, 4, 4, 4, 5, 5, 5, 8, 9, 9, 10, 10, 11, 13, 14, 16];
/** The mode indicator of byte mode, 4 bits. */
const BYTE_MODE = 0b0100;
/** What fills the rest of the data, in turn. */
const PADDING = [0xec, 0x11];

/** Codewords of a version, data and error correction together. @param {number} version */
export function totalCodewords(version) {
  let modules = (16 * version + 128) * version + 64;
  if (version >= 2) {
    const aligned = Math.floor(version / 7) + 2;
    modules -= (25 * aligned - 10) * aligned - 55;
    if (version >= 7) modules -= 36;
  }
  return Math.floor(modules / 8);
}

/** Bytes that a version holds at level M. @param {number} version */
export function capacity(version) {
  return dataCodewords(version) - Math.ceil((4 + lengthBits(version)) / 8);
}

/** The smallest version that holds so many bytes; null when none does. @param {number} bytes */
export function versionFor(bytes) {
  for (let version = 1; version <= MAX_VERSION; version += 1) if (bytes <= capacity(version)) return version;
  return null;
}

/** All codewords of a symbol, blocks interleaved as they are placed. @param {Uint8Array} bytes @param {number} version @returns {Uint8Array} */
export function codewords(bytes, version) {
  const blocks = splitIntoBlocks(dataOf(bytes, version), version);
  const divisor = generator(EC_PER_BLOCK[version - 1]);
  return Uint8Array.from([...interleave(blocks), ...interleave(blocks.map((block) => remainder(block, divisor)))]);
}

function dataCodewords(version) {
  return totalCodewords(version) - EC_PER_BLOCK[version - 1] * BLOCKS[version - 1];
}

function lengthBits(version) {
  return version < 10 ? 8 : 16;
}

function dataOf(bytes, version) {
  const bits = [];
  const put = (value, length) => { for (let i = length - 1; i >= 0; i -= 1) bits.push((value >>> i) & 1); };
  put(BYTE_MODE, 4);
  put(bytes.length, lengthBits(version));
  for (const byte of bytes) put(byte, 8);
  const size = dataCodewords(version);
  put(0, Math.min(4, size * 8 - bits.length));
  put(0, (8 - (bits.length % 8)) % 8);
  for (let i = 0; bits.length < size * 8; i += 1) put(PADDING[i % 2], 8);
  return Uint8Array.from({ length: size }, (_, i) => bits.slice(i * 8, i * 8 + 8).reduce((byte, bit) => (byte << 1) | bit, 0));
}

/** Blocks of nearly equal length; the longer ones come last. */
function splitIntoBlocks(data, version) {
  const count = BLOCKS[version - 1];
  const short = Math.floor(data.length / count);
  const longer = data.length % count;
  let at = 0;
  return Array.from({ length: count }, (_, i) => {
    const length = short + (i >= count - longer ? 1 : 0);
    at += length;
    return data.slice(at - length, at);
  });
}

function interleave(blocks) {
  const longest = Math.max(...blocks.map(({ length }) => length));
  const out = [];
  for (let i = 0; i < longest; i += 1) for (const block of blocks) if (i < block.length) out.push(block[i]);
  return out;
}

// --- GF(256) with the polynomial x^8 + x^4 + x^3 + x^2 + 1

function multiply(a, b) {
  let product = 0;
  for (let i = 7; i >= 0; i -= 1) {
    product = (product << 1) ^ ((product >>> 7) * 0x11d);
    product ^= ((b >>> i) & 1) * a;
  }
  return product;
}

/** Coefficients of (x - 2^0)(x - 2^1)…, without the leading one. */
function generator(degree) {
  const result = new Uint8Array(degree);
  result[degree - 1] = 1;
  let root = 1;
  for (let i = 0; i < degree; i += 1) {
    for (let j = 0; j < degree; j += 1) result[j] = multiply(result[j], root) ^ (result[j + 1] ?? 0);
    root = multiply(root, 2);
  }
  return result;
}

function remainder(data, divisor) {
  const result = new Uint8Array(divisor.length);
  for (const byte of data) {
    const factor = byte ^ result[0];
    result.copyWithin(0, 1);
    result[result.length - 1] = 0;
    divisor.forEach((coefficient, i) => { result[i] ^= multiply(coefficient, factor); });
  }
  return result;
}
