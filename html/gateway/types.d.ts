// Made from the types of the API: make bless writes it. For the type check alone; it is not embedded.

/** Result of undoing a revocation. */
interface RelayAllowed {
  /** The connector. */
  allowed: string;
  /** True if the invite it used is valid again. */
  invite_good: boolean;
  /** True if it is enrolled again, with its names and ports; else it must enrol again. */
  restored: boolean;
}

/** An application of a connector. */
interface RelayApplication {
  /** ID that sign-in links contain. */
  app_id: string;
  /** Last call about it, RFC 3339. */
  called_at: string;
  /** True if a tunnel serves it. */
  connected: boolean;
  /** Null if nothing is counted yet. */
  figures: RelayFigures | null;
  /** True if visitors need a code. */
  invisible: boolean;
  /** RFC 3339; kept when the relay restarts. */
  last_visit: string | null;
  /** Its name. */
  name: string;
  /** Its protocol. */
  protocol: string;
  /** Address that the connector reaches it at. */
  target: string;
  /** Address for visitors. */
  url: string;
}

/** An enrolled connector. */
interface RelayConnector {
  /** Shared applications. */
  applications: RelayApplication[];
  /** Its last call, RFC 3339. */
  called_at: string;
  /** True if it has a tunnel, at this relay or at another one of its fleet. */
  connected: boolean;
  /** RFC 3339. */
  enrolled_at: string;
  /** Traffic of all its applications together; `since` is null if nothing is counted. */
  figures: RelayFigures;
  /** The invite it used; null if none was needed. */
  invite: RelayInvitedBy | null;
  /** Name of its machine, as it gives it; may be empty. */
  label: string;
  /** RFC 3339; kept when the relay restarts. */
  last_visit: string | null;
  /** The name that the relay knows it by. */
  name: string;
  /** The operator's limits for each connector. */
  quota: RelayQuota;
  /** IDs of the fleet's relays that it has tunnels at; null without a fleet. */
  relays: string[] | null;
  /** Address of its last call. */
  source: string;
  /** Version of its program; may be empty. */
  version: string;
}

/** An invite that is disabled. */
interface RelayDisabledInvite {
  /** True for the token that all share: --enroll-token, or its replacement. */
  common: boolean;
  /** ID of the invite. */
  id: string;
  /** Name of the recipient. */
  label: string;
}

/** Answer to a call of `/api/public/enrolment`. */
interface RelayEnrols {
  /** Always true. */
  enrols: boolean;
}

/** Members that every failed call answers. */
interface RelayFailure {
  /** The HTTP status. */
  code: number;
  /** Advice, if the message has none. */
  hint?: string | null;
  /** The cause, and if possible what to try. */
  message: string;
  /**
   * Reason of a refused quick-setup: the connector has reached its limit of applications (`quota`), no public port is
   * free (`no_port`), the relay is full (`full`), or its shared store is unavailable (`store_away`).
   */
  reason?: string | null;
}

/** Traffic, counted also before a restart of the relay. */
interface RelayFigures {
  /** Bytes from visitors. */
  bytes_in: number;
  /** Bytes to visitors. */
  bytes_out: number;
  /** Requests of a site, connections of a public port. */
  requests: number;
  /** Begin of counting, RFC 3339. */
  since: string | null;
  /** Current visitors. */
  visitors: number;
}

/** The keys of a fleet's relays. */
interface RelayFleetKeys {
  /** Fingerprint of the fleet's own key, which all its relays have. */
  key: string;
  /** Proofs of all of these, each by another key ([`ServerKey::prove`]). */
  proofs: string[];
  /** Fingerprints of the relays' host keys. */
  relays: string[];
}

/** The relay's health. */
interface RelayHealth {
  /** `OK`. */
  status: string;
  /** State of the fleet's shared store, `ok` or `away`; absent without a fleet. */
  store?: string | null;
}

/** Enrolment token for new connectors, without the token. */
interface RelayInvite {
  /** True for the token that all share: --enroll-token, or its replacement. */
  common: boolean;
  /** RFC 3339; null if it has no end. */
  expires: string | null;
  /** True if the first start of the relay created it. */
  first: boolean;
  /** Its ID. */
  id: string;
  /** Name of the recipient. */
  label: string;
  /** RFC 3339; empty if an earlier version created it. */
  made_at: string;
  /** State of the token. */
  status: 'good' | 'used' | 'over' | 'forbidden';
  /** Connectors that it enrolled. */
  used: number;
  /** The last 1,000 connectors that used it. */
  used_by: RelayInviteUse[];
  /** Number of connectors it can enrol; null for any number. */
  uses: number | null;
}

/** Terms of a new invite. */
interface RelayInviteTerms {
  /** Seconds it is valid for (default 7 days). */
  expires_in?: number | null;
  /** Name of the recipient. */
  label?: string | null;
  /** Number of connectors it can enrol (default 1). */
  uses?: number | null;
}

/** A connector that used an invite. */
interface RelayInviteUse {
  /** RFC 3339. */
  at: string;
  /** The connector. */
  connector: string;
}

/** The invite that a connector used. */
interface RelayInvitedBy {
  /** ID of the invite. */
  id: string;
  /** Name of the recipient. */
  label: string;
}

/** All invites. */
interface RelayInvites {
  /** In order of creation. */
  invites: RelayInvite[];
}

/** New owner of a site's name. */
interface RelayNameTaken {
  /** Connector that it is reserved for; null if any can have it. */
  connector: string | null;
  /** True if that ended a connected site. */
  ended: boolean;
  /** The name. */
  site: string;
}

/** Receiver of a site's name. */
interface RelayNameTransfer {
  /** Label or name of the connector. */
  connector: string;
  /** True to take the name of a connected site. */
  force?: boolean | null;
}

/** A new invite. */
interface RelayNewInvite {
  /** The rest of it. */
  invite: RelayInvite;
  /** Reasons why a connector may not reach the relay. */
  notices: string[];
  /** The enrolment token. A secret, shown this once. */
  token: string;
  /** Address of the relay, for `postern server add`. */
  url: string;
}

/** Address that signs the operator in, valid once and for ten minutes. */
interface RelayOperatorLink {
  /** The address. A secret. */
  url: string;
}

/** A relay of a fleet. */
interface RelayPeer {
  /** Connectors with a tunnel there; null if unknown. */
  connected: number | null;
  /** Host of its tunnel port. */
  external_ip: string;
  /** Its ID. */
  id: string;
  /** Address where other relays connect. */
  peer: string;
  /** Its state as this relay sees it. */
  state: 'this one' | 'linked' | 'leaving' | 'away';
  /** 0 if tunnels use `tunnel_url` only. */
  tunnel_port: number;
  /** WebSocket URL for tunnels on the port of visitors; null if there is none. */
  tunnel_url: string | null;
  /** Version of its program. */
  version: string;
}

/** Limits for each connector; null if there are none. */
interface RelayQuota {
  /** Megabits per second through its tunnels, both directions together. */
  mbps: number | null;
  /** Applications. */
  sites: number | null;
}

/** An application that is released. */
interface RelayReleased {
  /** True if the name of a site was released. */
  name_released: boolean;
  /** Always true. */
  released: boolean;
}

/** Listening address of a remote at the relay. */
interface RelayResource {
  /** Always 127.0.0.1. */
  ip: string;
  /** Its port. */
  port: number;
}

/** Result of a revocation. */
interface RelayRevocation {
  /** New enrolment token in place of the common one, if no other invite is valid. A secret, shown this once. */
  enroll_token: string | null;
  /** The invite it used, which is disabled now; null if none was needed. */
  invite: RelayDisabledInvite | null;
  /** The connector. */
  revoked: string;
  /** False if it lasts only until the relay restarts, because it could not be saved. */
  saved: boolean;
  /** Relays of the fleet that will learn of it from the store. */
  untold: string[];
}

/** A revoked connector. */
interface RelayRevoked {
  /** RFC 3339; empty if unknown. */
  enrolled_at: string;
  /** The invite it used; null if none was needed. */
  invite: RelayInvitedBy | null;
  /** Name of its machine, as it gave it. */
  label: string;
  /** The name that the relay knew it by. */
  name: string;
  /** RFC 3339; empty if unknown. */
  revoked_at: string;
  /** Names of sites that are reserved for it. */
  sites: string[];
}

/** Answer to a quick-setup call. `code` and `password` are secrets. */
interface RelaySetup {
  /** Parts of the sign-in link. */
  api_key: RelaySetupKey;
  /** The application. */
  app: RelaySetupApplication;
  /** Relays and credentials for tunnels. */
  connector: RelaySetupConnector;
}

/** Assignment of an application. */
interface RelaySetupApplication {
  /** ID that sign-in links contain. */
  app_id: string;
  /** Parts of the call that the relay enforces: `code`, `expires_in`, `allow`. */
  in_force: string[];
  /** Port of the tunnel that it is served through. */
  resource: RelayResource;
  /** True if the site has another name because the preferred one is taken. */
  site_name_taken: boolean;
  /** Address for visitors. */
  site_url: string;
}

/** A quick-setup call. Its fields are read one by one, so that each invalid one is named. */
interface RelaySetupCall {
  /** Addresses and networks that visitors may come from; empty allows everybody. */
  allow?: string[] | null;
  /** The application asks for the code itself, so the relay does not. */
  checks_code?: boolean | null;
  /** Name of the application for its connector; as `connector_name`. */
  client_app_id?: string | null;
  /** 64 hexadecimal digits: SHA-256 of the code that the connector created; without it the relay creates a code. */
  code_sha256?: string | null;
  /** 1 to 64 of `A-Z a-z 0-9 . _ -`; the first is neither `.` nor `-`. */
  connector_name: string;
  /** Used for the site's name if none is given. */
  display_name?: string | null;
  /** Required for an unknown connector, unless the relay is for this machine only. */
  enroll_token?: string | null;
  /** Seconds until the application ends by itself; each call sets it again, and without it there is no end. */
  expires_in?: number | null;
  /** A new number ends all sign-ins and open visitor connections. */
  generation?: number | null;
  /** Ignored: the connector handles it. */
  host_header?: string | null;
  /** Visitors need the code in the answer. */
  invisible?: boolean | null;
  /** Address of the application, as the connector reaches it. */
  ip: string;
  /** Name of the connector's machine, for the operator. */
  label?: string | null;
  /** 8 to 512 characters. */
  password: string;
  /** Its port, from 1. */
  port: number;
  /** `http`, `https`, `tcp`, `ssh`, `rdp`, `vnc`, `telnet`, `mysql` or `mariadb`. */
  protocol: string;
  /** Accepted, not needed. */
  reset?: boolean | null;
  /**
   * Preferred name: 2 to 63 characters (a-z, 0-9, single hyphens); a taken one gets a number, unless
   * `site_name_required`.
   */
  site_name?: string | null;
  /** 409 instead of another name. */
  site_name_required?: boolean | null;
  /** Version of its program. */
  version?: string | null;
}

/** Relays and credentials for a connector's tunnels. */
interface RelaySetupConnector {
  /** Other relays of the fleet that can hold the tunnel too, the best first; absent without a fleet. */
  alternates?: RelayTunnelRelay[] | null;
  /** Port that its API gets at the relay. */
  api_port: number;
  /** Host of its tunnel port. */
  external_ip: string;
  /** Base64 of SHA-256 over the ECDSA host key. */
  fingerprint: string;
  /** Host keys of these relays, vouched for by keys that a connector may know; absent without a fleet. */
  fleet?: RelayFleetKeys | null;
  /** Password of its tunnels. */
  password: string;
  /** 0 if tunnels use `tunnel_url` only. */
  tunnel_port: number;
  /** WebSocket URL for tunnels on the port of visitors; absent if there is none. */
  tunnel_url?: string | null;
  /** User of its tunnels. */
  username: string;
}

/** Parts of a sign-in link. */
interface RelaySetupKey {
  /** ID that sign-in links contain. */
  app_id: string;
  /** A new one at each call; the earlier one becomes invalid. A secret; empty if the connector created it. */
  code: string;
  /** Address before `/auth`. */
  nhp_server: string;
}

/** The form of the sign-in page. */
interface RelaySignIn {
  /** The token, or the link that has it. */
  code: string;
}

/** State of a relay. */
interface RelayStatus {
  /** True if new connectors need an enrolment token. */
  asks_token: boolean;
  /** Connectors with a tunnel. */
  connected: number;
  /** Connectors that match, in the wanted order. */
  connectors: RelayConnector[];
  /** Domain of its sites. */
  domain: string;
  /** All connectors. */
  enrolled: number;
  /** Base64 of SHA-256 over the ECDSA host key. */
  fingerprint: string;
  /** Connectors that match the search. */
  matching: number;
  /**
   * The values of `/metrics` of `--metrics-listen`, by name: a number; numbers by the value of a label; or of durations
   * `count` and `seconds`.
   */
  metrics: Record<string, any>;
  /** `offset` of the next page, if there is one. */
  next: number | null;
  /** Notices for the operator: damaged files that were moved aside, until they are removed. */
  notices: string[];
  /** Relays of its fleet, this one first; null without a fleet. */
  relays: RelayPeer[] | null;
  /** Revoked connectors. */
  revoked: RelayRevoked[];
  /** Start of the relay, RFC 3339. */
  since: string;
  /** State of the fleet's shared store; null without a fleet. */
  store: 'ok' | 'away' | null;
  /** 0 if tunnels use `tunnel_url` only. */
  tunnel_port: number;
  /** WebSocket URL for tunnels on the port of visitors; null if there is none. */
  tunnel_url: string | null;
  /** Its own address. */
  url: string;
  /** Version of its program. */
  version: string;
}

/** Permission for a web server in front to get a certificate. */
interface RelayTlsAllowed {
  /** Always true. */
  allowed: boolean;
}

/** A relay that takes tunnels. */
interface RelayTunnelRelay {
  /** Host of its tunnel port. */
  external_ip: string;
  /** Base64 of SHA-256 over the ECDSA host key. */
  fingerprint: string;
  /** 0 if tunnels use `tunnel_url` only. */
  tunnel_port: number;
  /** WebSocket URL for tunnels on the port of visitors; absent if there is none. */
  tunnel_url?: string | null;
}

/** An invite that was cancelled. */
interface RelayUninvited {
  /** Its ID. */
  uninvited: string;
}
