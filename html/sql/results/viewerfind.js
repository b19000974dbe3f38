/**
 * Finding a text in the value that the viewer shows.
 * @module
 */

import { h } from '../../common/dom.js';

/** Name of the mark that all places get; results.css says how it looks. */
const MARK = 'viewer-found';

/** Places that are marked at most. */
const MAX_PLACES = 2000;

/** The field in the viewer's tools. */
export class ViewerFind {
  #body;
  /** @type {Range[]} */ #places = [];
  #at = -1;

  /** @param {HTMLElement} body that is searched */
  constructor(body) {
    this.#body = body;
    this.input = h('input', {
      class: 'field viewer-find', type: 'search', placeholder: 'Find', 'aria-label': 'Find in the value', spellcheck: 'false', autocomplete: 'off',
      on: { input: () => this.search(), keydown: (event) => this.#onKey(event) },
    });
    this.count = h('span', { class: 'dim viewer-found', role: 'status' });
  }

  #onKey(event) {
    if (event.isComposing) return;
    if (event.key === 'Enter') this.#step(event.shiftKey ? -1 : 1);
    else if (event.key === 'Escape' && this.input.value) {
      this.input.value = '';
      this.search();
      this.#body.focus();
    } else return;
    event.preventDefault();
    event.stopPropagation();
  }

  /** Marks what the field asks for in what is shown now. */
  search() {
    const needle = this.input.value.toLowerCase();
    this.#places = needle ? placesIn(this.#body, needle) : [];
    this.#at = -1;
    if (globalThis.CSS?.highlights) CSS.highlights.set(MARK, new Highlight(...this.#places));
    this.count.textContent = needle && !this.#places.length ? 'no match' : '';
    if (this.#places.length) this.#step(1);
  }

  /** @param {1|-1} by */
  #step(by) {
    const { length } = this.#places;
    if (!length) return;
    this.#at = this.#at < 0 ? 0 : (this.#at + by + length) % length;
    const place = this.#places[this.#at];
    const selection = getSelection();
    selection?.removeAllRanges();
    selection?.addRange(place);
    const [box, frame] = [place.getBoundingClientRect(), this.#body.getBoundingClientRect()];
    if (box.top < frame.top || box.bottom > frame.bottom) this.#body.scrollTop += box.top - frame.top - frame.height / 2;
    if (box.left < frame.left || box.right > frame.right) this.#body.scrollLeft += box.left - frame.left - frame.width / 2;
    this.count.textContent = `${(this.#at + 1).toLocaleString('en')} of ${length.toLocaleString('en')}${length === MAX_PLACES ? '+' : ''}`;
  }
}

/** @param {HTMLElement} body @param {string} needle in lower case @returns {Range[]} */
function placesIn(body, needle) {
  const nodes = textsIn(body);
  const text = nodes.map(({ node }) => node.data).join('').toLowerCase();
  const found = [];
  for (let at = text.indexOf(needle); at >= 0 && found.length < MAX_PLACES; at = text.indexOf(needle, at + needle.length)) {
    const range = document.createRange();
    const [first, last] = [nodeAt(nodes, at), nodeAt(nodes, at + needle.length - 1)];
    range.setStart(first.node, at - first.from);
    range.setEnd(last.node, Math.min(last.node.length, at + needle.length - last.from));
    found.push(range);
  }
  return found;
}

/** The texts below `body` and where each begins in all of it. @returns {{node: Text, from: number}[]} */
function textsIn(body) {
  const walker = document.createTreeWalker(body, NodeFilter.SHOW_TEXT);
  const nodes = [];
  let from = 0;
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    nodes.push({ node: /** @type {Text} */ (node), from });
    from += /** @type {Text} */ (node).length;
  }
  return nodes;
}

/** The one that holds a place, by halving. */
function nodeAt(nodes, at) {
  let [low, high] = [0, nodes.length - 1];
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (nodes[middle].from <= at) low = middle;
    else high = middle - 1;
  }
  return nodes[low];
}
