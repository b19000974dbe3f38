//! Answer of the status endpoint.

use std::time::Instant;

use serde::Serialize;

use super::health::Health;
use super::state::ConnectionState;
use crate::http::{Counted, VisitorCount};
use crate::manager::apps::app::AppConfig;
use crate::manager::apps::protocol::Protocol;
use crate::store::time::rfc3339;
use crate::tunnel::client::{Class, HostKeyChange, Snapshot, Status, Way};
use crate::tunnel::group::TunnelGroup;

/// Message for an expired application; its hint is [`EXTEND`].
pub(super) const EXPIRED: &str = "the share has expired";
pub(crate) const EXTEND: &str = "extend it, on its card or with 'postern app edit NAME --for 1h'";

/// A connection as the API shows it. Texts are empty and the rest is null where there is nothing to say.
///
/// It has no `Debug`: two of its URLs hold codes. The default is that of an application without a connection.
#[derive(Clone, Default, Serialize)]
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
    pub(crate) error_class: Option<&'static str>,
    /// Hint; empty if `error_class` implies it.
    pub(crate) hint: &'static str,
    /// The tunnel's own words behind `error`.
    pub(crate) detail: String,
    pub(crate) host_key: Option<HostKey>,
    pub(crate) app_id: String,
    pub(crate) step: Option<u8>,
    pub(crate) step_name: Option<&'static str>,
    /// Which call of a round it is at, from 1, while the server is asked.
    pub(crate) attempt: Option<u32>,
    pub(crate) next_retry_ms: Option<u64>,
    /// May hold a code of the owner's own, as `auth_url`.
    pub(crate) local_url: String,
    pub(crate) latency_ms: Option<f64>,
    /// `port` or `url`; none while it is not connected.
    pub(crate) tunnel_way: Option<&'static str>,
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

/// Target and protection of a connection, as it was made, whatever was saved since.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
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

impl Exposed {
    /// That of a connection made from `app`.
    pub(super) fn of(app: &AppConfig) -> Self {
        Self {
            target: app.address(),
            protocol: app.protocol,
            invisible: app.invisible,
            db_readonly: app
                .protocol
                .is_database()
                .then_some(app.db_readonly || !app.guest.is_empty()),
            host_header: app.host_header.clone(),
            path: app
                .path
                .clone()
                .filter(|_| matches!(app.protocol, Protocol::Http | Protocol::Https)),
            allow: app.allow.clone(),
            expires: app.expires.clone(),
            guest: if app.protocol.is_database() {
                app.guest.clone()
            } else {
                Vec::new()
            },
            guest_tables: None,
            guest_views: None,
        }
    }
}

/// One of two relays that a tunnel is held at.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct RelayAt {
    /// Its tunnel server, `host:port`.
    pub(crate) address: String,
    /// `connected` or `reconnecting`.
    pub(crate) state: &'static str,
}

impl RelayAt {
    /// Those of a tunnel.
    pub(super) fn of(tunnel: &TunnelGroup) -> Vec<Self> {
        let state = |status| match status {
            Status::Connected => "connected",
            _ => "reconnecting",
        };
        let relays = tunnel.relays().into_iter();
        relays
            .map(|(address, status)| Self {
                address,
                state: state(status),
            })
            .collect()
    }
}

/// A host key that is not the pinned one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct HostKey {
    /// The tunnel server, `host:port`.
    pub(crate) server: String,
    /// The fingerprint that is pinned.
    pub(crate) known: String,
    /// The one that was shown.
    pub(crate) offered: String,
}

impl From<HostKeyChange> for HostKey {
    fn from(change: HostKeyChange) -> Self {
        Self {
            server: change.server,
            known: change.known,
            offered: change.offered,
        }
    }
}

impl ConnectResult {
    /// That of an application whose time is over.
    pub(crate) fn expired() -> Self {
        Self {
            error: EXPIRED.to_owned(),
            error_class: Some("expired"),
            hint: EXTEND,
            ..Self::default()
        }
    }

    /// Adds what the tunnel has to say: why it is not up, and of one `in_use` its figures.
    pub(super) fn add_tunnel(&mut self, snapshot: &Snapshot, in_use: bool) {
        if snapshot.status != Status::Connected
            && let Some(failure) = &snapshot.error
        {
            self.error.clone_from(&failure.message);
            self.error_class = Some(class_name(failure.class));
            self.host_key = failure.host_key.clone().map(HostKey::from);
            self.next_retry_ms = snapshot.next_retry.map(millis_until);
        }
        if in_use {
            self.latency_ms = latency_ms(snapshot);
            self.tunnel_way = snapshot.way.map(Way::name);
            self.bytes_in = snapshot.received;
            self.bytes_out = snapshot.sent;
            self.reconnects = snapshot.reconnects;
            self.since = snapshot.since.map(rfc3339);
        }
    }
}

/// Visitors of a tunnel without a gateway: connections.
pub(super) fn of_tunnel(snapshot: &Snapshot) -> VisitorCount {
    VisitorCount {
        counts: Counted::Connections,
        now: snapshot.streams,
        total: snapshot.opened,
        last_at: snapshot.last_opened,
        requests: snapshot.opened,
    }
}

/// Milliseconds from now; 0 when it has passed.
pub(crate) fn millis_until(at: Instant) -> u64 {
    let left = at.saturating_duration_since(Instant::now());
    u64::try_from(left.as_millis()).unwrap_or(u64::MAX)
}

/// The last round trip, in ms; of a tunnel that is down it says nothing.
pub(crate) fn latency_ms(snapshot: &Snapshot) -> Option<f64> {
    let trip = snapshot.latency?;
    (snapshot.status == Status::Connected).then_some(trip.as_secs_f64() * 1000.0)
}

/// The name of a tunnel's kind of failure.
pub(crate) fn class_name(class: Class) -> &'static str {
    match class {
        Class::Network => "network",
        Class::Dns => "dns",
        Class::AddressRefused => "address-refused",
        Class::Proxy => "proxy",
        Class::ProxyCredentials => "proxy-credentials",
        Class::Tls => "tls",
        Class::NotATunnelServer => "not-a-tunnel-server",
        Class::WrongPassword => "wrong-password",
        Class::HostKeyChanged => "host-key-changed",
        Class::PermissionDenied => "permission-denied",
        Class::PortHeld => "port-held",
        Class::Refused => "refused",
        Class::Protocol => "protocol",
        Class::Local => "local",
    }
}
