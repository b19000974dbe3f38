// The statement at the caret of a text that changes: lexing goes on from remembered places between statements.
import { choose, statements } from './lexer.js';

/** Characters before a change whose meaning it may change: the sign of a comment, a delimiter. */
const BEFORE = 64;

/** Places between the statements of one text. DOM-free. */
export class StatementIndex {
  #text = '';
  /** @type {import('./lexer.js').Resume[]} */
  #places = [{ at: 0, delimiter: ';' }];

  /** @param {string} text the whole new text @param {number} same characters at its beginning that are as before */
  setText(text, same) {
    this.#text = text;
    while (this.#places.length > 1 && this.#places[this.#places.length - 1].at > same - BEFORE) this.#places.pop();
  }

  /**
   * The statement that runs with the caret there; undefined when the time was not enough: call again.
   * @param {number} caret
   * @param {number} [ms]
   * @returns {import('./lexer.js').Statement|null|undefined}
   */
  at(caret, ms = Infinity) {
    let out = false;
    const until = performance.now() + ms;
    // The first one is known, and the next is looked at in any case: each call gets further.
    const timed = function* (list) {
      let count = 0;
      for (const statement of list) {
        count += 1;
        out = count > 2 && performance.now() > until;
        if (out) return;
        yield statement;
      }
    };
    const found = choose(timed(this.#from(caret)), this.#text, caret);
    return out && found && found.end < caret ? undefined : found;
  }

  /** The statements from the one before the caret on; remembers the places behind them. */
  * #from(caret) {
    let low = 0;
    for (let high = this.#places.length - 1; low < high;) {
      const middle = (low + high + 1) >> 1;
      if (this.#places[middle].at <= caret) low = middle;
      else high = middle - 1;
    }
    const place = { ...this.#places[Math.max(0, low - 1)] };
    for (const statement of statements(this.#text, place)) {
      if (place.at > this.#places[this.#places.length - 1].at) this.#places.push({ ...place });
      yield statement;
    }
  }
}
