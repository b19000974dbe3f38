//! The times of a tunnel, beyond those of the dialling.

use std::time::Duration;

use crate::tunnel::{mux, target};

/// Time from the WebSocket to `Connected`: identification, keys, login and configuration. Default 30 s.
pub const READY_WITHIN: Duration = crate::limits::TUNNEL_WAIT;
/// The first pause before another attempt. Default 100 ms.
const FIRST_RETRY: Duration = Duration::from_millis(100);
/// The least pause after a refused password or host key. Default 10 s: nothing has changed sooner, and
/// servers lock out clients that retry fast.
const REFUSED_RETRY: Duration = Duration::from_secs(10);
/// Life of a connection after which the pauses begin at the shortest again. Default 5 s: a
/// chisel server finds that it cannot bind a port only after it has said yes.
const PROVEN_AFTER: Duration = Duration::from_secs(5);

/// How long each stage may take; those of the dialling are in its options.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct Timeouts {
    /// From the WebSocket to `Connected`. Default [`READY_WITHIN`].
    pub ready: Duration,
    /// For a keep-alive's answer, in which nothing at all comes. Default 15 s.
    pub answer: Duration,
    /// To connect to a target, all its addresses together. Default 10 s.
    pub target: Duration,
    /// Before the second way to a server is dialled beside the first. Default 3 s.
    pub head_start: Duration,
}

impl Default for Timeouts {
    fn default() -> Self {
        Self {
            ready: READY_WITHIN,
            answer: mux::ANSWER_WITHIN,
            target: target::CONNECT_WITHIN,
            head_start: crate::limits::HEAD_START,
        }
    }
}

/// When another attempt is made.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct Retries {
    /// The first pause; it doubles from attempt to attempt. Default 100 ms.
    pub first: Duration,
    /// The least pause after a refused password or host key. Default 10 s; of a host key it grows up to two minutes.
    pub refused: Duration,
    /// Life of a connection after which the pauses begin at the first again. Default 5 s.
    pub proven_after: Duration,
    /// The least pause after a connection that was up, so that its loss can be seen. Default none.
    pub after_loss: Duration,
    /// True if a tunnel that was up once ends when the server then refuses its login or its remotes, for an owner
    /// who can ask for others. Default no: it goes on trying.
    pub end_when_disowned: bool,
    /// End where it had been connected and another server is at its address now, or, again and again, nobody: its own may
    /// be at another port.
    pub end_when_moved: bool,
}

impl Default for Retries {
    fn default() -> Self {
        Self {
            first: FIRST_RETRY,
            refused: REFUSED_RETRY,
            proven_after: PROVEN_AFTER,
            after_loss: Duration::ZERO,
            end_when_disowned: false,
            end_when_moved: false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tunnel::client::{GONE_WITHIN, KEEPALIVE, MAX_RETRY_INTERVAL};

    #[test]
    fn a_vanished_peer_is_noticed_within_forty_seconds() {
        let timeouts = Timeouts::default();
        assert!(KEEPALIVE + timeouts.answer <= GONE_WITHIN);
        assert_eq!(timeouts.ready, Duration::from_secs(30));
        assert_eq!(timeouts.target, Duration::from_secs(10));
    }

    #[test]
    fn the_pauses_are_those_that_are_documented() {
        let retries = Retries::default();
        assert_eq!(retries.first, Duration::from_millis(100));
        assert_eq!(retries.refused, Duration::from_secs(10));
        assert_eq!(retries.proven_after, Duration::from_secs(5));
        assert_eq!(MAX_RETRY_INTERVAL, Duration::from_secs(10));
        assert_eq!(KEEPALIVE, Duration::from_secs(25));
        assert_eq!(Timeouts::default().answer, Duration::from_secs(15));
    }
}
