/**
 * The columns of a table in its form: a line each, with details below it.
 * @module
 */

import { fill, h, icon, iconButton, marked, query, queryAll } from '../../common/dom.js';
import { isSince } from './changes.js';
import { readTypeField, renameColumn } from './definition.js';
import { copyOfColumn, foreignKeyOf, moved, newColumn, placed, withIndex, withNew, withPart, without } from './edits.js';
import { defaultField, matching, proposals, readDefaultField, typesOf } from './fieldtext.js';
import { cellCheck, cellInput, cellSelect, drawEnd, fieldTable, focusField, gridKeys, rowEnd, setMark, setProblem, show, tool } from './formparts.js';

/** @typedef {import('./definition.js').Column} Column */
/** @typedef {import('./formparts.js').Form} Form */

const HEADS = ['', 'Name', 'Type', 'NULL', 'Default', 'More', 'Comment', ''];
const NOW = ['CURRENT_TIMESTAMP', 'CURRENT_TIMESTAMP(3)', 'CURRENT_TIMESTAMP(6)'];
/** Types that a text of characters has. */
const TEXT = /^(?:(?:var)?char|(?:tiny|medium|long)?text|enum|set)\b/i;

let serial = 0;

/** The columns. */
export class ColumnsForm {
  #form;
  /** @type {Map<string, Row>} */ #rows = new Map();
  #serverTypes;
  /** Columns whose details are open. @type {Set<string>} */ #open = new Set();
  /** @type {Set<string>} */ selected = new Set();

  /** @param {Form} form @param {(list: import('./draft.js').List, id: string, field: string) => void} go leads to a field */
  constructor(form, go) {
    this.#form = form;
    this.go = go;
    this.#serverTypes = typesOf(form.server);
    this.body = h('tbody');
    gridKeys(this.body, { add: () => this.add() });
    this.title = h('h3');
    this.tools = h('div', { class: 'structure-tools', role: 'toolbar', 'aria-label': 'Columns' },
      tool('plus', 'Column', () => this.add(), 'Add a column below (Insert)'),
      tool('key', 'Primary key', () => this.index('primary'), 'Primary key of the chosen columns'),
      tool('column', 'Index', () => this.index('index'), 'Index of the chosen columns'),
      tool('check', 'Unique', () => this.index('unique'), 'Unique index of the chosen columns'),
      tool('link', 'Foreign key', () => this.foreignKey(), 'Foreign key of the chosen columns'));
    this.chosen = h('span', { class: 'dim structure-chosen', 'aria-live': 'polite' });
    this.filter = h('input', { type: 'search', class: 'field structure-filter', placeholder: 'Filter columns', 'aria-label': 'Filter columns', title: 'By name, type or comment (Ctrl+F)', autocomplete: 'off', spellcheck: 'false' });
    // A search is no change of the table.
    for (const type of ['input', 'change']) this.filter.addEventListener(type, (event) => { event.stopPropagation(); this.#search(); });
    this.filter.addEventListener('keydown', (event) => this.#onFilterKey(event));
    this.grid = fieldTable('Columns', HEADS, this.body);
    this.grid.classList.add('structure-columns');
    this.element = h('section', { class: 'structure-section', 'aria-label': 'Columns' }, h('div', { class: 'structure-title' }, this.title, this.filter, this.tools, this.chosen), this.grid);
    this.body.addEventListener('dragover', (event) => this.#dragOver(event));
    this.body.addEventListener('drop', (event) => { event.preventDefault(); this.#drop(); });
    this.body.addEventListener('focusin', () => this.#tellChosen());
  }

  get #table() {
    return this.#form.draft.table;
  }

  // Drawing.

  /** @param {import('./formparts.js').Control|null} typing */
  draw(typing) {
    const { draft } = this.#form;
    const list = draft.shown('columns');
    const { moved: elsewhere } = draft;
    const keys = new Set(draft.table.indexes.find(({ kind }) => kind === 'primary')?.parts.map(({ column }) => column));
    const ids = new Set(list.map(({ id }) => id));
    for (const [id, row] of this.#rows) if (!ids.has(id)) { row.element.remove(); row.details?.remove(); this.#rows.delete(id); this.selected.delete(id); }
    let at = this.body.firstElementChild;
    list.forEach((column, i) => {
      const row = this.#rows.get(column.id) ?? this.#newRow(column);
      if (at !== row.element) this.body.insertBefore(row.element, at);
      at = row.element.nextElementSibling;
      const mark = draft.markOf('columns', column) || (elsewhere.has(column.id) ? 'moved' : '');
      row.draw(column, mark, i + 1, keys.has(column.name), typing);
      if (row.details) {
        if (at !== row.details) this.body.insertBefore(row.details, at);
        at = row.details.nextElementSibling;
      }
    });
    this.#search();
    this.#tellChosen();
  }

  // Filtering.

  /** Shows the columns that have all words of the filter; new ones and the one with the focus stay. */
  #search() {
    const words = this.filter.value.toLowerCase().split(/\s+/).filter(Boolean);
    const { columns } = this.#table;
    let found = 0;
    for (const row of this.#rows.values()) {
      const fits = words.every((word) => row.searched.includes(word));
      if (fits) found += 1;
      row.hide(!fits && !row.isNew && !row.hasFocus);
    }
    const text = `Columns (${words.length ? `${found} of ` : ''}${columns.length})`;
    if (this.title.textContent !== text) this.title.textContent = text;
  }

  #onFilterKey(event) {
    const { key } = event;
    if (key === 'Escape' && this.filter.value) this.filter.value = '';
    else if (key !== 'Enter' && key !== 'ArrowDown' && key !== 'Escape') return;
    event.preventDefault();
    event.stopPropagation();
    this.#search();
    const first = queryAll(this.body, '.field-row').find((row) => !row.hidden);
    if (first) this.focus(first.dataset.id ?? '', 'name');
  }

  /** Goes to a column by its name; false where there is none. @param {string} name */
  goTo(name) {
    const column = this.#table.columns.find((one) => one.name.toLowerCase() === name.toLowerCase());
    return column ? this.focus(column.id, 'name') : false;
  }

  #newRow(column) {
    const row = new Row(column, this.#form, this, this.#serverTypes);
    this.#rows.set(column.id, row);
    if (this.#open.has(column.id)) row.open();
    return row;
  }

  // Choosing.

  /** Ids of the chosen columns: those that are ticked, else the one with the focus. */
  get chosenIds() {
    const ids = this.#table.columns.map(({ id }) => id);
    const ticked = ids.filter((id) => this.selected.has(id));
    const { active } = this;
    return ticked.length ? ticked : active && ids.includes(active) ? [active] : [];
  }

  /** Id of the column that had the focus last. */
  active = '';

  #tellChosen() {
    const names = this.#table.columns.filter(({ id }) => this.selected.has(id)).map(({ name }) => name);
    const text = names.length ? `${names.length} chosen: ${names.slice(0, 4).join(', ')}${names.length > 4 ? ' …' : ''}` : '';
    if (this.chosen.textContent !== text) fill(this.chosen, marked(text));
  }

  /** Names of the chosen columns, in the order in which they were ticked. */
  #chosenNames() {
    const order = [...this.selected];
    const ids = this.chosenIds.sort((a, b) => order.indexOf(a) - order.indexOf(b));
    const names = ids.flatMap((id) => this.#table.columns.filter((column) => column.id === id && column.name).map(({ name }) => name));
    if (!names.length) this.#form.say('Tick the columns first.');
    return names;
  }

  #untick() {
    this.selected.clear();
    this.active = '';
    for (const row of this.#rows.values()) row.pick.checked = false;
    this.#tellChosen();
  }

  // Steps.

  /** Adds a column below the active one. @param {Column} [column] */
  add(column = newColumn()) {
    this.#form.set(withNew(this.#table, 'columns', column, this.active));
    this.focus(column.id, 'name');
  }

  duplicate() {
    const column = this.#table.columns.find(({ id }) => id === this.chosenIds[0]);
    if (column) this.add(copyOfColumn(this.#table, column));
  }

  /** @param {string[]} ids */
  remove(ids = this.chosenIds) {
    if (!ids.length) return;
    const list = this.#form.draft.shown('columns').map(({ id }) => id);
    const next = list.slice(list.indexOf(ids[ids.length - 1]) + 1).find((id) => this.#table.columns.some((column) => column.id === id)) ?? this.#table.columns.filter(({ id }) => !ids.includes(id)).pop()?.id;
    this.#form.set(without(this.#table, 'columns', ids));
    this.#untick();
    if (next) this.focus(next, 'name');
  }

  /** True if a new column is as it began. @param {string} id */
  isEmpty(id) {
    const column = this.#table.columns.find((one) => one.id === id);
    return column?.was === null && isSameColumn(column, newColumn());
  }

  /** @param {1|-1} by */
  move(by) {
    const focused = document.activeElement;
    this.#form.set(moved(this.#table, this.chosenIds, by));
    // A row that was moved in the document lost the focus.
    if (focused instanceof HTMLElement && this.body.contains(focused)) {
      focused.focus();
      focused.scrollIntoView({ block: 'nearest' });
    }
  }

  /** @param {'primary'|'index'|'unique'} kind */
  index(kind) {
    const names = this.#chosenNames();
    if (!names.length) return;
    const { table, id } = withIndex(this.#table, names, kind);
    this.#form.set(table);
    this.#untick();
    this.go('indexes', id, 'name');
  }

  async foreignKey() {
    const names = this.#chosenNames();
    if (!names.length) return;
    const { table } = this.#form.draft;
    const columns = names.map((name) => ({ name, type: table.columns.find((column) => column.name === name)?.type ?? '' }));
    const [best] = proposals(columns, await this.#form.facts.keys(table.db), table.name);
    const key = foreignKeyOf(names, best, table.db);
    this.#form.set(withNew(this.#table, 'foreignKeys', key));
    this.#untick();
    this.go('foreignKeys', key.id, key.refTable ? 'refColumns' : 'refTable');
  }

  // Going to a field.

  /** @param {string} id @param {string} field @returns {boolean} */
  focus(id, field) {
    const row = this.#rows.get(id);
    const control = row?.control(field);
    if (!row || !control) return false;
    if (row.element.hidden) {
      this.filter.value = '';
      this.#search();
    }
    focusField(control);
    control.scrollIntoView({ block: 'nearest', inline: 'nearest' });
    return true;
  }

  /** @param {string} id @param {boolean} isOpen */
  opened(id, isOpen) {
    if (isOpen) this.#open.add(id);
    else this.#open.delete(id);
  }

  // Dragging.

  /** @type {{id: string, before: string|null}|null} */ #drag = null;

  /** @param {string} id */
  dragStart(id) {
    this.#drag = { id, before: id };
  }

  #dragOver(event) {
    if (!this.#drag) return;
    const row = event.target.closest('.field-row');
    if (!row) return;
    event.preventDefault();
    const box = row.getBoundingClientRect();
    const after = event.clientY > box.top + box.height / 2;
    const rows = queryAll(this.body, '.field-row');
    const target = after ? rows[rows.indexOf(row) + 1] : row;
    this.#drag.before = target?.dataset.id ?? null;
    for (const one of rows) one.classList.toggle('drop-before', one === target);
    row.classList.toggle('drop-after', after && !target);
  }

  #drop() {
    const drag = this.#drag;
    this.dragEnd();
    if (drag) this.#form.set(placed(this.#table, drag.id, drag.before));
  }

  dragEnd() {
    this.#drag = null;
    for (const row of queryAll(this.body, '.drop-before, .drop-after')) row.classList.remove('drop-before', 'drop-after');
  }
}

/** @param {Column} a @param {Column} b */
const isSameColumn = (a, b) => JSON.stringify({ ...a, id: '' }) === JSON.stringify({ ...b, id: '' });

/** The line of one column. */
class Row {
  #form;
  #owner;
  /** @type {Column} */ #column;
  #drawn = '';
  /** True if the line has a fault or is typed in: it is drawn in any case, and once more afterwards. */
  #wasOwn = false;
  /** @type {HTMLTableRowElement|null} */ details = null;
  /** Fields of the details. @type {Record<string, any>|null} */ #fields = null;

  /** @param {Column} column @param {Form} form @param {ColumnsForm} owner @param {import('./fieldtext.js').Suggestion[]} types */
  constructor(column, form, owner, types) {
    this.#form = form;
    this.#owner = owner;
    this.#column = column;
    const { id } = column;
    this.pick = h('input', { type: 'checkbox', on: { change: () => this.#tick() } });
    this.number = h('span', { class: 'drag-handle', draggable: 'true', title: 'Drag to move (Alt+↑, Alt+↓)' });
    this.sign = h('span', { class: 'row-sign' });
    this.name = cellInput('name', (value) => this.#rename(value));
    this.type = cellInput('type mono', (value, left) => this.#retype(value, left));
    this.nullable = cellCheck((checked) => this.#allowNull(checked));
    this.default = cellInput('default mono', (value) => this.#put({ default: readDefaultField(value, this.#column.type) }, 'default'));
    this.moreText = h('span', { class: 'more-text' });
    this.more = h('button', { type: 'button', class: 'cell-button', 'aria-expanded': 'false', on: { click: () => this.toggle() } }, icon('chevron-right'), this.moreText);
    this.comment = cellInput('comment', (value) => this.#put({ comment: value }, 'comment'));
    form.suggest.attach(this.type, { list: (text) => matching(types, text), isOpen: true });
    form.suggest.attach(this.default, { list: (text) => this.#defaults(text) });
    this.key = icon('key');
    this.key.classList.add('primary-key');
    const nameCell = h('td', { class: 'name-cell' }, h('span', { class: 'name-in' }, this.key, this.name));
    this.end = rowEnd(() => form.revert('columns', id), () => owner.remove([id]));
    const cells = [h('td', { class: 'pick-cell' }, h('span', { class: 'pick-in' }, this.sign, h('label', { class: 'cell-check' }, this.pick), this.number)), nameCell, h('td', {}, this.type), h('td', { class: 'check-cell' }, h('label', { class: 'cell-check' }, this.nullable)),
      h('td', {}, this.default), h('td', { class: 'more-cell' }, this.more), h('td', {}, this.comment)];
    this.element = h('tr', { class: 'field-row', data: { id } }, cells, this.end.cell);
    this.element.addEventListener('focusin', () => { owner.active = id; });
    this.number.addEventListener('dragstart', (event) => {
      event.dataTransfer?.setDragImage(this.element, 0, 10);
      event.dataTransfer?.setData('text/plain', this.#column.name);
      owner.dragStart(id);
    });
    this.number.addEventListener('dragend', () => owner.dragEnd());
  }

  /** Text that the filter looks in. */
  get searched() {
    const { name, type, comment } = this.#column;
    return `${name}\n${type}\n${comment}`.toLowerCase();
  }

  get isNew() {
    return this.#column.was === null;
  }

  get hasFocus() {
    const { activeElement } = document;
    return this.element.contains(activeElement) || this.details?.contains(activeElement) === true;
  }

  /** @param {boolean} hidden */
  hide(hidden) {
    this.element.hidden = hidden;
    if (this.details) this.details.hidden = hidden;
  }

  #tick() {
    const { id } = this.#column;
    this.#owner.selected.delete(id);
    if (this.pick.checked) this.#owner.selected.add(id);
    this.#owner.draw(null);
  }

  /** @param {Partial<Column>} fields @param {string} [field] that is being typed */
  #put(fields, field) {
    const { id } = this.#column;
    this.#form.set(withPart(this.#form.draft.table, 'columns', id, fields), field ? `${id} ${field}` : '');
  }

  /** Character set and collation go with a type of text; what is typed behind the type goes to its own fields. */
  #retype(value, left) {
    const { charset, collation } = this.#column;
    const drops = left && (charset || collation) && !TEXT.test(value.trim());
    const { fields } = left ? readTypeField(value.trim(), this.#form.server) : { fields: {} };
    this.#put({ type: left ? value.trim() : value, ...(drops ? { charset: '', collation: '' } : {}), ...fields }, 'type');
  }

  /** A default of NULL goes and comes back with NULL itself. */
  #allowNull(checked) {
    const now = this.#column.default;
    const was = this.#form.draft.base('columns', this.#column.id)?.default;
    if (checked) this.#put({ nullable: true, default: now.kind === 'none' && was?.kind === 'null' ? was : now });
    else this.#put({ nullable: false, default: now.kind === 'null' ? { kind: 'none', value: '' } : now });
  }

  #rename(value) {
    const { id } = this.#column;
    this.#form.set(renameColumn(this.#form.draft.table, id, value), `${id} name`);
  }

  #defaults(text) {
    const { type, nullable } = this.#column;
    const list = [nullable && ['NULL', 'no value'], /^(?:datetime|timestamp)/i.test(type) && [`CURRENT_TIMESTAMP${/\(\d\)/.exec(type)?.[0] ?? ''}`, 'the moment of the insert'], /int|decimal|float|double/i.test(type) && ['0', ''],
      TEXT.test(type) && ["''", 'an empty text'], /^(?:char\(36\)|uuid|binary\(16\))/i.test(type) && ['(uuid())', 'a new UUID']];
    return matching(list.flatMap((one) => (one ? [{ value: one[0], hint: one[1] }] : [])), text);
  }

  /** @param {Column} column @param {import('./draft.js').Mark|''} mark @param {number} number @param {boolean} isKey @param {import('./formparts.js').Control|null} typing */
  draw(column, mark, number, isKey, typing) {
    const isOwn = this.#form.isFaulty(column.id) || (typing !== null && (this.element.contains(typing) || this.details?.contains(typing) === true));
    const drawn = `${mark} ${number} ${isKey}`;
    // Most lines are as they were.
    if (this.#drawn === drawn && this.#column === column && !isOwn && !this.#wasOwn) return;
    [this.#drawn, this.#wasOwn] = [drawn, isOwn];
    const problem = (list, id, field) => this.#form.problem(list, id, field);
    this.#column = column;
    const removed = mark === 'removed';
    const label = column.name || 'the new column';
    setMark(this.element, this.sign, mark);
    if (this.number.textContent !== String(number)) this.number.textContent = String(number);
    this.key.style.display = isKey ? '' : 'none';
    show(this.name, column.name, typing);
    show(this.type, column.type, typing);
    show(this.default, column.generated ? '' : defaultField(column.default), typing);
    show(this.comment, column.comment, typing);
    this.nullable.checked = column.nullable;
    const more = moreText(column);
    if (this.moreText.textContent !== more) this.moreText.textContent = more;
    if (this.element.dataset.label !== label) {
      this.element.dataset.label = label;
      for (const [control, what] of /** @type {[HTMLElement, string][]} */ ([[this.pick, 'Choose'], [this.name, 'Name of'], [this.type, 'Type of'], [this.nullable, 'NULL allowed in'], [this.default, 'Default of'], [this.more, 'More about'], [this.comment, 'Comment of']])) control.setAttribute('aria-label', `${what} ${label}`);
    }
    if (this.name.disabled !== removed) for (const control of [this.pick, this.name, this.type, this.nullable, this.comment, this.more]) control.disabled = removed;
    this.default.disabled = removed || column.generated !== null;
    setProblem(this.name, problem('columns', column.id, 'name'));
    setProblem(this.type, problem('columns', column.id, 'type'), column.type.length > 24 ? column.type : '');
    setProblem(this.default, problem('columns', column.id, 'default'), this.default.value.length > 20 ? this.default.value : '');
    setProblem(this.nullable, problem('columns', column.id, 'nullable'));
    const other = ['generated', 'onUpdate', 'charset', 'collation', 'check', 'autoIncrement', 'invisible'].map((field) => problem('columns', column.id, field)).find(Boolean) ?? '';
    setProblem(this.more, other, more);
    setProblem(this.comment, problem('columns', column.id, 'comment'), column.comment.length > 30 ? column.comment : '');
    drawEnd(this.end, mark, label);
    this.#drawChanged(mark === 'changed' ? this.#form.draft.base('columns', column.id) : null);
    if (removed && this.details) this.close();
    this.#drawDetails(typing);
  }

  /** Marks the cells that differ from the column as it was read. @param {Column|null} was */
  #drawChanged(was) {
    const now = this.#column;
    /** @type {[HTMLElement, (column: Column) => string][]} */
    const cells = [[this.name, ({ name }) => name], [this.type, ({ type }) => type], [this.nullable, ({ nullable }) => (nullable ? 'NULL' : 'NOT NULL')], [this.default, (column) => defaultField(column.default)], [this.more, moreText], [this.comment, ({ comment }) => comment]];
    for (const [control, text] of cells) {
      const cell = control.closest('td');
      const differs = was !== null && text(was) !== text(now);
      if (cell && differs !== cell.hasAttribute('data-changed')) cell.toggleAttribute('data-changed', differs);
      if (was && differs && !control.hasAttribute('aria-invalid')) control.title = `Was: ${text(was) || 'none'}`;
    }
  }

  /** @param {string} field @returns {HTMLElement|null} */
  control(field) {
    const own = { name: this.name, type: this.type, nullable: this.nullable, default: this.default, comment: this.comment }[field];
    if (own || !field) return own ?? this.name;
    this.open();
    return this.#fields?.[field] ?? this.name;
  }

  // Details.

  toggle() {
    if (this.details) return this.close();
    this.open();
    return focusField(queryAll(this.#owner.body, '.structure-details :is(input, select)').find((field) => this.details?.contains(field) && field.checkVisibility()) ?? null);
  }

  close() {
    this.details?.remove();
    this.details = null;
    this.#fields = null;
    this.more.setAttribute('aria-expanded', 'false');
    this.#owner.opened(this.#column.id, false);
  }

  open() {
    if (this.details) return;
    this.#build();
    this.element.after(/** @type {any} */ (this.details));
    this.more.setAttribute('aria-expanded', 'true');
    this.#owner.opened(this.#column.id, true);
    this.#drawDetails(null);
  }

  #build() {
    const { suggest, facts, server } = this.#form;
    const prefix = `column-${(serial += 1)}`;
    const line = (name, label, control, hint = '') => {
      control.id = `${prefix}-${name}`;
      control.classList.add('field');
      return h('div', { class: 'detail', data: { field: name } }, h('label', { for: control.id, text: label }), control, hint && h('span', { class: 'dim', text: hint }));
    };
    const box = (name, label, control) => {
      control.id = `${prefix}-${name}`;
      return h('label', { class: 'check detail', data: { field: name } }, control, h('span', { text: label }));
    };
    const charset = cellInput('', (value) => this.#put({ charset: value, collation: '' }, 'charset'));
    const collation = cellInput('', (value, left) => this.#collate(value, left));
    const expression = cellInput('mono', (value) => this.#put({ generated: value.trim() ? { expression: value, stored: this.#column.generated?.stored ?? false } : null, ...(value.trim() ? { default: { kind: /** @type {const} */ ('none'), value: '' } } : {}) }, 'generated'));
    const stored = cellSelect([['', 'when read (virtual)'], ['stored', 'when written (stored)']], (value) => { if (this.#column.generated) this.#put({ generated: { ...this.#column.generated, stored: value === 'stored' } }); });
    const onUpdate = cellInput('mono', (value) => this.#put({ onUpdate: value.trim() }, 'onUpdate'));
    const check = cellInput('mono', (value) => this.#put({ check: value }, 'check'));
    const autoIncrement = cellCheck((checked) => this.#put({ autoIncrement: checked, ...(checked ? { nullable: false, default: { kind: /** @type {const} */ ('none'), value: '' } } : {}) }));
    const invisible = cellCheck((checked) => this.#put({ invisible: checked }));
    suggest.attach(charset, { list: async (text) => matching(await facts.charsets(), text), isOpen: true });
    suggest.attach(collation, { list: async (text) => matching(await facts.collationList(this.#column.charset), text, 200), isOpen: true });
    suggest.attach(onUpdate, { list: (text) => matching(NOW.map((value) => ({ value, hint: '' })), text), isOpen: true });
    const rest = h('p', { class: 'dim detail-rest' });
    const button = (name, label, run) => iconButton(name, label, run, { class: 'button square small' });
    const move = h('span', { class: 'row-buttons' }, button('chevron-up', 'Move up (Alt+↑)', () => this.#move(-1)), button('chevron-down', 'Move down (Alt+↓)', () => this.#move(1)),
      button('duplicate', 'Duplicate (Ctrl+D)', () => { this.#owner.active = this.#column.id; this.#owner.duplicate(); }));
    this.#fields = { charset, collation, generated: expression, stored, onUpdate, check, autoIncrement, invisible, rest };
    const hasInvisible = isSince(server, ...(server.mariadb ? [10, 3] : [8, 0, 23]));
    const content = h('div', { class: 'details-in', role: 'group', 'aria-label': `More about ${this.#column.name || 'the new column'}` },
      box('autoIncrement', 'AUTO_INCREMENT', autoIncrement), hasInvisible && box('invisible', 'Invisible (not in SELECT *)', invisible),
      line('charset', 'Character set', charset), line('collation', 'Collation', collation), line('onUpdate', 'On update', onUpdate),
      line('generated', 'Computed as', expression), line('stored', 'Computed', stored), server.mariadb && line('check', 'Check', check), rest, move);
    this.details = h('tr', { class: 'structure-details' }, h('td', { colspan: HEADS.length }, content));
    this.details.addEventListener('focusin', () => { this.#owner.active = this.#column.id; });
    this.details.addEventListener('keydown', (event) => {
      if (event.key !== 'Escape' || event.defaultPrevented) return;
      event.preventDefault();
      this.close();
      this.more.focus();
    });
  }

  #move(by) {
    this.#owner.selected.clear();
    this.#owner.active = this.#column.id;
    this.#owner.move(by);
  }

  /** A collation brings its character set along. */
  async #collate(value, left) {
    this.#put({ collation: value }, 'collation');
    if (!left || !value) return;
    const charset = await this.#form.facts.charsetOf(value);
    if (charset && this.#column.collation === value && this.#column.charset !== charset && this.#column.charset) this.#put({ charset }, 'collation');
  }

  #drawDetails(typing) {
    const fields = this.#fields;
    if (!fields || !this.details) return;
    const column = this.#column;
    const { server } = this.#form;
    const problem = (list, id, field) => this.#form.problem(list, id, field);
    show(fields.charset, column.charset, typing);
    show(fields.collation, column.collation, typing);
    show(fields.generated, column.generated?.expression ?? '', typing);
    show(fields.stored, column.generated?.stored ? 'stored' : '', typing);
    show(fields.onUpdate, column.onUpdate, typing);
    show(fields.check, column.check, typing);
    fields.autoIncrement.checked = column.autoIncrement;
    fields.invisible.checked = column.invisible;
    fields.stored.disabled = !column.generated;
    const isText = TEXT.test(column.type);
    const hide = (field, hidden) => { const line = query(/** @type {HTMLElement} */ (this.details), `[data-field="${field}"]`); if (line) line.hidden = hidden; };
    hide('charset', !isText && !column.charset);
    hide('collation', !isText && !column.collation);
    hide('onUpdate', !/^(?:datetime|timestamp)\b/i.test(column.type) && !column.onUpdate);
    hide('autoIncrement', !/int|float|double|decimal|serial/i.test(column.type) && !column.autoIncrement);
    if (server.mariadb) hide('check', false);
    for (const field of ['charset', 'collation', 'generated', 'onUpdate', 'check', 'autoIncrement', 'invisible']) setProblem(fields[field], problem('columns', column.id, field));
    fields.rest.textContent = column.rest ? `Kept as it is: ${column.rest}` : '';
  }
}

/** Attributes of a column beyond the fields of its line. @param {Column} column */
function moreText({ autoIncrement, generated, onUpdate, invisible, charset, collation, check, rest }) {
  return [autoIncrement && 'auto_increment', generated && `= ${generated.expression}${generated.stored ? ' (stored)' : ''}`, onUpdate && `on update ${onUpdate}`, invisible && 'invisible', collation || charset, check && `check (${check})`, rest]
    .filter(Boolean).join(', ');
}
