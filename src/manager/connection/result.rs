//! Answer of the status endpoint.

use std::time::Instant;

pub(crate) use crate::api::{ConnectResult, Exposed, HostKey, RelayAt};
use crate::api::{ErrorClass, Word};
use crate::http::{Counted, VisitorCount};
use crate::store::time::rfc3339;
use crate::tunnel::client::{Class, HostKeyChange, Snapshot, Status};
use crate::tunnel::group::TunnelGroup;

/// Message for an expired application; its hint is [`EXTEND`].
pub(super) const EXPIRED: &str = "the share has expired";
pub(crate) const EXTEND: &str = "extend it, on its card or with 'postern app edit NAME --for 1h'";

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
                state: state(status).into(),
            })
            .collect()
    }
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
            error_class: Some(ErrorClass::Expired.code().into()),
            hint: EXTEND.into(),
            ..Self::default()
        }
    }

    /// Adds what the tunnel has to say: why it is not up, and of one `in_use` its counters.
    pub(crate) fn add_tunnel(&mut self, snapshot: &Snapshot, in_use: bool) {
        if let Some(failure) = &snapshot.error {
            self.error.clone_from(&failure.message);
            self.error_class = Some(ErrorClass::from(failure.class).code().into());
            self.host_key = failure.host_key.clone().map(HostKey::from);
            self.next_retry_ms = snapshot.next_retry.map(millis_until);
        }
        if in_use {
            let trip = snapshot.latency;
            self.latency_ms = trip.map(|trip| trip.as_secs_f64() * 1000.0);
            self.tunnel_way = snapshot.way.map(|way| Word::from(way.name()));
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
pub(super) fn millis_until(at: Instant) -> u64 {
    let left = at.saturating_duration_since(Instant::now());
    u64::try_from(left.as_millis()).unwrap_or(u64::MAX)
}

impl From<Class> for ErrorClass {
    fn from(class: Class) -> Self {
        match class {
            Class::Network => Self::Network,
            Class::Dns => Self::Dns,
            Class::AddressRefused => Self::AddressRefused,
            Class::Proxy => Self::Proxy,
            Class::ProxyCredentials => Self::ProxyCredentials,
            Class::Tls => Self::Tls,
            Class::NotATunnelServer => Self::NotATunnelServer,
            Class::WrongPassword => Self::WrongPassword,
            Class::HostKeyChanged => Self::HostKeyChanged,
            Class::PermissionDenied => Self::PermissionDenied,
            Class::PortHeld => Self::PortHeld,
            Class::Refused => Self::Refused,
            Class::Protocol => Self::Protocol,
            Class::Local => Self::Local,
        }
    }
}
