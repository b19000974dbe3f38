// What applications of one server suffer together: told once, for the server, not once for each of them.
import { hostOf } from './links.js';

/** Failures of the server or of the way to it, whatever their words; of all others the words tell whether they are one. */
const OF_THE_SERVER = ['network', 'dns', 'proxy', 'tls', 'timeout', 'not-a-tunnel-server', 'wrong-password', 'revoked', 'host-key-changed', 'address-refused'];
/** Failures that are an application's own, though several may have them. */
const OF_THE_APPLICATION = ['own-listener', 'plugin', 'local', 'port-held', 'permission-denied', 'expired', 'not-enforced'];
/** Fewer than so many tell it themselves. */
const TOGETHER = 2;

/**
 * @typedef {{key: string, server: string, host: string, connection: ConnectResult, apps: App[]}} RelayTrouble
 *   `connection` is that of the first to be tried again, whose words stand for all
 */

/** What a server's applications suffer together, by the identifier of each. @param {App[]} apps @returns {Map<string, RelayTrouble>} */
export function relayTroubles(apps) {
  /** @type {Map<string, RelayTrouble>} */
  const all = new Map();
  for (const app of apps) {
    const { connection } = app;
    const key = connection && troubleKey(app.conn_status, connection);
    if (!connection || !key) continue;
    const known = all.get(key);
    if (!known) all.set(key, { key, server: String(connection.server), host: hostOf(connection.server), connection, apps: [app] });
    else {
      known.apps.push(app);
      if ((connection.next_retry_ms ?? Infinity) < (known.connection.next_retry_ms ?? Infinity)) known.connection = connection;
    }
  }
  const shared = [...all.values()].filter((trouble) => trouble.apps.length >= TOGETHER);
  return new Map(shared.flatMap((trouble) => trouble.apps.map(({ id }) => [id, trouble])));
}

/** @param {string|undefined} status @param {ConnectResult} connection */
function troubleKey(status = 'idle', { server, error, error_class: given }) {
  const errorClass = given ?? '';
  if (!['connecting', 'failed'].includes(status) || !error || hostOf(server) === '' || OF_THE_APPLICATION.includes(errorClass)) return '';
  return OF_THE_SERVER.includes(errorClass) ? `${server} ${classGroup(errorClass)}` : `${server} ${errorClass} ${error}`;
}

/** A server that is down is refused by one and awaited in vain by another. */
function classGroup(errorClass) {
  return ['wrong-password', 'revoked', 'host-key-changed', 'address-refused'].includes(errorClass) ? errorClass : 'away';
}
