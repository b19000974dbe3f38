// The figures of the whole relay, and what it refused. Makes elements, asks nothing.
import { h } from '../common/dom.js';
import { formatBytes, formatCount, formatMs } from '../common/figures.js';

/** Kinds of refusals: name, metric, and the text for each cause. @type {[string, string, Record<string, string>][]} */
const REFUSALS = [
  ['Request', 'postern_relay_refusals_total', {
    bad_request: 'malformed',
    broken_off: 'the answer broke off',
    changed: 'who may see the site had just changed',
    code_asked: 'asked for the code',
    connector_busy: 'the connector’s sites have too many visitors',
    ended: 'the site has ended',
    loop: 'it came back to the relay',
    not_allowed: 'from a network that is not allowed',
    relay_busy: 'too many visitors in all',
    source_busy: 'too many requests from one address',
    target_down: 'the application does not answer',
    timeout: 'the application is too slow',
    too_many_codes: 'too many wrong codes',
    tunnel_down: 'the tunnel is down',
    unknown_site: 'no such site',
    wrong_code: 'a wrong code',
    wrong_port: 'a wrong port',
  }],
  ['Stream', 'postern_relay_stream_refusals_total', {
    connector_full: 'the connector has as many as it may',
    connector_refused: 'the connector refused it',
    not_allowed: 'from a network that is not allowed',
    too_many: 'too many at public ports',
    // These two are shown under requests.
    no_tunnel: '',
    tunnel_broken: '',
  }],
  ['Tunnel', 'postern_relay_tunnel_refusals_total', { login: 'a wrong login', too_many: 'too many tunnels' }],
  ['Quick-setup call', 'postern_relay_quick_setup_calls_total', {
    busy: 'too many at once',
    failed: 'an error at the relay',
    full: 'the relay is full',
    invalid: 'malformed',
    limited: 'too many from one address',
    no_port: 'no public port for it',
    store_away: 'the fleet’s store is unavailable',
    quota: 'over the connector’s quota',
    refused: 'rejected',
  }],
  ['Connection', 'postern_relay_early_refusals_total', {
    malformed: 'malformed request',
    misdirected: 'another host name',
    no_room: 'too many connections',
    too_large: 'request too large',
    too_slow: 'request too slow',
  }],
];

/** The tiles: what is counted, the figure, and what is said below it. @param {Record<string, any>} metrics */
export function totals(metrics) {
  const of = (name) => metrics[`postern_relay_${name}`] ?? 0;
  const requests = of('requests_total');
  const all = sum(requests);
  const classes = ['2xx', '3xx', '4xx', '5xx'].filter((name) => requests[name] > 0).map((name) => `${name} ${formatCount(requests[name])}`);
  const tiles = [
    ['Tunnels', String(of('tunnels').connected ?? 0), `${formatCount(of('tunnel_reconnects_total'))} reconnected`],
    ['Streams', String(of('streams')), `${formatCount(of('streams_total'))} since start`],
    ['Requests', formatCount(all), classes.join(' · ')],
    ['First byte', mean(of('first_byte_seconds')), 'on average'],
    ['In', formatBytes(of('received_bytes_total')), 'from visitors'],
    ['Out', formatBytes(of('sent_bytes_total')), 'to visitors'],
  ];
  return tiles.map(([name, figure, more]) => h('div', { class: 'tile' },
    h('dt', { text: name }),
    h('dd', { class: 'figure', text: figure }),
    h('dd', { class: 'dim', text: more || '–' })));
}

/** The rows of what was refused, the most frequent first. @param {Record<string, any>} metrics */
export function refusals(metrics) {
  const rows = REFUSALS.flatMap(([what, name, words]) => {
    // A cause that is not known here is one of a later relay.
    return Object.entries(metrics[name] ?? {}).filter(([cause, count]) => count > 0 && cause !== 'ok' && words[cause] !== '').map(([cause, count]) => ({ what, why: words[cause] ?? cause, count }));
  });
  rows.sort((a, b) => b.count - a.count);
  return rows.map(({ what, why, count }) => h('tr', {}, h('td', { text: what }), h('td', { text: why }), h('td', { class: 'number', text: count.toLocaleString() })));
}

/** @param {Record<string, number>|number} counts */
function sum(counts) {
  return Object.values(counts).reduce((all, count) => all + count, 0);
}

/** @param {{count: number, seconds: number}} took */
function mean({ count, seconds }) {
  return count > 0 ? formatMs((seconds / count) * 1000) : '–';
}
