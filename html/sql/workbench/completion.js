// The completion list: a listbox beside the caret, driven from the editor's keys while the focus stays in the text.
import { debounce, h, icon } from '../../common/dom.js';
import { statementAt } from '../core/lexer.js';

/** Pause after a key before the list opens by itself, in ms, so that it does not disturb typing. */
const PAUSE_MS = 90;
/** Characters looked at around the caret in a long script; a longer statement is completed without its far end. */
const WINDOW = 60_000;
const MODIFIERS = new Set(['Control', 'Shift', 'Alt', 'Meta', 'AltGraph', 'CapsLock']);
const ICONS = { keyword: 'keyword', function: 'function', column: 'column', join: 'link', value: 'value', table: 'table', view: 'view', sequence: 'sequence', database: 'database' };

/** Completion for one editor. */
export class Completion {
  #editor;
  #source;
  #items = [];
  /** @type {import('../core/complete.js').Context|null} */
  #context = null;
  #active = -1;
  /** True if the list was opened by a key, since the last character typed. */
  #asked = false;
  /** True if the active item was chosen with the arrow keys. */
  #moved = false;
  #turn = 0;
  /** Module that finds the entries, once the first list was wanted. @type {typeof import('../core/complete.js')|null} */
  #core = null;
  #soon;

  /**
   * @param {import('./editor.js').Editor} editor
   * @param {{db: () => string, catalogue: import('./catalogue.js').Catalogue, version: () => string, enabled: () => boolean, announce: (text: string) => void}} source
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
    if (!this.#source.enabled()) {
      this.close();
      return;
    }
    this.#asked = false;
    this.#moved = false;
    if (this.isOpen) this.#open();
    else this.#soon();
  }

  /** Handles a key; true when it was for the list. @param {KeyboardEvent} event */
  key(event) {
    if (event.isComposing) return false;
    const ask = (event.key === ' ' && event.ctrlKey) || (event.code === 'Slash' && event.altKey);
    if (ask) return this.#ask();
    if (MODIFIERS.has(event.key)) return false;
    if (!this.isOpen || event.ctrlKey || event.metaKey || event.altKey) {
      // A chord may move the caret away from the word.
      this.close();
      return false;
    }
    return this.#listKey(event);
  }

  #ask() {
    this.#asked = true;
    this.#open();
    return true;
  }

  /** Tab accepts the active item; Enter only a chosen one, so a list that opened by itself never swallows a new line. */
  #listKey({ key, shiftKey }) {
    const page = 8;
    const moves = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page };
    const takes = !shiftKey && this.#active >= 0 && (key === 'Tab' || (key === 'Enter' && this.#isChosen));
    if (moves[key] && !shiftKey) this.#move(moves[key]);
    else if (key === 'Escape') this.close();
    else if (takes) this.#take(this.#active);
    else {
      if (['Enter', 'Tab', 'ArrowLeft', 'ArrowRight', 'Home', 'End'].includes(key)) this.close();
      return false;
    }
    return true;
  }

  /** True if the active item was chosen: with the arrow keys, or by opening the list where it completes the word or no word is begun. */
  get #isChosen() {
    return this.#moved || (this.#asked && (this.#context?.prefix === '' || this.#items[this.#active]?.match === 'beginning'));
  }

  #move(by) {
    const count = this.#items.length;
    const from = this.#active < 0 && by < 0 ? count : this.#active;
    const next = Math.abs(by) === 1 ? (from + by + count) % count : Math.max(0, Math.min(count - 1, from + by));
    this.#moved = true;
    this.#mark(next);
  }

  /** Tables are loaded first, then the columns of those that exist. */
  async #open() {
    const turn = ++this.#turn;
    if (!this.#core) {
      const core = await loadCore();
      if (!core || turn !== this.#turn || document.activeElement !== this.#editor.area) return;
      this.#core = core;
    }
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
    /** @type {ReturnType<typeof import('../core/complete.js').completionItems>} */
    const empty = { items: [], missing: [] };
    const found = context && this.#core ? this.#core.completionItems(context, this.#known(), { asked: this.#asked }) : empty;
    if (!context || !this.#wanted(context, found.items)) {
      this.close(false);
      return this.#asked || context?.compared || context?.join ? found : empty;
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
      relations: (db) => catalogue.knownRelations(db),
      routines: (db) => catalogue.knownRoutines(db),
      server: this.#core?.serverOf(this.#source.version()),
    };
  }

  /** The list opens by itself within a word, after a dot and where a foreign key or an ENUM says what may stand there; where an alias may stand, from two letters on. */
  #wanted({ prefix, kind, join, before, compared }, items) {
    if (this.#asked || kind === 'member' || kind === 'value') return true;
    if (prefix === '' && items.length && items[0].kind === (compared ? 'value' : 'join')) return compared !== null || (join !== null && before.length > 0);
    return prefix.length >= (kind === 'alias' ? 2 : 1);
  }

  #contextNow() {
    const { text, caret, selection } = this.#editor;
    if (selection.start !== selection.end) return null;
    const from = text.length > WINDOW ? Math.max(0, text.lastIndexOf('\n', caret - WINDOW / 2)) : 0;
    const part = text.slice(from, from + WINDOW);
    const statement = enclosing(part, caret - from);
    const { completionContext } = this.#core ?? {};
    if (!completionContext) return null;
    const nothing = completionContext('', 0);
    if (!statement) return nothing && shifted(nothing, caret);
    const context = completionContext(part.slice(statement.start, statement.end), caret - from - statement.start);
    return context && shifted(context, from + statement.start);
  }

  #show(context, items) {
    if (!items.length) {
      this.close(false);
      return;
    }
    const marked = this.#markIn(items);
    this.#context = context;
    this.#items = items;
    this.list.replaceChildren(...items.map((item, i) => option(item, `${this.list.id}-${i}`, context.prefix)));
    this.list.hidden = false;
    this.#place(context);
    this.#mark(marked);
  }

  /** The active item of a new list: the one chosen before, else the first where it completes the word or the list was requested. */
  #markIn(items) {
    const before = this.#moved ? this.#items[this.#active] : null;
    const kept = before ? items.findIndex(({ kind, label }) => kind === before.kind && label === before.label) : -1;
    this.#moved = kept >= 0;
    if (kept >= 0) return kept;
    return this.#asked || items[0].match === 'beginning' ? 0 : -1;
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
    this.list.classList.toggle('chosen', this.#isChosen);
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
    if (!this.#context) return;
    const { from, to } = this.#context;
    this.close();
    this.#editor.replace(from, to, item.insert);
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
    this.#moved = false;
    this.#editor.area.removeAttribute('aria-activedescendant');
  }
}

/** Null where it cannot be loaded: then nothing is offered. */
function loadCore() {
  return import('../core/complete.js').catch(() => null);
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
