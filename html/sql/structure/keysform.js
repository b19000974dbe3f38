/**
 * Indexes, foreign keys and checks of a table in its form: a line each.
 * @module
 */

import { h } from '../../common/dom.js';
import { quoteIdentifier, unquoteIdentifier } from '../core/identifiers.js';
import { isSince } from './changes.js';
import { ACTIONS, blankCheck, blankForeignKey, blankIndex } from './definition.js';
import { withNew, withPart, without } from './edits.js';
import { freeName, matching, namesField, partsField, proposals, readNamesField, readPartsField } from './fieldtext.js';
import { cellCheck, cellInput, cellSelect, drawEnd, fieldTable, focusField, gridKeys, rowEnd, setMark, setProblem, show, tool } from './formparts.js';
import { lastName } from './suggest.js';

/** @typedef {import('./formparts.js').Form} Form */
/** @typedef {'indexes'|'foreignKeys'|'checks'} Which */
/** @typedef {{element: HTMLTableRowElement, controls: Record<string, any>, draw: (part: any, mark: import('./draft.js').Mark|'', typing: any) => void}} Line */

/** A section of lines, which all lists but the columns are. */
class Lines {
  /** @type {Map<string, Line>} */ #lines = new Map();

  /** @param {Form} form @param {Which} list @param {{title: string, one: string, heads: string[], none: string}} words */
  constructor(form, list, words) {
    this.form = form;
    this.list = list;
    this.words = words;
    this.body = h('tbody');
    gridKeys(this.body, { add: () => this.add() });
    this.title = h('h3');
    this.grid = fieldTable(words.title, ['', ...words.heads, ''], this.body);
    this.none = h('p', { class: 'dim', text: words.none });
    this.element = h('section', { class: 'structure-section', 'aria-label': words.title },
      h('div', { class: 'structure-title' }, this.title, h('div', { class: 'structure-tools' }, tool('plus', words.one, () => this.add()))), this.grid, this.none);
  }

  /** @returns {any} */
  blank() {
    throw new Error('not a list');
  }

  /** @param {any} _part @returns {Line} */
  line(_part) {
    throw new Error('not a list');
  }

  add(part = this.blank()) {
    this.form.set(withNew(this.form.draft.table, this.list, part));
    this.focus(part.id, '');
  }

  /** @param {string} id @param {Record<string, any>} fields @param {string} [field] that is being typed */
  put(id, fields, field) {
    this.form.set(withPart(this.form.draft.table, this.list, id, fields), field ? `${id} ${field}` : '');
  }

  /** Removes a part; the focus stays beside its place. @param {string} id */
  remove(id) {
    const ids = this.form.draft.shown(this.list).map((part) => part.id);
    const at = ids.indexOf(id);
    this.form.set(without(this.form.draft.table, this.list, [id]));
    const back = /** @type {HTMLElement|null|undefined} */ (this.#lines.get(id)?.element.querySelector('.row-end button:not([hidden])'));
    if (back) back.focus();
    else if (!this.focus(ids[at + 1] ?? ids[at - 1] ?? '', '')) this.element.querySelector('button')?.focus();
  }

  /** @param {any} typing */
  draw(typing) {
    const { draft } = this.form;
    const parts = draft.shown(this.list);
    this.title.textContent = `${this.words.title} (${draft.table[this.list].length})`;
    this.grid.hidden = parts.length === 0;
    this.none.hidden = parts.length > 0;
    const ids = new Set(parts.map(({ id }) => id));
    for (const [id, line] of this.#lines) if (!ids.has(id)) { line.element.remove(); this.#lines.delete(id); }
    let at = this.body.firstElementChild;
    for (const part of parts) {
      const known = this.#lines.get(part.id);
      const line = known ?? this.line(part);
      if (!known) this.#lines.set(part.id, line);
      if (at !== line.element) this.body.insertBefore(line.element, at);
      at = line.element.nextElementSibling;
      const mark = draft.markOf(this.list, part);
      line.draw(part, mark, typing);
      for (const [field, control] of Object.entries(line.controls)) {
        setProblem(control, this.form.problem(this.list, part.id, field), control.value?.length > 24 ? control.value : '');
        control.disabled = mark === 'removed';
      }
    }
  }

  /** @param {string} id @param {string} field @returns {boolean} */
  focus(id, field) {
    const line = this.#lines.get(id);
    if (!line) return false;
    const control = line.controls[field] ?? Object.values(line.controls)[0];
    focusField(control);
    control.scrollIntoView({ block: 'nearest', inline: 'nearest' });
    return true;
  }

  /** The row of a part, with its mark and its buttons. @param {string} id @param {Record<string, any>} controls @param {HTMLElement[]} cells */
  row(id, controls, cells) {
    const sign = h('span', { class: 'row-sign' });
    const end = rowEnd(() => this.form.revert(this.list, id), () => this.remove(id));
    const element = h('tr', { class: 'field-row', data: { id } }, h('td', { class: 'pick-cell' }, sign), cells.map((cell) => (cell instanceof HTMLInputElement && cell.type === 'checkbox' ? h('td', { class: 'check-cell' }, h('label', { class: 'cell-check' }, cell)) : h('td', {}, cell))), end.cell);
    const mark = (state, name) => {
      setMark(element, sign, state);
      drawEnd(end, state, name);
      if (element.dataset.label === name) return;
      element.dataset.label = name;
      for (const [field, control] of Object.entries(controls)) control.setAttribute('aria-label', `${LABELS[field]} of ${name}`);
    };
    return { element, mark };
  }

  /** Names of the table's columns as suggestions. */
  columns(text) {
    return matching(this.form.draft.table.columns.map(({ name, type }) => ({ value: quoteIdentifier(name), hint: type })), text);
  }
}

/** @type {Record<string, string>} */
const LABELS = { name: 'Name', kind: 'Kind', parts: 'Columns', invisible: 'Hidden', comment: 'Comment', columns: 'Columns', refTable: 'Referenced table', refColumns: 'Referenced columns', onDelete: 'On delete', onUpdate: 'On update', expression: 'Condition', enforced: 'Enforced' };

/** Indexes. */
export class IndexesForm extends Lines {
  /** @param {Form} form */
  constructor(form) {
    super(form, 'indexes', { title: 'Indexes', one: 'Index', heads: ['Name', 'Kind', 'Columns', form.server.mariadb ? 'Ignored' : 'Invisible', 'Comment'], none: 'No indexes: every search reads the whole table.' });
  }

  /** @override */
  blank() {
    return { ...blankIndex(), name: freeName('index_1', this.form.draft.table.indexes.map(({ name }) => name)) };
  }

  /** @override */
  line(part) {
    const { server, suggest } = this.form;
    const { id } = part;
    const hasVector = server.mariadb && isSince(server, 11, 7);
    const kinds = /** @type {[string, string][]} */ ([['primary', 'primary key'], ['unique', 'unique'], ['index', 'index'], ['fulltext', 'fulltext'], ['spatial', 'spatial'], ...(hasVector || part.kind === 'vector' ? [['vector', 'vector']] : [])]);
    const name = cellInput('name', (value) => this.put(id, { name: value }, 'name'));
    const kind = cellSelect(kinds, (value) => this.put(id, { kind: value, ...(value === 'primary' ? { name: 'PRIMARY' } : name.value === 'PRIMARY' ? { name: this.blank().name } : {}) }));
    const parts = cellInput('mono wide', (value) => this.put(id, { parts: readPartsField(value, this.form.draft.table.columns.map((column) => column.name), this.form.draft.base('indexes', id)?.parts).parts }, 'parts'));
    const invisible = cellCheck((checked) => this.put(id, { invisible: checked }));
    const comment = cellInput('comment', (value) => this.put(id, { comment: value }, 'comment'));
    suggest.attach(parts, { list: (text) => this.columns(text), word: lastName, isOpen: true });
    const controls = { name, kind, parts, invisible, comment };
    const { element, mark } = this.row(id, controls, [name, kind, parts, invisible, comment]);
    return {
      element, controls,
      draw: (index, state, typing) => {
        mark(state, index.name || 'the new index');
        show(name, index.kind === 'primary' ? 'PRIMARY' : index.name, typing);
        name.readOnly = index.kind === 'primary';
        show(kind, index.kind, typing);
        show(parts, partsField(index.parts), typing);
        show(comment, index.comment, typing);
        invisible.checked = index.invisible;
        invisible.style.visibility = index.kind === 'primary' ? 'hidden' : '';
        const rest = [index.method && `using ${index.method}`, index.rest].filter(Boolean).join(' ');
        element.title = rest ? `Kept as it is: ${rest}` : '';
      },
    };
  }
}

/** Foreign keys. */
export class ForeignKeysForm extends Lines {
  /** @param {Form} form */
  constructor(form) {
    super(form, 'foreignKeys', { title: 'Foreign keys', one: 'Foreign key', heads: ['Name', 'Columns', 'References table', 'Its columns', 'On delete', 'On update'], none: 'No foreign keys.' });
  }

  /** @override */
  blank() {
    return blankForeignKey();
  }

  /** @override */
  line(part) {
    const { suggest, facts } = this.form;
    const { id } = part;
    const own = () => this.form.draft.table;
    const now = () => own().foreignKeys.find((key) => key.id === id) ?? part;
    const name = cellInput('name', (value) => this.put(id, { name: value }, 'name'));
    name.placeholder = 'named by the server';
    const columns = cellInput('mono', (value, left) => { this.put(id, { columns: readNamesField(value) }, 'columns'); if (left) this.#complete(id); });
    const refTable = cellInput('mono', (value, left) => { this.put(id, readTableField(value, own().db), 'refTable'); if (left) this.#complete(id); });
    const refColumns = cellInput('mono', (value) => this.put(id, { refColumns: readNamesField(value) }, 'refColumns'));
    const actions = /** @type {[string, string][]} */ ([['', '–'], ...ACTIONS.map((action) => [action, action.toLowerCase()])]);
    const onDelete = cellSelect(actions, (value) => this.put(id, { onDelete: value }));
    const onUpdate = cellSelect(actions, (value) => this.put(id, { onUpdate: value }));
    suggest.attach(columns, { list: (text) => this.columns(text), word: lastName, isOpen: true });
    suggest.attach(refTable, { list: (text) => this.#tables(now(), text), isOpen: true });
    suggest.attach(refColumns, { list: async (text) => { const key = now(); return key.refTable ? matching((await facts.columns(key.refDb || own().db, key.refTable)).map(({ value, hint }) => ({ value: quoteIdentifier(value), hint })), text) : []; }, word: lastName, isOpen: true });
    const controls = { name, columns, refTable, refColumns, onDelete, onUpdate };
    const { element, mark } = this.row(id, controls, [name, columns, refTable, refColumns, onDelete, onUpdate]);
    return {
      element, controls,
      draw: (key, state, typing) => {
        mark(state, key.name || (key.columns.length ? `the foreign key of ${key.columns.join(', ')}` : 'the new foreign key'));
        show(name, key.name, typing);
        show(columns, namesField(key.columns), typing);
        show(refTable, tableField(key, own().db), typing);
        show(refColumns, namesField(key.refColumns), typing);
        show(onDelete, key.onDelete, typing);
        show(onUpdate, key.onUpdate, typing);
      },
    };
  }

  #typed({ columns }) {
    return columns.map((name) => ({ name, type: this.form.draft.table.columns.find((column) => column.name === name)?.type ?? '' }));
  }

  /** Tables that may be referenced, those with a key that fits first. */
  async #tables(key, text) {
    const { table } = this.form.draft;
    const found = /^(`(?:[^`]|``)+`|[^.`]+)\./.exec(text.trim());
    const db = found ? unquoteIdentifier(found[1]) : table.db;
    const list = proposals(this.#typed(key), await this.form.facts.keys(db), table.name);
    const seen = new Set();
    const tables = list.filter(({ table: name }) => !seen.has(name) && seen.add(name)).map((one) => ({ value: tableField({ refDb: one.db, refTable: one.table }, table.db), hint: `${one.columns.join(', ')} ${one.types.join(', ')}${one.fits ? ' · fits' : ''}` }));
    if (found || !text) return matching(tables, text);
    const others = (await this.form.facts.databases()).filter((name) => name !== table.db && name.toLowerCase().startsWith(text.trim().toLowerCase())).map((name) => ({ value: `${quoteIdentifier(name)}.`, hint: 'database' }));
    return [...matching(tables, text), ...others];
  }

  /** The key of the referenced table that fits is filled in, where none is named. */
  async #complete(id) {
    const key = this.form.draft.table.foreignKeys.find((one) => one.id === id);
    if (!key?.refTable || !key.columns.length || key.refColumns.length === key.columns.length) return;
    const db = key.refDb || this.form.draft.table.db;
    const best = proposals(this.#typed(key), await this.form.facts.keys(db), '').find((one) => one.table.toLowerCase() === key.refTable.toLowerCase() && one.columns.length === key.columns.length);
    const now = this.form.draft.table.foreignKeys.find((one) => one.id === id);
    if (!best || !now || now.refColumns.length === now.columns.length || now.refTable !== key.refTable) return;
    this.put(id, { refColumns: best.columns, refTable: best.table }, 'refTable');
  }
}

/** A table as its field shows it, with its database if that is another one. @param {{refDb: string, refTable: string}} key @param {string} own */
function tableField({ refDb, refTable }, own) {
  return `${refDb && refDb !== own ? `${quoteIdentifier(refDb)}.` : ''}${refTable ? quoteIdentifier(refTable) : ''}`;
}

/** @param {string} field @param {string} own */
function readTableField(field, own) {
  const found = /^(`(?:[^`]|``)+`|[^.`]+)\s*\.\s*(.*)$/.exec(field.trim());
  if (!found) return { refDb: '', refTable: unquoteIdentifier(field.trim()) };
  const db = unquoteIdentifier(found[1].trim());
  return { refDb: db === own ? '' : db, refTable: unquoteIdentifier(found[2].trim()) };
}

/** Checks. */
export class ChecksForm extends Lines {
  /** @param {Form} form */
  constructor(form) {
    super(form, 'checks', { title: 'Checks', one: 'Check', heads: form.server.mariadb ? ['Name', 'Condition'] : ['Name', 'Condition', 'Enforced'], none: 'No checks.' });
  }

  /** @override */
  blank() {
    return blankCheck();
  }

  /** @override */
  line(part) {
    const { id } = part;
    const name = cellInput('name', (value) => this.put(id, { name: value }, 'name'));
    name.placeholder = 'named by the server';
    const expression = cellInput('mono wide', (value) => this.put(id, { expression: value }, 'expression'));
    const enforced = cellCheck((checked) => this.put(id, { enforced: checked }));
    const hasEnforced = !this.form.server.mariadb;
    const controls = { name, expression, ...(hasEnforced ? { enforced } : {}) };
    const { element, mark } = this.row(id, controls, [name, expression, ...(hasEnforced ? [enforced] : [])]);
    return {
      element, controls,
      draw: (check, state, typing) => {
        mark(state, check.name || 'the new check');
        show(name, check.name, typing);
        show(expression, check.expression, typing);
        enforced.checked = check.enforced;
      },
    };
  }
}

