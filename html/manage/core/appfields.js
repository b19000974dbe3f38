// The fields of an application. Made from their table, src/manager/apps/fields.rs: make bless writes it.

/**
 * `most` is a number of characters or a value, `kept` the default of a field that a request without it keeps.
 * @type {Record<string, {kind: string, most?: number, uses: string, kept?: any}>}
 */
export const APP_FIELDS = {
  name: { kind: 'text', most: 100, uses: 'all' },
  protocol: { kind: 'protocol', uses: 'all' },
  ip: { kind: 'host', uses: 'all' },
  port: { kind: 'port', uses: 'all' },
  server: { kind: 'server', uses: 'all' },
  tunnel_port: { kind: 'port', uses: 'all' },
  site_name: { kind: 'siteName', uses: 'browsers' },
  display_name: { kind: 'text', most: 100, uses: 'all' },
  invisible: { kind: 'flag', uses: 'browsers' },
  expires: { kind: 'time', uses: 'all', kept: null },
  allow: { kind: 'networks', uses: 'all', kept: [] },
  host_header: { kind: 'hostHeader', uses: 'sites', kept: 'visitor' },
  path: { kind: 'path', uses: 'sites', kept: null },
  max_streams: { kind: 'number', most: 10000, uses: 'all', kept: null },
  group: { kind: 'text', most: 60, uses: 'all', kept: null },
  note: { kind: 'paragraph', most: 1000, uses: 'all', kept: null },
  audit: { kind: 'flag', uses: 'browsers', kept: false },
  username: { kind: 'text', most: 255, uses: 'logins' },
  auth_pass: { kind: 'secret', uses: 'logins' },
  db_user: { kind: 'text', most: 255, uses: 'databases' },
  db_pass: { kind: 'secret', uses: 'databases' },
  db_name: { kind: 'text', most: 255, uses: 'databases' },
  db_readonly: { kind: 'flag', uses: 'databases' },
  guest: { kind: 'grants', uses: 'databases', kept: [] },
  record_sql: { kind: 'flag', uses: 'databases', kept: false },
  autoconnect: { kind: 'flag', uses: 'all' },
};
