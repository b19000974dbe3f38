// What a connection's state means for a person: its steps, its failures, its pauses.

/** Steps a person waits for; what follows them is the wait for the end. */
export const STEPS = 5;

/** Names of the steps, where the server does not tell. */
const STEP_NAMES = ['', 'quick-setup', 'credentials', 'main tunnel', 'app tunnel', 'app tunnel'];

/** For each class of failure: what it is called and what to try. */
const CLASSES = {
  network: ['Network', 'Check that the server runs and that this computer reaches it.'],
  dns: ['Name not found', 'Check the spelling of the server’s name and the network.'],
  'address-refused': ['Address refused', 'The server names a tunnel server inside your network; ask who runs it.'],
  proxy: ['Proxy', 'Check the proxy in the environment (HTTPS_PROXY, NO_PROXY).'],
  tls: ['TLS', 'Check the server’s certificate and this computer’s clock.'],
  'not-a-tunnel-server': ['Not a tunnel server', 'Something else answers at that port; check the tunnel port.'],
  'wrong-password': ['Credentials refused', 'The server does not know this computer, or not any more.'],
  'host-key-changed': ['Host key changed', 'Trust the new key only when you know why it changed.'],
  'permission-denied': ['Not permitted', 'The server does not let this connector use that port.'],
  'port-held': ['Port still held', 'An earlier connection still holds the port; it is free within a minute.'],
  refused: ['Refused', 'The server refused; its words are above.'],
  protocol: ['Protocol error', 'The server’s answer was not understood; are the versions compatible?'],
  timeout: ['Timeout', 'The tunnel did not come up in time; its own reason, where it gave one, is above.'],
  'quick-setup': ['Remote server', ''],
  forbidden: ['Refused by the server', 'It is not asked again by itself: mend what it says, then retry.'],
  limit: ['Over a limit', 'Wait a minute, or disconnect what is not needed.'],
  'own-listener': ['Own address', 'Edit the application (under ⋯): it leads to this program itself.'],
  'no-server': ['No server', 'Start with --server URL, or name a remote server in the application.'],
  plugin: ['Database', 'Check that it runs, and that address, user and password fit (Edit, under ⋯).'],
  'no-plugin': ['Database plugin', 'Install it in a terminal: postern plugin add mysql.'],
  local: ['This computer', 'Something on this computer stands in the way; the log has more (-v).'],
};

/** A class of failure in words. @param {unknown} given @param {unknown} [error] its words, which may tell more @returns {{label: string, hint: string}|null} */
export function failureClass(given, error = '') {
  if (typeof given !== 'string' || given === '') return null;
  const name = given === 'plugin' && String(error).startsWith('unsupported protocol') ? 'no-plugin' : given;
  const [label, hint] = Object.hasOwn(CLASSES, name) ? CLASSES[name] : [name.replaceAll('-', ' ').slice(0, 40), ''];
  return { label, hint };
}

/** Where a connection that is being made stands, `step 3 of 5: main tunnel`. @param {object|undefined} connection */
export function stepText(connection) {
  const step = Number(connection?.step);
  if (!Number.isInteger(step) || step < 1) return 'starting';
  if (step > STEPS) return 'tunnel lost; connecting again';
  const name = connection.step_name || STEP_NAMES[step];
  return `step ${step} of ${STEPS}${name ? `: ${name}` : ''}`;
}

/** The badge of what leaves this computer through no server. */
const HERE = { kind: 'note', icon: 'plug', label: 'This computer only', title: 'No server is named, so nobody elsewhere reaches it; programs on this computer do.' };

/** A wait as people say it: `4 s`, `2 min 5 s`. @param {number} ms */
export function waitText(ms) {
  const seconds = Math.max(0, Math.ceil(ms / 1000));
  return seconds < 60 ? `${seconds} s` : `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
}

/**
 * How an application is protected, for its badges. @param {object} app @param {{database: boolean, visited: string}} protocol
 * @param {boolean} [isHere] whether it is shared on this computer only
 */
export function protection(app, protocol, isHere = false) {
  const badges = [];
  if (protocol.visited === 'browser') {
    badges.push(app.invisible
      ? { kind: 'closed', icon: 'key', label: 'Invisible', title: 'Visitors need the authorization code.' }
      : isHere ? HERE : { kind: 'open', icon: 'globe', label: 'Public', title: 'Whoever knows the address gets in.' });
  } else badges.push(isHere ? HERE : { kind: 'open', icon: 'globe', label: 'Public port', title: 'Whoever reaches the port reaches the application; its own login protects it.' });
  if (protocol.database) {
    badges.push(app.db_readonly
      ? { kind: 'read-only', icon: 'lock', label: 'Read-Only', title: 'Statements that write are refused.' }
      : { kind: 'read-write', icon: 'unlock', label: 'Read-Write', title: 'Statements that write are executed.' });
  }
  if (app.protocol === 'https') badges.push({ kind: 'note', icon: 'warn', label: 'Certificate not verified', title: 'The application’s certificate is not checked between here and it.' });
  return badges;
}
