// The editor: a textarea that owns text, caret, undo and accessibility, over a layer that paints the visible lines in colour.
import { h } from '../../common/dom.js';
import { Highlighter } from '../core/highlight.js';

/** Height of a line in px; `--editor-line` in sql.css agrees. */
const LINE = 20;
/** Lines painted above and below the visible ones, so that a quick scroll shows no gap. */
const OVERSCAN = 12;
/** Longest line that is painted in colour, in characters: a span a token of a 1 MB line would stall every key. */
const MAX_LINE = 20_000;
/** Longest text that is painted in colour, in characters. */
const MAX_TEXT = 4_000_000;
/** Work on colours of a long text between two frames, in ms. */
const SLICE_MS = 12;
/** Longest text inserted with an undo step, in characters: browsers take seconds for more. */
const MAX_UNDO_TEXT = 50_000;
const BRACKETS = { '(': ')', ')': '(' };

/** @typedef {{start: number, end: number, kind: string}} Mark its kind is `error` or `statement` */

let serial = 0;

/** One editor. Calls `onChange(typed)` after edits, `onCaret()` when the caret moves, `onKey(event)` before its own keys. */
export class Editor {
  #text = '';
  #lines = [0];
  #highlighter = new Highlighter();
  #plain = false;
  /** @type {Mark[]} */
  #marks = [];
  #frame = 0;
  #tabLeaves = false;
  #replacing = false;
  #digits = 0;

  /** @param {{onChange?: (typed: boolean) => void, onCaret?: () => void, onKey?: (event: KeyboardEvent) => void, label: string}} options */
  constructor({ onChange = () => {}, onCaret = () => {}, onKey = () => {}, label }) {
    this.onChange = onChange;
    this.onCaret = onCaret;
    this.onKey = onKey;
    this.area = h('textarea', {
      class: 'editor-area', 'aria-label': label, spellcheck: 'false', autocapitalize: 'off', autocomplete: 'off', autocorrect: 'off',
      wrap: 'off', 'aria-describedby': 'editor-keys', 'aria-autocomplete': 'list', id: `editor-${++serial}`,
      placeholder: 'SELECT …   Ctrl+Enter runs the statement at the cursor',
    });
    this.layer = h('div', { class: 'editor-layer', 'aria-hidden': 'true' });
    this.numbers = h('div', { class: 'editor-numbers' });
    this.gutter = h('div', { class: 'editor-gutter', 'aria-hidden': 'true' }, this.numbers);
    this.code = h('div', { class: 'editor-code' }, this.layer, this.area);
    this.element = h('div', { class: 'editor' }, this.gutter, this.code);
    this.resize = new ResizeObserver(() => this.paint());
    this.resize.observe(this.code);
    this.#listen();
  }

  #listen() {
    const { area } = this;
    area.addEventListener('input', () => this.#edited());
    area.addEventListener('scroll', () => this.paint(), { passive: true });
    area.addEventListener('keydown', (event) => this.#keydown(event));
    for (const name of ['keyup', 'click', 'focus', 'select']) area.addEventListener(name, () => this.#caretMoved());
    area.addEventListener('blur', () => { this.#tabLeaves = false; });
  }

  /** Stops observers and frames. */
  close() {
    this.resize.disconnect();
    cancelAnimationFrame(this.#frame);
  }

  get text() {
    return this.#text;
  }

  get caret() {
    return this.area.selectionStart;
  }

  /** The selection as `{start, end}`; equal when nothing is selected. */
  get selection() {
    return { start: this.area.selectionStart, end: this.area.selectionEnd };
  }

  /** Sets the whole text without an undo step, as when a tab is opened. @param {string} text */
  setText(text) {
    this.area.value = text;
    this.area.setSelectionRange(0, 0);
    this.#edited(true);
  }

  /** Replaces a range as typing does: it can be undone, unless it is very long. @param {number} start @param {number} end @param {string} text */
  replace(start, end, text) {
    const expected = this.#text.slice(0, start) + text + this.#text.slice(end);
    this.#replacing = true;
    this.area.focus();
    this.area.setSelectionRange(start, end);
    // Deprecated, yet the only way to change a field and keep its undo history; every current browser has it.
    if (text.length <= MAX_UNDO_TEXT && start !== end && text === '') document.execCommand('delete');
    else if (text.length <= MAX_UNDO_TEXT && text !== '') document.execCommand('insertText', false, text);
    if (this.area.value !== expected) {
      this.area.value = expected;
      this.area.setSelectionRange(start + text.length, start + text.length);
      this.#edited();
    }
    this.#replacing = false;
  }

  /** Replaces everything, undoable. @param {string} text */
  replaceAll(text) {
    this.replace(0, this.#text.length, text);
  }

  /** Selects a range and scrolls to it. @param {number} start @param {number} [end] */
  select(start, end = start) {
    this.area.focus();
    this.area.setSelectionRange(start, end);
    this.reveal(start);
    this.#caretMoved();
  }

  /** Scrolls the line of an offset into view. @param {number} offset */
  reveal(offset) {
    const top = this.lineOf(offset) * LINE;
    const { area } = this;
    if (top < area.scrollTop || top > area.scrollTop + area.clientHeight - 2 * LINE) area.scrollTop = Math.max(0, top - area.clientHeight / 3);
    this.paint();
  }

  /** Marks ranges. They go with the next edit. @param {Mark[]} marks */
  mark(marks) {
    this.#marks = marks;
    this.paint();
  }

  /** Zero-based line of an offset. @param {number} offset */
  lineOf(offset) {
    let low = 0;
    let high = this.#lines.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (this.#lines[middle] <= offset) low = middle;
      else high = middle - 1;
    }
    return low;
  }

  /** One-based line and column of an offset, as people count. @param {number} offset */
  position(offset) {
    const line = this.lineOf(offset);
    const start = this.#lines[line];
    const units = offset - start;
    return { line: line + 1, column: (units > MAX_LINE ? units : Array.from(this.#text.slice(start, offset)).length) + 1 };
  }

  /** Where the character at `offset` is painted, in the window's px, or null where it is not. @param {number} offset */
  rectOf(offset) {
    const line = this.lineOf(offset);
    const row = this.layer.querySelector(`[data-line="${line}"]`);
    if (!row) return null;
    const range = document.createRange();
    let left = offset - this.#lines[line];
    const walker = document.createTreeWalker(row, NodeFilter.SHOW_TEXT);
    for (let next = walker.nextNode(); next; next = walker.nextNode()) {
      const node = /** @type {Text} */ (next);
      if (left <= node.length) {
        range.setStart(node, left);
        range.setEnd(node, left);
        const box = range.getBoundingClientRect();
        return { left: box.left, top: row.getBoundingClientRect().top, height: LINE };
      }
      left -= node.length;
    }
    const box = row.getBoundingClientRect();
    return { left: box.left, top: box.top, height: LINE };
  }

  #edited(fresh = false) {
    this.#text = this.area.value;
    this.#marks = [];
    this.#measure();
    if (!this.#plain) this.#highlighter.setText(this.#text);
    this.paint();
    if (!fresh) this.onChange(!this.#replacing);
    this.#caretMoved();
  }

  #measure() {
    const lines = [0];
    let longest = 0;
    for (let at = this.#text.indexOf('\n'); at >= 0; at = this.#text.indexOf('\n', at + 1)) {
      longest = Math.max(longest, at - lines[lines.length - 1]);
      lines.push(at + 1);
    }
    longest = Math.max(longest, this.#text.length - lines[lines.length - 1]);
    this.#lines = lines;
    this.#plain = longest > MAX_LINE || this.#text.length > MAX_TEXT;
    this.code.classList.toggle('plain', this.#plain);
  }

  #caretMoved() {
    this.paint();
    this.onCaret();
  }

  /** Paints in the next frame; many calls make one. */
  paint() {
    if (!this.#frame) this.#frame = requestAnimationFrame(() => { this.#frame = 0; this.#paintNow(); });
  }

  #paintNow() {
    const { area } = this;
    if (!area.isConnected || area.clientHeight === 0) return;
    const first = Math.max(0, Math.floor(area.scrollTop / LINE) - OVERSCAN);
    const last = Math.min(this.#lines.length, Math.ceil((area.scrollTop + area.clientHeight) / LINE) + OVERSCAN);
    this.#paintNumbers(first, last);
    const shift = `translate(${-area.scrollLeft}px, ${first * LINE - area.scrollTop}px)`;
    this.layer.style.transform = shift;
    if (this.#plain) this.layer.replaceChildren();
    else this.#paintLines(first, last);
  }

  #paintNumbers(first, last) {
    const { numbers } = this;
    const digits = Math.max(2, String(this.#lines.length).length);
    if (digits !== this.#digits) this.gutter.style.width = `calc(${digits}ch + 22px)`;
    this.#digits = digits;
    const current = this.lineOf(this.caret);
    const wrong = new Set(this.#marks.filter(({ kind }) => kind === 'error').map(({ start }) => this.lineOf(start)));
    numbers.replaceChildren(...range(first, last).map((line) =>
      h('div', { class: wrong.has(line) ? 'wrong' : line === current ? 'current' : null, text: String(line + 1) })));
    numbers.style.transform = `translateY(${first * LINE - this.area.scrollTop}px)`;
  }

  #paintLines(first, last) {
    const start = this.#lines[first];
    const end = last < this.#lines.length ? this.#lines[last] : this.#text.length;
    if (!this.#highlighter.advance(start, SLICE_MS)) this.paint();
    const spans = this.#highlighter.spans(start, end);
    const pieces = [...spans, ...this.#brackets(spans)];
    this.layer.replaceChildren(...range(first, last).map((line) => this.#paintLine(line, pieces)));
  }

  #paintLine(line, spans) {
    const start = this.#lines[line];
    const end = line + 1 < this.#lines.length ? this.#lines[line + 1] - 1 : this.#text.length;
    const row = h('div', { class: 'editor-line', data: { line: String(line) } });
    const cuts = [...this.#marks, ...spans].filter((span) => span.start < end && span.end > start);
    const borders = [...new Set([start, end, ...cuts.flatMap((span) => [Math.max(start, span.start), Math.min(end, span.end)])])].sort((a, b) => a - b);
    for (let i = 0; i + 1 < borders.length; i += 1) row.append(this.#piece(borders[i], borders[i + 1], cuts));
    return row;
  }

  #piece(start, end, cuts) {
    const text = this.#text.slice(start, end);
    const kinds = cuts.filter((span) => span.start <= start && span.end >= end).map((span) => (span.kind ? `mark-${span.kind}` : `tok-${span.type}`));
    return kinds.length ? h('span', { class: kinds.join(' '), text }) : document.createTextNode(text);
  }

  /** The bracket beside the caret and its partner, as far as they are painted. */
  #brackets(spans) {
    if (document.activeElement !== this.area || this.selection.start !== this.selection.end) return [];
    const puncts = spans.filter(({ start, end }) => end === start + 1 && BRACKETS[this.#text[start]]);
    const at = puncts.findIndex(({ start, end }) => end === this.caret || start === this.caret);
    if (at < 0) return [];
    const step = this.#text[puncts[at].start] === '(' ? 1 : -1;
    let depth = 0;
    for (let i = at; puncts[i]; i += step) {
      depth += this.#text[puncts[i].start] === '(' ? 1 : -1;
      if (depth === 0) return [puncts[at], puncts[i]].map(({ start, end }) => ({ start, end, kind: 'bracket' }));
    }
    return [];
  }

  #keydown(event) {
    this.onKey(event);
    if (event.defaultPrevented || event.isComposing) return;
    const { key } = event;
    const chord = event.ctrlKey || event.metaKey || event.altKey;
    if (key === 'Escape') this.#tabLeaves = true;
    else if (key === 'Tab' && !chord) this.#tab(event);
    else if (key === '/' && (event.ctrlKey || event.metaKey)) this.#comment(event);
    else if (!['Shift', 'Control', 'Alt', 'Meta'].includes(key)) this.#tabLeaves = false;
  }

  /** Tab inserts two spaces, or indents the selected lines; Esc before it lets it leave the field. */
  #tab(event) {
    if (this.#tabLeaves) {
      this.#tabLeaves = false;
      return;
    }
    event.preventDefault();
    const { start, end } = this.selection;
    if (event.shiftKey) this.#changeLines((line) => line.replace(/^ {1,2}|^\t/, ''));
    else if (this.lineOf(start) === this.lineOf(end)) this.replace(start, end, '  ');
    else this.#changeLines((line) => (line === '' ? line : `  ${line}`));
  }

  #comment(event) {
    event.preventDefault();
    const lines = this.#selectedLines().text.split('\n').filter((line) => line.trim());
    const off = lines.length > 0 && lines.every((line) => /^\s*-- ?/.test(line));
    this.#changeLines((line) => (off ? line.replace(/^(\s*)-- ?/, '$1') : line.trim() ? `-- ${line}` : line));
  }

  #selectedLines() {
    const { start, end } = this.selection;
    const from = this.#lines[this.lineOf(start)];
    const lastLine = this.lineOf(end > start && this.#lines.includes(end) ? end - 1 : end);
    const to = lastLine + 1 < this.#lines.length ? this.#lines[lastLine + 1] - 1 : this.#text.length;
    return { from, to, text: this.#text.slice(from, to) };
  }

  #changeLines(change) {
    const { start, end } = this.selection;
    const { from, to, text } = this.#selectedLines();
    const next = text.split('\n').map(change).join('\n');
    if (next === text) return;
    this.replace(from, to, next);
    const moved = next.length - text.length;
    if (start === end) this.area.setSelectionRange(Math.max(from, start + moved), Math.max(from, start + moved));
    else this.area.setSelectionRange(from, from + next.length);
  }
}

function range(first, last) {
  return Array.from({ length: Math.max(0, last - first) }, (_, i) => first + i);
}
