// Actions on an application.
import { copyText } from '../../common/dom.js';
import { announce, notify } from '../../common/announce.js';
import { confirmDialog } from '../../common/dialog.js';
import { rfc3339 } from '../../common/times.js';
import { openedLink } from '../core/links.js';
import { isSharedHere } from '../core/site.js';
import { healthError } from '../core/status.js';
import { confirmReset } from './reset.js';
import { withPart } from './parts.js';
import { ConnectionPoller } from './poller.js';
import { confirmHostKey } from './hostkey.js';
import { lengthText } from '../core/remaining.js';

/** The actions; each reports its outcome in a toast or on the card. */
export class Actions {
  #api;
  #store;
  #poller;
  #busy = new Set();

  /** @param {ReturnType<typeof import('../api.js').createApi>} api @param {import('./store.js').Store} store */
  constructor(api, store) {
    this.#api = api;
    this.#store = store;
    this.#poller = new ConnectionPoller({ api, store, open: (app) => openSite(app) });
  }

  /** Runs one action at a time for each application: a second click does nothing. */
  async #once(id, what, run) {
    if (this.#busy.has(id)) return undefined;
    this.#busy.add(id);
    try {
      return await run();
    } catch (error) {
      notify(`${what}: ${error.message}`, 'bad');
      return undefined;
    } finally {
      this.#busy.delete(id);
    }
  }

  /** True if an application is shared on this computer only. @param {Partial<App>} app */
  isHere(app) {
    return isSharedHere(app, this.#store.version);
  }

  /** Connects and follows the connection. @param {App} app */
  connect(app) {
    return this.#once(app.id, `“${app.name}” was not connected`, async () => {
      const status = await this.#api.connect(app.id);
      this.#store.patch(app.id, { status: status ?? 'connecting' });
      this.#poller.start(app.id);
      notify(`Connecting “${app.name}”…`);
      this.#store.refresh();
    });
  }

  /** Cancels or disconnects; also takes the error off a failed one. @param {App} app */
  disconnect(app) {
    this.#poller.stop(app.id);
    return this.#once(app.id, `“${app.name}” was not disconnected`, async () => {
      await this.#api.disconnect(app.id);
      this.#poller.stop(app.id);
      this.#store.patch(app.id, { status: 'idle' });
      this.#store.refresh();
    });
  }

  /** Disconnects and connects again, so that what is saved is in force; no tab opens. @param {App} app */
  reconnect(app) {
    this.#poller.stop(app.id);
    return this.#once(app.id, `“${app.name}” was not reconnected`, async () => {
      await this.#api.disconnect(app.id);
      this.#store.patch(app.id, { status: 'idle' });
      this.#store.patch(app.id, { status: await this.#api.connect(app.id) ?? 'connecting' });
      notify(`Reconnecting “${app.name}”…`);
      this.#store.refresh();
    });
  }

  /** Asks at once whether the application behind a tunnel answers. @param {App} app */
  ask(app) {
    return this.#once(app.id, 'Could not check the application', async () => {
      await this.#api.retry(app.id);
      announce(`Asking “${app.name}”`);
      this.#store.refresh();
    });
  }

  /** Ends the pause before the next try. @param {App} app */
  retry(app) {
    return this.#once(app.id, 'Could not retry now', async () => {
      await this.#api.retry(app.id);
      announce('Trying again');
      this.#store.refresh();
    });
  }

  /** Makes the plugin for a database's protocol available, and connects the application. @param {App} app */
  addPlugin(app) {
    return this.#once(app.id, 'The plugin was not added', async () => {
      await this.#api.addPlugin(app.protocol);
      announce('The plugin is added');
      await this.#api.connect(app.id);
      this.#store.refresh();
    });
  }

  /** Shows a changed host key beside the known one, and accepts it when asked to. @param {HostKey} key */
  async trust(key) {
    if (!await confirmHostKey(key)) return;
    try {
      await this.#api.trust(key);
      notify('The new host key is trusted; reconnecting', 'good');
    } catch (error) {
      notify(`The host key was not accepted: ${error.message}`, 'bad');
    }
    this.#store.refresh();
  }

  /** Starts afresh with a server when asked to; then connects `app`, and again what was connected. @param {string} server its origin @param {App} [app] */
  async resetServer(server, app) {
    const live = this.#store.connectedTo(server);
    if (!await confirmReset(server, live.map(({ name }) => String(name)))) return;
    await this.#once(server, 'Identity not reset', async () => {
      const { disconnected = [] } = await this.#api.reset(server) ?? {};
      notify('Identity reset: the server will treat this computer as new', 'good');
      this.#store.refresh();
      if (app) this.connect(app);
      for (const id of disconnected.filter((id) => id !== app?.id)) this.#connectAgain(id);
    });
  }

  /** Reconnects an application that the reset disconnected; no tab opens. */
  #connectAgain(id) {
    const name = this.#store.find(id)?.name ?? 'An application';
    return this.#once(id, `“${name}” was not reconnected`, async () => {
      this.#store.patch(id, { status: await this.#api.connect(id) ?? 'connecting' });
      this.#store.refresh();
    });
  }

  /** For dialogs that ask the server themselves. */
  get api() {
    return this.#api;
  }

  /** Context for the form. */
  #context() {
    return { api: this.#api, apps: this.#store.apps ?? [], version: this.#store.version };
  }

  /** Opens the form of a new application, filled in from `draft` where there is one. @param {object|null} [draft] */
  async add(draft = null) {
    const done = await withPart('form', ({ openForm }) => openForm({ draft, context: this.#context(), save: (body) => this.#api.add(body) }));
    if (!done) return;
    this.#store.put(done.saved);
    this.#store.refresh();
    if (done.connect) this.connect(done.saved);
    else notify(`“${done.saved.name}” is saved`, 'good');
    focusCard(done.saved.id);
  }

  /** Opens the form of an application. @param {App} app */
  async edit(app) {
    const done = await withPart('form', ({ openForm }) => openForm({ app, context: this.#context(), save: (body) => this.#api.replace(app.id, body) }));
    if (!done) return;
    this.#store.put(done.saved);
    this.#store.refresh();
    if (done.connect) await (app.connection ? this.reconnect(done.saved) : this.connect(done.saved));
    else notify(`“${done.saved.name}” is saved${done.saved.connection?.pending_changes ? '; reconnect to apply the changes' : ''}`, 'good');
    focusCard(done.saved.id);
  }

  /** Begins a new application from one that is there. @param {App} app */
  duplicate(app) {
    return withPart('fields', ({ copyOf }) => this.add(copyOf(app)));
  }

  /** Deletes after asking. @param {App} app */
  async remove(app) {
    const live = app.conn_status === 'connected' || app.conn_status === 'connecting';
    const text = `“${app.name}” is removed from this list${live ? ' and disconnected' : ''}. The application itself is not changed; its site address may be given to others.`;
    if (!await confirmDialog({ title: 'Delete application', text, action: 'Delete' })) return;
    this.#poller.stop(app.id);
    await this.#once(app.id, `“${app.name}” was not deleted`, async () => {
      await this.#api.remove(app.id);
      this.#store.drop(app.id);
      this.#store.refresh();
      notify(`“${app.name}” is deleted`, 'good');
      document.getElementById('add')?.focus();
    });
  }

  /** Copies a text. @param {string} what @param {string} text */
  async copy(what, text) {
    const done = await copyText(text);
    if (done) notify(`${what} copied`, 'good');
    else notify('The browser refused the clipboard; select the text and copy it', 'warn');
  }

  /** Shows the servers: tokens, labels, main tunnels. */
  servers() {
    return withPart('servers', ({ showServers }) => showServers(this.#store, this));
  }

  /** Shows the addresses of a connected application as QR codes. @param {App} app */
  qr(app) {
    return withPart('qr', ({ showQr }) => showQr(app, this.#api.qr));
  }

  /** Asks until when an application is to be shared, and sets that. @param {App} app */
  async extend(app) {
    const end = await withPart('extend', ({ askEnd }) => askEnd(app));
    if (end !== undefined) await this.setEnd(app, end);
  }

  /** Moves the end of an application; a running connection goes on. @param {App} app @param {string|null} expires RFC 3339, or null for none */
  setEnd(app, expires) {
    return this.#once(app.id, `The end of “${app.name}” was not changed`, async () => {
      this.#store.put(await this.#change(app.id, { expires }));
      this.#store.refresh();
      notify(expires === null ? `“${app.name}” has no end time` : `“${app.name}” ends in ${lengthText(Date.parse(expires) - Date.now())}`, 'good');
    });
  }

  /** Ends an application before its time after asking. @param {App} app */
  async endNow(app) {
    const visitors = app.connection?.visitors?.now;
    const cut = !visitors ? 'No visitors are connected.' : visitors === 1 ? 'One visitor will be disconnected.' : `${visitors} visitors will be disconnected.`;
    const text = `Stop sharing “${app.name}”? ${visitors === undefined ? 'Visitors will be disconnected.' : cut} Its settings stay: extend it to share it again.`;
    if (!await confirmDialog({ title: 'End now', text, action: 'End now' })) return;
    this.#poller.stop(app.id);
    await this.#once(app.id, `“${app.name}” was not ended`, async () => {
      this.#store.put(await this.#change(app.id, { expires: rfc3339(Date.now()) }));
      await this.#api.disconnect(app.id);
      this.#store.patch(app.id, { status: 'idle' });
      this.#store.refresh();
      notify(`“${app.name}” has ended; extend it to share it again`, 'good');
    });
  }

  /** Changes one setting of what is saved now, whoever saved it. */
  async #change(id, change) {
    const { connection, conn_status: status, ...saved } = await this.#api.app(id);
    return this.#api.replace(id, { ...saved, ...change });
  }

  /** Gives an application another code after asking. @param {App} app */
  async newCode(app) {
    const text = `The old link for “${app.name}” stops working, and its visitors are signed out. Send them the new link.`;
    if (!await confirmDialog({ title: 'New code', text, action: 'New code' })) return;
    await this.#once(app.id, `“${app.name}” keeps its code`, async () => {
      this.#store.put(await this.#api.newCode(app.id));
      this.#store.refresh();
      notify(`“${app.name}” has a new code; use Copy link`, 'good');
    });
  }

  /** Ends the visits of an application after asking. @param {App} app */
  async signOut(app) {
    const text = `All visitors of “${app.name}” are signed out and disconnected. The code stays valid: they can sign in again.`;
    if (!await confirmDialog({ title: 'Sign out all visitors', text, action: 'Sign out all visitors' })) return;
    await this.#once(app.id, 'Sign-out failed', async () => {
      const { code, data } = await this.#api.signOut(app.id);
      this.#store.put(data);
      this.#store.refresh();
      if (code === 202) notify(`The server does not answer: visitors of “${app.name}” are signed out as soon as it does`, 'warn');
      else notify(`All visitors of “${app.name}” are signed out`, 'good');
    });
  }

  /** Opens the web client on this computer. @param {string} href a checked address */
  openLocal(href) {
    window.open(href, '_blank', 'noopener,noreferrer');
  }

  /**
   * Opens the live log of visitors.
   * @param {'requests'|'statements'} what @param {App} app @param {() => void} onClose
   * @returns {Promise<{element: HTMLElement, close: () => void}|undefined>}
   */
  openLog(what, app, onClose) {
    return withPart('log', ({ openVisitLog }) => openVisitLog({ what, app, ask: (after) => this.#api.log(what, app.id, after), epoch: () => this.#store.find(app.id)?.connection?.since ?? '', onClose }));
  }
}

/** Opens the site in a new tab; where the browser blocks that, a link is offered. */
function openSite(app) {
  const link = openedLink(app);
  if (!link?.href) {
    const failing = healthError(app);
    notify(`“${app.name}” is connected${failing && `, but ${failing}`}`, failing ? 'warn' : 'good');
    return;
  }
  const tab = window.open(link.href, '_blank');
  if (!tab) {
    notify(`“${app.name}” is connected; the browser blocked its tab.`, 'warn', { text: `Open ${link.host}`, href: link.href });
    return;
  }
  // The site must not be able to reach this page.
  try { tab.opener = null; } catch { /* Already cut off by the browser. */ }
  const failing = healthError(app);
  if (failing) notify(`“${app.name}” is connected, but ${failing}`, 'warn');
  else notify(`“${app.name}” is connected and opened in a new tab`, 'good');
}

function focusCard(id) {
  requestAnimationFrame(() => {
    /** @type {HTMLElement|null} */
    const button = document.querySelector(`[data-id="${CSS.escape(id)}"] .slot > :not([hidden])`);
    button?.focus();
  });
}
