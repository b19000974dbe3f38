// Made from the types of the API: make bless writes it. For the type check alone; it is not embedded.

/** An application. */
interface App {
  /** Networks that visitors may come from; empty allows everybody */
  allow: string[];
  /** True if an audit log is written */
  audit: boolean;
  /** True if it is connected when the program starts */
  autoconnect: boolean;
  /** State of its connection; absent if it was just added */
  conn_status?: 'idle' | 'connecting' | 'connected' | 'failed';
  connection?: ConnectResult;
  /** RFC 3339 */
  created_at: string;
  /** Initial database */
  db_name: string | null;
  /** True if the web client refuses every statement that could write */
  db_readonly: boolean;
  /** Database user */
  db_user: string | null;
  /** Name on the sign-in page and in the relay's list */
  display_name: string | null;
  /** End time, RFC 3339 in UTC */
  expires: string | null;
  /** Heading of its group */
  group: string | null;
  /** Tables and columns that the database guest may read */
  guest: string[];
  /** True if this secret is saved */
  has_auth_pass: boolean;
  /** True if this secret is saved */
  has_db_pass: boolean;
  health?: Health;
  /** Host header for the application: visitor, target, or a name with optional scheme and port */
  host_header: string;
  /** 16 hexadecimal digits */
  id: string;
  /** True if visitors need the code */
  invisible: boolean;
  /** IP address without brackets, or host name */
  ip: string;
  /** RFC 3339 */
  last_connected_at: string | null;
  /** Maximum number of simultaneous visitor streams */
  max_streams: number | null;
  /** Name given by the user; by default protocol and address */
  name: string;
  /** Note for the user, of one or more lines */
  note: string | null;
  /** Path that the links of a web site open */
  path: string | null;
  /** Port, never 0 */
  port: number;
  /** Protocol of the application */
  protocol: Protocol;
  /** True if the statement log contains SQL texts */
  record_sql: boolean;
  /**
   * URL of its own server; without one, of the server that it was connected through. Null if the default or the command
   * line's server applies
   */
  server: string | null;
  /** Preferred first label of the site's name */
  site_name: string | null;
  /** True if it lasts only as long as the command that shares it */
  temporary: boolean;
  /** Port of the tunnel server, if it is not the one that the remote server names */
  tunnel_port: number | null;
  /** Last change by the user, RFC 3339 */
  updated_at: string;
  /** User name of the application, for the user's reference */
  username: string | null;
}

/** Changes of an application and its connection. */
interface ChangeCount {
  /** Number of changes since the program started. */
  changes: number;
}

/** Connection of an application. Texts are empty and other members null if there is nothing to say. */
interface ConnectResult {
  /** ID at the remote server. */
  app_id: string;
  /** Number of the current call of a round, from 1 to 5, while it asks the server. */
  attempt: number | null;
  /** Sign-in link with the authorization code: for the owner, never for a log. */
  auth_url: string;
  /** Bytes from visitors. */
  bytes_in: number;
  /** Bytes to visitors. */
  bytes_out: number;
  /** The tunnel's own message behind `error`. */
  detail: string;
  /** Cause of a failure or of a retry pause. */
  error: string;
  /** Class of that. */
  error_class: 'network' | 'dns' | 'proxy' | 'proxy-credentials' | 'timeout' | 'protocol' | 'tls' |
    'not-a-tunnel-server' | 'address-refused' | 'host-key-changed' | 'wrong-password' | 'revoked' | 'forbidden' |
    'refused' | 'limit' | 'quick-setup' | 'no-server' | 'name-taken' | 'permission-denied' | 'port-held' |
    'own-listener' | 'not-enforced' | 'plugin' | 'expired' | 'local' | null;
  /**
   * Active settings, whatever was saved since; null until the site was set up once in this connection. Kept while the
   * tunnel is lost.
   */
  exposed: Exposed | null;
  /** Health of the application; null while it is not connected. */
  health: Health | null;
  /** Hint: what to try; empty if `error_class` already says it. */
  hint: string;
  /** The refused host key, if it has changed. */
  host_key: HostKey | null;
  /** Round trip in milliseconds; null while it is not connected. */
  latency_ms: number | null;
  /** Address on this machine of a database's web client. It may hold a code, for the owner. */
  local_url: string;
  /** Milliseconds until the next try. */
  next_retry_ms: number | null;
  /** True if the saved settings differ from the active ones: they apply at the next connect. */
  pending_changes: boolean;
  /** Number of reconnects of its tunnel. */
  reconnects: number;
  /** Relays of a fleet that hold its tunnels; absent if there is only one. */
  relays?: RelayAt[];
  /** The remote server's origin. */
  server: string;
  /** Start of the connection, RFC 3339. */
  since: string | null;
  /** The preferred site name, if the site has another one. */
  site_name_wanted: string | null;
  /** Address for visitors. */
  site_url: string;
  status: ConnectionState;
  /** Number of the current step of the connect sequence. */
  step: number | null;
  /** Its name. */
  step_name: string | null;
  /** Way of the tunnel to the relay: its tunnel port, or the URL of its web server. Null while it is not connected. */
  tunnel_way: 'port' | 'url' | null;
  /** Visitors; null while nothing is exposed, except the last ones of an expired application. */
  visitors: VisitorCount | null;
}

/**
 * State of a connection. `idle`: There is no connection. `connecting`: It is being made, or the tunnel reconnects.
 * `connected`: The tunnel is up. `failed`: It could not be made. `disconnected`: It was ended.
 */
type ConnectionState = 'idle' | 'connecting' | 'connected' | 'failed' | 'disconnected';

/**
 * Unit in which visitors are counted. `visitors`: Visitors, by their address or sign-in. `connections`: Connections, of
 * which a browser opens several, as no trusted source names the visitors.
 */
type Counted = 'visitors' | 'connections';

/**
 * An application to add or change. A change keeps what is omitted; null sets the default. Fields that only the server
 * writes are ignored; other unknown ones are rejected.
 */
interface Draft {
  /** Networks that visitors may come from; empty allows everybody */
  allow?: string[] | null;
  /** True if an audit log is written */
  audit?: boolean | null;
  /** Password of that user; an empty text removes it */
  auth_pass?: string | null;
  /** True if it is connected when the program starts */
  autoconnect?: boolean | null;
  /** Initial database */
  db_name?: string | null;
  /** Password of the database user; an empty text removes it */
  db_pass?: string | null;
  /** True if the web client refuses every statement that could write */
  db_readonly?: boolean | null;
  /** Database user */
  db_user?: string | null;
  /** Name on the sign-in page and in the relay's list */
  display_name?: string | null;
  /** End time, RFC 3339 in UTC */
  expires?: string | null;
  /** Heading of its group */
  group?: string | null;
  /** Tables and columns that the database guest may read */
  guest?: string[] | null;
  /** Host header for the application: visitor, target, or a name with optional scheme and port */
  host_header?: string | null;
  /** True if visitors need the code */
  invisible?: boolean | null;
  /** IP address without brackets, or host name */
  ip?: string | null;
  /** Maximum number of simultaneous visitor streams */
  max_streams?: number | null;
  /** Name given by the user; by default protocol and address */
  name?: string | null;
  /** Note for the user, of one or more lines */
  note?: string | null;
  /** Path that the links of a web site open */
  path?: string | null;
  /** Port, never 0 */
  port?: number | null;
  /** Protocol of the application */
  protocol: Protocol;
  /** True if the statement log contains SQL texts */
  record_sql?: boolean | null;
  /** Its own server. Null is the default, whatever it was connected through */
  server?: string | null;
  /** Preferred first label of the site's name */
  site_name?: string | null;
  /** Port of the tunnel server, if it is not the one that the remote server names */
  tunnel_port?: number | null;
  /** User name of the application, for the user's reference */
  username?: string | null;
}

/** Active settings of a connection. */
interface Exposed {
  /** Networks that visitors may come from; empty allows everybody. */
  allow: string[];
  /** For a database: true if statements that write are refused. */
  db_readonly: boolean | null;
  /** End time, RFC 3339 in UTC: the earliest one if this end, the server and the guest account differ. */
  expires: string | null;
  /** Tables and columns that the database guest may read. */
  guest: string[];
  /** Number of tables; null without a guest account. */
  guest_tables: number | null;
  /** Number of views; a view shows what its definer may read. */
  guest_views: number | null;
  /** Host name that the application is asked for. */
  host_header: string;
  /** True if visitors need the authorization code. */
  invisible: boolean;
  /** Path that the links of a web site open. */
  path: string | null;
  protocol: Protocol;
  /** The application, `host:port`; for a database the database itself. */
  target: string;
}

/** Members that every failed call answers. */
interface Failure {
  /** Names of the applications that prevent it. */
  applications?: string[];
  /** The HTTP status. */
  code: number;
  /** Identifiers of connected applications that prevent it. */
  connected?: string[];
  /** Invalid fields, and why each is. */
  fields?: Record<string, string>;
  /** Hint: what to try. */
  hint?: string;
  /** The cause. */
  message: string;
}

/** Health of an application: whether it answers. */
interface Health {
  /** Reason of the failure. */
  error: string | null;
  /** Setting to change; null if `error` says it. */
  hint: string | null;
  /** Start of this state, RFC 3339. */
  since: string | null;
  state: HealthState;
}

/**
 * Health of an application, in a word. `unknown`: It has not answered yet. `ok`: It answered the last check. `failing`:
 * It did not answer the last check.
 */
type HealthState = 'unknown' | 'ok' | 'failing';

/** A host key that is not the trusted one. */
interface HostKey {
  /** Fingerprint of the trusted key. */
  known: string;
  /** Fingerprint of the offered key. */
  offered: string;
  /** The tunnel server, `host:port`. */
  server: string;
}

/** An added plugin. */
interface Installed {
  /** Time when it was added, RFC 3339 in UTC. */
  installed: string;
  /** Its name. */
  name: string;
  /** Names of the protocols that use it. */
  protocols: string[];
  /** Its version, `v1.2.3`. */
  version: string;
}

/** A TCP service on this machine. */
interface Listener {
  /** Address of the service. */
  ip: string;
  /** Port of the service. */
  port: number;
  /** Name of the process; empty if unknown. */
  process: string;
}

/** A record with its number. */
interface LoggedRequest {
  /** Bytes sent to the visitor, including the head. */
  bytes: number;
  /** Method of the request. */
  method: string;
  /** Duration in whole milliseconds. */
  ms: number;
  /** Number of the application's record since the program started, from 1. */
  n: number;
  /** Path without the query; a shortened one ends in `…`, which no path can. */
  path: string;
  /** The visitor's address; empty if no trusted source names it. */
  source: string;
  /** Status of the answer; 0 if none was sent. */
  status: number;
  /** Begin of the request, RFC 3339. */
  time: string;
}

/** A record with its number. */
interface LoggedStatement {
  /** The first verb; `OTHER` if unknown. */
  kind: string;
  /**
   * 0, or the number of the visitor's statements that this line counts, with their total rows and times and the verdict
   * of the last: statements that changed nothing beyond 120 a minute, and those of a script except the first that is
   * refused before it is sent.
   */
  more: number;
  /** Duration in whole milliseconds. */
  ms: number;
  /** Number of the application's record since the program started, from 1. */
  n: number;
  /** Rows sent. */
  rows: number;
  /** Its text without passwords if `record_sql` is on, else null; a shortened one says so. */
  sql: string | null;
  /** Its begin, RFC 3339. */
  time: string;
  /** Its result. */
  verdict: Verdict;
  /** A short tag of the visitor's sign-in and the address, as far as known; `here` for this machine. */
  visitor: string;
}

/** Main tunnel to a remote server. */
interface MainTunnel {
  /** Cause of a failure; empty without one. */
  error: string;
  /** Class of that. */
  error_class: 'network' | 'dns' | 'proxy' | 'proxy-credentials' | 'timeout' | 'protocol' | 'tls' |
    'not-a-tunnel-server' | 'address-refused' | 'host-key-changed' | 'wrong-password' | 'revoked' | 'forbidden' |
    'refused' | 'limit' | 'quick-setup' | 'no-server' | 'name-taken' | 'permission-denied' | 'port-held' |
    'own-listener' | 'not-enforced' | 'plugin' | 'expired' | 'local' | null;
  /** The refused host key, if it has changed. */
  host_key: HostKey | null;
  /** Round trip in milliseconds; null while it is not connected. */
  latency_ms: number | null;
  /** Port of the local API service. */
  local_port: number | null;
  /** Milliseconds until the next try. */
  next_retry_ms: number | null;
  /** The remote server's origin. */
  server: string;
  /** Its state. */
  status: 'connecting' | 'connected' | 'failed';
  /** Way of the tunnel to the relay: its tunnel port, or the URL of its web server. Null while it is not connected. */
  tunnel_way: 'port' | 'url' | null;
}

/** A plugin to add. */
interface PluginToAdd {
  /** Name of the plugin, or one of its protocols. */
  name: string;
}

/** Protocol of an application. */
type Protocol = 'http' | 'https' | 'tcp' | 'ssh' | 'rdp' | 'vnc' | 'telnet' | 'mysql' | 'mariadb';

/** A QR code; a unit is a module. */
interface QrCode {
  /** The dark modules, as the `d` of an SVG path. */
  path: string;
  /** Modules of a side, with the light ones around it. */
  size: number;
}

/** A text to draw. */
interface QrRequest {
  /** Text of at most 1,000 bytes. */
  text: string;
}

/** A relay of a fleet that holds a tunnel. */
interface RelayAt {
  /** Its tunnel server, `host:port`. */
  address: string;
  /** State of the tunnel to it. */
  state: 'connected' | 'reconnecting';
}

/** Requests of an application's visitors after a number, as far as they are kept. */
interface RequestLog {
  /** Number of the last request, 0 before the first. */
  last: number;
  /** In their order. */
  requests: LoggedRequest[];
}

/** Result of a reset. */
interface Reset {
  /** Identifiers of the applications that were disconnected. */
  disconnected: string[];
  /** Origin of the server. */
  server: string;
}

/** A reset of the identity at a server. */
interface ResetRequest {
  /** True to end the connections through it first. */
  disconnect?: boolean;
  /** URL of the server; only its origin counts. */
  server: string;
}

/** A remote server of the user, or one that applications use. */
interface Server {
  /** Names of the applications that use it, now or at the next connect. */
  applications: string[];
  /** True if plain `postern start` uses it. */
  default: boolean;
  /** Cause of a failure. */
  error: string | null;
  /** True if an enrolment token is stored. */
  has_enroll_token: boolean;
  /** Hint: what to do if it is refused or revoked; else empty. */
  hint: string;
  /** Fingerprint of its tunnel server. */
  host_key: string | null;
  /** True if it is in the user's list; others are only in use. */
  known: boolean;
  /** Name for the user. */
  label: string | null;
  /** Its main tunnel; null before there is one. */
  main_tunnel: MainTunnel | null;
  /** True if the command line sets it for all applications without a server of their own. */
  named: boolean;
  /** True if it is the built-in relay, used if no server is given. */
  on_this_machine: boolean;
  /**
   * Status of its main tunnel; before there is one, of its applications. `refused`: it rejects this connector's
   * credentials; `revoked`: its operator has revoked the connector.
   */
  status: 'idle' | 'connecting' | 'connected' | 'failed' | 'refused' | 'revoked';
  /** Its URL. */
  url: string;
}

/** A server to add or change. An omitted field is kept, null removes it. */
interface ServerUpdate {
  /** True if `postern start` uses it when no server is given. */
  default?: boolean | null;
  /** Enrolment token: stored sealed, sent to this server only, never shown. */
  enroll_token?: string | null;
  /** Name for the user. */
  label?: string | null;
  /** `https://HOST` or `https://HOST:PORT`; its origin identifies the server. */
  url: string;
}

/** Statements of a database's visitors after a number, as far as they are kept. */
interface StatementLog {
  /** Number of the last statement, 0 before the first. */
  last: number;
  /** In their order. */
  statements: LoggedStatement[];
}

/** A changed host key that is trusted. */
interface Trust {
  /** Fingerprint of the offered key. */
  fingerprint: string;
  /** The tunnel server, `host:port`. */
  server: string;
}

/**
 * Result of a statement. `ok`: It succeeded. `refused`: Read-only mode refused it, or the server because a privilege is
 * missing. `failed`: It failed. `cancelled`: Its visitor, the time limit or the end of its connection stopped it.
 */
type Verdict = 'ok' | 'refused' | 'failed' | 'cancelled';

/** The program and its settings. */
interface Version {
  /** True if that is the built-in relay. */
  embedded: boolean;
  /** True if it connects to servers without TLS (`--insecure`). */
  insecure: boolean;
  /** Names of its proxy variables and SSL_CERT_FILE, if set. */
  network_variables: string[];
  /** Notices for the user. */
  notices: string[];
  /** URL of the server for applications without one of their own; null if there is none. */
  server: string | null;
  /** Version of the program. */
  version: string;
}

/** Visitors of an application. */
interface VisitorCount {
  /** Unit of `now` and `total`. */
  counts: Counted;
  /** Time of the last request, RFC 3339. */
  last_at: string | null;
  /** Current ones: with an open connection, or for a database with a request in the last minute. */
  now: number;
  /** Requests since it was connected; for protocols other than HTTP, connections. */
  requests: number;
  /** All since it was connected. */
  total: number;
}
