/**
 * A table that is being changed: the state as it was read, the present one, the steps between them, and each change by itself. No DOM.
 * @module
 */

import { stayingColumns } from './changes.js';
import { checkText, columnText, foreignKeyText, indexText, optionText, writeTable } from './definition.js';

/** Steps that can be undone. */
const MAX_STEPS = 500;

/**
 * @typedef {import('./definition.js').Table} Table
 * @typedef {import('./definition.js').Server} Server
 * @typedef {'columns'|'indexes'|'foreignKeys'|'checks'} List
 * @typedef {'new'|'changed'|'moved'|'removed'} Mark
 * @typedef {{list: List|'options'|'table', id: string, mark: Mark, name: string}} Change
 */

/** @type {List[]} */
export const LISTS = ['columns', 'indexes', 'foreignKeys', 'checks'];
const TEXTS = { columns: columnText, indexes: indexText, foreignKeys: foreignKeyText, checks: checkText };

/** Text of a part from its fields, by which two are compared. @param {List} list @param {any} part @param {Server} server */
export const textOfPart = (list, part, server) => TEXTS[list](part, server);

/** Options whose value is the server's own and moves as rows are written. */
const MOVING = new Set(['AUTO_INCREMENT']);

/** A table being changed. */
export class Draft {
  #server;
  /** @type {Table[]} */ #past = [];
  /** @type {Table[]} */ #future = [];
  #key = '';
  /** @type {Map<string, string>} */ #texts = new Map();

  /** @param {Table} before @param {Server} server @param {Table} [table] the present state */
  constructor(before, server, table = before) {
    this.#server = server;
    this.before = before;
    this.table = table;
  }

  get canUndo() {
    return this.#past.length > 0;
  }

  get canRedo() {
    return this.#future.length > 0;
  }

  /** Sets the present state. Steps in a row of the same `key` are one. @param {Table} table @param {string} [key] @returns {boolean} whether it is another state */
  set(table, key = '') {
    if (table === this.table) return false;
    if (!key || key !== this.#key) this.#past = [...this.#past, this.table].slice(-MAX_STEPS);
    this.#future = [];
    this.#key = key;
    this.table = table;
    return true;
  }

  /** The next step is one of its own. */
  settle() {
    this.#key = '';
  }

  undo() {
    const last = this.#past.pop();
    if (!last) return false;
    this.#future.push(this.table);
    this.table = last;
    this.#key = '';
    return true;
  }

  redo() {
    const next = this.#future.pop();
    if (!next) return false;
    this.#past.push(this.table);
    this.table = next;
    this.#key = '';
    return true;
  }

  /** Takes all changes back; that can be undone too. */
  discard() {
    return this.set(this.before);
  }

  /** The part as it was read. @param {List} list @param {string} id @returns {any} */
  base(list, id) {
    return this.before[list].find((part) => part.id === id);
  }

  /** Mark of a part. @param {List} list @param {any} part @returns {Mark|''} */
  markOf(list, part) {
    const base = this.base(list, part.id);
    if (!base) return 'new';
    if (!(/** @type {any[]} */ (this.table[list])).some(({ id }) => id === part.id)) return 'removed';
    if (base === part || this.#textOf(list, base) === textOfPart(list, part, this.#server)) return '';
    // A new name of a column is a change of the column alone.
    return textOfPart(list, withNames(list, base, this.#renames), this.#server) === textOfPart(list, part, this.#server) ? '' : 'changed';
  }

  /** New names of columns by their old ones. */
  get #renames() {
    return new Map(this.table.columns.filter(({ was, name }) => was !== null && was !== name).map(({ was, name }) => [was, name]));
  }

  #textOf(list, base) {
    const known = this.#texts.get(base.id);
    if (known !== undefined) return known;
    const text = textOfPart(list, base, this.#server);
    this.#texts.set(base.id, text);
    return text;
  }

  /** The parts of a list with the removed ones in their old places. @param {List} list @returns {any[]} */
  shown(list) {
    /** @type {any[]} */ const parts = [...this.table[list]];
    const before = /** @type {any[]} */ (this.before[list]);
    before.forEach((base, i) => {
      if (parts.some(({ id }) => id === base.id)) return;
      const left = before.slice(0, i).reverse().find((one) => parts.some(({ id }) => id === one.id));
      parts.splice(left ? parts.findIndex(({ id }) => id === left.id) + 1 : 0, 0, base);
    });
    return parts;
  }

  /** Ids of columns that stand elsewhere than before. */
  get moved() {
    const staying = stayingColumns(this.before, this.table);
    const known = new Set(this.before.columns.map(({ id }) => id));
    return new Set(this.table.columns.filter((column) => column.was !== null && known.has(column.id) && !staying.has(column)).map(({ id }) => id));
  }

  /** Each change. @returns {Change[]} */
  get changes() {
    if (this.table === this.before) return [];
    /** @type {Change[]} */ const found = [];
    const { moved } = this;
    for (const list of LISTS) {
      for (const part of this.shown(list)) {
        const mark = this.markOf(list, part) || (list === 'columns' && moved.has(part.id) ? 'moved' : '');
        if (mark) found.push({ list, id: part.id, mark, name: part.name });
      }
    }
    for (const name of optionNames(this.before, this.table)) {
      if (optionValue(this.before, name) !== optionValue(this.table, name)) found.push({ list: 'options', id: name, mark: 'changed', name });
    }
    if (this.before.name !== this.table.name || this.before.db !== this.table.db) found.push({ list: 'table', id: 'name', mark: 'changed', name: this.table.name });
    if (this.before.partition !== this.table.partition) found.push({ list: 'table', id: 'partition', mark: 'changed', name: 'partition' });
    return found;
  }

  /** Takes one change back. @param {Change['list']} list @param {string} id */
  revert(list, id) {
    const { before, table } = this;
    if (list === 'table') return this.set({ ...table, ...(id === 'name' ? { name: before.name, db: before.db } : { partition: before.partition }) });
    if (list === 'options') {
      const old = before.options.find((one) => one.name === id);
      const has = table.options.some((one) => one.name === id);
      const options = table.options.flatMap((one) => (one.name !== id ? [one] : old ? [old] : []));
      return this.set({ ...table, options: !has && old ? [...options, old] : options });
    }
    const base = this.base(list, id);
    const parts = /** @type {any[]} */ (table[list]);
    if (!base) return this.set({ ...table, [list]: parts.filter((part) => part.id !== id) });
    const at = parts.findIndex((part) => part.id === id);
    const others = parts.filter((part) => part.id !== id);
    if (at >= 0 && this.markOf(list, parts[at])) return this.set({ ...table, [list]: parts.map((part) => (part.id === id ? base : part)) });
    // A removed or a moved one goes back to its place.
    const order = /** @type {any[]} */ (before[list]);
    const left = order.slice(0, order.findIndex((one) => one.id === id)).reverse().find((one) => others.some((part) => part.id === one.id));
    others.splice(left ? others.findIndex((part) => part.id === left.id) + 1 : 0, 0, at >= 0 ? parts[at] : base);
    return this.set({ ...table, [list]: others, ...(list === 'columns' && table.moved ? { moved: table.moved.filter((name) => name !== base.was) } : {}) });
  }
}

/** A part with other names of columns. @param {List} list @param {any} part @param {Map<string|null, string>} names */
function withNames(list, part, names) {
  const follow = (name) => names.get(name) ?? name;
  if (list === 'indexes') return { ...part, parts: part.parts.map((one) => ({ ...one, column: follow(one.column) })) };
  return list === 'foreignKeys' ? { ...part, columns: part.columns.map(follow) } : part;
}

const optionNames = (one, other) => new Set([...one.options, ...other.options].map(({ name }) => name).filter(Boolean));
const optionValue = (table, name) => {
  const option = table.options.find((one) => one.name === name);
  return option ? optionText({ ...option, text: '' }) : '';
};

/** A table's text without values that move as rows are written. @param {Table} table @param {Server} server */
export function settledText(table, server) {
  return writeTable({ ...table, options: table.options.filter(({ name }) => !MOVING.has(name)) }, server);
}

/** True if two states of a table as read have the same structure. @param {Table} one @param {Table} other @param {Server} server */
export const isSame = (one, other, server) => settledText(one, server) === settledText(other, server);

/**
 * The changes of a draft on top of a newer state of the table. What somebody else changed too stays theirs.
 * @param {Draft} draft @param {Table} now @param {Server} server
 * @returns {{table: Table, left: string[]}} `left`: changes that were not taken over, as sentences
 */
export function rebase(draft, now, server) {
  const left = [];
  /** @type {any} */ const table = { ...now };
  for (const list of LISTS) table[list] = rebaseList(draft, now, list, server, left);
  const { before, table: mine } = draft;
  for (const name of optionNames(before, mine)) {
    const [was, own, theirs] = [before, mine, now].map((one) => optionValue(one, name));
    if (was === own || own === theirs) continue;
    if (was !== theirs && !MOVING.has(name)) left.push(`Your change of ${name} was not kept: somebody else changed it too.`);
    else {
      const option = mine.options.find((one) => one.name === name);
      table.options = option ? table.options.some((one) => one.name === name) ? table.options.map((one) => (one.name === name ? option : one)) : [...table.options, option] : table.options.filter((one) => one.name !== name);
    }
  }
  if (mine.moved) table.moved = mine.moved;
  if (mine.name !== before.name || mine.db !== before.db) Object.assign(table, { name: mine.name, db: mine.db });
  return { table, left };
}

const WORDS = { columns: 'column', indexes: 'index', foreignKeys: 'foreign key', checks: 'check' };

/** @param {Draft} draft @param {Table} now @param {List} list @param {Server} server @param {string[]} left */
function rebaseList(draft, now, list, server, left) {
  const text = (part) => textOfPart(list, part, server);
  /** @type {any[]} */ let parts = [...now[list]];
  const mine = /** @type {any[]} */ (draft.table[list]);
  const theirsOf = (name) => parts.find((part) => part.was !== null && part.was === name);
  for (const base of /** @type {any[]} */ (draft.before[list])) {
    const own = mine.find(({ id }) => id === base.id);
    const theirs = theirsOf(base.was);
    if (own && text(own) === text(base)) continue;
    if (!theirs) {
      if (own && !parts.some((part) => text(part) === text(own))) left.push(`Your change of the ${WORDS[list]} ${base.name} was not kept: somebody else removed or renamed it.`);
      continue;
    }
    if (own && text(own) === text(theirs)) continue;
    if (text(theirs) !== text(base)) left.push(`Your change of the ${WORDS[list]} ${base.name} was not kept: somebody else changed it too.`);
    else parts = own ? parts.map((part) => (part === theirs ? { ...own, id: theirs.id, was: theirs.was, text: null } : part)) : parts.filter((part) => part !== theirs);
  }
  for (const [i, own] of mine.entries()) {
    if (draft.base(list, own.id) || parts.some((part) => text(part) === text(own))) continue;
    if (own.name && parts.some((part) => part.name.toLowerCase() === own.name.toLowerCase())) {
      left.push(`Your new ${WORDS[list]} ${own.name} was not kept: there is one of that name now.`);
      continue;
    }
    const before = mine[i - 1];
    const at = before ? parts.findIndex((part) => part.name === before.name) : -1;
    parts.splice(before && at < 0 ? parts.length : at + 1, 0, own);
  }
  return list === 'columns' ? inOrder(draft, parts) : parts;
}

/** Columns in the order of the draft, where that moved some. */
function inOrder(draft, parts) {
  if (!draft.moved.size) return parts;
  const place = new Map(draft.table.columns.map(({ name }, i) => [name, i]));
  const known = parts.filter(({ name }) => place.has(name)).sort((a, b) => (place.get(a.name) ?? 0) - (place.get(b.name) ?? 0));
  return parts.map((part) => (place.has(part.name) ? known.shift() : part));
}
