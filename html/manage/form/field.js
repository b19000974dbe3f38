// One field of the form: label, control, and a line for its help or its error.
import { h } from '../../common/dom.js';

/** @typedef {{name: string, label: string, help?: string, type?: string, placeholder?: string, narrow?: boolean, value?: any}} FieldOptions */

/** A text field. */
export class Field {
  /** @param {FieldOptions} options */
  constructor({ name, label, help = '', type = 'text', placeholder = '', narrow = false, value }) {
    this.name = name;
    this.label = label;
    this.help = help;
    const id = `field-${name}`;
    this.input = h('input', { class: 'field', id, name, type, placeholder, autocomplete: type === 'password' ? 'new-password' : 'off', spellcheck: 'false', autocapitalize: 'off', 'aria-describedby': `${id}-line`, inputmode: narrow ? 'numeric' : undefined });
    this.input.value = value ?? '';
    this.line = h('p', { class: 'field-line dim', id: `${id}-line`, text: help });
    this.root = h('div', { class: `form-field${narrow ? ' narrow' : ''}`, data: { field: name } }, h('label', { for: id, text: label }), this.input, this.line);
  }

  get value() {
    return this.input.value;
  }

  /** Whether what is saved is to be forgotten. */
  get isCleared() {
    return false;
  }

  get isWrong() {
    return this.input.getAttribute('aria-invalid') === 'true';
  }

  /** Shows an error in place of the help; an empty text removes it. @param {string} text */
  setProblem(text) {
    this.line.textContent = text || this.help;
    this.line.className = text ? 'field-line bad' : 'field-line dim';
    if (text) this.input.setAttribute('aria-invalid', 'true');
    else this.input.removeAttribute('aria-invalid');
  }
}

/** A password that may already be saved: left blank it is kept; Clear deletes it. */
export class SecretField extends Field {
  #isCleared = false;

  /** @param {{name: string, label: string, isSaved: boolean, help?: string}} options */
  constructor({ name, label, isSaved, help = '' }) {
    super({ name, label, type: 'password', help: isSaved ? 'A password is saved. Left blank, it stays.' : help, placeholder: isSaved ? '••••••••' : '' });
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
    this.help = cleared ? 'It is forgotten when you save.' : 'A password is saved. Left blank, it stays.';
    this.setProblem('');
  }
}

/** A checkbox or switch with a line of explanation. */
export class Choice {
  /** @param {{name: string, label: string, help: string, checked: boolean, isSwitch?: boolean}} options */
  constructor({ name, label, help, checked, isSwitch = false }) {
    this.name = name;
    const id = `field-${name}`;
    this.input = h('input', { type: 'checkbox', id, name, class: isSwitch ? 'switch' : undefined, role: isSwitch ? 'switch' : undefined, 'aria-describedby': `${id}-line` });
    this.input.checked = checked;
    this.line = h('p', { class: 'field-line dim', id: `${id}-line`, text: help });
    this.root = h('div', { class: 'form-choice', data: { field: name } }, h('label', { class: 'check', for: id }, this.input, h('span', { text: label })), this.line);
    this.help = help;
  }

  get value() {
    return this.input.checked;
  }

  /** @param {string} text */
  setProblem(text) {
    this.line.textContent = text || this.help;
    this.line.className = text ? 'field-line bad' : 'field-line dim';
  }
}
