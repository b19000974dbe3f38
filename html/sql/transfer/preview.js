/**
 * The first records of a file, and the column that each field goes to.
 * @module
 */

import { fill, h } from '../../common/dom.js';
import { choice, counted } from './controls.js';
import { plain } from './guess.js';
import { fieldWriter, Misfit, STRAY } from './tuples.js';

/** Records shown, those looked at, and characters of a value. */
const SHOWN = { records: 6, looked: 500, text: 60 };

/** The table of fields. */
export class Preview {
  #onChange;
  /** @type {HTMLSelectElement[]} */ #selects = [];
  /** Key of the data that the choices were made for. */
  #made = '';
  #body = h('tbody');
  /** Shows the records again. */ #draw = () => {};

  /** @param {() => void} onChange */
  constructor(onChange) {
    this.#onChange = () => { this.#draw(); onChange(); };
    /** Note about fields that are NULL, empty or do not fit. */
    this.told = h('p', { class: 'import-hint dim' });
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
    fill(this.element, h('table', {}, h('thead', {}, head, to), this.#body));
    this.#draw = () => this.#records(file, into);
    this.#draw();
  }

  #records({ reading, records, names }, into) {
    const { chosen } = this;
    const targets = names.map((_, at) => into.columns.find(({ name }) => name === chosen[at]));
    const writers = targets.map((target) => target && fieldWriter(target, reading));
    const become = (record) => names.map((_, i) => outcomeOf(record, i, reading.nullText, writers[i]));
    const looked = records.slice(0, SHOWN.looked);
    const all = looked.map(become);
    fill(this.#body, looked.slice(0, SHOWN.records).map((record, at) => h('tr', {}, h('td', { class: 'import-line dim', text: String(record.line) }), names.map((_, i) => cell(record.fields[i], all[at][i])))));
    const count = (wanted) => all.reduce((sum, row) => sum + row.filter(({ as, bare }, i) => (into.isNew || targets[i]) && wanted(as, bare)).length, 0);
    const [nulls, instead, bad] = [count((as) => as === 'null'), count((as, bare) => as === 'empty' && bare && reading.nullText === ''), count((as) => as === 'bad')];
    const rule = reading.nullText === null ? 'Nothing is NULL' : reading.nullText === '' ? 'Empty fields are NULL' : `Unquoted ${reading.nullText} is NULL; an empty field is empty text, or NULL in a column of numbers or dates`;
    const more = [instead && `${counted(instead, 'field')} empty text, because the column is NOT NULL`, bad && `${counted(bad, 'field')} that do${bad === 1 ? 'es' : ''} not fit`].filter(Boolean);
    this.told.textContent = `${rule}. In the first ${counted(looked.length, 'line')}: ${[`${counted(nulls, 'field')} NULL`, ...more].join(', ')}.`;
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

/**
 * Outcome of a field.
 * @returns {{as: 'value'|'null'|'empty'|'bad', bare: boolean, reason: string}}
 */
function outcomeOf({ fields, quoted, stray }, i, nullText, write) {
  const text = fields[i];
  const bare = !quoted?.[i];
  const out = (as, reason = '') => ({ as, bare, reason });
  if (text === undefined) return out('bad', 'missing');
  if (stray?.[i]) return out('bad', STRAY);
  try {
    const sql = write?.(text, !bare);
    if (sql === 'NULL' || (!write && text === nullText && bare)) return out('null');
  } catch (cause) {
    if (!(cause instanceof Misfit)) throw cause;
    return out('bad', cause.message);
  }
  return out(text === '' ? 'empty' : 'value');
}

function cell(text, { as, reason }) {
  if (text === undefined) return h('td', { class: 'bad', text: 'missing' });
  if (as === 'bad') return h('td', { class: 'bad', text: shortened(text) || 'empty', title: reason });
  if (as === 'null') return h('td', { class: 'null', text: 'NULL' });
  if (as === 'empty') return h('td', { class: 'null', text: 'empty' });
  return h('td', { text: shortened(text), title: text.length > SHOWN.text ? text.slice(0, 1000) : null });
}

const shortened = (text) => (text.length > SHOWN.text ? `${text.slice(0, SHOWN.text)}…` : text);
