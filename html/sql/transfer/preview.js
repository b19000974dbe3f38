/**
 * The first records of a file, and the column that each field goes to.
 * @module
 */

import { fill, h } from '../../common/dom.js';
import { choice } from './controls.js';
import { plain } from './guess.js';

/** Records shown, and characters of a value. */
const SHOWN = { records: 6, text: 60 };

/** The table of fields. */
export class Preview {
  #onChange;
  /** @type {HTMLSelectElement[]} */ #selects = [];
  /** What the choices were made for. */
  #made = '';

  /** @param {() => void} onChange */
  constructor(onChange) {
    this.#onChange = onChange;
    this.element = h('div', { class: 'import-preview', role: 'region', tabindex: 0, 'aria-label': 'First lines of the file', hidden: true });
  }

  /** @param {import('./filechoice.js').FileChoice} file @param {import('./into.js').Into} into */
  show(file, into) {
    this.element.hidden = !file.width;
    const { names } = file;
    const made = JSON.stringify([names, into.isNew, into.columns]);
    if (made !== this.#made) this.#choose(names, into);
    this.#made = made;
    const head = h('tr', {}, h('td', { class: 'import-line' }), names.map((name) => h('th', { scope: 'col', text: name || '(no name)' })));
    const to = this.#selects.length > 0 && h('tr', { class: 'import-map' }, h('td', { class: 'import-line', text: '→' }), this.#selects.map((select) => h('td', {}, select)));
    const { nullText } = file.reading;
    const rows = file.records.slice(0, SHOWN.records).map((record) => h('tr', {}, h('td', { class: 'import-line dim', text: String(record.line) }), names.map((_, i) => cell(record, i, nullText))));
    fill(this.element, h('table', {}, h('thead', {}, head, to), h('tbody', {}, rows)));
  }

  /** Fields go to the columns of their names; where none is called so, in their order. */
  #choose(names, { isNew, columns }) {
    if (isNew) {
      this.#selects = [];
      return;
    }
    const taken = new Set();
    const named = names.map((name) => {
      const column = columns.find((one) => plain(one.name) === plain(name) && !taken.has(one.name))?.name ?? '';
      taken.add(column);
      return column;
    });
    const chosen = named.some(Boolean) ? named : names.map((_, i) => columns[i]?.name ?? '');
    /** @type {[string, string][]} */
    const options = [['', '– skip –'], ...columns.map(({ name, type }) => /** @type {[string, string]} */ ([`=${name}`, `${name}  ${type}`]))];
    this.#selects = names.map((name, i) => {
      const select = choice(options, this.#onChange, `Column for ${name || `field ${i + 1}`}`);
      select.value = chosen[i] ? `=${chosen[i]}` : '';
      return select;
    });
  }

  /** The column of each field; '' where it is skipped. @returns {string[]} */
  get chosen() {
    return this.#selects.map(({ value }) => value.slice(1));
  }

  /** A column that two fields go to. */
  get twice() {
    const { chosen } = this;
    return chosen.find((name, i) => name && chosen.indexOf(name) !== i) ?? '';
  }
}

function cell({ fields, quoted }, i, nullText) {
  const text = fields[i];
  if (text === undefined) return h('td', { class: 'bad', text: 'missing' });
  if (text === nullText && !quoted?.[i]) return h('td', { class: 'null', text: 'NULL' });
  if (text === '') return h('td', { class: 'null', text: 'empty' });
  return h('td', { text: text.length > SHOWN.text ? `${text.slice(0, SHOWN.text)}…` : text, title: text.length > SHOWN.text ? text.slice(0, 1000) : null });
}
