// Positions of an editor's lines: each is one row high, or several if long lines are wrapped.
import { h } from '../../common/dom.js';

/** Height of a row in px; `--editor-line` in editor.css agrees. */
export const LINE = 20;
/** Space left and right of the text in px; `.editor-area` agrees. */
const PADDING = 20;
/** Texts whose rows are remembered at most. */
const MAX_MEASURED = 40_000;

/** Starts of the lines and, where they are wrapped, their places. */
export class Lines {
  starts = [0];
  /** Length of the longest line. */
  longest = 0;
  #text = '';
  #width = 0;
  /** @type {number[]|null} */
  #tops = null;
  #rows = new Map();

  /** @param {HTMLElement} host where rows are measured */
  constructor(host) {
    this.host = host;
  }

  /** @param {string} text */
  setText(text) {
    const starts = [0];
    let longest = 0;
    for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', at + 1)) {
      longest = Math.max(longest, at - starts[starts.length - 1]);
      starts.push(at + 1);
    }
    this.longest = Math.max(longest, text.length - starts[starts.length - 1]);
    this.starts = starts;
    this.#text = text;
    this.#tops = null;
  }

  get count() {
    return this.starts.length;
  }

  /** Zero-based line of an offset. @param {number} offset */
  of(offset) {
    return lastAtMost(this.starts, offset);
  }

  /** End of a line, without its line end. @param {number} line */
  end(line) {
    return line + 1 < this.count ? this.starts[line + 1] - 1 : this.#text.length;
  }

  /** Wraps lines at a width in px; 0 does not. @param {number} width of the field */
  wrapAt(width) {
    if (width !== this.#width) {
      this.#rows.clear();
      this.#tops = null;
    }
    this.#width = width;
    if (width && !this.#tops) this.#tops = this.#measure(width - PADDING);
  }

  /** @param {number} line @returns {number} in px from the first line's top */
  top(line) {
    return this.#width && this.#tops ? this.#tops[line] : line * LINE;
  }

  /** The line at a height. @param {number} y */
  at(y) {
    return this.#width && this.#tops ? Math.min(this.count - 1, lastAtMost(this.#tops, y)) : Math.floor(y / LINE);
  }

  #measure(width) {
    const probe = h('div', { class: 'editor-line', text: '0'.repeat(100) });
    const ruler = h('div', { class: 'editor-layer editor-ruler' }, h('span', {}, probe));
    ruler.style.width = `${width}px`;
    this.host.append(ruler);
    const columns = Math.max(1, Math.floor(width / (probe.getBoundingClientRect().width / 100 || 8)));
    probe.parentElement?.remove();
    const texts = this.starts.map((start, line) => (2 * (this.end(line) - start) <= columns ? '' : this.#text.slice(start, this.end(line))));
    const unknown = [...new Set(texts)].filter((text) => text !== '' && !this.#rows.has(text));
    if (this.#rows.size + unknown.length > MAX_MEASURED) this.#rows.clear();
    const rows = unknown.map((text) => h('div', { class: 'editor-line', text }));
    ruler.append(...rows);
    rows.forEach((row, i) => this.#rows.set(unknown[i], Math.max(1, Math.round(row.offsetHeight / LINE))));
    ruler.remove();
    const tops = [0];
    for (const text of texts) tops.push(tops[tops.length - 1] + LINE * (this.#rows.get(text) ?? 1));
    return tops;
  }
}

function lastAtMost(list, value) {
  let low = 0;
  for (let high = list.length - 1; low < high;) {
    const middle = (low + high + 1) >> 1;
    if (list[middle] <= value) low = middle;
    else high = middle - 1;
  }
  return low;
}
