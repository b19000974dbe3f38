// The dialog that adds or changes an application.
import { h } from '../../common/dom.js';
import { announce } from '../../common/announce.js';
import { confirmDialog, openDialog } from '../../common/dialog.js';
import { SECRETS, defaults, isUsed, problem, toBody } from '../core/fields.js';
import { PROTOCOLS, protocolNamed } from '../core/protocols.js';
import { Choice, Field, SecretField } from './field.js';

/**
 * Opens the form. Resolves with what the server saved, and whether it is to be connected; undefined when dismissed.
 * @param {{app?: App|null, draft?: Partial<App>|null, version?: {insecure?: boolean}, save: (body: object) => Promise<App>}} options
 * @returns {Promise<{saved: App, connect: boolean}|undefined>}
 */
export function openForm({ app = null, draft = null, version = {}, save }) {
  const form = new Form({ app, draft, insecure: version.insecure === true, save });
  return openDialog({
    title: app ? 'Edit application' : 'Add application',
    body: form.element,
    mayDismiss: () => form.mayDismiss(),
    onOpen: (dialog, close) => form.open(dialog, close),
  });
}

/** The fields in their order, filled in. @param {Record<string, any>} from @returns {(Field|Choice)[]} */
function fieldsOf(from) {
  const text = (name, label, help, more = {}) => new Field({ name, label, help, value: from[name], ...more });
  return [
    text('name', 'Name', 'Left blank: protocol and address.', { placeholder: 'shop database' }),
    text('ip', 'Address', 'IP address or host name, as this computer sees it.', { placeholder: '127.0.0.1' }),
    text('port', 'Port', '', { narrow: true }),
    text('db_user', 'Database user', 'Best an account that may only read.', { placeholder: 'root' }),
    new SecretField({ name: 'db_pass', label: 'Database password', isSaved: from.has_db_pass === true, help: 'Kept encrypted on this computer.' }),
    text('db_name', 'Database', 'Optional: where to begin.'),
    new Choice({ name: 'db_readonly', label: 'Read-Only Mode', help: 'Statements that write are refused, whatever the account may do.', checked: from.db_readonly !== false }),
    new Choice({ name: 'invisible', label: 'Invisible', help: 'Visitors need an authorization code before they see anything of the site.', checked: from.invisible === true, isSwitch: true }),
    new Choice({ name: 'autoconnect', label: 'Connect when postern starts', help: '', checked: from.autoconnect === true }),
    text('site_name', 'Site name', 'Wished first part of the site’s address; optional.', { placeholder: 'my-site' }),
    text('display_name', 'Display name', 'What the remote server calls it; optional.'),
    text('server', 'Remote server', 'Instead of the one that postern was started with.', { placeholder: 'https://relay.example', type: 'url' }),
    text('tunnel_port', 'Tunnel port', 'Usually told by the server.', { narrow: true, placeholder: '62888' }),
    text('username', 'User name', 'A note for you; it is sent nowhere.'),
    new SecretField({ name: 'auth_pass', label: 'Password', isSaved: from.has_auth_pass === true, help: 'A note for you, kept encrypted; it is sent nowhere.' }),
  ];
}

class Form {
  #touched = new Set();
  #isSaving = false;
  /** What the form held at first, as JSON. */
  #first;
  /** @type {HTMLElement[]} */
  #buttons = [];
  /** @type {(value?: any) => void} */
  #close = () => {};

  /** @param {{app: App|null, draft: Partial<App>|null, insecure: boolean, save: (body: object) => Promise<App>}} options */
  constructor({ app, draft, insecure, save }) {
    this.app = app;
    this.insecure = insecure;
    this.save = save;
    this.isNew = app === null;
    const from = app ?? draft ?? defaults(PROTOCOLS[0].name);
    this.lastProtocol = protocolNamed(from.protocol ?? '').name;
    this.protocol = h('select', { class: 'field', id: 'field-protocol', name: 'protocol', 'aria-describedby': 'field-protocol-line' },
      PROTOCOLS.map(({ name, label, what }) => h('option', { value: name, text: `${label} – ${what}`, selected: name === this.lastProtocol })));
    this.protocolLine = h('p', { class: 'field-line dim', id: 'field-protocol-line' });
    this.fields = fieldsOf(from);
    this.more = h('details', { class: 'form-more' }, h('summary', { text: 'More settings' }), ...this.#roots('site_name', 'display_name', 'server', 'tunnel_port', 'username', 'auth_pass'));
    this.problem = h('p', { class: 'form-problem bad', role: 'alert' });
    this.element = this.#layout(draft);
    this.#wire();
    this.#protocolChanged();
    this.#first = this.#snapshot();
  }

  /** @returns {any} a Field, SecretField or Choice */
  #field(name) {
    return this.fields.find((field) => field.name === name);
  }

  #roots(...names) {
    return names.map((name) => this.#field(name).root);
  }

  #layout(draft) {
    const lost = draft && (draft.has_auth_pass || draft.has_db_pass);
    const form = h('form', { class: 'form', novalidate: true, id: 'app-form' },
      !this.isNew && h('p', { class: 'form-note', text: this.app?.connection?.exposed ? 'It is connected with what was saved before; changes apply at the next connect.' : 'Changes apply at the next connect.' }),
      lost && h('p', { class: 'form-note', text: 'Passwords are not copied; enter them again.' }),
      h('div', { class: 'form-field' }, h('label', { for: 'field-protocol', text: 'Protocol' }), this.protocol, this.protocolLine),
      ...this.#roots('name'), h('div', { class: 'form-row' }, ...this.#roots('ip', 'port')),
      ...this.#roots('db_user', 'db_pass', 'db_name', 'db_readonly', 'invisible', 'autoconnect'), this.more, this.problem);
    return form;
  }

  #wire() {
    this.protocol.addEventListener('change', () => this.#protocolChanged());
    this.element.addEventListener('submit', (event) => { event.preventDefault(); this.submit(false); });
    for (const field of this.fields) {
      field.input.addEventListener('change', () => { this.#touched.add(field.name); });
      field.input.addEventListener('blur', () => this.#check(field));
      field.input.addEventListener('input', () => { if (field instanceof Field && field.isWrong) this.#check(field); });
    }
  }

  /** Adds the buttons and sets the focus once the dialog is open. */
  open(dialog, close) {
    this.#close = close;
    const button = (label, kind, run) => h('button', { type: 'button', class: `button ${kind}`, text: label, on: { click: run } });
    this.#buttons = [h('button', { type: 'submit', class: 'button primary', form: 'app-form', text: 'Save' })];
    if (this.isNew) this.#buttons.unshift(button('Save and connect', '', () => this.submit(true)));
    dialog.append(h('div', { class: 'dialog-foot' }, button('Cancel', 'form-cancel', async () => { if (await this.mayDismiss()) close(); }), ...this.#buttons));
    dialog.classList.add('form-dialog');
    (this.isNew ? this.protocol : this.#field('name').input).focus();
  }

  #protocolChanged() {
    const name = this.protocol.value;
    const before = protocolNamed(this.lastProtocol);
    const now = protocolNamed(name);
    this.lastProtocol = name;
    for (const field of this.fields) {
      field.root.hidden = !isUsed(field.name, name);
      if (field.root.hidden) field.setProblem('');
    }
    const port = this.#field('port');
    if (port.value === '' || port.value === String(before.port)) port.input.value = now.port ?? '';
    port.input.placeholder = now.port === null ? '' : String(now.port);
    if (port.isWrong) this.#check(port);
    const choice = this.#field('invisible');
    if (this.isNew && before !== now && !this.#touched.has('invisible')) choice.input.checked = now.database;
    this.protocolLine.textContent = now.database
      ? 'Visitors get a web client for it; the database itself is not exposed.'
      : now.visited === 'browser' ? 'Visitors open it in a browser.' : 'Visitors use a program of their own; it gets a public port.';
  }

  #check(field) {
    if (!(field instanceof Field)) return true;
    const text = field.isCleared ? '' : problem(field.name, field.value, { protocol: this.protocol.value, insecure: this.insecure });
    field.setProblem(text);
    return text === '';
  }

  #values() {
    /** @type {Record<string, any>} */
    const values = { protocol: this.protocol.value };
    for (const field of this.fields) values[field.name] = field.value;
    return values;
  }

  #cleared() {
    return new Set(SECRETS.filter((name) => this.#field(name).isCleared));
  }

  #snapshot() {
    return JSON.stringify([this.#values(), [...this.#cleared()]]);
  }

  /** Asks before what was typed is lost. */
  async mayDismiss() {
    if (this.#isSaving) return false;
    if (this.#snapshot() === this.#first) return true;
    return confirmDialog({ title: 'Discard changes', text: 'What you entered is not saved.', action: 'Discard' });
  }

  /** Checks and saves. @param {boolean} connect */
  async submit(connect) {
    if (this.#isSaving) return;
    this.problem.textContent = '';
    const wrong = this.fields.filter((field) => !this.#check(field));
    if (wrong.length) {
      this.#lead(wrong, wrong.length === 1 ? 'One field needs attention.' : `${wrong.length} fields need attention.`);
      return;
    }
    this.#setSaving(true);
    try {
      const saved = await this.save(toBody(this.#values(), this.#cleared(), this.app));
      this.#close({ saved, connect });
    } catch (error) {
      this.#refused(error);
    } finally {
      this.#setSaving(false);
    }
  }

  #setSaving(saving) {
    this.#isSaving = saving;
    for (const button of this.#buttons) button.setAttribute('aria-disabled', String(saving));
  }

  /** Shows the server's field errors at their fields, the others above the buttons. */
  #refused(error) {
    const words = error.fields;
    const isShown = (name) => this.fields.some((field) => field.name === name && !field.root.hidden);
    const wrong = this.fields.filter((field) => field.name in words && isShown(field.name));
    const rest = Object.keys(words).filter((name) => !isShown(name)).map((name) => `${name} ${words[name]}`);
    for (const field of wrong) field.setProblem(sentence(String(words[field.name])));
    if (wrong.length === 0 && rest.length === 0) rest.push(error.message);
    if (wrong.length) this.#lead(wrong, sentence(rest.join('; ')));
    else this.problem.textContent = sentence(`Not saved: ${rest.join('; ')}`);
  }

  #lead(wrong, text) {
    if (wrong.some((field) => this.more.contains(field.root))) this.more.open = true;
    this.problem.textContent = text;
    wrong[0].input.focus();
    if (!text) announce(wrong[0].line.textContent, 'bad');
  }
}

function sentence(text) {
  if (text === '') return '';
  const first = text[0].toUpperCase() + text.slice(1);
  return /[.!?]$/.test(first) ? first : `${first}.`;
}
