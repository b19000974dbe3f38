/**
 * Display of values in the cells of the grid. Nothing is hidden, and long values are shortened.
 * @module
 */

import { formatBytes } from '../../common/figures.js';
import { hexSize, isBinaryKind, isHex, vectorSize } from './types.js';

/** Characters of a text that a cell shows; the rest is counted and seen in the viewer. */
export const CELL_TEXT = 200;

/** Bytes of a binary value that a cell shows. */
export const CELL_BYTES = 16;

/**
 * @typedef {object} CellView
 * @property {'null'|'empty'|'number'|'binary'|'text'} look
 * @property {{text: string, mark: boolean}[]} parts `mark`: stands for a character that has no shape
 * @property {string} note what was left out, or the size; may be empty
 */

/**
 * @param {null|string|number|boolean} value
 * @param {string} kind of the column, from `kindOf`
 * @returns {CellView}
 */
export function viewCell(value, kind) {
  if (value === null || value === undefined) return plain('null', 'NULL');
  if (value === '') return plain('empty', 'empty');
  if (isBinaryKind(kind) && isHex(value)) return viewBinary(value, kind);
  const text = String(value);
  const shown = cut(text, CELL_TEXT);
  const note = shown.length < text.length ? `+${(text.length - shown.length).toLocaleString('en')} chars` : '';
  return { look: kind === 'number' ? 'number' : 'text', parts: visible(shown, shown.length === text.length), note };
}

/** @param {CellView['look']} look @param {string} text @returns {CellView} */
const plain = (look, text) => ({ look, parts: [{ text, mark: false }], note: '' });

/** @returns {CellView} */
function viewBinary(hex, kind) {
  const shown = hex.slice(0, 2 + 2 * CELL_BYTES);
  const rest = shown.length < hex.length ? '…' : '';
  return { look: 'binary', parts: [{ text: shown + rest, mark: false }], note: binaryNote(hex, kind) };
}

function binaryNote(hex, kind) {
  if (kind === 'bit') return '';
  return kind === 'vector' ? `${vectorSize(hex).toLocaleString('en')} numbers` : formatBytes(hexSize(hex));
}

/** Cuts without splitting a surrogate pair. */
function cut(text, length) {
  if (text.length <= length) return text;
  const code = text.charCodeAt(length - 1);
  return text.slice(0, code >= 0xd800 && code < 0xdc00 ? length - 1 : length);
}

// Control characters, leading, trailing and repeated blanks, zero-width and bidirectional characters.
const UNSEEN =
  /[\u0000-\u001f\u007f-\u00a0\u00ad\u061c\u180e\u2000-\u200f\u2028-\u202f\u205f-\u206f\u3000\ufeff]|^ +| +$| {2,}/g;
const UNSEEN_OPEN_END =
  /[\u0000-\u001f\u007f-\u00a0\u00ad\u061c\u180e\u2000-\u200f\u2028-\u202f\u205f-\u206f\u3000\ufeff]|^ +| {2,}/g;

/**
 * The text in parts, with a visible sign for each character that has no shape of its own.
 * @param {string} text
 * @param {boolean} [whole] whether the text's end is shown, so that blanks there count
 * @returns {{text: string, mark: boolean}[]}
 */
export function visible(text, whole = true) {
  const parts = [];
  let from = 0;
  for (const match of text.matchAll(whole ? UNSEEN : UNSEEN_OPEN_END)) {
    if (match[0] === '\u200d' && joinsEmoji(text, match.index)) continue;
    if (match.index > from) parts.push({ text: text.slice(from, match.index), mark: false });
    parts.push({ text: signFor(match[0]), mark: true });
    from = match.index + match[0].length;
  }
  if (from < text.length) parts.push({ text: text.slice(from), mark: false });
  return parts;
}

/** True if the joiner at `at` makes one emoji of the two around it. */
function joinsEmoji(text, at) {
  // By characters: an expression that ends at `$` is read by halves of them in some browsers.
  const before = [...text.slice(Math.max(0, at - 5), at)];
  const last = before.at(TONE.test(before.at(-1) ?? '') ? -2 : -1) ?? '';
  return EMOJI.test(last) && EMOJI.test(text.slice(at + 1, at + 3));
}

const EMOJI = /^\p{Extended_Pictographic}/u;

/** Signs that may follow an emoji: the sign for a picture in colours, and tones of skin. */
const TONE = /^[\ufe0f\u{1f3fb}-\u{1f3ff}]/u;

const SIGNS = { '\n': '⏎', '\t': '⇥', '\r': '␍', '\u007f': '␡', '\u00a0': '⍽' };

function signFor(found) {
  if (found[0] === ' ') return '·'.repeat(found.length);
  if (SIGNS[found]) return SIGNS[found];
  const code = found.charCodeAt(0);
  if (code < 32) return String.fromCharCode(0x2400 + code);
  return `‹${code.toString(16).toUpperCase().padStart(4, '0')}›`;
}

/** Widths of a column in characters, from its name and the values given: the widest, within bounds. */
export function widthInCharacters(name, values, kind, { least = 4, most = 40 } = {}) {
  let widest = name.length + 2;
  for (const value of values) {
    const { parts, note } = viewCell(value, kind);
    const length = parts.reduce((sum, part) => sum + wide(part.text), 0) + (note ? note.length + 1 : 0);
    if (length > widest) widest = length;
    if (widest >= most) break;
  }
  return Math.min(most, Math.max(least, widest));
}

/** Characters, those of East Asian width and emoji as two. */
function wide(text) {
  let width = 0;
  for (const char of text) width += char.codePointAt(0) >= 0x1100 ? 2 : 1;
  return width;
}
