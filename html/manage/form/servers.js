// The dialog behind the pill of the top bar: the servers that are known, each with its main tunnel.
import { fill, h, icon } from '../../common/dom.js';
import { confirmDialog, openDialog } from '../../common/dialog.js';
import { notify } from '../../common/announce.js';
import { HOST_KEY_CHANGED, fingerprints, isHostKey } from '../board/hostkey.js';
import { hostOf } from '../core/links.js';
import { failureClass, formatWait, latencyText } from '../core/status.js';
import { openServerForm } from './serverform.js';

const STATUSES = ['connected', 'connecting', 'failed'];
/** States of a server that rejects this computer. */
const REFUSALS = ['refused', 'revoked'];
/** Names of applications that are listed before the rest is counted. */
const NAMES_MAX = 6;

/**
 * Shows all servers, as they are while it is open.
 * @param {import('../board/store.js').Store} store @param {ServerActions} actions
 */
export async function showServers(store, actions) {
  const view = new ServersView(store, actions);
  const unsubscribe = store.subscribe(() => view.load());
  view.load();
  await openDialog({
    title: 'Servers',
    wide: true,
    harmless: true,
    body: view.element,
    onOpen: (dialog, close) => {
      dialog.classList.add('form-dialog');
      dialog.append(h('div', { class: 'dialog-foot' },
        h('button', { type: 'button', class: 'button form-cancel', on: { click: () => view.add() } }, icon('plus'), h('span', { text: 'Add server …' })),
        h('button', { type: 'button', class: 'button primary', text: 'Done', autofocus: true, on: { click: () => close() } })));
    },
  });
  unsubscribe();
}

/** The list: rebuilt only when its structure changes; numbers are updated in place. */
class ServersView {
  #store;
  #actions;
  #api;
  #key = '';
  /** @type {Server[]|null} */
  #servers = null;
  /** @type {HTMLElement[]} */
  #figures = [];
  #isLoading = false;
  #again = false;

  /** @param {import('../board/store.js').Store} store @param {ServerActions} actions */
  constructor(store, actions) {
    this.#store = store;
    this.#actions = actions;
    this.#api = actions.api;
    this.intro = h('p', { class: 'dim' });
    this.trouble = h('p', { class: 'bad', role: 'alert' });
    this.list = h('ul', { class: 'tunnels', 'aria-label': 'Servers' });
    this.element = h('div', {}, this.intro, this.trouble, this.list, h('p', { class: 'dim', text: `postern ${store.version.version ?? ''}` }));
  }

  /** Asks for the list and draws it; once more where it is asked to meanwhile. */
  async load() {
    this.#again = this.#isLoading;
    if (this.#isLoading) return;
    this.#isLoading = true;
    try {
      this.#servers = await this.#api.servers() ?? [];
      this.#say('');
    } catch (error) {
      this.#say(`The servers cannot be listed: ${error.message}. Trying again.`);
    }
    this.#isLoading = false;
    this.#draw();
    if (this.#again) this.load();
  }

  #say(text) {
    if (this.trouble.textContent !== text) this.trouble.textContent = text;
  }

  #draw() {
    const servers = this.#servers ?? [];
    const key = JSON.stringify(servers, (name, value) => (['latency_ms', 'next_retry_ms', 'local_port'].includes(name) ? undefined : value));
    if (key !== this.#key && this.#servers) {
      this.#key = key;
      this.intro.textContent = introOf(servers);
      const focused = /** @type {HTMLElement|null} */ (document.activeElement)?.dataset.part;
      const had = this.list.contains(document.activeElement);
      this.#figures = servers.map(() => h('p', { class: 'dim' }));
      fill(this.list, servers.map((server, i) => this.#entry(server, this.#figures[i])));
      /** @type {HTMLElement|null} */
      const same = had ? this.list.querySelector(`[data-part="${CSS.escape(focused ?? '')}"]`) ?? this.element.closest('dialog')?.querySelector('.dialog-foot .primary') ?? null : null;
      same?.focus();
    }
    servers.forEach((server, i) => { if (this.#figures[i]) this.#figures[i].textContent = figures(server); });
  }

  /** @param {Server} server @param {HTMLElement} facts */
  #entry(server, facts) {
    const { url, error, default: isDefault, main_tunnel: tunnel } = server;
    const key = tunnel?.host_key;
    const known = failureClass(tunnel?.error_class);
    const place = placeOf(server);
    const button = (label, part, run) => h('button', { type: 'button', class: 'button', text: label, 'aria-label': `${label} ${place}`, data: { part: `${part} ${url}` }, on: { click: run } });
    return h('li', { class: `tunnel-entry ${statusOf(server)}` },
      h('p', { class: 'tunnel-name' }, h('span', { class: 'dot', 'aria-hidden': 'true' }), h('strong', { text: place }), place !== hostOf(url) && h('span', { class: 'dim', text: hostOf(url) }), isDefault && h('span', { class: 'badge note', text: 'Default' })),
      facts,
      error && h('p', { class: 'bad' }, known && `${known.label}: `, isHostKey(key) ? HOST_KEY_CHANGED : String(error)),
      error && known?.hint && !isHostKey(key) && h('p', { class: 'dim', text: known.hint }),
      isHostKey(key) ? fingerprints(key) : server.host_key && h('p', { class: 'dim' }, 'Host key ', h('span', { class: 'mono', text: String(server.host_key) })),
      h('p', { class: 'dim', text: applicationsText(server) }),
      server.named === true && h('p', { class: 'dim', text: 'Given when postern was started: the default until the next start.' }),
      h('div', { class: 'tunnel-actions' },
        isHostKey(key) && button('Compare and trust …', 'trust', () => this.#actions.trust(key)),
        !isDefault && !server.on_this_machine && button('Make default', 'default', () => this.#makeDefault(server)),
        !server.on_this_machine && button('Label and token …', 'edit', () => this.#edit(server)),
        (tunnel || server.host_key) && button('Reset identity …', 'afresh', () => this.#actions.resetServer(new URL(url).origin)),
        server.known === true && button('Remove …', 'remove', () => this.#remove(server))));
  }

  async add() {
    const added = await openServerForm({ api: this.#api, insecure: this.#store.version.insecure === true, isFirst: (this.#servers ?? []).every((server) => server.on_this_machine) });
    if (added) this.#changed(`${hostOf(added) || 'The server'} is added`);
  }

  async #edit(server) {
    if (await openServerForm({ api: this.#api, server, insecure: this.#store.version.insecure === true })) this.#changed(`${placeOf(server)} is saved`);
  }

  #makeDefault({ url }) {
    return this.#do('Could not make it the default', `${hostOf(url)} is the default for new applications`, () => this.#api.putServer({ url, default: true }));
  }

  async #remove(server) {
    const place = placeOf(server);
    const text = `postern removes ${place}, its label and its enrolment token. Its pinned host key stays, and so does this computer’s identity at the server.`;
    if (await confirmDialog({ title: 'Remove server', text, action: 'Remove' })) await this.#do('It was not removed', `${place} is removed`, () => this.#api.removeServer(server.url));
  }

  async #do(what, done, run) {
    try {
      await run();
      this.#changed(done);
    } catch (error) {
      notify(`${what}: ${error.message}`, 'bad');
    }
  }

  async #changed(done) {
    notify(done, 'good');
    this.load();
    try {
      // It says which server is used by default, and is asked for rarely.
      this.#store.version = await this.#api.version() ?? {};
    } catch {
      // The page says by itself when postern does not answer.
    }
    this.#store.refresh();
  }
}

/** @param {Server[]} servers */
function introOf(servers) {
  if (servers.length === 0) return 'Applications are shared through a server, which gives them addresses. Add one.';
  if (servers.every((server) => server.on_this_machine)) return 'You are using the built-in relay: shares open on this computer only. Add a server to reach others.';
  return 'postern keeps one main tunnel to each server, and one tunnel per application.';
}

/** @param {Server} server */
function placeOf({ url, label, on_this_machine: isHere }) {
  return label || (isHere ? 'relay on this computer' : hostOf(url) || 'unknown server');
}

/** @param {Server} server */
function statusOf({ status }) {
  if (REFUSALS.includes(status)) return 'failed';
  return STATUSES.includes(status) ? status : 'idle';
}

/** @param {Server} server */
function figures(server) {
  const { local_port: port, latency_ms: latency, tunnel_way: way, next_retry_ms: wait } = server.main_tunnel ?? {};
  const word = REFUSALS.includes(server.status ?? '') ? server.status : { idle: 'not in use' }[statusOf(server)] ?? statusOf(server);
  return [word, statusOf(server) === 'connected' && latencyText(latency), way === 'url' && 'through the web port', port && `local port ${port}`, Number.isFinite(wait) && `next attempt in ${formatWait(wait ?? 0)}`, server.has_enroll_token && !server.on_this_machine && 'enrolment token saved'].filter(Boolean).join(' · ');
}

/** @param {Server} server */
function applicationsText({ applications = [] }) {
  if (applications.length === 0) return 'No application uses it.';
  const more = applications.length > NAMES_MAX ? ` and ${applications.length - NAMES_MAX} more` : '';
  return `${applications.length === 1 ? 'Application' : 'Applications'}: ${applications.slice(0, NAMES_MAX).join(', ')}${more}`;
}
