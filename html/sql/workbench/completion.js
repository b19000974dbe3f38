// The completion list: a listbox beside the caret, driven from the editor's keys while the focus stays in the text.
import { debounce, h, icon } from '../../common/dom.js';
import { completionContext, completionItems } from '../core/complete.js';
import { statementAt } from '../core/lexer.js';

/** Pause after a key before the list opens by itself, in ms: a quick typist is not disturbed. */
const PAUSE_MS = 90;
/** Characters looked at around the caret in a long script; a longer statement is completed without its far end. */
const WINDOW = 60_000;
const ICONS = { keyword: 'keyword', function: 'function', column: 'column', table: 'table', view: 'view', sequence: 'sequence', database: 'database' };

/** Completion for one editor. */
export class Completion {
  #editor;
  #source;
  #items = [];
  #context = null;
  #active = -1;
  #asked = false;
  #turn = 0;
  #soon;

  /**
   * @param {import('./editor.js').Editor} editor
   * @param {{db: () => string, catalogue: import('./catalogue.js').Catalogue, enabled: () => boolean, announce: (text: string) => void}} source
   */
  constructor(editor, source) {
    this.#editor = editor;
    this.#source = source;
    this.#soon = debounce(() => this.#open(), PAUSE_MS);
    this.list = h('ul', { class: 'completion', role: 'listbox', id: `${editor.area.id}-list`, 'aria-label': 'Completions', hidden: true });
    this.list.addEventListener('mousedown', (event) => this.#press(event));
    editor.area.setAttribute('aria-controls', this.list.id);
    editor.area.addEventListener('blur', () => this.close());
    editor.area.addEventListener('scroll', () => this.close(), { passive: true });
    editor.area.addEventListener('click', () => this.close());
    editor.element.append(this.list);
  }

  get isOpen() {
    return !this.list.hidden;
  }

  /** To be called after typing. */
  edited() {
    if (!this.#source.enabled()) return;
    this.#asked = false;
    if (this.isOpen) this.#open();
    else this.#soon();
  }

  /** Handles a key; true when it was for the list. @param {KeyboardEvent} event */
  key(event) {
    if (event.isComposing) return false;
    const ask = (event.key === ' ' && event.ctrlKey) || (event.code === 'Slash' && event.altKey);
    if (ask) return this.#ask();
    // The statement runs: a list that is open or still on its way has come too late.
    if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) this.close();
    if (!this.isOpen || event.ctrlKey || event.metaKey || event.altKey) {
      this.#soon.cancel();
      return false;
    }
    return this.#listKey(event);
  }

  #ask() {
    this.#asked = true;
    this.#open();
    return true;
  }

  /** Enter takes the marked item. Tab does so only once the list was asked for or moved in: else it inserts its two spaces. */
  #listKey({ key, shiftKey }) {
    const page = 8;
    const moves = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page };
    if (moves[key] && !shiftKey) this.#move(moves[key]);
    else if (key === 'Escape') this.close();
    else if (this.#active >= 0 && !shiftKey && (key === 'Enter' || (key === 'Tab' && this.#asked))) this.#take(this.#active);
    else {
      if (['Enter', 'Tab', 'ArrowLeft', 'ArrowRight', 'Home', 'End'].includes(key)) this.close();
      return false;
    }
    return true;
  }

  #move(by) {
    this.#asked = true;
    const count = this.#items.length;
    const next = Math.abs(by) === 1 ? (this.#active + by + count) % count : Math.max(0, Math.min(count - 1, this.#active + by));
    this.#mark(next);
  }

  /** Tables are loaded first, then the columns of those that exist. */
  async #open() {
    const turn = ++this.#turn;
    for (let round = 0; round < 2; round += 1) {
      const { missing } = this.#update();
      if (!missing.length) return;
      await this.#source.catalogue.load(missing);
      if (turn !== this.#turn || document.activeElement !== this.#editor.area) return;
    }
    this.#update();
  }

  #update() {
    const context = this.#contextNow();
    const empty = { items: [], missing: [] };
    const found = context ? completionItems(context, this.#known()) : empty;
    if (!context || !this.#wanted(context)) {
      this.close(false);
      return this.#asked ? found : empty;
    }
    this.#show(context, found.items);
    return found;
  }

  #known() {
    const { catalogue } = this.#source;
    return {
      db: this.#source.db(),
      databases: catalogue.databaseNames,
      tables: (db) => catalogue.knownTables(db),
      columns: (db, table) => catalogue.knownColumns(db, table),
    };
  }

  /** By itself the list opens for a word begun or after a dot; where an alias may stand only from two letters on. */
  #wanted({ prefix, kind }) {
    if (this.#asked || kind === 'member') return true;
    return prefix.length >= (kind === 'alias' ? 2 : 1);
  }

  #contextNow() {
    const { text, caret, selection } = this.#editor;
    if (selection.start !== selection.end) return null;
    const from = text.length > WINDOW ? Math.max(0, text.lastIndexOf('\n', caret - WINDOW / 2)) : 0;
    const part = text.slice(from, from + WINDOW);
    const statement = enclosing(part, caret - from);
    if (!statement) return completionContext('', 0) && shifted(completionContext('', 0), caret);
    const context = completionContext(part.slice(statement.start, statement.end), caret - from - statement.start);
    return context && shifted(context, from + statement.start);
  }

  #show(context, items) {
    if (!items.length) {
      this.close(false);
      return;
    }
    this.#context = context;
    this.#items = items;
    this.list.replaceChildren(...items.map((item, i) => option(item, `${this.list.id}-${i}`, context.prefix)));
    this.list.hidden = false;
    this.#place(context);
    this.#mark(context.kind === 'alias' && !this.#asked ? -1 : 0);
  }

  #place(context) {
    const box = this.#editor.element.getBoundingClientRect();
    const at = this.#editor.rectOf(context.from) ?? { left: box.left + 60, top: box.top, height: 20 };
    const { style } = this.list;
    const height = Math.min(this.list.scrollHeight + 2, 264);
    const below = at.top + at.height + height < innerHeight - 8 || at.top < height;
    style.left = `${Math.max(8, Math.min(at.left - 28, innerWidth - this.list.offsetWidth - 8))}px`;
    style.top = `${below ? at.top + at.height + 2 : at.top - height - 2}px`;
  }

  #mark(index) {
    this.list.children[this.#active]?.setAttribute('aria-selected', 'false');
    this.#active = index;
    const option = this.list.children[index];
    if (!option) {
      this.#editor.area.removeAttribute('aria-activedescendant');
      return;
    }
    option.setAttribute('aria-selected', 'true');
    option.scrollIntoView({ block: 'nearest' });
    this.#editor.area.setAttribute('aria-activedescendant', option.id);
  }

  #press(event) {
    event.preventDefault();
    const option = event.target.closest('[role="option"]');
    if (option) this.#take([...this.list.children].indexOf(option));
  }

  #take(index) {
    const item = this.#items[index];
    const { from, to } = this.#context;
    const { text } = this.#editor;
    this.close();
    const insert = item.kind === 'function' && text[to] === '(' ? item.insert.slice(0, -1) : item.insert;
    this.#editor.replace(from, to, insert);
    this.#soon.cancel();
    this.close();
  }

  /** @param {boolean} [stop] whether a request under way may still open the list */
  close(stop = true) {
    if (stop) {
      this.#turn += 1;
      this.#soon.cancel();
      this.#asked = false;
    }
    this.list.hidden = true;
    this.#items = [];
    this.#active = -1;
    this.#editor.area.removeAttribute('aria-activedescendant');
  }
}

/** The statement around the caret; where it ended before the caret with a delimiter, there is none yet. */
function enclosing(text, caret) {
  const statement = statementAt(text, caret);
  if (!statement || caret < statement.start) return null;
  if (caret <= statement.end) return statement;
  const between = text.slice(statement.end, caret);
  return /^\s*$/.test(between) ? { start: statement.start, end: caret } : null;
}

function shifted(context, by) {
  return { ...context, from: context.from + by, to: context.to + by };
}

function option({ label, kind, detail }, id, prefix) {
  const at = label.toLowerCase().indexOf(prefix.toLowerCase());
  const name = prefix && at >= 0
    ? [label.slice(0, at), h('b', { text: label.slice(at, at + prefix.length) }), label.slice(at + prefix.length)]
    : [label];
  return h('li', { role: 'option', id, 'aria-selected': 'false', class: `kind-${kind}` },
    icon(ICONS[kind] ?? 'keyword'), h('span', { class: 'completion-name' }, name), h('span', { class: 'completion-detail', text: detail }));
}
