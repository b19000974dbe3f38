// Shapes that several modules share: what the servers answer, and what a page hands to its parts. For the type check
// alone (tests/typescript.sh); it is not embedded.

type Spoken = 'info' | 'good' | 'warn' | 'bad';
type Announce = (text: string, kind?: Spoken) => void;
type Notify = (text: string, kind?: Spoken, link?: { text: string; href?: string; run?: () => void }) => void;

/** What a statement's error carries of the database's own. */
interface DbError {
  errno: number;
  sqlstate: string;
}

// The management API

/** A changed host key, as ConnectResult and the main tunnels give it. */
interface HostKey {
  server: string;
  known: string;
  offered: string;
}

/** What a connection shares with whom, as it is in force. */
interface Exposed {
  protocol: string;
  target: string;
  invisible: boolean;
  db_readonly: boolean | null;
  path?: string | null;
  host_header?: string;
  allow?: string[];
  expires?: string | null;
  guest?: string[];
  guest_tables?: number | null;
  guest_views?: number | null;
}

/** Who comes to an application. */
interface Visitors {
  counts?: 'visitors'|'connections';
  now: number;
  total?: number;
  last_at: string | null;
  requests: number;
}

/** The specification's ConnectResult, with what this program adds. */
interface Connection {
  status: string;
  site_url?: string | null;
  /** The name that its site was to have, where it has another one. */
  site_name_wanted?: string | null;
  auth_url?: string | null;
  local_url?: string | null;
  error?: string | null;
  error_class?: string | null;
  hint?: string | null;
  detail?: string | null;
  host_key?: HostKey | null;
  server?: string | null;
  step?: number;
  step_name?: string;
  /** Which of the five calls for an address this is. */
  attempt?: number;
  next_retry_ms?: number;
  latency_ms?: number;
  /** How the tunnel reaches the relay. */
  tunnel_way?: 'port' | 'url' | null;
  bytes_in?: number;
  bytes_out?: number;
  reconnects?: number;
  since?: string;
  exposed?: Exposed | null;
  pending_changes?: boolean;
  visitors?: Visitors | null;
  health?: { state: string; error?: string | null; hint?: string | null };
}

/** An AppConfig, with the state of its connection. */
interface App {
  id: string;
  name: string;
  protocol: string;
  ip: string;
  port: number;
  server?: string | null;
  tunnel_port?: number | null;
  site_name?: string | null;
  display_name?: string | null;
  invisible: boolean;
  expires?: string | null;
  allow: string[];
  host_header: string;
  path?: string | null;
  max_streams?: number | null;
  group?: string | null;
  note?: string | null;
  audit: boolean;
  username?: string | null;
  has_auth_pass?: boolean;
  db_user?: string | null;
  has_db_pass?: boolean;
  db_name?: string | null;
  db_readonly: boolean;
  guest: string[];
  record_sql: boolean;
  autoconnect: boolean;
  last_connected_at?: string | null;
  conn_status?: string;
  connection?: Connection;
}

/** A main tunnel. */
interface Tunnel {
  server: string;
  status: string;
  error?: string | null;
  error_class?: string | null;
  host_key?: HostKey | null;
  local_port?: number | null;
  latency_ms?: number;
  /** How the tunnel reaches the relay. */
  tunnel_way?: 'port' | 'url' | null;
  next_retry_ms?: number;
}

/** A server that is known, or that an application names. */
interface Server {
  url: string;
  label?: string | null;
  default: boolean;
  named?: boolean;
  known?: boolean;
  on_this_machine?: boolean;
  has_enroll_token?: boolean;
  status?: string;
  main_tunnel?: Tunnel | null;
  host_key?: string | null;
  applications?: string[];
  error?: string | null;
  hint?: string;
}

/** What listens on this computer. */
interface Listener {
  port: number;
  process: string;
  ip?: string;
}

/** What the manager says of itself. */
interface ServerVersion {
  version?: string;
  server?: string | null;
  embedded?: boolean;
  insecure?: boolean;
  notices?: string[];
  network_variables?: string[];
}

// The web client's API

/** What `/api/info` answers. */
interface ServerInfo {
  version: string;
  host: string;
  port: number | null;
  user: string;
  database: string | null;
  readonly: boolean;
  mode: string;
  can_write?: boolean;
  read_only?: boolean | null;
  super_read_only?: boolean | null;
  innodb_read_only?: boolean | null;
  time_zone?: string;
  tool?: string;
}

/** The person's choices in the SQL client. */
interface Settings {
  limit: number;
  stopOnError: boolean;
  confirmDanger: boolean;
  autoComplete: boolean;
  wrap: boolean;
  sidebarWidth: number;
  editorShare: number;
}

// The relay's status page

interface RelayApplication {
  app_id: string;
  url: string;
  protocol: string;
  target: string;
  connected: boolean;
  invisible: boolean;
  last_visit?: string | null;
  /** Counted since then. */
  figures: { visitors: number; requests: number; bytes_in: number; bytes_out: number; since: string | null } | null;
}

interface Connector {
  name: string;
  label?: string | null;
  source?: string | null;
  version?: string | null;
  last_visit?: string | null;
  invite?: { id: string; label: string } | null;
  quota: { sites: number | null; mbps: number | null };
  /** Ids of the fleet's relays that it has tunnels at; null of a relay alone. */
  relays: string[] | null;
  connected: boolean;
  enrolled_at: string;
  called_at: string;
  figures: { visitors: number; requests: number; bytes_in: number; bytes_out: number; since: string | null };
  applications: RelayApplication[];
}

interface RelayStatus {
  url: string;
  domain: string;
  /** 0 if tunnels use the URL only. */
  tunnel_port: number;
  tunnel_url: string | null;
  fingerprint: string;
  since: string;
  version: string;
  /** How many there are, and how many of them have a tunnel. */
  enrolled: number;
  connected: number;
  /** How many were found, of which this is a page. */
  matching: number;
  next: number | null;
  connectors: Connector[];
  /** By name: a number, numbers by cause or state, or durations. */
  metrics: Record<string, any>;
  /** What the operator is to see to. */
  notices: string[];
  revoked: { name: string; label?: string; revoked_at: string; sites: string[]; invite?: { id: string; label: string } | null }[];
  /** Whether new connectors need a token. */
  asks_token: boolean;
  /** The relays of its fleet, this one first; null of a relay alone. */
  relays: FleetRelay[] | null;
  /** How the store is that they share. */
  store: 'ok' | 'away' | null;
}

interface FleetRelay {
  id: string;
  state: 'this one' | 'linked' | 'leaving' | 'away';
  external_ip: string;
  /** 0 if tunnels use the URL only. */
  tunnel_port: number;
  tunnel_url: string | null;
  /** Where other relays link themselves. */
  peer: string;
  version: string;
  /** Connectors that have a tunnel there; null where it did not say. */
  connected: number | null;
}

interface Invite {
  id: string;
  label: string;
  status: 'good' | 'used' | 'over' | 'forbidden';
  /** How many it lets in; null for any number. */
  uses: number | null;
  used: number;
  made_at: string;
  expires: string | null;
  /** The token that all share. */
  common: boolean;
  /** The one of the relay's first start. */
  first: boolean;
  used_by: { connector: string; at: string }[];
}

/** What making one answers. */
interface MadeInvite {
  token: string;
  url: string;
  invite: Invite;
}

// What browsers have beyond the standard library's types

interface Navigator {
  userAgentData?: { platform: string };
}

interface Window {
  showSaveFilePicker?: (options: object) => Promise<FileSystemFileHandle>;
}

/** What an entry of the list is shown in. */
interface Surroundings {
  /** The program does not answer, so that all is the last that was known. */
  isDead: boolean;
  /** It is shared on this computer only. */
  isHere: boolean;
  /** What is told above the list. */
  trouble: import('./manage/core/relays.js').RelayTrouble | null;
}

/** What the servers' dialog has done for it. */
interface ServerActions {
  api: ReturnType<typeof import('./manage/api.js').createApi>;
  trust(key: HostKey): unknown;
  resetServer(server: string): unknown;
}
