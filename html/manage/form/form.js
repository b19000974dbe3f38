// The dialog that adds or changes an application.
import { h } from '../../common/dom.js';
import { announce } from '../../common/announce.js';
import { confirmDialog, openDialog } from '../../common/dialog.js';
import { opensAt, parseAddress, protocolOfPort } from '../core/address.js';
import { SECRETS, defaults, isUsed, problem, toBody } from '../core/fields.js';
import { PROTOCOLS, addressOf, protocolNamed } from '../core/protocols.js';
import { endOfSites, siteOf } from '../core/site.js';
import { EXAMPLES, fieldsOf } from './fieldlist.js';

/** Connections that saved changes do not reach by themselves. */
const LIVE = ['connected', 'connecting'];
/** A duplicate name. */
const CONFLICT = 409;

/**
 * Opens the form. Resolves with what the server saved, and whether it is to be connected; undefined when dismissed.
 * @param {{app?: App|null, draft?: Partial<App>|null, context: import('./field.js').Context, save: (body: object) => Promise<App>}} options
 * @returns {Promise<{saved: App, connect: boolean}|undefined>}
 */
export function openForm({ app = null, draft = null, context, save }) {
  const form = new Form({ app, draft, context, save });
  return openDialog({
    title: app ? 'Edit application' : 'Add application',
    body: form.element,
    mayDismiss: () => form.mayDismiss(),
    onOpen: (dialog, close) => form.open(dialog, close),
  });
}

class Form {
  #touched = new Set();
  #isSaving = false;
  /** Initial values of the form, as JSON. */
  #first;
  /** @type {HTMLElement[]} */
  #buttons = [];
  /** @type {(value?: any) => void} */
  #close = () => {};

  /** @param {{app: App|null, draft: Partial<App>|null, context: import('./field.js').Context, save: (body: object) => Promise<App>}} options */
  constructor({ app, draft, context, save }) {
    this.app = app;
    this.context = context;
    this.save = save;
    this.isNew = app === null;
    const from = app ?? { ...defaults(draft?.protocol ?? PROTOCOLS[0].name), ...draft };
    this.lastProtocol = protocolNamed(from.protocol ?? '').name;
    // A chosen protocol counts as typed: no port changes it.
    if (draft?.protocol) this.#touched.add('protocol');
    this.protocol = h('select', { class: 'field', id: 'field-protocol', name: 'protocol', 'aria-describedby': 'field-protocol-line' },
      PROTOCOLS.map(({ name, label, what }) => h('option', { value: name, text: `${label} – ${what}`, selected: name === this.lastProtocol })));
    this.protocolLine = h('p', { class: 'field-line dim', id: 'field-protocol-line' });
    this.preview = h('p', { class: 'form-preview', id: 'form-preview' });
    this.fields = fieldsOf(from, context, { objects: (of) => this.#objects(of), guestChanged: () => this.#explainExpiry() });
    this.more = h('details', { class: 'form-more' }, h('summary', { text: 'More settings' }));
    this.problem = h('p', { class: 'form-problem bad', role: 'alert' });
    this.element = this.#layout(draft, from);
    this.#wire();
    this.#protocolChanged();
    this.#first = this.#snapshot();
  }

  /** @returns {any} the field of that name */
  #field(name) {
    return this.fields.find((field) => field.name === name);
  }

  #roots(...names) {
    return names.map((name) => this.#field(name).root);
  }

  #row(...names) {
    return h('div', { class: 'form-row' }, ...this.#roots(...names));
  }

  #layout(draft, from) {
    const lost = draft && (draft.has_auth_pass || draft.has_db_pass);
    const form = h('form', { class: 'form', novalidate: true, id: 'app-form' },
      !this.isNew && h('p', { class: 'form-note', text: this.#noteText() }),
      lost && h('p', { class: 'form-note', text: 'Passwords are not copied; enter them again.' }),
      this.#row('ip', 'port'),
      h('div', { class: 'form-field' }, h('label', { for: 'field-protocol', text: 'Protocol' }), this.protocol, this.protocolLine),
      h('div', { class: 'form-row even' }, ...this.#roots('name', 'site_name')), this.preview,
      ...this.#roots('username'), h('div', { class: 'form-row even' }, ...this.#roots('db_user', 'db_pass')), ...this.#roots('db_name'),
      ...this.#roots('invisible', 'db_readonly', 'autoconnect'),
      h('div', { class: 'form-row even' }, ...this.#roots('expires', 'server')),
      ...this.#roots('guest'), this.more, this.problem);
    this.more.append(...this.#rest(from));
    return form;
  }

  /** Fields without a place of their own, in the order of the list. */
  #rest(from) {
    const pair = h('div', { class: 'form-row even' }, ...this.#roots('group', 'max_streams'));
    // A password that was never saved is left out: nothing reads it.
    const rest = this.fields.filter(({ name, root }) => name === 'group' || (root.parentNode === null && (name !== 'auth_pass' || from.has_auth_pass)));
    return rest.map(({ name, root }) => (name === 'group' ? pair : root));
  }

  #noteText() {
    return this.app?.connection?.exposed
      ? 'Still connected with the old settings. End time and access apply at once, everything else after reconnecting.'
      : 'Changes apply at the next connect.';
  }

  #wire() {
    this.protocol.addEventListener('change', () => { this.#touched.add('protocol'); this.#protocolChanged(); });
    this.element.addEventListener('submit', (event) => { event.preventDefault(); this.submit(this.#connectsFirst()); });
    this.element.addEventListener('input', () => this.#showSite());
    this.element.addEventListener('change', () => this.#showSite());
    for (const field of this.fields) {
      field.input.addEventListener('change', () => { this.#touched.add(field.name); if (field.isWrong) this.#check(field); });
      field.input.addEventListener('blur', () => { if (field.name === 'ip') this.#takeAddress(); this.#check(field); });
      field.root.addEventListener('input', () => { if (field.isWrong) this.#check(field); });
    }
    this.#field('port').input.addEventListener('input', () => this.#check(this.#field('ip')));
    // A pasted address is parsed at once; a typed one when the field loses the focus.
    const address = this.#field('ip').input;
    address.addEventListener('paste', () => setTimeout(() => this.#takeAddress()));
    this.#field('server').loaded.then(() => this.#showSite());
  }

  /** Adds the buttons and sets the focus once the dialog is open. */
  open(dialog, close) {
    this.#close = close;
    const button = (label, kind, run) => h('button', { type: 'button', class: `button ${kind}`, text: label, on: { click: run } });
    const submit = (label) => h('button', { type: 'submit', class: 'button primary', form: 'app-form', text: label });
    const [save, connect] = ['Save', this.#isLive() ? 'Save and reconnect' : 'Save and connect'];
    this.#buttons = this.#connectsFirst() ? [button(save, '', () => this.submit(false)), submit(connect)] : [button(connect, '', () => this.submit(true)), submit(save)];
    dialog.append(h('div', { class: 'dialog-foot' }, button('Cancel', 'form-cancel', async () => { if (await this.mayDismiss()) close(); }), ...this.#buttons));
    dialog.classList.add('form-dialog');
    this.#field(this.isNew ? 'ip' : 'name').input.focus();
  }

  #isLive() {
    return LIVE.includes(this.app?.conn_status ?? '');
  }

  /** True if the first button also connects. A connected application is not cut off by accident. */
  #connectsFirst() {
    return !this.#isLive();
  }

  /** Takes what was typed as an address apart into protocol, address, port, user and database. */
  #takeAddress() {
    const field = this.#field('ip');
    const typed = field.text.trim();
    const address = typed === '' ? null : parseAddress(typed);
    if (address === null || typeof address === 'string') return;
    if (problem('ip', address.host, { protocol: this.protocol.value }) !== '') return;
    const isGuess = !address.protocol && address.port !== null && this.isNew && !this.#touched.has('protocol') && !this.#touched.has('port');
    const protocol = address.protocol ?? (isGuess ? protocolOfPort(address.port ?? 0) : null);
    if (protocol && protocol !== this.protocol.value && !this.#isKindOf(protocol)) {
      this.protocol.value = protocol;
      this.#protocolChanged();
    }
    if (address.port !== null) this.#set('port', String(address.port));
    if (address.user) this.#set(protocolNamed(this.protocol.value).database ? 'db_user' : 'username', address.user);
    if (address.password && protocolNamed(this.protocol.value).database) this.#set('db_pass', address.password);
    if (address.database) this.#set('db_name', address.database);
    if (address.protocol && isUsed('path', this.protocol.value)) this.#set('path', opensAt(address.rest));
    const host = address.host || '127.0.0.1';
    if (host !== typed) {
      field.input.value = host;
      field.setHelp(this.#understood(address));
    }
    this.#showSite();
  }

  /** MySQL and MariaDB have one port: what was chosen of them stays. */
  #isKindOf(protocol) {
    return protocol === 'mysql' && this.protocol.value === 'mariadb';
  }

  #set(name, value) {
    const field = this.#field(name);
    field.input.value = value;
    field.setProblem('');
    this.#touched.add(name);
  }

  #understood({ host, rest }) {
    const { label } = protocolNamed(this.protocol.value);
    const place = addressOf({ ip: host || '127.0.0.1', port: this.#field('port').text || '?' });
    return `${label} at ${place}.${rest ? ` All of it is shared; links open ${rest.slice(0, 60)}.` : ''}`;
  }

  #protocolChanged() {
    const name = this.protocol.value;
    const before = protocolNamed(this.lastProtocol);
    const now = protocolNamed(name);
    this.lastProtocol = name;
    for (const field of this.fields) {
      field.root.hidden = !isUsed(field.name, name);
      if (field.root.hidden) field.setProblem('');
      if ('placeholder' in field.input && EXAMPLES[name]?.[field.name]) field.input.placeholder = EXAMPLES[name][field.name];
    }
    const port = this.#field('port');
    if (port.value === '' || port.value === String(before.port)) port.input.value = now.port ?? '';
    port.input.placeholder = now.port === null ? '' : String(now.port);
    if (port.isWrong) this.#check(port);
    this.#field('username').setHelp(name === 'ssh' ? 'Used in the ssh command.' : 'Only for your reference; visitors do not see it.');
    const choice = this.#field('invisible');
    if (this.isNew && before !== now && !this.#touched.has('invisible')) choice.box.checked = now.database;
    this.protocolLine.textContent = protocolText(now);
    this.#showSite();
  }

  /** Says which address it will get, as it stands in the form. */
  #showSite() {
    const { apps, version } = this.context;
    const values = this.#values();
    const { address, text } = siteOf(values, endOfSites(values.server, apps, version), this.app);
    const parts = address ? ['Address: ', h('strong', { text: address.replace(/\/$/, '') }), `, ${text}.`] : [text];
    if (this.preview.textContent !== parts.map((part) => (typeof part === 'string' ? part : part.textContent)).join('')) this.preview.replaceChildren(...parts);
  }

  #explainExpiry() {
    // Called once while the fields are made.
    this.fields && this.#field('expires').explain(this.#field('guest').value.length > 0);
  }

  /** Names for the picker, asked with the database fields as they stand. */
  #objects(of) {
    const { protocol, ip, port, db_user: user, db_pass: pass } = this.#values();
    const { app } = this;
    const isSaved = app && pass === '' && [[protocol, app.protocol], [ip || '127.0.0.1', app.ip], [Number(port), app.port], [user, app.db_user ?? '']].every(([now, then]) => now === then);
    const draft = { protocol, ip: ip || '127.0.0.1', port: Number(port) || protocolNamed(protocol).port, db_user: user || undefined, db_pass: pass || undefined };
    // Of one that is saved, a password that is left blank is the saved one.
    return this.context.api.guestObjects({ ...(isSaved ? {} : draft), id: app?.id, ...of });
  }

  /** True if the target of a new application was neither typed nor picked. Default values do not count. */
  get #lacksTarget() {
    const port = this.#field('port');
    const isTyped = this.#touched.has('port') || port.text !== String(protocolNamed(this.protocol.value).port ?? '');
    return this.isNew && this.#field('ip').text.trim() === '' && !isTyped;
  }

  #check(field) {
    const { text, isCleared } = field;
    const context = { protocol: this.protocol.value, insecure: this.context.version.insecure === true };
    const isShown = isUsed(field.name, this.protocol.value);
    const parsed = field.name === 'ip' ? parseAddress(text) : null;
    const wrong = isCleared || !isShown ? '' : typeof parsed === 'string' ? parsed : field.ownProblem || problem(field.name, parsed ? parsed.host : text, context);
    field.setProblem(wrong);
    return wrong === '';
  }

  /** @returns {any} each field's value by its name */
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
    return JSON.stringify([this.protocol.value, this.fields.map((field) => [field.name, field.name === 'guest' || field.name === 'server' ? field.value : field.text, field.box?.checked, field.isCleared])]);
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
    this.#takeAddress();
    const wrong = this.fields.filter((field) => !this.#check(field));
    if (this.#lacksTarget) {
      const address = this.#field('ip');
      address.setProblem('Enter a URL, host:port, or a port of this computer.');
      wrong.unshift(address);
    }
    const expires = this.#field('expires');
    if (connect && wrong.length === 0 && expires.isOver) {
      expires.setProblem('The share has ended: choose a later time.');
      wrong.push(expires);
    }
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
    const words = error.status === CONFLICT && !error.fields.name ? { ...error.fields, name: error.message } : error.fields;
    const isShown = (name) => this.fields.some((field) => field.name === name && !field.root.hidden && field.root.isConnected);
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

/** Explains a protocol's access for visitors and its protection. @param {import('../core/protocols.js').Protocol} protocol */
function protocolText({ name, database, visited }) {
  if (database) return 'Visitors get a web client for it; the database itself is not exposed.';
  if (name === 'https') return 'Visitors open it in a browser. The application’s TLS certificate is not verified.';
  if (visited === 'browser') return 'Visitors open it in a browser.';
  const protection = name === 'tcp' ? '' : ' Its own login protects it.';
  return `Anyone who can reach the server can connect to its public port, unless you list networks under More settings.${protection}`;
}

function sentence(text) {
  if (text === '') return '';
  const first = text[0].toUpperCase() + text.slice(1);
  return /[.!?]$/.test(first) ? first : `${first}.`;
}
