// The protocols of an application: what each needs, and what it listens on by default.

/**
 * @typedef {{name: string, label: string, what: string, port: number|null, visited: 'browser'|'client', database: boolean, login: boolean}} Protocol
 *   `visited`: what a visitor uses; `login`: whether the form offers a note of a user name
 */

/** @type {Protocol[]} */
export const PROTOCOLS = [
  { name: 'http', label: 'HTTP', what: 'web application', port: 80, visited: 'browser', database: false, login: false },
  { name: 'https', label: 'HTTPS', what: 'web application with TLS', port: 443, visited: 'browser', database: false, login: false },
  { name: 'mysql', label: 'MySQL', what: 'database, web client', port: 3306, visited: 'browser', database: true, login: false },
  { name: 'mariadb', label: 'MariaDB', what: 'database, web client', port: 3306, visited: 'browser', database: true, login: false },
  { name: 'ssh', label: 'SSH', what: 'shell', port: 22, visited: 'client', database: false, login: true },
  { name: 'rdp', label: 'RDP', what: 'remote desktop', port: 3389, visited: 'client', database: false, login: true },
  { name: 'vnc', label: 'VNC', what: 'remote screen', port: 5900, visited: 'client', database: false, login: true },
  { name: 'telnet', label: 'Telnet', what: 'terminal', port: 23, visited: 'client', database: false, login: true },
  { name: 'tcp', label: 'TCP', what: 'anything else', port: null, visited: 'client', database: false, login: false },
];

/** The protocol of that name; one that is not known counts as plain TCP. @param {string} name @returns {Protocol} */
export function protocolNamed(name) {
  return PROTOCOLS.find((protocol) => protocol.name === name) ?? PROTOCOLS[PROTOCOLS.length - 1];
}

/** `host:port`, with brackets around an IPv6 address. @param {{ip: string, port: number}} app */
export function addressOf({ ip, port }) {
  const host = String(ip ?? '');
  return `${host.includes(':') ? `[${host}]` : host}:${port}`;
}
