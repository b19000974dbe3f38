//! States, steps and result of an application's connection. [`ConnectionState::on`] is the whole table of states.
//!
//! ```text
//!            Connect              Completed
//! idle ─────────────> connecting ──────────> connected ──┐
//!  ▲                   │  ▲ ▲  │ <──────────────┘        │ Disconnect
//!  │            Failed │  │ │  │ TunnelLost, TunnelBack  │
//!  │  Connect, RetryDue▼  │ │  └─────────┐               │
//!  │                 failed │            ▼               │
//!  └── record gone ─────────┴──── disconnected <─────────┘
//! ```

use std::time::Instant;

use ConnectionState::{Connected, Connecting, Disconnected, Failed, Idle};
use Event::{Completed, Connect, Disconnect, RetryDue, StepFailed, TunnelBack, TunnelLost};

use crate::api::{ErrorClass, Word};
use crate::http::{Counted, VisitorCount};
use crate::manager::apps::protocol::Protocol;
use crate::store::time::rfc3339;
use crate::tunnel::client::{Class, HostKeyChange, Snapshot, Status};
use crate::tunnel::group::TunnelGroup;

pub(crate) use crate::api::{ConnectResult, ConnectionState, Exposed, HostKey, RelayAt};

/// Message for an expired application; its hint is [`EXTEND`].
pub(super) const EXPIRED: &str = "the share has expired";
/// Hint for an expired application.
pub(crate) const EXTEND: &str = "extend it, on its card or with 'postern app edit NAME --for 1h'";

/// Events of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Event {
    /// The user asks for it, and the application exists.
    Connect,
    /// Quick-setup succeeded, the main tunnel is ready, the tunnel connected in time.
    Completed,
    /// A step failed, or the tunnel's connected signal did not come in time.
    StepFailed,
    /// The tunnel of a connection that was complete is down.
    TunnelLost,
    /// The tunnel is up again.
    TunnelBack,
    /// The pause after a round that failed is over, or what it waited for has changed.
    RetryDue,
    /// The user asks for the end, wherever it is.
    Disconnect,
}

impl ConnectionState {
    /// The state after an event; none where the event changes nothing.
    pub(crate) fn on(self, event: Event) -> Option<ConnectionState> {
        match (self, event) {
            // A record is created; the answer does not wait for the work.
            (Idle | Failed | Disconnected, Connect) => Some(Connecting),
            // The current status is answered, and there is no second connection.
            (Connecting | Connected, Connect) => None,
            // The result gets the site's URL; the work waits for the stop signal.
            (Connecting, Completed) => Some(Connected),
            // The reason is kept in the record.
            (Connecting, StepFailed) => Some(Failed),
            // The tunnel goes on trying by itself.
            (Connected, TunnelLost) => Some(Connecting),
            (Connecting, TunnelBack) => Some(Connected),
            // The next round of an application that is retried begins.
            (Failed, RetryDue) => Some(Connecting),
            // The stop signal is closed, the tunnel too, the record removed; the main tunnel stays.
            (Connecting | Connected | Failed, Disconnect) => Some(Disconnected),
            // Late events change nothing.
            (Idle | Connected | Failed | Disconnected, Completed | StepFailed | TunnelBack) => None,
            (Idle | Connecting | Failed | Disconnected, TunnelLost) => None,
            (Idle | Connecting | Connected | Disconnected, RetryDue) => None,
            (Idle | Disconnected, Disconnect) => None,
        }
    }

    /// True if it counts among the active connections.
    pub(crate) fn is_active(self) -> bool {
        matches!(self, Connecting | Connected)
    }
}

/// Step of the work that a person may wait for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Step {
    /// A database's web client is being started.
    WebClient,
    /// The remote server is asked.
    QuickSetup,
    /// The credentials it gave are being saved.
    Credentials,
    /// The main tunnel is awaited.
    MainTunnel,
    /// The application's tunnel is being made.
    AppTunnel,
    /// The tunnel's connected signal is awaited.
    Signal,
    /// There is nothing left to do but to wait for the stop signal.
    Serving,
}

impl Step {
    /// The first step of an application's connection.
    pub(crate) fn first_of(protocol: Protocol) -> Self {
        if protocol.is_database() {
            Self::WebClient
        } else {
            Self::QuickSetup
        }
    }

    /// Number in the connect sequence; a web client is made before the sequence begins.
    pub(crate) fn number(self) -> u8 {
        match self {
            Self::WebClient | Self::QuickSetup => 1,
            Self::Credentials => 2,
            Self::MainTunnel => 3,
            Self::AppTunnel => 4,
            Self::Signal => 5,
            Self::Serving => 8,
        }
    }

    /// Name for the page.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::WebClient => "web client",
            Self::QuickSetup => "quick-setup",
            Self::Credentials => "credentials",
            Self::MainTunnel => "main tunnel",
            Self::AppTunnel | Self::Signal => "app tunnel",
            Self::Serving => "serving",
        }
    }
}

impl RelayAt {
    /// Returns the relays of a tunnel.
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
    /// Result of an expired application.
    pub(crate) fn expired() -> Self {
        Self {
            error: EXPIRED.to_owned(),
            error_class: Some(ErrorClass::Expired.code().into()),
            hint: EXTEND.into(),
            ..Self::default()
        }
    }

    /// Adds the tunnel's error and, if it is `in_use`, its counters.
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Each row of the specification's table, and what was added to it: state, event, next state.
    #[test]
    fn each_row_of_the_table() {
        for (state, event, next) in [
            (Idle, Connect, Connecting),
            (Connecting, Completed, Connected),
            (Connecting, StepFailed, Failed),
            (Connected, Disconnect, Disconnected),
            (Connecting, Disconnect, Disconnected),
            (Failed, Connect, Connecting),
            (Failed, RetryDue, Connecting),
            (Failed, Disconnect, Disconnected),
            (Connected, TunnelLost, Connecting),
            (Connecting, TunnelBack, Connected),
            (Disconnected, Connect, Connecting),
        ] {
            assert_eq!(state.on(event), Some(next), "{state:?} on {event:?}");
        }
    }

    #[test]
    fn everything_else_changes_nothing() {
        let states = [Idle, Connecting, Connected, Failed, Disconnected];
        let events = [
            Connect, Completed, StepFailed, TunnelLost, TunnelBack, RetryDue, Disconnect,
        ];
        let pairs = states
            .iter()
            .flat_map(|state| events.iter().map(move |event| (state, event)));
        let changes = pairs.filter(|(state, event)| state.on(**event).is_some());
        assert_eq!(changes.count(), 11, "the rows above, and no others");
        assert_eq!(Connecting.on(Connect), None, "no second connection");
        assert_eq!(
            Disconnected.on(RetryDue),
            None,
            "what was disconnected is not tried"
        );
        assert_eq!(
            Disconnected.on(Completed),
            None,
            "a late success does not bring it back"
        );
    }
}
