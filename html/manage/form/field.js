// One field of the form: label, control, and a line for its help or its error.
import { h } from '../../common/dom.js';
import { networksOf } from '../core/fields.js';

/** Context of a form. @typedef {{api: import('../api.js').Api, apps: App[], version: Partial<Version>}} Context */
/** @typedef {{name: string, label: string, help?: string, type?: string, placeholder?: string, narrow?: boolean, value?: any, list?: string}} FieldOptions */

/** Base of all fields. `text` is checked, `value` is sent. */
class Base {
  /** @param {{name: string, label: string, help?: string, kind?: string}} options @param {HTMLInputElement|HTMLSelectElement|HTMLTextAreaElement} input */
  constructor({ name, label, help = '', kind = 'form-field' }, input) {
    this.name = name;
    this.label = label;
    this.help = help;
    this.input = input;
    this.line = h('p', { class: 'field-line dim', id: `field-${name}-line`, text: help });
    this.root = h('div', { class: kind, data: { field: name } });
  }

  get text() {
    return this.input.value;
  }

  /** @returns {any} */
  get value() {
    return this.text;
  }

  /** True if the saved value is to be removed. */
  get isCleared() {
    return false;
  }

  get isWrong() {
    return this.input.getAttribute('aria-invalid') === 'true';
  }

  /** Error that only the field itself can detect. */
  get ownProblem() {
    return '';
  }

  /** Sets what stands below the field while nothing is wrong. @param {string} text */
  setHelp(text) {
    this.help = text;
    if (!this.isWrong) this.setProblem('');
  }

  /** Shows an error in place of the help; an empty text removes it. @param {string} text */
  setProblem(text) {
    const line = text || this.help;
    if (this.line.textContent !== line) this.line.textContent = line;
    this.line.className = text ? 'field-line bad' : 'field-line dim';
    if (text) this.input.setAttribute('aria-invalid', 'true');
    else this.input.removeAttribute('aria-invalid');
  }
}

/** @typedef {Base} AnyField */

const common = (name) => ({ class: 'field', id: `field-${name}`, name, 'aria-describedby': `field-${name}-line` });
const labelOf = (name, label) => h('label', { for: `field-${name}`, text: label });

/** A text field. */
export class Field extends Base {
  /** @param {FieldOptions} options */
  constructor({ name, label, help = '', type = 'text', placeholder = '', narrow = false, value, list }) {
    const input = h('input', { ...common(name), type, placeholder, autocomplete: type === 'password' ? 'new-password' : 'off', spellcheck: 'false', autocapitalize: 'off', inputmode: narrow ? 'numeric' : undefined, list });
    super({ name, label, help, kind: `form-field${narrow ? ' narrow' : ''}` }, input);
    input.value = value ?? '';
    this.root.append(labelOf(name, label), input, this.line);
  }
}

/** A text of several lines. */
export class Paragraph extends Base {
  /** @param {FieldOptions} options @param {object} [more] attributes of the control */
  constructor({ name, label, help, placeholder, value }, more = {}) {
    const input = h('textarea', { ...common(name), rows: 2, placeholder, autocomplete: 'off', ...more });
    super({ name, label, help }, input);
    input.value = value ?? '';
    this.root.append(labelOf(name, label), input, this.line);
  }
}

/** A list of networks, one a line. */
export class NetworksField extends Paragraph {
  /** @param {{name: string, label: string, help: string, placeholder: string, value?: string[]}} options */
  constructor({ value, ...options }) {
    super({ ...options, value: (value ?? []).join('\n') }, { class: 'field code', spellcheck: 'false', autocapitalize: 'off' });
  }

  /** @override */
  get value() {
    return networksOf(this.text);
  }
}

/** A password that may already be saved: left blank it is kept; Clear deletes it. */
export class SecretField extends Field {
  #isCleared = false;

  /** @param {{name: string, label: string, isSaved: boolean, help?: string, saved?: string}} options `saved` is the help where one is saved */
  constructor({ name, label, isSaved, help = '', saved = 'A password is saved. Empty: keep it.' }) {
    super({ name, label, type: 'password', help: isSaved ? saved : help, placeholder: isSaved ? '••••••••' : '' });
    this.saved = saved;
    this.toggle = h('button', { type: 'button', class: 'button', text: 'Clear', 'aria-label': `Clear the saved ${label.toLowerCase()}`, 'aria-pressed': 'false', on: { click: () => this.#clear(!this.#isCleared) } });
    if (!isSaved) return;
    const row = h('div', { class: 'secret-row' });
    this.input.replaceWith(row);
    row.append(this.input, this.toggle);
  }

  /** @override */
  get isCleared() {
    return this.#isCleared;
  }

  #clear(cleared) {
    this.#isCleared = cleared;
    this.input.value = '';
    this.input.disabled = cleared;
    this.toggle.textContent = cleared ? 'Keep' : 'Clear';
    this.toggle.setAttribute('aria-pressed', String(cleared));
    this.toggle.setAttribute('aria-label', cleared ? `Keep the saved ${this.label.toLowerCase()}` : `Clear the saved ${this.label.toLowerCase()}`);
    this.help = cleared ? 'It is deleted when you save.' : this.saved;
    this.setProblem('');
  }
}

/** A switch with a line of explanation. */
export class Switch extends Base {
  /** @param {{name: string, label: string, help: string, checked: boolean}} options */
  constructor({ name, label, help, checked }) {
    const input = h('input', { type: 'checkbox', id: `field-${name}`, name, class: 'switch', role: 'switch', 'aria-describedby': `field-${name}-line` });
    super({ name, label, help, kind: 'form-choice' }, input);
    this.box = input;
    input.checked = checked;
    this.root.append(h('label', { class: 'check', for: input.id }, input, h('span', { text: label })), this.line);
  }

  /** @override */
  get value() {
    return this.box.checked;
  }
}

/** A choice of several. */
export class SelectField extends Base {
  /** @param {{name: string, label: string, help?: string, value: string, options: {value: string, label: string}[]}} options */
  constructor({ name, label, help = '', value, options }) {
    const input = h('select', common(name));
    super({ name, label, help }, input);
    this.setOptions(options, value);
    this.root.append(labelOf(name, label), input, this.line);
  }

  /** @param {{value: string, label: string}[]} options @param {string} chosen */
  setOptions(options, chosen) {
    this.input.replaceChildren(...options.map(({ value, label }) => h('option', { value, text: label })));
    this.input.value = chosen;
  }
}

/** A choice whose last one opens a text field beside it. */
export class OpenSelect extends SelectField {
  /**
   * @param {{name: string, label: string, help?: string, value: string, options: {value: string, label: string}[], other: string, otherLabel: string, otherValue: string, type?: string, placeholder?: string}} options
   *   `other` is the value of the choice that opens the text field
   */
  constructor({ other, otherLabel, otherValue, type = 'text', placeholder = '', ...rest }) {
    super(rest);
    this.other = other;
    this.detail = h('input', { ...common(rest.name), id: `field-${rest.name}-other`, name: `${rest.name}-other`, type, placeholder, 'aria-label': otherLabel, autocomplete: 'off', spellcheck: 'false', autocapitalize: 'off' });
    this.detail.value = otherValue;
    const row = h('div', { class: 'open-select' });
    this.input.replaceWith(row);
    row.append(this.input, this.detail);
    this.input.addEventListener('change', () => { this.show(); if (this.isOther) this.detail.focus(); });
    this.show();
  }

  get isOther() {
    return this.input.value === this.other;
  }

  show() {
    this.detail.hidden = !this.isOther;
  }

  /** @override */
  get text() {
    return this.isOther ? this.detail.value : this.input.value;
  }

  /** @override @param {string} text */
  setProblem(text) {
    super.setProblem(text);
    // Called once before there is one.
    if (text) this.detail?.setAttribute('aria-invalid', 'true');
    else this.detail?.removeAttribute('aria-invalid');
  }
}
