// Find and replace in the editor. Loaded when it is first wanted.
import { debounce, h, iconButton } from '../../common/dom.js';
import { MAX_FOUND, expressionOf, findAll, replaceAll, replacementOf } from '../core/textfind.js';

/** Wait after a key before the search begins, in ms. */
const TYPING_MS = 80;

/** The bar above one editor. */
export class EditorFind {
  #editor;
  /** @type {import('../core/textfind.js').Found[]} */
  #found = [];
  /** @type {RegExp|null} */
  #expression = null;
  #at = -1;
  #soon = debounce(() => this.search(), TYPING_MS);

  /** @param {import('./editor.js').Editor} editor */
  constructor(editor) {
    this.#editor = editor;
    const field = (label) => h('input', { class: 'field', 'aria-label': label, placeholder: label, spellcheck: 'false', autocomplete: 'off', autocapitalize: 'off' });
    const choice = (text, label) => h('button', { type: 'button', class: 'button quiet toggle', 'aria-pressed': 'false', 'aria-label': label, title: label, text, on: { click: (event) => this.#toggle(event.currentTarget) } });
    this.input = field('Find in the editor');
    this.by = field('Replace with');
    this.choices = { matchCase: choice('Aa', 'Match case'), word: choice('W', 'Whole words'), regex: choice('.*', 'Regular expression') };
    this.count = h('span', { class: 'find-count dim', role: 'status' });
    const replace = [h('button', { type: 'button', class: 'button', text: 'Replace', on: { click: () => this.replace() } }), h('button', { type: 'button', class: 'button', text: 'Replace all', on: { click: () => this.replaceAll() } })];
    this.second = h('div', { class: 'editor-find-line', hidden: true }, this.by, replace);
    this.element = h('div', { class: 'editor-find', role: 'search', 'aria-label': 'Find and replace in the editor', hidden: true },
      h('div', { class: 'editor-find-line' }, this.input, Object.values(this.choices), this.count,
        iconButton('chevron-up', 'Previous match (Shift+Enter)', () => this.step(-1)), iconButton('chevron-down', 'Next match (Enter)', () => this.step(1)), iconButton('close', 'Close (Esc)', () => this.close())),
      this.second);
    this.input.addEventListener('input', this.#soon);
    this.element.addEventListener('keydown', (event) => this.#key(event));
    editor.area.addEventListener('input', () => { if (!this.element.hidden) this.#soon(); });
    editor.element.prepend(this.element);
  }

  /** Opens the bar with what is selected; `replace` shows the second line too. @param {boolean} replace */
  open(replace) {
    const { start, end } = this.#editor.selection;
    const selected = this.#editor.text.slice(start, end);
    if (selected && !selected.includes('\n') && document.activeElement === this.#editor.area) this.input.value = selected;
    this.element.hidden = false;
    if (replace) this.second.hidden = this.#editor.area.readOnly;
    const first = replace && this.input.value && !this.second.hidden ? this.by : this.input;
    first.focus();
    first.select();
    this.search();
  }

  close() {
    this.#soon.cancel();
    this.element.hidden = true;
    this.second.hidden = true;
    this.#editor.showFound([], -1);
    this.#editor.area.focus();
  }

  #toggle(button) {
    button.setAttribute('aria-pressed', String(button.getAttribute('aria-pressed') !== 'true'));
    this.search();
  }

  #key(event) {
    if (event.isComposing) return;
    const mod = event.ctrlKey || event.metaKey;
    const letter = mod && !event.altKey && !event.shiftKey ? event.key.toLowerCase() : '';
    if (event.key === 'Escape') this.close();
    else if (event.key === 'Enter' && event.target === this.by && mod) this.replaceAll();
    else if (event.key === 'Enter' && event.target === this.by) this.replace();
    else if (event.key === 'Enter' && event.target === this.input) this.step(event.shiftKey ? -1 : 1);
    else if (letter === 'f' || letter === 'h') this.open(letter === 'h');
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  get #wanted() {
    const on = (name) => this.choices[name].getAttribute('aria-pressed') === 'true';
    return { text: this.input.value, matchCase: on('matchCase'), word: on('word'), regex: on('regex') };
  }

  /** Looks through the text again; the match at the caret or the next after it is the current one. */
  search() {
    this.#found = [];
    this.#expression = null;
    this.#at = -1;
    const wanted = this.#wanted;
    this.input.removeAttribute('aria-invalid');
    if (wanted.text === '') return this.#show('');
    try {
      this.#expression = expressionOf(wanted);
    } catch {
      this.input.setAttribute('aria-invalid', 'true');
      return this.#show('invalid regex');
    }
    this.#found = findAll(this.#editor.text, this.#expression);
    const { start } = this.#editor.selection;
    const next = this.#found.findIndex((found) => found.start >= start);
    this.#at = this.#found.length ? Math.max(0, next) : -1;
    return this.#show();
  }

  #show(text = this.#figures()) {
    this.count.textContent = text;
    this.#editor.showFound(this.#found, this.#at);
    if (this.#at >= 0) this.#editor.reveal(this.#found[this.#at].start);
  }

  #figures() {
    const total = this.#found.length;
    return total ? `${(this.#at + 1).toLocaleString('en')} of ${total.toLocaleString('en')}${total >= MAX_FOUND ? '+' : ''}` : 'no match';
  }

  /** Goes to the next match, or the one before. @param {number} by */
  step(by) {
    this.#soon.now();
    if (!this.#found.length) return;
    this.#at = (this.#at + by + this.#found.length) % this.#found.length;
    this.#editor.area.setSelectionRange(this.#found[this.#at].start, this.#found[this.#at].end);
    this.#show();
  }

  /** Replaces the current match and goes to the next. */
  replace() {
    this.#soon.now();
    const found = this.#found[this.#at];
    if (!found || !this.#expression) return;
    const text = replacementOf(this.#editor.text, found, this.#expression, this.by.value, this.#wanted.regex);
    this.#change(found.start, found.end, text);
    this.search();
  }

  /** Replaces all matches, as one step that can be undone. */
  replaceAll() {
    this.#soon.now();
    const change = this.#expression && replaceAll(this.#editor.text, this.#expression, this.by.value, this.#wanted.regex);
    if (!change) return;
    this.#change(change.start, change.end, change.text);
    this.search();
    this.#soon.cancel();
    this.count.textContent = `${change.count.toLocaleString('en')} replaced`;
  }

  /** Changes the text, and keeps the focus where it is. */
  #change(start, end, text) {
    const focused = /** @type {HTMLElement|null} */ (document.activeElement);
    this.#editor.replace(start, end, text);
    focused?.focus();
  }
}
