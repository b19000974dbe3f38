//! The API of `postern relay`: the operator's calls, and the quick-setup calls of connectors.

use std::collections::BTreeMap;
use std::ops::Not;

#[cfg(test)]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use zeroize::Zeroizing;

use crate::tunnel::fleet_keys::FleetKeys;

/// State of a relay.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(default)]
pub struct Status {
    /// Version of its program.
    pub version: String,
    /// Start of the relay, RFC 3339.
    pub since: String,
    /// Its own address.
    pub url: String,
    /// Domain of its sites.
    pub domain: String,
    /// 0 if tunnels use `tunnel_url` only.
    pub tunnel_port: u16,
    /// WebSocket URL for tunnels on the port of visitors; null if there is none.
    pub tunnel_url: Option<String>,
    /// Base64 of SHA-256 over the ECDSA host key.
    pub fingerprint: String,
    /// True if new connectors need an enrolment token.
    pub asks_token: bool,
    /// All connectors.
    pub enrolled: usize,
    /// Connectors with a tunnel.
    pub connected: usize,
    /// Connectors that match the search.
    pub matching: usize,
    /// `offset` of the next page, if there is one.
    pub next: Option<usize>,
    /// Connectors that match, in the wanted order.
    pub connectors: Vec<Connector>,
    /// The values of `/metrics` of `--metrics-listen`, by name: a number; numbers by the value of a label; or of
    /// durations
    /// `count` and `seconds`.
    pub metrics: BTreeMap<String, Value>,
    /// Relays of its fleet, this one first; null without a fleet.
    pub relays: Option<Vec<Peer>>,
    /// State of the fleet's shared store; null without a fleet.
    #[cfg_attr(test, schemars(extend("enum" = ["ok", "away", null])))]
    pub store: Option<String>,
    /// Revoked connectors.
    pub revoked: Vec<Revoked>,
    /// Notices for the operator: damaged files that were moved aside, until they are removed.
    pub notices: Vec<String>,
}

/// A relay of a fleet.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(default)]
pub struct Peer {
    /// Its ID.
    pub id: String,
    /// Its state as this relay sees it.
    #[cfg_attr(test, schemars(extend("enum" = ["this one", "linked", "leaving", "away"])))]
    pub state: String,
    /// Host of its tunnel port.
    pub external_ip: String,
    /// 0 if tunnels use `tunnel_url` only.
    pub tunnel_port: u16,
    /// WebSocket URL for tunnels on the port of visitors; null if there is none.
    pub tunnel_url: Option<String>,
    /// Address where other relays connect.
    pub peer: String,
    /// Version of its program.
    pub version: String,
    /// Connectors with a tunnel there; null if unknown.
    pub connected: Option<usize>,
}

/// An enrolled connector.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(default)]
pub struct Connector {
    /// The name that the relay knows it by.
    pub name: String,
    /// True if it has a tunnel, at this relay or at another one of its fleet.
    pub connected: bool,
    /// IDs of the fleet's relays that it has tunnels at; null without a fleet.
    pub relays: Option<Vec<String>>,
    /// RFC 3339.
    pub enrolled_at: String,
    /// Its last call, RFC 3339.
    pub called_at: String,
    /// Name of its machine, as it gives it; may be empty.
    pub label: String,
    /// Version of its program; may be empty.
    pub version: String,
    /// Address of its last call.
    pub source: String,
    /// The invite it used; null if none was needed.
    pub invite: Option<InvitedBy>,
    /// The operator's limits for each connector.
    pub quota: Quota,
    /// RFC 3339; kept when the relay restarts.
    pub last_visit: Option<String>,
    /// Traffic of all its applications together; `since` is null if nothing is counted.
    pub figures: Figures,
    /// Shared applications.
    pub applications: Vec<Application>,
}

/// Limits for each connector; null if there are none.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(default)]
pub struct Quota {
    /// Applications.
    pub sites: Option<usize>,
    /// Megabits per second through its tunnels, both directions together.
    pub mbps: Option<u32>,
}

/// Traffic, counted also before a restart of the relay.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(default)]
pub struct Figures {
    /// Requests of a site, connections of a public port.
    pub requests: u64,
    /// Bytes from visitors.
    pub bytes_in: u64,
    /// Bytes to visitors.
    pub bytes_out: u64,
    /// Current visitors.
    pub visitors: u64,
    /// Begin of counting, RFC 3339.
    pub since: Option<String>,
}

/// An application of a connector.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(default)]
pub struct Application {
    /// ID that sign-in links contain.
    pub app_id: String,
    /// Its name.
    pub name: String,
    /// Its protocol.
    pub protocol: String,
    /// Address that the connector reaches it at.
    pub target: String,
    /// Address for visitors.
    pub url: String,
    /// True if visitors need a code.
    pub invisible: bool,
    /// True if a tunnel serves it.
    pub connected: bool,
    /// Last call about it, RFC 3339.
    pub called_at: String,
    /// RFC 3339; kept when the relay restarts.
    pub last_visit: Option<String>,
    /// Null if nothing is counted yet.
    pub figures: Option<Figures>,
}

/// A revoked connector.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(default)]
pub struct Revoked {
    /// The name that the relay knew it by.
    pub name: String,
    /// RFC 3339; empty if unknown.
    pub revoked_at: String,
    /// RFC 3339; empty if unknown.
    pub enrolled_at: String,
    /// Name of its machine, as it gave it.
    pub label: String,
    /// The invite it used; null if none was needed.
    pub invite: Option<InvitedBy>,
    /// Names of sites that are reserved for it.
    pub sites: Vec<String>,
}

/// The invite that a connector used.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct InvitedBy {
    /// ID of the invite.
    pub id: String,
    /// Name of the recipient.
    #[serde(default)]
    pub label: String,
}

/// Result of a revocation.
#[derive(Clone, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(default)]
pub struct Revocation {
    /// The connector.
    pub revoked: String,
    /// The invite it used, which is disabled now; null if none was needed.
    pub invite: Option<DisabledInvite>,
    /// New enrolment token in place of the common one, if no other invite is valid. A secret, shown this once.
    #[cfg_attr(test, schemars(with = "Option<String>"))]
    pub enroll_token: Option<Zeroizing<String>>,
    /// False if it lasts only until the relay restarts, because it could not be saved.
    pub saved: bool,
    /// Relays of the fleet that will learn of it from the store.
    pub untold: Vec<String>,
}

/// An invite that is disabled.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(default)]
pub struct DisabledInvite {
    /// ID of the invite.
    pub id: String,
    /// Name of the recipient.
    pub label: String,
    /// True for the token that all share: --enroll-token, or its replacement.
    pub common: bool,
}

/// Result of undoing a revocation.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(default)]
pub struct Allowed {
    /// The connector.
    pub allowed: String,
    /// True if it is enrolled again, with its names and ports; else it must enrol again.
    pub restored: bool,
    /// True if the invite it used is valid again.
    pub invite_good: bool,
}

/// New owner of a site's name.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(default)]
pub struct NameTaken {
    /// The name.
    pub site: String,
    /// Connector that it is reserved for; null if any can have it.
    pub connector: Option<String>,
    /// True if that ended a connected site.
    pub ended: bool,
}

/// Enrolment token for new connectors, without the token.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(default)]
pub struct Invite {
    /// Its ID.
    pub id: String,
    /// Name of the recipient.
    pub label: String,
    /// State of the token.
    #[cfg_attr(test, schemars(extend("enum" = ["good", "used", "over", "forbidden"])))]
    pub status: String,
    /// Number of connectors it can enrol; null for any number.
    pub uses: Option<u32>,
    /// Connectors that it enrolled.
    pub used: u32,
    /// RFC 3339; empty if an earlier version created it.
    pub made_at: String,
    /// RFC 3339; null if it has no end.
    pub expires: Option<String>,
    /// True for the token that all share: --enroll-token, or its replacement.
    pub common: bool,
    /// True if the first start of the relay created it.
    pub first: bool,
    /// The last 1,000 connectors that used it.
    pub used_by: Vec<InviteUse>,
}

/// A connector that used an invite.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct InviteUse {
    /// The connector.
    pub connector: String,
    /// RFC 3339.
    pub at: String,
}

/// All invites.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(default)]
pub struct Invites {
    /// In order of creation.
    pub invites: Vec<Invite>,
}

/// A new invite.
#[derive(Clone, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(default)]
pub struct NewInvite {
    /// The enrolment token. A secret, shown this once.
    #[cfg_attr(test, schemars(with = "String"))]
    pub token: Zeroizing<String>,
    /// The rest of it.
    pub invite: Invite,
    /// Address of the relay, for `postern server add`.
    pub url: String,
    /// Reasons why a connector may not reach the relay.
    pub notices: Vec<String>,
}

/// Terms of a new invite.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct InviteTerms {
    /// Name of the recipient.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// Number of connectors it can enrol (default 1).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub uses: Option<u32>,
    /// Seconds it is valid for (default 7 days).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expires_in: Option<u64>,
}

/// Receiver of a site's name.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct NameTransfer {
    /// Label or name of the connector.
    pub connector: String,
    /// True to take the name of a connected site.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub force: Option<bool>,
}

/// An invite that was cancelled.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(default)]
pub struct Uninvited {
    /// Its ID.
    pub uninvited: String,
}

/// Address that signs the operator in, valid once and for ten minutes.
#[derive(Clone, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(default)]
pub struct OperatorLink {
    /// The address. A secret.
    pub url: String,
}

/// The relay's health.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(default)]
pub struct Health {
    /// `OK`.
    pub status: String,
    /// State of the fleet's shared store, `ok` or `away`; absent without a fleet.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub store: Option<String>,
}

/// Answer to a quick-setup call. `code` and `password` are secrets.
#[derive(Clone, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct Setup {
    /// Relays and credentials for tunnels.
    pub connector: SetupConnector,
    /// The application.
    pub app: SetupApplication,
    /// Parts of the sign-in link.
    pub api_key: SetupKey,
}

/// Relays and credentials for a connector's tunnels.
#[derive(Clone, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct SetupConnector {
    /// The first relay for its tunnels.
    #[serde(flatten)]
    pub relay: TunnelRelay,
    /// Port that its API gets at the relay.
    pub api_port: u16,
    /// User of its tunnels.
    pub username: String,
    /// Password of its tunnels.
    #[cfg_attr(test, schemars(with = "String"))]
    pub password: Zeroizing<String>,
    /// Other relays of the fleet that can hold the tunnel too, the best first; absent without a fleet.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub alternates: Option<Vec<TunnelRelay>>,
    /// Host keys of these relays, vouched for by keys that a connector may know; absent without a fleet.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) fleet: Option<FleetKeys>,
}

/// A relay that takes tunnels.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct TunnelRelay {
    /// Host of its tunnel port.
    pub external_ip: String,
    /// 0 if tunnels use `tunnel_url` only.
    pub tunnel_port: u16,
    /// WebSocket URL for tunnels on the port of visitors; absent if there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tunnel_url: Option<String>,
    /// Base64 of SHA-256 over the ECDSA host key.
    pub fingerprint: String,
}

/// Assignment of an application.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct SetupApplication {
    /// ID that sign-in links contain.
    pub app_id: String,
    /// Address for visitors.
    pub site_url: String,
    /// Port of the tunnel that it is served through.
    pub resource: Resource,
    /// Parts of the call that the relay enforces: `code`, `expires_in`, `allow`.
    pub in_force: Vec<String>,
    /// True if the site has another name because the preferred one is taken.
    pub site_name_taken: bool,
}

/// Listening address of a remote at the relay.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct Resource {
    /// Always 127.0.0.1.
    pub ip: String,
    /// Its port.
    pub port: u16,
}

/// Parts of a sign-in link.
#[derive(Clone, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct SetupKey {
    /// Address before `/auth`.
    pub nhp_server: String,
    /// A new one at each call; the earlier one becomes invalid. A secret; empty if the connector created it.
    pub code: String,
    /// ID that sign-in links contain.
    pub app_id: String,
}

/// Answer to a call of `/api/public/enrolment`.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct Enrols {
    /// Always true.
    pub enrols: bool,
}

/// An application that is released.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct Released {
    /// Always true.
    pub released: bool,
    /// True if the name of a site was released.
    pub name_released: bool,
}

/// Permission for a web server in front to get a certificate.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct TlsAllowed {
    /// Always true.
    pub allowed: bool,
}

/// A quick-setup call. Its fields are read one by one, so that each invalid one is named.
#[derive(Clone, Default, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct SetupCall {
    /// `http`, `https`, `tcp`, `ssh`, `rdp`, `vnc`, `telnet`, `mysql` or `mariadb`.
    pub protocol: String,
    /// Address of the application, as the connector reaches it.
    pub ip: String,
    /// Its port, from 1.
    pub port: u16,
    /// 1 to 64 of `A-Z a-z 0-9 . _ -`; the first is neither `.` nor `-`.
    pub connector_name: String,
    /// 8 to 512 characters.
    #[cfg_attr(test, schemars(with = "String"))]
    pub password: Zeroizing<String>,
    /// Name of the application for its connector; as `connector_name`.
    #[cfg_attr(test, schemars(with = "Option<String>"))]
    pub client_app_id: String,
    /// Required for an unknown connector, unless the relay is for this machine only.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, schemars(with = "Option<String>"))]
    pub enroll_token: Option<Zeroizing<String>>,
    /// Used for the site's name if none is given.
    #[cfg_attr(test, schemars(with = "Option<String>"))]
    pub display_name: String,
    /// Preferred name: 2 to 63 characters (a-z, 0-9, single hyphens); a taken one gets a number, unless
    /// `site_name_required`.
    #[cfg_attr(test, schemars(with = "Option<String>"))]
    pub site_name: String,
    /// 409 instead of another name.
    #[serde(skip_serializing_if = "Not::not")]
    #[cfg_attr(test, schemars(with = "Option<bool>"))]
    pub site_name_required: bool,
    /// Visitors need the code in the answer.
    #[cfg_attr(test, schemars(with = "Option<bool>"))]
    pub invisible: bool,
    /// The application asks for the code itself, so the relay does not.
    #[serde(skip_serializing_if = "Not::not")]
    #[cfg_attr(test, schemars(with = "Option<bool>"))]
    pub checks_code: bool,
    /// 64 hexadecimal digits: SHA-256 of the code that the connector created; without it the relay creates a code.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code_sha256: Option<String>,
    /// Seconds until the application ends by itself; each call sets it again, and without it there is no end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expires_in: Option<u64>,
    /// Addresses and networks that visitors may come from; empty allows everybody.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(test, schemars(with = "Option<Vec<String>>"))]
    pub allow: Vec<String>,
    /// Ignored: the connector handles it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub host_header: Option<String>,
    /// A new number ends all sign-ins and open visitor connections.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub generation: Option<u64>,
    /// Name of the connector's machine, for the operator.
    #[serde(skip_serializing_if = "String::is_empty")]
    #[cfg_attr(test, schemars(with = "Option<String>"))]
    pub label: String,
    /// Version of its program.
    #[serde(skip_serializing_if = "String::is_empty")]
    #[cfg_attr(test, schemars(with = "Option<String>"))]
    pub version: String,
    /// Always empty: some servers of other makers read a field of this spelling.
    #[cfg_attr(test, schemars(skip))]
    pub visable: String,
    /// Accepted, not needed.
    #[cfg_attr(test, schemars(with = "Option<bool>"))]
    pub reset: bool,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::to_json;

    #[test]
    fn the_names_are_those_of_the_contract() {
        let call = SetupCall {
            protocol: "http".into(),
            ip: "127.0.0.1".into(),
            port: 80,
            connector_name: "postern_0".into(),
            password: Zeroizing::new("hush".into()),
            client_app_id: "00ff".into(),
            site_name: "shop".into(),
            invisible: true,
            ..SetupCall::default()
        };
        let expected = "{\"protocol\":\"http\",\"ip\":\"127.0.0.1\",\"port\":80,\
            \"connector_name\":\"postern_0\",\"password\":\"hush\",\"client_app_id\":\"00ff\",\
            \"display_name\":\"\",\"site_name\":\"shop\",\"invisible\":true,\"visable\":\"\",\
            \"reset\":false}";
        assert_eq!(String::from_utf8_lossy(&to_json(&call).unwrap()), expected);
        let with_token = SetupCall {
            enroll_token: Some(Zeroizing::new("t".into())),
            code_sha256: Some("00ff".into()),
            expires_in: Some(9),
            allow: vec!["::1".to_owned()],
            host_header: Some("target".into()),
            generation: Some(2),
            ..call
        };
        let written = to_json(&with_token).unwrap();
        let written = String::from_utf8_lossy(&written);
        let terms = "\"code_sha256\":\"00ff\",\"expires_in\":9,\"allow\":[\"::1\"],\
            \"host_header\":\"target\",\"generation\":2";
        assert!(written.contains(terms) && written.contains("\"enroll_token\":\"t\""));
    }
}
