// Errors that several applications share because they use the same server. They are shown once for the server.
import { FAILURES } from './failures.js';
import { hostOf } from './links.js';

/** Fewer than so many tell it themselves. */
const TOGETHER = 2;

/**
 * @typedef {{key: string, server: string, host: string, connection: ConnectResult, apps: App[]}} RelayTrouble
 *   `connection` is that of the first to be tried again, whose words stand for all
 */

/** Shared error of a server's applications, by the ID of each. @param {App[]} apps @returns {Map<string, RelayTrouble>} */
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
function troubleKey(status = 'idle', { server, error, error_class: errorClass }) {
  const whose = FAILURES[errorClass ?? '']?.whose ?? 'words';
  if (!['connecting', 'failed'].includes(status) || !error || hostOf(server) === '' || whose === 'app') return '';
  // A server that is down is refused by one and awaited in vain by another.
  if (whose === 'away') return `${server} away`;
  return whose === 'server' ? `${server} ${errorClass}` : `${server} ${errorClass} ${error}`;
}
