// Highlighting of a part of a long text: lexing restarts at remembered token borders instead of at the beginning.
import { tokens } from './lexer.js';

/** Distance between remembered borders, in characters. */
const STEP = 8 * 1024;
/** The longest token that is lexed as a whole for display; a longer one continues in the same colour. */
const MAX_SLICE = 1024 * 1024;

/** Coloured spans of a text that changes. DOM-free. */
export class Highlighter {
  #text = '';
  #borders = [0];

  /** @param {string} text the whole new text @returns {number} how many characters at its beginning are as before */
  setText(text) {
    const same = commonPrefix(this.#text, text);
    this.#text = text;
    // The token that ends where the change begins may have been changed by it: go back well before it.
    while (this.#borders.length > 1 && this.known > same - 64) this.#borders.pop();
    return same;
  }

  /** End of the known borders; any part before it can be highlighted at once. */
  get known() {
    return this.#borders[this.#borders.length - 1];
  }

  /**
   * Advances the borders towards `target` for at most `ms`.
   * @param {number} target
   * @param {number} ms
   * @returns {boolean} false when there is more to do: call again in the next frame
   */
  advance(target, ms) {
    const until = performance.now() + ms;
    while (this.known + STEP < Math.min(target, this.#text.length)) {
      if (!this.#nextBorder()) return true;
      if (performance.now() > until) return false;
    }
    return true;
  }

  #nextBorder() {
    const from = this.known;
    for (let size = STEP; size <= MAX_SLICE; size *= 2) {
      const end = Math.min(this.#text.length, from + size);
      const last = lastStart(this.#text.slice(from, end));
      if (last > 0) {
        this.#borders.push(from + last);
        return true;
      }
      if (end === this.#text.length) break;
    }
    return false;
  }

  /**
   * Spans `{type, start, end}` that cover the tokens of [start, end), or nothing where borders are not known or a token is too long.
   * @param {number} start
   * @param {number} end
   */
  spans(start, end) {
    let border = 0;
    for (const known of this.#borders) if (known <= start) border = known;
    if (start - border > MAX_SLICE / 8) return [];
    const out = [];
    for (const token of tokens(this.#text.slice(border, end))) {
      if (border + token.end <= start) continue;
      out.push({ type: token.type, start: border + token.start, end: border + token.end });
    }
    return out;
  }
}

function lastStart(slice) {
  let last = 0;
  for (const token of tokens(slice)) last = token.start;
  return last;
}

function commonPrefix(a, b) {
  const length = Math.min(a.length, b.length);
  // Compare in blocks: comparing slices is far quicker than one character at a time.
  let at = 0;
  while (at + 4096 <= length && a.slice(at, at + 4096) === b.slice(at, at + 4096)) at += 4096;
  while (at < length && a.charCodeAt(at) === b.charCodeAt(at)) at += 1;
  return at;
}
