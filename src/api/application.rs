//! Applications, and the program that manages them.

use std::collections::BTreeSet;

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};
use zeroize::Zeroizing;

use super::connection::{ConnectResult, ConnectionState, Exposed, Health};
use super::protocol::Protocol;
use crate::net::authority::authority;

/// An application, with a bool in place of each secret. It has no `Debug`, because its connection has none.
#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct App {
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) protocol: Protocol,
    pub(crate) ip: String,
    pub(crate) port: u16,
    pub(crate) server: Option<String>,
    pub(crate) tunnel_port: Option<u16>,
    pub(crate) invisible: bool,
    pub(crate) site_name: Option<String>,
    pub(crate) display_name: Option<String>,
    pub(crate) username: Option<String>,
    pub(crate) has_auth_pass: bool,
    pub(crate) db_user: Option<String>,
    pub(crate) has_db_pass: bool,
    pub(crate) db_name: Option<String>,
    pub(crate) db_readonly: bool,
    pub(crate) autoconnect: bool,
    pub(crate) host_header: String,
    pub(crate) allow: Vec<String>,
    pub(crate) expires: Option<String>,
    pub(crate) path: Option<String>,
    pub(crate) group: Option<String>,
    pub(crate) note: Option<String>,
    pub(crate) max_streams: Option<u32>,
    pub(crate) audit: bool,
    pub(crate) record_sql: bool,
    pub(crate) guest: Vec<String>,
    pub(crate) created_at: String,
    pub(crate) updated_at: String,
    pub(crate) last_connected_at: Option<String>,
    pub(crate) temporary: bool,
    /// None in the answer to a call that adds an application.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) conn_status: Option<ConnectionState>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) health: Option<Health>,
    /// None without a connection.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) connection: Option<ConnectResult>,
}

impl App {
    /// State of its connection.
    pub(crate) fn status(&self) -> ConnectionState {
        self.conn_status.unwrap_or_default()
    }

    /// Active settings; none unless it is connected.
    pub(crate) fn exposed(&self) -> Option<&Exposed> {
        self.connection.as_ref()?.exposed.as_ref()
    }

    /// Saved settings, in the form of a connection's settings.
    pub(crate) fn saved(&self) -> Exposed {
        let is_database = self.protocol.is_database();
        let only_reads = self.db_readonly || !self.guest.is_empty();
        let path = self.path.clone();
        Exposed {
            target: authority(&self.ip, self.port),
            protocol: self.protocol,
            invisible: self.invisible,
            db_readonly: is_database.then_some(only_reads),
            host_header: self.host_header.clone(),
            path: path.filter(|_| self.protocol.has_gateway()),
            allow: self.allow.clone(),
            expires: self.expires.clone(),
            guest: self
                .guest
                .clone()
                .into_iter()
                .filter(|_| is_database)
                .collect(),
            guest_tables: None,
            guest_views: None,
        }
    }

    /// Active settings of a connected one, else the saved ones.
    pub(crate) fn exposed_or_saved(&self) -> Exposed {
        self.exposed().cloned().unwrap_or_else(|| self.saved())
    }

    /// True if it is connected and saved settings wait for the next connection.
    pub(crate) fn is_pending(&self) -> bool {
        let connection = self.connection.as_ref();
        connection.is_some_and(|connection| connection.pending_changes)
    }
}

/// Requests or statements of an application's visitors after a number, as far as they are kept.
#[derive(Default, Deserialize)]
pub(crate) struct Log {
    /// Number of the last entry.
    pub(crate) last: u64,
    #[serde(alias = "requests", alias = "statements")]
    pub(crate) entries: Vec<Map<String, Value>>,
}

/// A server to add or change. An omitted field is kept, null removes it.
#[derive(Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct ServerUpdate {
    /// `https://HOST` or `https://HOST:PORT`; its origin identifies the server.
    pub(crate) url: String,
    /// Name for the user.
    #[serde(default, deserialize_with = "present")]
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, schemars(extend("maxLength" = 100)))]
    pub(crate) label: Option<Option<String>>,
    /// Enrolment token: stored sealed, sent to this server only, never shown.
    #[serde(default, deserialize_with = "present")]
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, schemars(with = "Option<String>", extend("writeOnly" = true, "maxLength" = 256)))]
    pub(crate) enroll_token: Option<Option<Zeroizing<String>>>,
    /// True if `postern start` uses it when no server is given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) default: Option<bool>,
}

/// Distinguishes null from an omitted field.
fn present<'de, T: Deserialize<'de>, D: Deserializer<'de>>(
    given: D,
) -> Result<Option<Option<T>>, D::Error> {
    Option::deserialize(given).map(Some)
}

/// The program and its settings.
#[derive(Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub(crate) struct Version {
    /// Version of the program.
    pub(crate) version: String,
    /// URL of the server for applications without one of their own; null if there is none.
    pub(crate) server: Option<String>,
    /// True if that is the built-in relay.
    pub(crate) embedded: bool,
    /// True if it connects to servers without TLS (`--insecure`).
    pub(crate) insecure: bool,
    /// Notices for the user.
    pub(crate) notices: Vec<String>,
    /// Names of its proxy variables and SSL_CERT_FILE, if set.
    // None from an older program.
    #[cfg_attr(test, schemars(with = "BTreeSet<String>"))]
    pub(crate) network_variables: Option<BTreeSet<String>>,
}
