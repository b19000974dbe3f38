// Field for the server of an application.
import { hostOf } from '../core/links.js';
import { SelectField } from './field.js';
import { openServerForm } from './serverform.js';

/** The choice that opens the dialog of a new server. */
const ADD = 'add';

/** A choice of the servers that are known. */
export class ServerField extends SelectField {
  #api;
  #version;
  #chosen;
  /** @type {Server[]} */
  #servers = [];

  /** @param {string|null|undefined} value @param {{api: Pick<import('../api.js').Api, 'servers'|'putServer'>, version: Partial<Version>}} context */
  constructor(value, { api, version }) {
    super({ name: 'server', label: 'Server', value: '', options: [] });
    this.#api = api;
    this.#version = version;
    this.#chosen = value ?? '';
    this.input.addEventListener('change', () => (this.input.value === ADD ? this.#add() : this.#choose(this.input.value)));
    this.#draw();
    this.loaded = this.#load();
  }

  async #load() {
    try {
      this.#servers = (await this.#api.servers()) ?? [];
    } catch {
      // The saved server can still be kept, and another one can be added.
    }
    this.#draw();
  }

  #draw() {
    const own = this.#servers.find((server) => server.named) ?? this.#servers.find((server) => server.default);
    const others = this.#servers.filter((server) => server !== own).map(({ url }) => url);
    if (this.#chosen !== '' && !others.includes(this.#chosen)) others.push(this.#chosen);
    this.setOptions([
      { value: '', label: `the default: ${own ? this.#label(own.url) : this.#defaultName()}` },
      ...others.map((url) => ({ value: url, label: this.#label(url) })),
      { value: ADD, label: 'another server …' },
    ], this.#chosen);
  }

  #defaultName() {
    if (this.#version.embedded) return 'the relay on this computer';
    return hostOf(this.#version.server) || 'none yet';
  }

  #label(url) {
    const known = this.#servers.find((server) => server.url === url);
    const host = hostOf(url) || url;
    if (this.#version.embedded && host === hostOf(this.#version.server)) return 'the relay on this computer';
    return known?.label ? `${known.label} (${host})` : host;
  }

  #choose(url) {
    this.#chosen = url;
    this.input.value = url;
  }

  async #add() {
    this.input.value = this.#chosen;
    const added = await openServerForm({ api: this.#api, insecure: this.#version.insecure === true });
    if (!added) return;
    await this.#load();
    const found = this.#servers.find(({ url }) => sameServer(url, added));
    this.#chosen = found?.default && !this.#servers.some(({ named }) => named) ? '' : found?.url ?? added;
    this.#draw();
    this.input.dispatchEvent(new Event('change'));
  }
}

function sameServer(a, b) {
  try {
    return new URL(a).href === new URL(b).href;
  } catch {
    return a === b;
  }
}
