//! A connection of an application.

use serde::{Deserialize, Serialize};

use super::protocol::Protocol;
use crate::http::VisitorCount;

/// A word or text of a fixed set at the server; any text at a client.
pub(crate) type Word = std::borrow::Cow<'static, str>;

/// Where a connection is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum ConnectionState {
    /// There is no connection.
    #[default]
    Idle,
    /// The work is under way, or the tunnel is between two connections.
    Connecting,
    /// The tunnel is up.
    Connected,
    /// The work ended without success.
    Failed,
    /// It was ended, and its record is gone.
    Disconnected,
}

impl ConnectionState {
    /// As answers have it.
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

/// A connection as the API shows it. Texts are empty and the rest is null where there is nothing to say.
///
/// It has no `Debug`: two of its URLs hold codes. The default is that of an application without a connection.
#[derive(Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct ConnectResult {
    pub(crate) status: ConnectionState,
    /// The remote server's origin.
    pub(crate) server: String,
    pub(crate) site_url: String,
    /// The name that its site was to have, where it has another one.
    pub(crate) site_name_wanted: Option<String>,
    /// Holds the authorization code: for the owner, never for a log.
    pub(crate) auth_url: String,
    pub(crate) error: String,
    pub(crate) error_class: Option<Word>,
    /// Hint; empty if `error_class` implies it.
    pub(crate) hint: Word,
    /// The tunnel's own words behind `error`.
    pub(crate) detail: String,
    pub(crate) host_key: Option<HostKey>,
    pub(crate) app_id: String,
    pub(crate) step: Option<u8>,
    pub(crate) step_name: Option<Word>,
    /// Which call of a round it is at, from 1, while the server is asked.
    pub(crate) attempt: Option<u32>,
    pub(crate) next_retry_ms: Option<u64>,
    /// May hold a code of the owner's own, as `auth_url`.
    pub(crate) local_url: String,
    pub(crate) latency_ms: Option<f64>,
    /// `port` or `url`; none while it is not connected.
    pub(crate) tunnel_way: Option<Word>,
    pub(crate) bytes_in: u64,
    pub(crate) bytes_out: u64,
    pub(crate) reconnects: u64,
    /// The relays that its tunnels are held at, where they are two.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) relays: Vec<RelayAt>,
    pub(crate) since: Option<String>,
    /// Active settings; none while nothing is exposed.
    pub(crate) exposed: Option<Exposed>,
    /// True if the saved settings differ from the active ones.
    pub(crate) pending_changes: bool,
    /// Health of the application; none while it is not connected.
    pub(crate) health: Option<Health>,
    /// Visitors; none while nothing is exposed, except the last ones of an expired application.
    pub(crate) visitors: Option<VisitorCount>,
}

impl ConnectResult {
    /// The class of its failure; empty without one.
    pub(crate) fn class(&self) -> &str {
        self.error_class.as_deref().unwrap_or_default()
    }

    /// Why the application does not answer, where it is known not to.
    pub(crate) fn failing(&self) -> Option<&Health> {
        let health = self.health.as_ref();
        health.filter(|health| health.state == HealthState::Failing)
    }
}

/// Target and protection of a connection, as it was made, whatever was saved since.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Exposed {
    /// The application, `host:port`; of a database the database itself.
    pub(crate) target: String,
    pub(crate) protocol: Protocol,
    pub(crate) invisible: bool,
    /// Of a database, whether its web client refuses what could write.
    pub(crate) db_readonly: Option<bool>,
    /// By which name the application is asked.
    pub(crate) host_header: String,
    /// The path of a web site that its links open.
    pub(crate) path: Option<String>,
    /// Where visitors may come from; empty for everywhere.
    pub(crate) allow: Vec<String>,
    /// When it ends by itself, RFC 3339.
    pub(crate) expires: Option<String>,
    /// Grants of a guest account of the database.
    pub(crate) guest: Vec<String>,
    /// How many tables that comes to.
    pub(crate) guest_tables: Option<u64>,
    /// How many views; one shows what its definer may read.
    pub(crate) guest_views: Option<u64>,
}

/// One of two relays that a tunnel is held at.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct RelayAt {
    /// Its tunnel server, `host:port`.
    pub(crate) address: String,
    /// `connected` or `reconnecting`.
    pub(crate) state: Word,
}

/// A host key that is not the pinned one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct HostKey {
    /// The tunnel server, `host:port`.
    pub(crate) server: String,
    /// The fingerprint that is pinned.
    pub(crate) known: String,
    /// The one that was shown.
    pub(crate) offered: String,
}

/// Health of an application, in a word.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum HealthState {
    /// It has not answered yet.
    #[default]
    Unknown,
    /// It answered when it was asked last.
    Ok,
    /// It did not.
    Failing,
}

/// Health of an application: whether it answers.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Health {
    pub(crate) state: HealthState,
    /// Why it fails, in words for the user.
    pub(crate) error: Option<String>,
    /// Hint; none if `error` contains it.
    pub(crate) hint: Option<Word>,
    /// Since when it is as it is: RFC 3339.
    pub(crate) since: Option<String>,
}
