/**
 * The encoding of a file of values.
 * @module
 */

/** Encodings that can be chosen, by the name that a decoder has for each. */
export const ENCODINGS = {
  'utf-8': 'UTF-8', 'windows-1252': 'Windows-1252 (Western)', 'utf-16le': 'UTF-16 LE', 'utf-16be': 'UTF-16 BE',
  'windows-1250': 'Windows-1250 (Central European)', 'windows-1251': 'Windows-1251 (Cyrillic)', 'koi8-r': 'KOI8-R (Cyrillic)',
  'windows-1253': 'Windows-1253 (Greek)', 'windows-1254': 'Windows-1254 (Turkish)', 'windows-1255': 'Windows-1255 (Hebrew)', 'windows-1256': 'Windows-1256 (Arabic)',
  'windows-1257': 'Windows-1257 (Baltic)', 'iso-8859-2': 'ISO 8859-2', 'iso-8859-5': 'ISO 8859-5', 'iso-8859-15': 'ISO 8859-15', macintosh: 'Mac Roman', ibm866: 'DOS 866 (Cyrillic)',
  shift_jis: 'Shift JIS (Japanese)', 'euc-jp': 'EUC-JP (Japanese)', gb18030: 'GB 18030 (Chinese)', big5: 'Big5 (Chinese)', 'euc-kr': 'EUC-KR (Korean)',
};

/** Encodings of several bytes a character, and the signs that most of their texts have; the first that fits is taken. @type {[string, RegExp, number][]} */
const WIDE = [
  ['euc-jp', /[\u3040-\u30ff]/g, 0.15], ['shift_jis', /[\u3040-\u30ff]/g, 0.15], ['euc-kr', /[\uac00-\ud7a3]/g, 0.8],
  ['gb18030', /[\u4e00-\u9fff]/g, 0.7], ['big5', /[\u4e00-\u9fff]/g, 0.7],
];

/** Signs that such a text has at all. */
const OF_WIDE = /[\u3000-\u30ff\u4e00-\u9fff\uac00-\ud7a3\uff00-\uff9f]/g;

/**
 * The encoding of a file by its beginning; where it is not Unicode, the likeliest one.
 * @param {Uint8Array} bytes
 * @returns {keyof typeof ENCODINGS}
 */
export function guessEncoding(bytes) {
  const [a, b] = bytes;
  if (a === 0xff && b === 0xfe) return 'utf-16le';
  if (a === 0xfe && b === 0xff) return 'utf-16be';
  // Text of our alphabets has a zero in every other byte there.
  const zeros = [0, 0];
  const looked = Math.min(bytes.length, 2000);
  for (let at = 0; at < looked; at += 1) if (bytes[at] === 0) zeros[at % 2] += 1;
  if (zeros[1] > looked / 4 && zeros[0] < looked / 20) return 'utf-16le';
  if (zeros[0] > looked / 4 && zeros[1] < looked / 20) return 'utf-16be';
  if (decoded(bytes, 'utf-8') !== null) return 'utf-8';
  return /** @type {keyof typeof ENCODINGS} */ (wide(bytes) ?? narrow(bytes));
}

/** The text, or null where the bytes are not of that encoding. The beginning may end within a character. */
function decoded(bytes, encoding) {
  try {
    return new TextDecoder(encoding, { fatal: true }).decode(bytes, { stream: true });
  } catch {
    return null;
  }
}

/** One of several bytes a character: its signs stand together, and hardly any others are there. */
function wide(bytes) {
  const two = bytes.some((byte, at) => byte >= 0x80 && bytes[at + 1] >= 0x40 && bytes[at + 1] < 0x7f);
  return WIDE.find(([name, signs, share]) => {
    if (two && name.startsWith('euc')) return false;
    const text = decoded(bytes, name);
    const others = text?.match(/[^\0-\x7f]/g)?.length ?? 0;
    const count = (pattern) => text?.match(pattern)?.length ?? 0;
    const inRuns = text?.match(/[\u3000-\u30ff\u4e00-\u9fff\uac00-\ud7a3]{2,}/g)?.join('').length ?? 0;
    return others > 0 && count(OF_WIDE) > others * 0.9 && inRuns > others / 2 && count(signs) > others * share;
  })?.[0];
}

/** One of a byte a character, by what its letters would be in Windows-1252. */
function narrow(bytes) {
  const text = new TextDecoder('windows-1252').decode(bytes);
  const count = (pattern) => text.match(pattern)?.length ?? 0;
  const all = count(/[^\0-\x7f]/g);
  const inWords = count(/[^\0-\x7f](?=[^\0-\x7f])/g);
  // Words of nothing but such letters.
  if (inWords > all / 2) return count(/[\u00c0-\u00df]/g) > count(/[\u00e0-\u00ff]/g) * 2 ? 'koi8-r' : 'windows-1251';
  const signs = count(/[a-z][\u00b9\u00b3\u00bf\u00be\u00ba\u0153\u0178\u009d](?=[a-z])/gi);
  const czech = count(/[\u00ec\u00f8\u00f9\u00e8\u00f2\u017e]/g) > all * 0.15 && count(/[\u00e1\u00ed\u00fd]/g) > all * 0.15;
  const hungarian = count(/[\u00f5\u00fb]/g) > all * 0.05 && count(/[\u00e1\u00e9]/g) > all * 0.2 && !count(/[\u00e3\u00ea]/g);
  return signs > all * 0.1 || czech || hungarian ? 'windows-1250' : 'windows-1252';
}
