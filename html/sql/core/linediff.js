// Differences of two texts by lines.

/** Comparisons of lines up to which those in common are looked for. */
const MOST = 4_000_000;
/** Lines that are the same, kept around a difference. */
const AROUND = 3;

/** @typedef {{sign: ' '|'-'|'+'|'…', text: string}} Line `…`: lines left out, which are the same */

/** The lines of two texts: those that went, that came, and that stayed near them. @param {string} before @param {string} after @returns {Line[]} */
export function lineDiff(before, after) {
  const [a, b] = [before.split(/\r?\n/), after.split(/\r?\n/)];
  let from = 0;
  while (from < a.length && from < b.length && a[from] === b[from]) from += 1;
  let same = 0;
  while (same < a.length - from && same < b.length - from && a[a.length - 1 - same] === b[b.length - 1 - same]) same += 1;
  const line = (sign) => (text) => /** @type {Line} */ ({ sign, text });
  return near([...a.slice(0, from).map(line(' ')), ...middle(a.slice(from, a.length - same), b.slice(from, b.length - same)), ...a.slice(a.length - same).map(line(' '))]);
}

/** @param {string[]} a @param {string[]} b @returns {Line[]} */
function middle(a, b) {
  const isLong = a.length * b.length > MOST;
  const width = b.length + 1;
  /** Lines in common from here on. */
  const common = new Uint32Array(isLong ? 0 : (a.length + 1) * width);
  if (!isLong) for (let i = a.length - 1; i >= 0; i -= 1) for (let j = b.length - 1; j >= 0; j -= 1) common[i * width + j] = a[i] === b[j] ? common[(i + 1) * width + j + 1] + 1 : Math.max(common[(i + 1) * width + j], common[i * width + j + 1]);
  /** @type {Line[]} */ const out = [];
  let [i, j] = [0, 0];
  while (i < a.length || j < b.length) {
    if (!isLong && i < a.length && j < b.length && a[i] === b[j]) { out.push({ sign: ' ', text: a[i] }); i += 1; j += 1; }
    else if (i < a.length && (j >= b.length || isLong || common[(i + 1) * width + j] >= common[i * width + j + 1])) { out.push({ sign: '-', text: a[i] }); i += 1; }
    else { out.push({ sign: '+', text: b[j] }); j += 1; }
  }
  return out;
}

/** @param {Line[]} lines */
function near(lines) {
  const kept = new Set(lines.flatMap(({ sign }, i) => (sign === ' ' ? [] : Array.from({ length: 2 * AROUND + 1 }, (_, k) => i + k - AROUND))));
  return lines.flatMap((line, i) => (kept.has(i) ? [line] : i === 0 || kept.has(i - 1) ? [/** @type {Line} */ ({ sign: '…', text: '' })] : []));
}
