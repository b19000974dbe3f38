//! Connections of applications, and the servers that they use.

use serde::{Deserialize, Serialize};

use super::protocol::Protocol;
use crate::http::VisitorCount;

/// A word or text of a fixed set at the server; any text at a client.
pub(crate) type Word = std::borrow::Cow<'static, str>;

/// State of a connection.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub(crate) enum ConnectionState {
    /// There is no connection.
    #[default]
    Idle,
    /// It is being made, or the tunnel reconnects.
    Connecting,
    /// The tunnel is up.
    Connected,
    /// It could not be made.
    Failed,
    /// It was ended.
    Disconnected,
}

impl ConnectionState {
    /// Name in answers.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Idle => "idle",
            Self::Connecting => "connecting",
            Self::Connected => "connected",
            Self::Failed => "failed",
            Self::Disconnected => "disconnected",
        }
    }
}

/// Connection of an application. Texts are empty and other members null if there is nothing to say.
// No `Debug`, because two of its URLs contain codes. The default is for an application without a connection.
#[derive(Clone, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub(crate) struct ConnectResult {
    pub(crate) status: ConnectionState,
    /// The remote server's origin.
    pub(crate) server: String,
    /// Address for visitors.
    pub(crate) site_url: String,
    /// The preferred site name, if the site has another one.
    pub(crate) site_name_wanted: Option<String>,
    /// Sign-in link with the authorization code: for the owner, never for a log.
    pub(crate) auth_url: String,
    /// Cause of a failure or of a retry pause.
    pub(crate) error: String,
    /// Class of that.
    #[cfg_attr(test, schemars(extend("enum" = error_classes())))]
    pub(crate) error_class: Option<Word>,
    /// Hint: what to try; empty if `error_class` already says it.
    pub(crate) hint: Word,
    /// The tunnel's own message behind `error`.
    pub(crate) detail: String,
    /// The refused host key, if it has changed.
    pub(crate) host_key: Option<HostKey>,
    /// ID at the remote server.
    pub(crate) app_id: String,
    /// Number of the current step of the connect sequence.
    pub(crate) step: Option<u8>,
    /// Its name.
    pub(crate) step_name: Option<Word>,
    /// Number of the current call of a round, from 1 to 5, while it asks the server.
    pub(crate) attempt: Option<u32>,
    /// Milliseconds until the next try.
    pub(crate) next_retry_ms: Option<u64>,
    /// Address on this machine of a database's web client. It may hold a code, for the owner.
    pub(crate) local_url: String,
    /// Round trip in milliseconds; null while it is not connected.
    pub(crate) latency_ms: Option<f64>,
    /// Way of the tunnel to the relay: its tunnel port, or the URL of its web server. Null while it is not connected.
    #[cfg_attr(test, schemars(extend("enum" = ["port", "url", null])))]
    pub(crate) tunnel_way: Option<Word>,
    /// Bytes from visitors.
    pub(crate) bytes_in: u64,
    /// Bytes to visitors.
    pub(crate) bytes_out: u64,
    /// Number of reconnects of its tunnel.
    pub(crate) reconnects: u64,
    /// Relays of a fleet that hold its tunnels; absent if there is only one.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) relays: Vec<RelayAt>,
    /// Start of the connection, RFC 3339.
    pub(crate) since: Option<String>,
    /// Active settings, whatever was saved since; null until the site was set up once in this connection. Kept while
    /// the tunnel is lost.
    pub(crate) exposed: Option<Exposed>,
    /// True if the saved settings differ from the active ones: they apply at the next connect.
    pub(crate) pending_changes: bool,
    /// Health of the application; null while it is not connected.
    pub(crate) health: Option<Health>,
    /// Visitors; null while nothing is exposed, except the last ones of an expired application.
    pub(crate) visitors: Option<VisitorCount>,
}

impl ConnectResult {
    /// The class of its failure; empty without one.
    pub(crate) fn class(&self) -> &str {
        self.error_class.as_deref().unwrap_or_default()
    }

    /// Health of an application that does not answer; none for others.
    pub(crate) fn failing(&self) -> Option<&Health> {
        let health = self.health.as_ref();
        health.filter(|health| health.state == HealthState::Failing)
    }
}

/// Changes of an application and its connection.
#[derive(Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct ChangeCount {
    /// Number of changes since the program started.
    pub(crate) changes: u64,
}

/// Active settings of a connection.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Exposed {
    /// The application, `host:port`; for a database the database itself.
    pub(crate) target: String,
    pub(crate) protocol: Protocol,
    /// True if visitors need the authorization code.
    pub(crate) invisible: bool,
    /// For a database: true if statements that write are refused.
    pub(crate) db_readonly: Option<bool>,
    /// Host name that the application is asked for.
    pub(crate) host_header: String,
    /// Path that the links of a web site open.
    pub(crate) path: Option<String>,
    /// Networks that visitors may come from; empty allows everybody.
    pub(crate) allow: Vec<String>,
    /// End time, RFC 3339 in UTC: the earliest one if this end, the server and the guest account differ.
    pub(crate) expires: Option<String>,
    /// Tables and columns that the database guest may read.
    pub(crate) guest: Vec<String>,
    /// Number of tables; null without a guest account.
    pub(crate) guest_tables: Option<u64>,
    /// Number of views; a view shows what its definer may read.
    pub(crate) guest_views: Option<u64>,
}

/// A relay of a fleet that holds a tunnel.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct RelayAt {
    /// Its tunnel server, `host:port`.
    pub(crate) address: String,
    /// State of the tunnel to it.
    #[cfg_attr(test, schemars(extend("enum" = ["connected", "reconnecting"])))]
    pub(crate) state: Word,
}

/// A host key that is not the trusted one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct HostKey {
    /// The tunnel server, `host:port`.
    pub(crate) server: String,
    /// Fingerprint of the trusted key.
    pub(crate) known: String,
    /// Fingerprint of the offered key.
    pub(crate) offered: String,
}

/// Health of an application, in a word.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub(crate) enum HealthState {
    /// It has not answered yet.
    #[default]
    Unknown,
    /// It answered the last check.
    Ok,
    /// It did not answer the last check.
    Failing,
}

/// Health of an application: whether it answers.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub(crate) struct Health {
    pub(crate) state: HealthState,
    /// Reason of the failure.
    pub(crate) error: Option<String>,
    /// Setting to change; null if `error` says it.
    pub(crate) hint: Option<Word>,
    /// Start of this state, RFC 3339.
    pub(crate) since: Option<String>,
}

/// Codes of the kinds of failure, and null.
#[cfg(test)]
pub(super) fn error_classes() -> Vec<Option<&'static str>> {
    let codes = super::error_class::CLASSES.iter().map(|row| Some(row.code));
    codes.chain([None]).collect()
}

/// A remote server of the user, or one that applications use.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub(crate) struct Server {
    /// Its URL.
    pub(crate) url: String,
    /// Name for the user.
    pub(crate) label: Option<String>,
    /// True if plain `postern start` uses it.
    pub(crate) default: bool,
    /// True if the command line sets it for all applications without a server of their own.
    pub(crate) named: bool,
    /// True if it is in the user's list; others are only in use.
    pub(crate) known: bool,
    /// True if it is the built-in relay, used if no server is given.
    pub(crate) on_this_machine: bool,
    /// True if an enrolment token is stored.
    pub(crate) has_enroll_token: bool,
    /// Status of its main tunnel; before there is one, of its applications. `refused`: it rejects this connector's
    /// credentials; `revoked`: its operator has revoked the connector.
    #[cfg_attr(test, schemars(extend("enum" = ["idle", "connecting", "connected", "failed", "refused", "revoked"])))]
    pub(crate) status: String,
    /// Its main tunnel; null before there is one.
    pub(crate) main_tunnel: Option<MainTunnel>,
    /// Fingerprint of its tunnel server.
    pub(crate) host_key: Option<String>,
    /// Names of the applications that use it, now or at the next connect.
    pub(crate) applications: Vec<String>,
    /// Cause of a failure.
    pub(crate) error: Option<String>,
    /// Hint: what to do if it is refused or revoked; else empty.
    pub(crate) hint: Word,
}

/// A changed host key that is trusted.
#[derive(Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct Trust {
    /// The tunnel server, `host:port`.
    pub(crate) server: String,
    /// Fingerprint of the offered key.
    pub(crate) fingerprint: String,
}

/// Main tunnel to a remote server.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub(crate) struct MainTunnel {
    /// The remote server's origin.
    pub(crate) server: String,
    /// Its state.
    #[cfg_attr(test, schemars(extend("enum" = ["connecting", "connected", "failed"])))]
    pub(crate) status: Word,
    /// Cause of a failure; empty without one.
    pub(crate) error: String,
    /// Class of that.
    #[cfg_attr(test, schemars(extend("enum" = error_classes())))]
    pub(crate) error_class: Option<Word>,
    /// The refused host key, if it has changed.
    pub(crate) host_key: Option<HostKey>,
    /// Milliseconds until the next try.
    pub(crate) next_retry_ms: Option<u64>,
    /// Port of the local API service.
    pub(crate) local_port: Option<u16>,
    /// Round trip in milliseconds; null while it is not connected.
    pub(crate) latency_ms: Option<f64>,
    /// Way of the tunnel to the relay: its tunnel port, or the URL of its web server. Null while it is not connected.
    #[cfg_attr(test, schemars(extend("enum" = ["port", "url", null])))]
    pub(crate) tunnel_way: Option<Word>,
}
