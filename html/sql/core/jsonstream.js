/**
 * An incremental JSON reader for documents that are too long to be held.
 *
 * It walks the parts that its plan names and hands every other value over whole, parsed:
 * a plan is `{ open(key) → plan | null, value(key, parsed), close?() }`, where `key` is the member's
 * name or, in an array, its index. `open` returning null means "give me this one whole".
 * A plan whose `skips()` is true gets its values as undefined: they are passed over, at a multiple of the speed.
 * @module
 */

const QUOTE = 34;
const BACKSLASH = 92;
const OPENERS = new Set([123, 91]);
const CLOSERS = new Set([125, 93]);
const SPACE = new Set([32, 9, 10, 13]);
const COMMA = 44;
const COLON = 58;

/** Greatest nesting of a plan. */
const MAX_DEPTH = 16;

/** Reads a document chunk by chunk. */
export class JsonStreamParser {
  #stack = [];
  #expect = 'value';
  /** The value being collected. @type {{parts: string[], depth: number, inString: boolean, escaped: boolean, cut: boolean}|null} */
  #held = null;
  #root;
  #done = false;

  /** @param {object} plan of the document's root */
  constructor(plan) {
    this.#root = plan;
  }

  /** True if the document is complete. */
  get done() {
    return this.#done;
  }

  /**
   * Reads on from `from`, to the end of the chunk or to the first whole value after `deadline`.
   * @param {string} chunk
   * @param {number} from
   * @param {number} [deadline] on the clock of `performance.now()`
   * @returns {number} where to go on; the chunk's length when it is used up
   */
  push(chunk, from = 0, deadline = Infinity) {
    let at = from;
    while (at < chunk.length) {
      if (this.#held) {
        at = this.#collect(this.#held, chunk, at);
        if (!this.#held && deadline !== Infinity && performance.now() > deadline) return at;
      } else {
        at = this.#step(chunk, at);
      }
    }
    return at;
  }

  #step(chunk, at) {
    const code = chunk.charCodeAt(at);
    if (SPACE.has(code)) return at + 1;
    if (this.#done) throw new SyntaxError('text after the end of the document');
    if (CLOSERS.has(code) && this.#mayClose()) return this.#close(code, at);
    switch (this.#expect) {
      case 'comma':
        if (code !== COMMA) break;
        this.#expect = this.#top().array ? 'value' : 'key';
        return at + 1;
      case 'colon':
        if (code !== COLON) break;
        this.#expect = 'value';
        return at + 1;
      case 'key':
        if (code !== QUOTE) break;
        return this.#hold(at);
      default:
        return this.#value(code, at);
    }
    throw new SyntaxError(`unexpected '${chunk[at]}', expected a ${this.#expect}`);
  }

  #mayClose() {
    return this.#expect === 'comma' || this.#expect === 'key' || (this.#expect === 'value' && Boolean(this.#top()?.array));
  }

  #value(code, at) {
    const plan = OPENERS.has(code) ? this.#planOfNext() : null;
    if (!plan) return this.#hold(at);
    if (this.#stack.length >= MAX_DEPTH) throw new SyntaxError('nested too deeply');
    const array = code === 91;
    this.#stack.push({ plan, array, key: array ? 0 : '', closer: array ? 93 : 125 });
    this.#expect = array ? 'value' : 'key';
    return at + 1;
  }

  #planOfNext() {
    const top = this.#top();
    return top ? top.plan.open(top.key) : this.#root;
  }

  #top() {
    return this.#stack[this.#stack.length - 1];
  }

  #close(code, at) {
    const frame = this.#stack.pop();
    if (!frame || frame.closer !== code) throw new SyntaxError('a closing bracket was never opened');
    frame.plan.close?.();
    this.#finished();
    return at + 1;
  }

  #finished() {
    const top = this.#top();
    if (top?.array) top.key += 1;
    if (!top) this.#done = true;
    this.#expect = 'comma';
  }

  #hold(at) {
    this.#held = { parts: [], depth: 0, inString: false, escaped: false, cut: false };
    return at;
  }

  /** Collects the value being held, which may span chunks. */
  #collect(held, chunk, from) {
    const { parts } = held;
    const end = scan(held, chunk, from);
    const skipped = this.#expect === 'value' && Boolean(this.#top()?.plan.skips?.());
    if (!skipped) parts.push(chunk.slice(from, end < 0 ? chunk.length : end));
    if (end < 0) {
      held.cut ||= skipped;
      return chunk.length;
    }
    this.#held = null;
    this.#deliver(skipped || held.cut ? undefined : JSON.parse(parts.length === 1 ? parts[0] : parts.join('')));
    return end;
  }

  #deliver(value) {
    const top = this.#top();
    if (this.#expect === 'key') {
      top.key = value;
      this.#expect = 'colon';
      return;
    }
    if (top) top.plan.value(top.key, value);
    this.#finished();
  }
}

/** The index after the value's last character, or -1 when it goes on beyond the chunk. */
function scan(held, chunk, from) {
  for (let i = from; i < chunk.length; i += 1) {
    const code = chunk.charCodeAt(i);
    if (held.inString) {
      if (held.escaped) held.escaped = false;
      else if (code === BACKSLASH) held.escaped = true;
      else if (code === QUOTE) {
        held.inString = false;
        if (held.depth === 0) return i + 1;
      }
    } else if (code === QUOTE) {
      held.inString = true;
    } else if (code === 123 || code === 91) {
      held.depth += 1;
    } else if (code === 125 || code === 93) {
      if (held.depth === 0) return i;
      held.depth -= 1;
      if (held.depth === 0) return i + 1;
    } else if (held.depth === 0 && (code === COMMA || SPACE.has(code))) {
      return i;
    }
  }
  return -1;
}
