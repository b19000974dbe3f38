// QR symbols, generated locally: byte mode, error correction level M, versions 1 to 20 (ISO/IEC 18004).
import { codewords, versionFor } from './qrbits.js';

/** @typedef {{version: number, mask: number, size: number, isDark: (x: number, y: number) => boolean}} QrCode  without a quiet zone */

/** Level M in the format information. */
const LEVEL_M = 0b00;
/** The eight masks: whether the module at x, y is inverted. */
const MASKS = [
  (x, y) => (x + y) % 2 === 0,
  (_, y) => y % 2 === 0,
  (x) => x % 3 === 0,
  (x, y) => (x + y) % 3 === 0,
  (x, y) => (Math.floor(x / 3) + Math.floor(y / 2)) % 2 === 0,
  (x, y) => ((x * y) % 2) + ((x * y) % 3) === 0,
  (x, y) => (((x * y) % 2) + ((x * y) % 3)) % 2 === 0,
  (x, y) => (((x + y) % 2) + ((x * y) % 3)) % 2 === 0,
];

/** The symbol of a text; null when it is too long for one. @param {string} text @returns {QrCode|null} */
export function encodeQr(text) {
  const bytes = new TextEncoder().encode(text);
  const version = versionFor(bytes.length);
  if (version === null) return null;
  const plain = placed(version, codewords(bytes, version));
  const candidates = MASKS.map((_, mask) => masked(plain, mask));
  const scores = candidates.map((grid) => penalty(grid));
  const mask = scores.indexOf(Math.min(...scores));
  const grid = candidates[mask];
  return { version, mask, size: grid.size, isDark: (x, y) => grid.dark[y * grid.size + x] === 1 };
}

/** The dark modules as the `d` of an SVG path, one unit a module, `quiet` units around. @param {QrCode} code @param {number} quiet */
export function qrPath(code, quiet) {
  const runs = [];
  for (let y = 0; y < code.size; y += 1) {
    for (let x = 0, length; x < code.size; x += length + 1) {
      for (length = 0; x + length < code.size && code.isDark(x + length, y); length += 1);
      if (length) runs.push(`M${x + quiet} ${y + quiet}h${length}v1h-${length}z`);
    }
  }
  return runs.join('');
}

// --- placing

class Grid {
  constructor(size) {
    this.size = size;
    this.dark = new Uint8Array(size * size);
    this.isFunction = new Uint8Array(size * size);
  }

  setFunction(x, y, dark) {
    this.dark[y * this.size + x] = dark ? 1 : 0;
    this.isFunction[y * this.size + x] = 1;
  }

  copy() {
    const other = new Grid(this.size);
    other.dark.set(this.dark);
    other.isFunction.set(this.isFunction);
    return other;
  }
}

function placed(version, words) {
  const grid = new Grid(17 + 4 * version);
  placeTiming(grid);
  for (const [x, y] of [[3, 3], [grid.size - 4, 3], [3, grid.size - 4]]) placeFinder(grid, x, y);
  placeAlignment(grid, version);
  placeFormat(grid, 0);
  if (version >= 7) placeVersion(grid, version);
  placeData(grid, words);
  return grid;
}

function placeTiming(grid) {
  for (let i = 0; i < grid.size; i += 1) {
    grid.setFunction(6, i, i % 2 === 0);
    grid.setFunction(i, 6, i % 2 === 0);
  }
}

/** A finder pattern with its separator, around a centre. */
function placeFinder(grid, centreX, centreY) {
  for (let dy = -4; dy <= 4; dy += 1) {
    for (let dx = -4; dx <= 4; dx += 1) {
      const [x, y] = [centreX + dx, centreY + dy];
      const ring = Math.max(Math.abs(dx), Math.abs(dy));
      if (x >= 0 && x < grid.size && y >= 0 && y < grid.size) grid.setFunction(x, y, ring !== 2 && ring !== 4);
    }
  }
}

/** Where the centres of the alignment patterns are, on both axes (ISO/IEC 18004, annex E). */
function alignmentCentres(version, size) {
  if (version === 1) return [];
  const count = Math.floor(version / 7) + 2;
  const step = Math.ceil((size - 13) / (2 * count - 2)) * 2;
  return [6, ...Array.from({ length: count - 1 }, (_, i) => size - 7 - (count - 2 - i) * step)];
}

function placeAlignment(grid, version) {
  const centres = alignmentCentres(version, grid.size);
  const last = centres.length - 1;
  centres.forEach((y, row) => centres.forEach((x, column) => {
    const underFinder = (row === 0 && (column === 0 || column === last)) || (row === last && column === 0);
    if (underFinder) return;
    for (let dy = -2; dy <= 2; dy += 1) {
      for (let dx = -2; dx <= 2; dx += 1) grid.setFunction(x + dx, y + dy, Math.max(Math.abs(dx), Math.abs(dy)) !== 1);
    }
  }));
}

/** `value` followed by the remainder of its division by a generator polynomial of that degree. */
function withRemainder(value, degree, polynomial) {
  let rest = value;
  for (let i = 0; i < degree; i += 1) rest = (rest << 1) ^ ((rest >>> (degree - 1)) * polynomial);
  return (value << degree) | rest;
}

/** Level and mask, twice, each protected by a BCH code (ISO/IEC 18004, section 7.9). */
function placeFormat(grid, mask) {
  const bits = withRemainder((LEVEL_M << 3) | mask, 10, 0x537) ^ 0x5412;
  const bit = (i) => (bits >>> i) & 1;
  const { size } = grid;
  for (let i = 0; i < 6; i += 1) grid.setFunction(8, i, bit(i));
  grid.setFunction(8, 7, bit(6));
  grid.setFunction(8, 8, bit(7));
  grid.setFunction(7, 8, bit(8));
  for (let i = 9; i < 15; i += 1) grid.setFunction(14 - i, 8, bit(i));
  for (let i = 0; i < 8; i += 1) grid.setFunction(size - 1 - i, 8, bit(i));
  for (let i = 8; i < 15; i += 1) grid.setFunction(8, size - 15 + i, bit(i));
  grid.setFunction(8, size - 8, true);
}

/** The version, twice, from version 7 on (section 7.10). */
function placeVersion(grid, version) {
  const bits = withRemainder(version, 12, 0x1f25);
  for (let i = 0; i < 18; i += 1) {
    const [near, far] = [Math.floor(i / 3), grid.size - 11 + (i % 3)];
    grid.setFunction(far, near, (bits >>> i) & 1);
    grid.setFunction(near, far, (bits >>> i) & 1);
  }
}

/** Zigzag in columns of two from the right, around the vertical timing pattern. */
function placeData(grid, words) {
  const { size } = grid;
  let at = 0;
  for (let right = size - 1; right >= 1; right -= 2) {
    if (right === 6) right = 5;
    const upward = ((right + 1) & 2) === 0;
    for (let step = 0; step < size; step += 1) {
      const y = upward ? size - 1 - step : step;
      for (const x of [right, right - 1]) {
        if (grid.isFunction[y * size + x] || at >= words.length * 8) continue;
        grid.dark[y * size + x] = (words[at >>> 3] >>> (7 - (at & 7))) & 1;
        at += 1;
      }
    }
  }
}

// --- masks (section 7.8)

function masked(plain, mask) {
  const grid = plain.copy();
  const inverts = MASKS[mask];
  for (let y = 0; y < grid.size; y += 1) {
    for (let x = 0; x < grid.size; x += 1) {
      const i = y * grid.size + x;
      if (!grid.isFunction[i] && inverts(x, y)) grid.dark[i] ^= 1;
    }
  }
  placeFormat(grid, mask);
  return grid;
}

/** The penalty score of a symbol (section 7.8.3). */
function penalty({ dark, size }) {
  const lines = [];
  for (let i = 0; i < size; i += 1) {
    lines.push(dark.subarray(i * size, (i + 1) * size), Uint8Array.from({ length: size }, (_, y) => dark[y * size + i]));
  }
  const inLines = lines.reduce((sum, line) => sum + runPenalty(line) + finderPenalty(line), 0);
  const share = dark.reduce((sum, module) => sum + module, 0) / dark.length;
  return inLines + squarePenalty(dark, size) + Math.floor(Math.abs(share * 100 - 50) / 5) * 10;
}

/** Five or more of one colour in a row. */
function runPenalty(line) {
  let score = 0;
  for (let i = 0, length; i < line.length; i += length) {
    for (length = 1; line[i + length] === line[i]; length += 1);
    if (length >= 5) score += length - 2;
  }
  return score;
}

/** Sequences that look like a finder pattern: 1:1:3:1:1 with four light modules on a side. */
function finderPenalty(line) {
  const text = line.join('');
  let score = 0;
  for (const pattern of ['10111010000', '00001011101']) {
    for (let at = text.indexOf(pattern); at >= 0; at = text.indexOf(pattern, at + 1)) score += 40;
  }
  return score;
}

/** Squares of two by two of one colour. */
function squarePenalty(dark, size) {
  let score = 0;
  for (let y = 0; y + 1 < size; y += 1) {
    for (let x = 0; x + 1 < size; x += 1) {
      const i = y * size + x;
      if (dark[i] === dark[i + 1] && dark[i] === dark[i + size] && dark[i] === dark[i + size + 1]) score += 3;
    }
  }
  return score;
}
