// Paints what of an editor is in sight: the lines in colour, their numbers, the statement that would run.
import { h } from '../../common/dom.js';
import { LINE } from './editorlines.js';

/** Lines painted above and below the visible ones, so that a quick scroll shows no gap. */
const OVERSCAN = 12;
/** Work on colours of a long text between two frames, in ms. */
const SLICE_MS = 12;
const BRACKETS = { '(': ')', ')': '(' };
/** Signs that turn the direction of what follows: shown, since a text can read otherwise than it runs. */
const TURNS = /[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/;

/**
 * @typedef {{start: number, end: number}} Span
 * @typedef {{start: number, end: number, kind: string}} Mark its kind is `error`, `found` or `current`
 */

/** The layers behind and beside a text area. */
export class Painter {
  #digits = 0;

  /** @param {HTMLTextAreaElement} area */
  constructor(area) {
    this.area = area;
    this.layer = h('div', { class: 'editor-layer', 'aria-hidden': 'true' });
    this.numbers = h('div', { class: 'editor-numbers' });
    this.gutter = h('div', { class: 'editor-gutter', 'aria-hidden': 'true' }, this.numbers);
  }

  /**
   * @param {{text: string, lines: import('./editorlines.js').Lines, marks: Mark[], caret: number|null, highlighter: import('../core/highlight.js').Highlighter,
   *   plain: boolean, wrap: boolean, run: Span|null}} what `caret`: null where text is selected or the focus is elsewhere; `run`: what would run
   * @returns {boolean} false when there is more to do in the next frame
   */
  paint(what) {
    const { area } = this;
    const { lines, wrap, plain } = what;
    const { scrollTop, scrollLeft, clientHeight, clientWidth } = area;
    lines.wrapAt(wrap && !plain ? clientWidth : 0);
    const first = Math.max(0, lines.at(scrollTop) - OVERSCAN);
    const last = Math.min(lines.count, lines.at(scrollTop + clientHeight) + 1 + OVERSCAN);
    const top = lines.top(first) - scrollTop;
    this.layer.style.width = wrap ? `${clientWidth - 20}px` : '';
    this.layer.style.transform = `translate(${-scrollLeft}px, ${top}px)`;
    this.#paintNumbers(what, wrap && plain ? 0 : first, wrap && plain ? 0 : last, top);
    if (plain) this.#keep(this.layer, []);
    return plain || this.#paintLines(what, first, last);
  }

  #paintNumbers({ lines, marks, run }, first, last, top) {
    const digits = Math.max(2, String(lines.count).length);
    if (digits !== this.#digits) this.gutter.style.width = `calc(${digits}ch + 22px)`;
    this.#digits = digits;
    const current = lines.of(this.area.selectionStart);
    const wrong = new Set(marks.filter(({ kind }) => kind === 'error').map(({ start }) => lines.of(start)));
    const [from, to] = run ? [lines.of(run.start), lines.of(run.end)] : [1, 0];
    const rows = range(first, last).map((line) => {
      const name = [wrong.has(line) ? 'wrong' : line === current ? 'current' : '', line >= from && line <= to ? 'run' : ''].filter(Boolean).join(' ');
      const height = lines.top(line + 1) - lines.top(line);
      return { key: `${line} ${name} ${height}`, build: () => this.#number(line, name, height) };
    });
    this.#keep(this.numbers, rows);
    this.numbers.style.transform = `translateY(${top}px)`;
  }

  #number(line, name, height) {
    const element = h('div', { class: name || null, text: String(line + 1) });
    if (height !== LINE) element.style.height = `${height}px`;
    return element;
  }

  #paintLines({ text, lines, marks, caret, highlighter }, first, last) {
    const start = lines.starts[first];
    const end = last < lines.count ? lines.starts[last] : text.length;
    const done = highlighter.advance(start, SLICE_MS);
    const spans = highlighter.spans(start, end);
    const pieces = [...marks.filter((mark) => mark.start < end && mark.end > start), ...spans, ...brackets(text, spans, caret)];
    let from = 0;
    const rows = range(first, last).map((line) => {
      const [begin, stop] = [lines.starts[line], lines.end(line)];
      while (from < spans.length && spans[from].end <= begin) from += 1;
      const cuts = pieces.length === spans.length ? within(spans, from, begin, stop) : pieces.filter((span) => span.start < stop && span.end > begin);
      const content = text.slice(begin, stop);
      const key = `${line} ${cuts.map(({ type, kind, start: a, end: b }) => `${type ?? kind}${Math.max(begin, a) - begin}-${Math.min(stop, b) - begin}`).join()} ${content}`;
      return { key, build: () => paintLine(content, line, begin, stop, cuts) };
    });
    this.#keep(this.layer, rows);
    return done;
  }

  /** Makes `host` show the rows; those painted alike before stay as they are. */
  #keep(host, rows) {
    const known = new Map([...host.children].map((element) => [KEYS.get(element), element]));
    const wanted = rows.map(({ key, build }) => {
      const element = known.get(key) ?? build();
      KEYS.set(element, key);
      return element;
    });
    const isSame = wanted.length === host.children.length && wanted.every((element, i) => host.children[i] === element);
    if (isSame) return;
    if (wanted.length !== host.children.length) host.replaceChildren(...wanted);
    else wanted.forEach((element, i) => { if (host.children[i] !== element) host.children[i].replaceWith(element); });
  }
}

/** Source of each painted row. @type {WeakMap<Element, string>} */
const KEYS = new WeakMap();

function within(spans, from, begin, stop) {
  const found = [];
  for (let i = from; i < spans.length && spans[i].start < stop; i += 1) if (spans[i].end > begin) found.push(spans[i]);
  return found;
}

function paintLine(text, line, start, end, cuts) {
  const row = h('div', { class: 'editor-line', data: { line: String(line) } });
  const borders = [...new Set([start, end, ...cuts.flatMap((span) => [Math.max(start, span.start), Math.min(end, span.end)])])].sort((a, b) => a - b);
  for (let i = 0; i + 1 < borders.length; i += 1) row.append(...piece(text.slice(borders[i] - start, borders[i + 1] - start), borders[i], borders[i + 1], cuts));
  return row;
}

function piece(text, start, end, cuts) {
  const kinds = cuts.filter((span) => span.start <= start && span.end >= end).map((span) => (span.kind ? `mark-${span.kind}` : `tok-${span.type}`));
  const nodes = TURNS.test(text) ? text.split(new RegExp(`(${TURNS.source})`)).filter(Boolean).map(sign) : [text];
  return kinds.length ? [h('span', { class: kinds.join(' ') }, nodes)] : nodes;
}

function sign(text) {
  return TURNS.test(text) ? h('span', { class: 'mark-hidden', text: `‹${text.charCodeAt(0).toString(16).toUpperCase().padStart(4, '0')}›` }) : text;
}

/** The bracket beside the caret and its partner, as far as they are painted. */
function brackets(text, spans, caret) {
  if (caret === null) return [];
  const puncts = spans.filter(({ start, end }) => end === start + 1 && BRACKETS[text[start]]);
  const at = puncts.findIndex(({ start, end }) => end === caret || start === caret);
  if (at < 0) return [];
  const step = text[puncts[at].start] === '(' ? 1 : -1;
  let depth = 0;
  for (let i = at; puncts[i]; i += step) {
    depth += text[puncts[i].start] === '(' ? 1 : -1;
    if (depth === 0) return [puncts[at], puncts[i]].map(({ start, end }) => ({ start, end, kind: 'bracket' }));
  }
  return [{ ...puncts[at], kind: 'unmatched' }];
}

function range(first, last) {
  return Array.from({ length: Math.max(0, last - first) }, (_, i) => first + i);
}
