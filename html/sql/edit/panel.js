/**
 * A long value edited in a panel: texts of many lines, JSON, bytes.
 * @module
 */

import { fill, h } from '../../common/dom.js';
import { confirmDialog, openDialog } from '../../common/dialog.js';
import { formatBytes } from '../../common/figures.js';
import { extensionOf, hexBytes, imageType, toHex } from '../core/binary.js';
import { layOutJson } from '../core/json.js';
import { hexSize, isHex } from '../core/types.js';
import { fileName, saveBlob } from '../results/download.js';
import { hexBlob } from '../results/hexblob.js';
import { chooseValue } from './bytes.js';
import { Default, FileValue } from './changes.js';
import { read } from './fields.js';

/** Bytes up to which they are shown as hex digits to be edited. */
const MOST_HEX = 1 << 18;

/** @typedef {import('./changes.js').Value} Value */

/**
 * Asks for a value; undefined where it is left as it is.
 * @param {{field: import('./fields.js').Field, value: Value, text?: string}} options `text`: what was typed already
 * @returns {Promise<{value: Value}|undefined>}
 */
export function openValue(options) {
  const panel = new ValuePanel(options);
  return openDialog({
    title: `${options.field.name}`, wide: true, body: panel.element, mayDismiss: () => panel.mayLeave(),
    onOpen: (dialog, close) => {
      panel.opened(close);
      dialog.append(panel.foot);
    },
  });
}

class ValuePanel {
  #field;
  #before;
  /** @type {'text'|'hex'|'bytes'} how the bytes of a value are shown */ #as = 'text';
  #first = '';
  /** @type {(value?: {value: Value}) => void} */ #close = () => {};

  /** @param {Parameters<typeof openValue>[0]} options */
  constructor({ field, value, text }) {
    this.#field = field;
    this.#before = value;
    this.area = h('textarea', { class: 'field value-area', 'aria-label': `Value of ${field.name}`, spellcheck: 'false', rows: 14, autofocus: true, on: {
      input: () => this.#check(false),
      keydown: (event) => { if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) { event.preventDefault(); this.#set(); } },
    } });
    this.facts = h('p', { class: 'dim value-facts' });
    this.problem = h('p', { class: 'bad value-problem', role: 'alert', hidden: true });
    this.tools = h('div', { class: 'value-tools' });
    this.element = h('div', { class: 'value-panel' }, this.tools, this.area, this.facts, this.problem);
    this.foot = this.#foot();
    this.#show(field.kind === 'binary' ? this.#likely() : 'text');
    if (text !== undefined) this.area.value = text;
    this.#check(false);
  }

  /** @param {(value?: any) => void} close */
  opened(close) {
    this.#close = close;
    this.area.focus();
  }

  #foot() {
    const { nullable, required } = this.#field;
    const other = (text, value) => h('button', { type: 'button', class: 'button', text, on: { click: () => this.#close({ value }) } });
    return h('div', { class: 'dialog-foot' }, nullable && other('NULL', null), !required && other('DEFAULT', new Default()), h('span', { class: 'value-gap' }),
      h('button', { type: 'button', class: 'button', text: 'Cancel', on: { click: async () => { if (await this.mayLeave()) this.#close(); } } }),
      h('button', { type: 'button', class: 'button primary', text: 'Set the value', title: 'Ctrl+Enter', on: { click: () => this.#set() } }));
  }

  // Bytes as hex digits or as text.

  get #hex() {
    if (this.#before instanceof FileValue) return this.#before.content(true) ?? '0x';
    return isHex(this.#before) ? String(this.#before) : this.#before === null || typeof this.#before === 'object' ? '0x' : toHex(new TextEncoder().encode(String(this.#before)));
  }

  #likely() {
    if (hexSize(this.#hex) > MOST_HEX) return 'bytes';
    return this.#field.base.endsWith('blob') && decoded(this.#hex) !== null ? 'text' : 'hex';
  }

  #show(as) {
    const { kind } = this.#field;
    this.#as = as;
    const text = kind !== 'binary' ? this.#text() : as === 'hex' ? this.#hex : as === 'text' ? decoded(this.#hex) ?? '' : '';
    this.area.value = text;
    this.#first = this.area.value; // line ends are only \n in it
    this.area.hidden = as === 'bytes';
    const tool = (label, run, props = {}) => h('button', { type: 'button', class: 'button small', text: label, on: { click: run }, ...props });
    const way = (name, label) => tool(label, () => this.#switch(name), { 'aria-pressed': String(as === name) });
    const binary = kind === 'binary';
    const canBeText = binary && as !== 'bytes' && /blob|binary/.test(this.#field.base) && decoded(this.#hex) !== null;
    fill(this.tools, canBeText && [way('text', 'Text'), way('hex', 'Hex')], kind === 'json' && tool('Format', () => this.#format()),
      (binary || kind === 'text' || kind === 'json') && tool('From a file …', () => this.#fromFile()),
      this.#before !== null && typeof this.#before !== 'object' && tool('Save to a file', () => this.#save()));
  }

  #text() {
    if (this.#before instanceof FileValue) return this.#before.content(false) ?? '';
    return this.#before === null || typeof this.#before === 'object' ? '' : String(this.#before);
  }

  /** Keeps the typed text. */
  #switch(as) {
    const { problem, value } = this.#read();
    if (problem || typeof value !== 'string') return this.#check(true);
    const changed = this.#changed;
    this.#show(as);
    if (changed) this.area.value = as === 'hex' ? value : decoded(value) ?? '';
    return this.#check(false);
  }

  get #changed() {
    return this.area.value !== this.#first;
  }

  #read() {
    const { kind } = this.#field;
    if (kind === 'binary' && this.#as === 'text') return { value: toHex(new TextEncoder().encode(this.area.value)), problem: '' };
    return read(this.#field, kind === 'binary' ? this.area.value.replace(/\s+/g, '') : this.#ended());
  }

  /** A text whose lines ended with \r\n keeps doing so. */
  #ended() {
    const before = this.#text();
    const crlf = /\r\n/.test(before) && !/(^|[^\r])\n/.test(before);
    return crlf ? this.area.value.replaceAll('\n', '\r\n') : this.area.value;
  }

  #check(strict) {
    const { value, problem } = this.#as === 'bytes' ? { value: '', problem: '' } : this.#read();
    const shown = problem !== '' && (strict || (this.#changed && this.#field.kind === 'json'));
    this.problem.textContent = shown ? problem : '';
    this.problem.hidden = !shown;
    this.area.setAttribute('aria-invalid', String(shown));
    this.facts.textContent = this.#facts(value);
    return problem === '';
  }

  #facts(value) {
    const { type, kind } = this.#field;
    const now = this.#before === null ? 'NULL now' : typeof this.#before === 'object' ? `${this.#before} now` : '';
    const size = kind === 'binary' ? formatBytes(this.#as === 'bytes' ? hexSize(this.#hex) : hexSize(String(value)))
      : `${this.area.value.length.toLocaleString('en')} ${this.area.value.length === 1 ? 'character' : 'characters'}`;
    const mixed = kind !== 'binary' && /\r(?!\n)/.test(this.#text()) ? 'an edited text gets \\n line endings' : '';
    return [type.length > 60 ? `${type.slice(0, 60)} …` : type, now, size, mixed].filter(Boolean).join(' · ');
  }

  #format() {
    const laidOut = layOutJson(this.area.value);
    if (laidOut) this.area.value = laidOut.map(({ text }) => text).join('');
    this.#check(true);
  }

  async #fromFile() {
    try {
      const file = await chooseValue();
      if (file) this.#close({ value: this.#field.kind === 'json' ? this.#jsonOf(file) : file });
    } catch (cause) {
      this.problem.textContent = cause.message;
      this.problem.hidden = false;
    }
  }

  /** JSON is checked as if it were typed. */
  #jsonOf(file) {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(file.bytes);
    const { problem } = read(this.#field, text);
    if (problem) throw new Error(problem);
    return text;
  }

  async #save() {
    const { name, kind } = this.#field;
    if (kind === 'binary') {
      const type = imageType(hexBytes(this.#hex, 16));
      saveBlob(await hexBlob(this.#hex, type ?? undefined), fileName(name, extensionOf(type)));
    } else saveBlob(new Blob([this.#text()]), fileName(name, kind === 'json' ? 'json' : 'txt'));
  }

  #set() {
    if (this.#as === 'bytes' || (!this.#changed && !(this.#before === null || this.#before instanceof Default))) return this.#close();
    if (!this.#check(true)) return this.area.focus();
    return this.#close({ value: this.#read().value });
  }

  /** True if what was typed may go. */
  mayLeave() {
    if (!this.#changed || this.area.hidden) return true;
    return confirmDialog({ title: 'Discard the new value', text: 'The text you typed here is lost.', action: 'Discard' });
  }
}

/** The text that bytes are; null where they are none that can be edited as such. @param {string} hex */
function decoded(hex) {
  try {
    const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(hexBytes(hex));
    return /[\u0000-\u0008\u000b-\u001f]/.test(text) ? null : text;
  } catch {
    return null;
  }
}
