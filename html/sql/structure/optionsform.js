/**
 * Options of a table in its form.
 * @module
 */

import { h } from '../../common/dom.js';
import { optionOf, withOption } from './definition.js';
import { matching } from './fieldtext.js';
import { cellCheck, cellInput, cellSelect, setProblem, show } from './formparts.js';

const FORMATS = /** @type {[string, string][]} */ ([['', 'default'], ['DYNAMIC', 'dynamic'], ['COMPACT', 'compact'], ['REDUNDANT', 'redundant'], ['COMPRESSED', 'compressed'], ['FIXED', 'fixed'], ['PAGE', 'page']]);
/** Options that have a field; the charset follows the collation. */
const FIELDS = ['ENGINE', 'COLLATE', 'DEFAULT CHARSET', 'COMMENT', 'AUTO_INCREMENT', 'ROW_FORMAT'];

let serial = 0;

/** The options. */
export class OptionsForm {
  #form;

  /** @param {import('./formparts.js').Form} form */
  constructor(form) {
    this.#form = form;
    const prefix = `table-option-${(serial += 1)}`;
    const { suggest, facts } = form;
    const set = (name, key = '') => (value) => form.set(withOption(form.draft.table, name, value), key && `option ${name}`);
    this.engine = cellInput('field', set('ENGINE', 'typed'));
    this.collation = cellInput('field', (value, left) => this.#collate(value, left));
    this.comment = cellInput('field', set('COMMENT', 'typed'));
    this.next = cellInput('field', (value) => form.set(withOption(form.draft.table, 'AUTO_INCREMENT', value.trim()), 'option AUTO_INCREMENT'));
    this.next.inputMode = 'numeric';
    this.format = cellSelect(FORMATS, set('ROW_FORMAT'));
    this.format.classList.add('field');
    suggest.attach(this.engine, { list: async (text) => matching(await facts.engines(), text), isOpen: true });
    suggest.attach(this.collation, { list: async (text) => matching(await facts.collationList(optionOf(form.draft.table, 'DEFAULT CHARSET')), text, 200), isOpen: true });
    /** @type {Record<string, import('./formparts.js').Control>} */
    this.controls = { ENGINE: this.engine, COLLATE: this.collation, COMMENT: this.comment, AUTO_INCREMENT: this.next, ROW_FORMAT: this.format };
    const labels = { ENGINE: 'Engine', COLLATE: 'Collation of new columns', COMMENT: 'Comment', AUTO_INCREMENT: 'Next AUTO_INCREMENT', ROW_FORMAT: 'Row format' };
    /** @type {HTMLElement[]} */
    const lines = Object.entries(this.controls).map(([name, control]) => {
      control.id = `${prefix}-${name.toLowerCase()}`;
      return h('div', { class: `detail${name === 'COMMENT' ? ' long' : ''}`, data: { option: name } }, h('label', { for: control.id, text: labels[name] }), control);
    });
    this.convert = cellCheck((checked) => form.set({ ...form.draft.table, convert: checked }));
    this.convert.id = `${prefix}-convert`;
    this.converting = h('label', { class: 'check detail' }, this.convert, h('span', { text: 'Convert the existing columns too' }));
    lines.splice(2, 0, this.converting);
    this.lines = new Map(lines.map((line) => [line.dataset.option, line]));
    this.kept = h('p', { class: 'dim detail-rest' });
    this.partition = h('pre', { class: 'structure-partition', tabindex: '0', role: 'group', 'aria-label': 'Partitions' });
    this.partitioned = h('p', { class: 'dim detail-rest', text: 'Partitions are changed by ALTER TABLE … as text in a tab:' });
    this.element = h('section', { class: 'structure-section', 'aria-label': 'Options' }, h('div', { class: 'structure-title' }, h('h3', { text: 'Options' })), h('div', { class: 'details-in' }, lines), this.kept, this.partitioned, this.partition);
  }

  /** A collation brings its character set along. */
  async #collate(value, left) {
    const { draft } = this.#form;
    this.#form.set(withOption(draft.table, 'COLLATE', value), 'option COLLATE');
    if (!left || !value) return;
    const charset = await this.#form.facts.charsetOf(value);
    if (!charset || optionOf(draft.table, 'COLLATE') !== value || optionOf(draft.table, 'DEFAULT CHARSET') === charset) return;
    this.#form.set(withOption(draft.table, 'DEFAULT CHARSET', charset), 'option COLLATE');
  }

  /** @param {any} typing */
  draw(typing) {
    const { table, changes } = this.#form.draft;
    const changed = new Set(changes.filter(({ list }) => list === 'options').map(({ id }) => id));
    for (const [name, control] of Object.entries(this.controls)) {
      const value = optionOf(table, name);
      show(control, control === this.format ? value.toUpperCase() : value, typing);
      setProblem(control, this.#form.problem('options', name, 'value'));
      const line = this.lines.get(name);
      if (line) line.classList.toggle('changed', changed.has(name) || (name === 'COLLATE' && changed.has('DEFAULT CHARSET')));
    }
    this.converting.hidden = !changed.has('COLLATE') && !changed.has('DEFAULT CHARSET');
    this.convert.checked = table.convert === true;
    const kept = [...table.others, ...table.options.filter(({ name }) => name && !FIELDS.includes(name)).map(({ text }) => text)];
    this.kept.textContent = kept.length ? `Kept as they are: ${kept.join(' ')}` : '';
    this.partition.hidden = this.partitioned.hidden = !table.partition;
    if (this.partition.textContent !== table.partition) this.partition.textContent = table.partition;
  }

  /** @param {string} name */
  focus(name) {
    const control = this.controls[name] ?? this.engine;
    control.focus();
    control.scrollIntoView({ block: 'nearest' });
  }
}
