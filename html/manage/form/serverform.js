// The dialog that adds a server, or changes what is known of one.
import { h } from '../../common/dom.js';
import { announce } from '../../common/announce.js';
import { openDialog } from '../../common/dialog.js';
import { problem } from '../core/fields.js';
import { Field, SecretField, Switch } from './field.js';

/**
 * Opens it; resolves with the server's URL once it is saved, undefined when dismissed.
 * @param {{api: Pick<import('../api.js').Api, 'putServer'>, server?: Server|null, insecure?: boolean, isFirst?: boolean}} options `server` is what is known of one that is changed
 * @returns {Promise<string|undefined>}
 */
export function openServerForm({ api, server = null, insecure = false, isFirst = false }) {
  const form = new ServerForm({ api, server, insecure, isFirst });
  return openDialog({
    title: server ? 'Server' : 'Add server',
    body: form.element,
    onOpen: (dialog, close) => form.open(dialog, close),
  });
}

class ServerForm {
  #api;
  #server;
  #insecure;
  #isSaving = false;
  /** @type {(url?: string) => void} */
  #close = () => {};

  constructor({ api, server, insecure, isFirst }) {
    this.#api = api;
    this.#server = server;
    this.#insecure = insecure;
    this.url = new Field({ name: 'server-url', label: 'URL', type: 'url', placeholder: 'https://relay.example', help: 'URL from the operator.', value: server?.url });
    this.label = new Field({ name: 'server-label', label: 'Label', placeholder: 'work', help: 'Label in lists (optional).', value: server?.label });
    this.token = new SecretField({ name: 'server-token', label: 'Enrolment token', isSaved: server?.has_enroll_token === true, help: 'Token from the operator, if any; saved encrypted, never shown again.', saved: 'A token is saved. Empty: keep it.' });
    this.isDefault = new Switch({ name: 'server-default', label: 'Use it by default', help: 'For applications without a server of their own.', checked: server?.default ?? isFirst });
    this.problem = h('p', { class: 'form-problem bad', role: 'alert' });
    if (server) this.url.input.setAttribute('readonly', '');
    if (server?.default) this.isDefault.box.disabled = true;
    this.element = h('form', { class: 'form', novalidate: true, id: 'server-form', on: { submit: (event) => { event.preventDefault(); this.#submit(); } } },
      this.url.root, this.label.root, this.token.root, this.isDefault.root, this.problem);
    this.url.input.addEventListener('blur', () => { if (this.url.text) { this.#complete(); this.#check(); } });
    this.url.input.addEventListener('input', () => { if (this.url.isWrong) this.#check(); });
  }

  open(dialog, close) {
    this.#close = close;
    dialog.append(h('div', { class: 'dialog-foot' },
      h('button', { type: 'button', class: 'button form-cancel', text: 'Cancel', on: { click: () => close() } }),
      h('button', { type: 'submit', class: 'button primary', form: 'server-form', text: this.#server ? 'Save' : 'Add server' })));
    dialog.classList.add('form-dialog');
    (this.#server ? this.label : this.url).input.focus();
  }

  /** A host alone gets what it most likely lacks. */
  #complete() {
    const text = this.url.text.trim();
    if (/^[a-z0-9.-]+\.[a-z]{2,}(:[0-9]+)?\/?$/i.test(text)) this.url.input.value = `https://${text}`;
  }

  #check() {
    const text = this.url.text.trim();
    this.url.setProblem(text === '' ? 'Enter the server’s URL.' : problem('server', text, { protocol: 'http', insecure: this.#insecure }));
    return !this.url.isWrong;
  }

  async #submit() {
    if (this.#isSaving) return;
    this.problem.textContent = '';
    this.#complete();
    this.label.setProblem(problem('name', this.label.text, { protocol: 'http' }));
    if (!this.#check() || this.label.isWrong) {
      const wrong = this.url.isWrong ? this.url : this.label;
      wrong.input.focus();
      announce(wrong.line.textContent ?? '', 'bad');
      return;
    }
    this.#isSaving = true;
    try {
      await this.#api.putServer(this.#body());
      this.#close(this.url.text.trim());
    } catch (error) {
      this.#refused(error);
    } finally {
      this.#isSaving = false;
    }
  }

  /** Body of the request. Fields left out keep their values. */
  #body() {
    const token = this.token.isCleared ? '' : this.token.text.trim() || undefined;
    const makeDefault = this.isDefault.value && !this.#server?.default ? true : undefined;
    return { url: this.url.text.trim(), label: this.label.text.trim(), enroll_token: token, default: makeDefault };
  }

  #refused(error) {
    const at = { url: this.url, label: this.label, enroll_token: this.token };
    const wrong = Object.keys(at).filter((name) => name in error.fields);
    for (const name of wrong) at[name].setProblem(`${error.fields[name]}.`);
    if (wrong.length) at[wrong[0]].input.focus();
    else this.problem.textContent = `Not saved: ${error.message}`;
  }
}
