/**
 * The file of an import and how it is read: guessed, and changeable.
 * @module
 */

import { fill, h, icon } from '../../common/dom.js';
import { formatBytes } from '../../common/figures.js';
import { choice, field, tick } from './controls.js';
import { isBlank, recordsOf } from './csv.js';
import { sampleOf, textOf } from './filetext.js';
import { ENCODINGS, guessEncoding } from './encodings.js';
import { DELIMITERS, guessDialect, guessHeader, guessNull } from './guess.js';

/** Records that are looked at. */
const LOOKED_AT = 5000;

const QUOTES = { '"': 'Double "', "'": "Single '", '': 'None' };
const ESCAPES = { '': 'None', '\\': 'Backslash \\', other: 'Other …' };
const NULLS = { '': 'an empty field', '\\N': '\\N', NULL: 'NULL', null: 'null', word: 'a text …', never: 'nothing' };
const DATES = { iso: '2024-12-31', dmy: '31.12.2024', mdy: '12/31/2024' };

/** Choices about a file. */
export class FileChoice {
  #onChange;
  /** @type {import('./filetext.js').Sample|null} */ #sample = null;
  #text = '';
  /** @type {import('./csv.js').Record[]} */ #records = [];
  /** True if the person chose whether there are names. */
  #headerChosen = false;
  /** @type {File|null} */ file = null;

  /** @param {() => void} onChange */
  constructor(onChange) {
    this.#onChange = onChange;
    const changed = () => this.#changed();
    this.name = h('span', { class: 'import-file' });
    this.input = h('input', { type: 'file', class: 'visually-hidden', accept: '.csv,.tsv,.tab,.txt,text/csv,text/tab-separated-values,text/plain', tabindex: '-1', 'aria-hidden': 'true', on: { change: () => this.input.files?.[0] && this.open(this.input.files[0]) } });
    this.button = h('button', { type: 'button', class: 'button', data: { action: 'choose' }, on: { click: () => this.input.click() } }, icon('upload'), h('span', { text: 'Choose a file …' }));
    this.encoding = choice(ENCODINGS, () => this.#decode());
    this.delimiter = choice({ ...DELIMITERS, other: 'Other …' }, changed);
    this.other = h('input', { class: 'field short', maxlength: 1, 'aria-label': 'Other delimiter', on: { input: changed } });
    this.quote = choice(QUOTES, changed);
    this.escape = choice(ESCAPES, changed);
    this.otherEscape = h('input', { class: 'field short', maxlength: 1, 'aria-label': 'Other escape character', on: { input: changed } });
    this.header = tick('Column names in the first line', () => { this.#headerChosen = true; this.#changed(); });
    this.nulls = choice(NULLS, changed);
    this.nullWord = h('input', { class: 'field', size: 8, 'aria-label': 'Text for NULL', on: { input: changed } });
    this.comma = choice({ '.': 'Point 1.5', ',': 'Comma 1,5' }, changed);
    this.dates = choice(DATES, changed);
    this.options = h('fieldset', { class: 'import-part', hidden: true }, h('legend', { text: 'File format' }),
      h('div', { class: 'import-fields' }, field('Encoding', this.encoding), field('Delimiter', this.delimiter, this.other), field('Quote', this.quote), field('Escape', this.escape, this.otherEscape),
        field('NULL is', this.nulls, this.nullWord), field('Decimals', this.comma), field('Dates', this.dates)),
      this.header.element);
    this.hint = h('p', { class: 'import-hint dim', hidden: true });
    this.element = h('div', {}, h('div', { class: 'import-head' }, this.button, this.input, this.name), this.options, this.hint);
  }

  /** @param {File} file */
  async open(file) {
    this.file = file;
    this.#headerChosen = false;
    this.#sample = await sampleOf(file);
    if (this.file !== file) return;
    fill(this.name, h('b', { text: file.name }), ` ${formatBytes(file.size)}`);
    this.button.lastChild?.replaceWith(h('span', { text: 'Change file …' }));
    this.encoding.value = guessEncoding(this.#sample.bytes);
    this.hint.hidden = this.encoding.value.startsWith('utf');
    this.hint.textContent = `The file is not UTF-8. It is read as ${ENCODINGS[this.encoding.value]}: check the letters below, and choose another encoding if they are wrong.`;
    this.#text = textOf(this.#sample, this.encoding.value);
    const { delimiter, quote, escape = '' } = guessDialect(this.#text, file.name);
    const isListed = delimiter in DELIMITERS;
    this.delimiter.value = isListed ? delimiter : 'other';
    this.other.value = isListed ? '' : delimiter;
    this.escape.value = escape;
    this.quote.value = quote;
    this.#read();
    this.#guessValues();
    this.options.hidden = false;
    this.#changed();
  }

  #guessValues() {
    this.nulls.value = guessNull(this.#records);
    const values = this.#records.flatMap(({ fields }) => fields);
    const some = (pattern) => values.some((value) => pattern.test(value));
    this.comma.value = this.dialect.delimiter !== ',' && some(/^-?\d+(?:\.\d{3})*,\d+(?:e[+-]?\d+)?$/i) && !some(/^-?\d+\.\d{1,2}$/) ? ',' : '.';
    const slashed = some(/^\d{1,2}\/\d{1,2}\/\d{4}\b/) && !some(/^(?:1[3-9]|[23]\d)\/\d{1,2}\/\d{4}\b/);
    this.dates.value = slashed ? 'mdy' : some(/^\d{1,2}[./-]\d{1,2}[./-]\d{4}\b/) ? 'dmy' : 'iso';
  }

  #decode() {
    if (this.#sample) this.#text = textOf(this.#sample, this.encoding.value);
    this.#changed();
  }

  #changed() {
    this.other.hidden = this.delimiter.value !== 'other';
    this.otherEscape.hidden = this.escape.value !== 'other';
    this.nullWord.hidden = this.nulls.value !== 'word';
    this.#read();
    this.#onChange();
  }

  #read() {
    const records = recordsOf(this.#text, this.dialect, LOOKED_AT);
    const width = records[0]?.fields.length ?? 0;
    this.#records = records.filter((record) => width === 1 || !isBlank(record));
  }

  /** @returns {import('./csv.js').Dialect} */
  get dialect() {
    const chosen = this.delimiter.value === 'other' ? this.other.value : this.delimiter.value;
    const escape = this.escape.value === 'other' ? this.otherEscape.value : this.escape.value;
    return { delimiter: chosen || ',', quote: this.quote.value, escape };
  }

  /** Guesses whether there are names, by those of the table, unless the person said. @param {string[]} known */
  meet(known) {
    if (!this.#headerChosen) this.header.box.checked = guessHeader(this.#records.slice(0, 50), known);
  }

  get hasHeader() {
    return this.header.box.checked;
  }

  /** Fields of a record. */
  get width() {
    return this.#records[0]?.fields.length ?? 0;
  }

  /** Names in the first line, or numbers. @returns {string[]} */
  get names() {
    const first = this.#records[0]?.fields ?? [];
    return first.map((name, i) => (this.hasHeader ? name.trim() : `column ${i + 1}`));
  }

  /** The first records behind the names. */
  get records() {
    return this.hasHeader ? this.#records.slice(1) : this.#records;
  }

  /** @returns {import('./tuples.js').Reading} */
  get reading() {
    const { value } = this.nulls;
    const nullText = value === 'never' ? null : value === 'word' ? this.nullWord.value : value;
    return { nullText, comma: this.comma.value === ',', dates: /** @type {import('./tuples.js').DateForm} */ (this.dates.value) };
  }
}
