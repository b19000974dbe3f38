// The editor: a textarea that owns text, caret, undo and accessibility, over a layer that paints the visible lines in colour.
import { debounce, h } from '../../common/dom.js';
import { Highlighter } from '../core/highlight.js';
import { StatementIndex } from '../core/statements.js';
import { indent, toggleComment, wrapSelection } from './editorkeys.js';
import { LINE, Lines } from './editorlines.js';
import { Painter } from './editorpaint.js';

/** Longest line that is painted in colour, in characters: a span a token of a 1 MB line would stall every key. */
const MAX_LINE = 20_000;
/** Longest text that is painted in colour, in characters. */
const MAX_TEXT = 4_000_000;
/** Work on the statement at the caret between two frames, in ms. */
const SLICE_MS = 8;
/** Longest text whose statement is found with each key, in characters; in a longer one it is when no key has come for PAUSE_MS. */
const MAX_AT_ONCE = 100_000;
const PAUSE_MS = 150;
/** Longest text inserted with an undo step, in characters: browsers take seconds for more. */
const MAX_UNDO_TEXT = 50_000;

/** @typedef {import('./editorpaint.js').Mark} Mark */

let serial = 0;

/** One editor. Calls `onChange(typed)` after edits, `onCaret()` when the caret moves, `onKey(event)` before its own keys. */
export class Editor {
  #text = '';
  #highlighter = new Highlighter();
  #plain = false;
  /** @type {Mark[]} */
  #marks = [];
  /** Matches of the search, with the current one. @type {Mark[]} */
  #found = [];
  #frame = 0;
  #tabLeaves = false;
  /** Times that Tab was pressed in a row. */
  #tabs = 0;
  #replacing = false;
  #index = new StatementIndex();
  /** Text that would run: the selection, or the statement at the caret. @type {{start: number, end: number}|null} */
  #run = null;
  /** @type {ReturnType<typeof debounce>} */
  #findSoon = debounce(() => this.#findRun(), PAUSE_MS);
  #wrap = false;
  /** The last change that was too long for the browser's own undo. @type {{before: string, after: string}|null} */
  #leap = null;

  /** @param {{onChange?: (typed: boolean) => void, onCaret?: () => void, onKey?: (event: KeyboardEvent) => void, onFind?: (replace: boolean) => void, onStuck?: () => void, label: string}} options `onStuck`: Tab was pressed again where only blanks are */
  constructor({ onChange = () => {}, onCaret = () => {}, onKey = () => {}, onFind = () => {}, onStuck = () => {}, label }) {
    this.onChange = onChange;
    this.onCaret = onCaret;
    this.onKey = onKey;
    this.onFind = onFind;
    this.onStuck = onStuck;
    this.area = h('textarea', {
      class: 'editor-area', 'aria-label': label, spellcheck: 'false', autocapitalize: 'off', autocomplete: 'off', autocorrect: 'off',
      wrap: 'off', 'aria-describedby': 'editor-keys', 'aria-autocomplete': 'list', id: `editor-${++serial}`,
      placeholder: 'SELECT …   Ctrl+Enter runs the statement at the cursor',
    });
    this.painter = new Painter(this.area);
    this.layer = this.painter.layer;
    this.code = h('div', { class: 'editor-code' }, this.layer, this.area);
    this.lines = new Lines(this.code);
    this.body = h('div', { class: 'editor-body' }, this.painter.gutter, this.code);
    this.element = h('div', { class: 'editor' }, this.body);
    this.resize = new ResizeObserver(() => this.paint());
    this.resize.observe(this.code);
    this.#listen();
  }

  #listen() {
    const { area } = this;
    area.addEventListener('input', () => this.#edited());
    area.addEventListener('beforeinput', (event) => { if (wrapSelection(this, /** @type {InputEvent} */ (event))) event.preventDefault(); });
    area.addEventListener('scroll', () => this.paint(), { passive: true });
    area.addEventListener('keydown', (event) => this.#keydown(event));
    for (const name of ['keyup', 'click', 'focus', 'select']) area.addEventListener(name, () => this.#caretMoved());
    area.addEventListener('blur', () => { this.#tabLeaves = false; });
  }

  /** Stops observers and frames. */
  close() {
    this.resize.disconnect();
    this.#findSoon.cancel();
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

  /**
   * Replaces a range as typing does: it can be undone.
   * @param {number} start @param {number} end @param {string} text @param {boolean} [typed] whether a person typed it
   */
  replace(start, end, text, typed = false) {
    const before = this.#text;
    const expected = before.slice(0, start) + text + before.slice(end);
    this.#replacing = !typed;
    this.area.focus();
    this.area.setSelectionRange(start, end);
    // Deprecated, yet the only way to change a field and keep its undo history; every current browser has it.
    if (text.length <= MAX_UNDO_TEXT && start !== end && text === '') document.execCommand('delete');
    else if (text.length <= MAX_UNDO_TEXT && text !== '') document.execCommand('insertText', false, text);
    if (this.area.value !== expected) {
      // The browser forgets its history with this: the change itself is undone here.
      this.#leap = { before, after: expected };
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
    const top = this.lines.top(this.lineOf(offset));
    const { area } = this;
    if (top < area.scrollTop || top > area.scrollTop + area.clientHeight - 2 * LINE) area.scrollTop = Math.max(0, top - area.clientHeight / 3);
    this.paint();
  }

  /** Marks ranges. They go with the next edit. @param {Mark[]} marks */
  mark(marks) {
    this.#marks = marks;
    this.paint();
  }

  /** Shows what was found. @param {{start: number, end: number}[]} found @param {number} current which of them is the current one */
  showFound(found, current) {
    this.#found = found.map((span, i) => ({ ...span, kind: i === current ? 'current' : 'found' }));
    this.paint();
  }

  /** Zero-based line of an offset. @param {number} offset */
  lineOf(offset) {
    return this.lines.of(offset);
  }

  /** One-based line and column of an offset, as people count. @param {number} offset */
  position(offset) {
    const line = this.lineOf(offset);
    const start = this.lines.starts[line];
    const units = offset - start;
    return { line: line + 1, column: (units > MAX_LINE ? units : Array.from(this.#text.slice(start, offset)).length) + 1 };
  }

  /** Rectangle of the character at `offset`, in the window's px, or null if it is not painted. @param {number} offset */
  rectOf(offset) {
    // The last typed text may wait for its frame.
    if (this.#frame) {
      cancelAnimationFrame(this.#frame);
      this.#frame = 0;
      this.#paintNow();
    }
    const line = this.lineOf(offset);
    const row = this.layer.querySelector(`[data-line="${line}"]`);
    if (!row) return null;
    const range = document.createRange();
    let left = offset - this.lines.starts[line];
    const walker = document.createTreeWalker(row, NodeFilter.SHOW_TEXT);
    for (let next = walker.nextNode(); next; next = walker.nextNode()) {
      const node = /** @type {Text} */ (next);
      if (left <= node.length) {
        range.setStart(node, left);
        range.setEnd(node, left);
        const box = range.getBoundingClientRect();
        return { left: box.left, top: box.height ? box.top : row.getBoundingClientRect().top, height: LINE };
      }
      left -= node.length;
    }
    const box = row.getBoundingClientRect();
    return { left: box.left, top: box.top, height: LINE };
  }

  #edited(fresh = false) {
    this.#text = this.area.value;
    this.#marks = [];
    this.lines.setText(this.#text);
    this.#plain = this.lines.longest > MAX_LINE || this.#text.length > MAX_TEXT;
    this.code.classList.toggle('plain', this.#plain);
    this.#index.setText(this.#text, this.#plain ? 0 : this.#highlighter.setText(this.#text));
    this.paint();
    if (!fresh) this.onChange(!this.#replacing);
    this.#caretMoved();
  }

  /** Wraps long lines or lets them run on. @param {boolean} on */
  wrap(on) {
    this.#wrap = on;
    this.area.wrap = on ? 'soft' : 'off';
    this.element.classList.toggle('wrapped', on);
    this.paint();
  }

  #caretMoved() {
    if (this.#plain || this.#text.length > MAX_AT_ONCE) this.#findSoon();
    else this.#findRun();
    this.paint();
    this.onCaret();
  }

  /** Finds what Ctrl+Enter would run. */
  #findRun() {
    const { start, end } = this.selection;
    const found = start === end ? this.#index.at(start, SLICE_MS) : { start, end: this.#text[end - 1] === '\n' ? end - 1 : end };
    if (found === undefined) this.#findSoon();
    else this.#run = found;
    this.paint();
  }

  /** Paints in the next frame; many calls make one. */
  paint() {
    if (!this.#frame) this.#frame = requestAnimationFrame(() => { this.#frame = 0; this.#paintNow(); });
  }

  #paintNow() {
    const { area } = this;
    if (!area.isConnected || area.clientHeight === 0) return;
    const { start, end } = this.selection;
    const caret = document.activeElement === area && start === end ? start : null;
    const run = this.#run && this.#run.start <= this.#text.length ? this.#run : null;
    const done = this.painter.paint({ text: this.#text, lines: this.lines, marks: this.#found.length ? [...this.#marks, ...this.#found] : this.#marks, caret, highlighter: this.#highlighter, plain: this.#plain, wrap: this.#wrap, run });
    if (!done) this.paint();
  }

  #keydown(event) {
    this.onKey(event);
    if (event.defaultPrevented || event.isComposing) return;
    const { key } = event;
    const chord = event.ctrlKey || event.metaKey || event.altKey;
    if (!['Tab', 'Shift'].includes(key)) this.#tabs = 0;
    if (key === 'Escape') this.#tabLeaves = true;
    else if (key === 'Tab' && !chord) this.#tab(event);
    else if (key === '/' && (event.ctrlKey || event.metaKey)) {
      event.preventDefault();
      toggleComment(this);
    } else if (['f', 'h'].includes(key.toLowerCase()) && (event.ctrlKey || event.metaKey) && !event.shiftKey && !event.altKey) {
      event.preventDefault();
      this.onFind(key.toLowerCase() === 'h');
    } else if (key.toLowerCase() === 'z' && (event.ctrlKey || event.metaKey) && !event.altKey) this.#undo(event);
    else if (!['Shift', 'Control', 'Alt', 'Meta'].includes(key)) this.#tabLeaves = false;
  }

  /** Esc before it lets Tab leave the field. */
  #tab(event) {
    if (this.#tabLeaves) {
      this.#tabLeaves = false;
      return;
    }
    event.preventDefault();
    indent(this, event.shiftKey);
    this.#tabs += 1;
    if (this.#tabs > 1 && /(?:^|\n)[ \t]*$/.test(this.#text.slice(0, this.selection.start))) this.onStuck();
  }

  /** Takes back a change that the browser has forgotten, or makes it again. */
  #undo(event) {
    const { before, after } = this.#leap ?? {};
    const [from, to] = event.shiftKey ? [before, after] : [after, before];
    if (to === undefined || this.area.value !== from) return;
    event.preventDefault();
    this.area.value = to;
    this.#edited();
  }
}
