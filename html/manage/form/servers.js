// The dialog behind the pill of the top bar: the servers in use, each with its main tunnel.
import { fill, h } from '../../common/dom.js';
import { openDialog } from '../../common/dialog.js';
import { HOST_KEY_CHANGED, fingerprints, isHostKey } from '../board/hostkey.js';
import { noTunnel, placeOf } from '../board/tunnels.js';
import { hostOf } from '../core/links.js';
import { failureClass, formatWait, latencyText } from '../core/status.js';

const STATUSES = ['connected', 'connecting', 'failed'];

/** Shows all main tunnels, as they are while it is open. @param {import('../board/store.js').Store} store @param {import('../board/actions.js').Actions} actions */
export async function showServers(store, actions) {
  const list = h('div', { class: 'tunnel-list' });
  const entries = new Entries(list, actions);
  entries.draw(store);
  const unsubscribe = store.subscribe(() => entries.draw(store));
  const body = [
    h('p', { class: 'dim', text: 'A main tunnel leads to each remote server in use. It is made with the first connect and stays; applications have tunnels of their own beside it.' }),
    list,
    h('p', { class: 'dim', text: `postern ${store.version.version ?? ''}` }),
  ];
  await openDialog({ title: 'Main tunnels', body, actions: [{ label: 'Done', value: null }] });
  unsubscribe();
}

/** The entries of the dialog: rebuilt only when their structure changes; numbers are updated in place. */
class Entries {
  #list;
  #actions;
  #key = '';
  #figures = [];

  constructor(list, actions) {
    this.#list = list;
    this.#actions = actions;
  }

  draw({ tunnels, version }) {
    const key = JSON.stringify(tunnels.map(({ server, status, error, error_class: errorClass, host_key: hostKey }) => [server, status, error, errorClass, hostKey]));
    if (key !== this.#key) {
      this.#key = key;
      const focused = this.#list.contains(document.activeElement);
      this.#figures = tunnels.map(() => h('p', { class: 'dim' }));
      fill(this.#list, tunnels.length
        ? h('ul', { class: 'tunnels' }, tunnels.map((tunnel, i) => entry(tunnel, placeOf(tunnel, version), this.#figures[i], this.#actions)))
        : h('p', { text: `There is none now (${noTunnel(version)}).` }));
      if (focused) this.#list.closest('dialog')?.querySelector('.dialog-foot button')?.focus();
    }
    tunnels.forEach((tunnel, i) => { this.#figures[i].textContent = figures(tunnel); });
  }
}

function statusOf({ status }) {
  return STATUSES.includes(status) ? status : 'idle';
}

function figures(tunnel) {
  const { local_port: port, latency_ms: latency, next_retry_ms: wait } = tunnel;
  return [statusOf(tunnel), statusOf(tunnel) === 'connected' && latencyText(latency), port && `local port ${port}`, Number.isFinite(wait) && `next try in ${formatWait(wait)}`].filter(Boolean).join(' · ');
}

function entry(tunnel, place, facts, actions) {
  const { server, error, error_class: errorClass, host_key: key } = tunnel;
  const known = failureClass(errorClass);
  return h('li', { class: `tunnel-entry ${statusOf(tunnel)}` },
    h('p', {}, h('span', { class: 'dot', 'aria-hidden': 'true' }), ' ', h('strong', { text: place || 'unknown server', title: hostOf(server) })),
    facts,
    error && h('p', { class: 'bad' }, known && `${known.label}: `, isHostKey(key) ? HOST_KEY_CHANGED : String(error)),
    error && known?.hint && !isHostKey(key) && h('p', { class: 'dim', text: known.hint }),
    isHostKey(key) && fingerprints(key),
    h('div', { class: 'tunnel-actions' },
      isHostKey(key) && h('button', { type: 'button', class: 'button', text: 'Compare and trust …', on: { click: () => actions.trust(key) } }),
      place && h('button', { type: 'button', class: 'button', text: 'Start afresh …', 'aria-label': `Start afresh … ${place}`, on: { click: () => actions.resetServer(server) } })));
}
