//! Applications, and the program that manages them.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use zeroize::Zeroizing;

use super::connection::{ConnectResult, ConnectionState, Exposed, Health};
use super::protocol::Protocol;
use crate::net::authority::authority;

/// An application; a bool stands for each secret. It has no `Debug`, as its connection has none.
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
    /// None in the answer to one that was just added.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) conn_status: Option<ConnectionState>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) health: Option<Health>,
    /// None without a connection.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) connection: Option<ConnectResult>,
}

impl App {
    /// Where its connection is.
    pub(crate) fn status(&self) -> ConnectionState {
        self.conn_status.unwrap_or_default()
    }

    /// Active settings of a connected one.
    pub(crate) fn exposed(&self) -> Option<&Exposed> {
        self.connection.as_ref()?.exposed.as_ref()
    }

    /// Saved settings, as a connection made from them would have them.
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

/// Requests of an application's visitors after a number, as far as they are kept.
#[derive(Default, Deserialize)]
pub(crate) struct Requests {
    /// The number of the last one.
    pub(crate) last: u64,
    pub(crate) requests: Vec<Visit>,
}

/// One of them.
#[derive(Deserialize)]
pub(crate) struct Visit {
    /// The visitor's address; empty if no trusted source names it.
    pub(crate) source: String,
}

/// A server that is added or changed; none keeps a value.
#[derive(Default, Serialize)]
pub(crate) struct ServerUpdate {
    pub(crate) url: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) label: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) enroll_token: Option<Zeroizing<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) default: Option<bool>,
}

/// The program, and what its user is told.
#[derive(Default, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Version {
    pub(crate) version: String,
    /// The server of applications that name none.
    pub(crate) server: Option<String>,
    /// True if that is the relay within the program.
    pub(crate) embedded: bool,
    pub(crate) insecure: bool,
    pub(crate) notices: Vec<String>,
    /// Names of the network variables that are set for it; an older program does not tell.
    pub(crate) network_variables: Option<BTreeSet<String>>,
}
