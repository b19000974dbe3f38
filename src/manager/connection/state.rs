//! The states of an application's connection: the whole table is [`ConnectionState::on`].
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

pub(crate) use crate::api::ConnectionState;

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
    /// It is up again.
    TunnelBack,
    /// The pause after a round that failed is over, or what it waited for has changed.
    RetryDue,
    /// The user asks for the end, wherever it is.
    Disconnect,
}

use ConnectionState::{Connected, Connecting, Disconnected, Failed, Idle};
use Event::{Completed, Connect, Disconnect, RetryDue, StepFailed, TunnelBack, TunnelLost};

impl ConnectionState {
    /// The state after an event; none where the event changes nothing.
    pub(crate) fn on(self, event: Event) -> Option<ConnectionState> {
        match (self, event) {
            // A record is created; the answer does not wait for the work.
            (Idle | Failed | Disconnected, Connect) => Some(Connecting),
            // Its present status is answered, and there is no second connection.
            (Connecting | Connected, Connect) => None,
            // The result gets the site's URL; the work waits for the stop signal.
            (Connecting, Completed) => Some(Connected),
            // The reason is kept in the record.
            (Connecting, StepFailed) => Some(Failed),
            // The tunnel goes on trying by itself.
            (Connected, TunnelLost) => Some(Connecting),
            (Connecting, TunnelBack) => Some(Connected),
            // Of one that comes back: the next round begins.
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
