//! Caps and timeouts of the gateway, beside those of the HTTP server in front of it.

use std::time::Duration;

use crate::limits;

/// Caps and timeouts. `Limits::default()` is what the program uses.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Limits {
    /// Time that a request may stand still before its answer begins: its visitor sends nothing more of it, or the
    /// application takes nothing, or says nothing. Default 300 s: reports, long polls and uploads are slow.
    pub answer_time: Duration,
    /// Time that an answer under way, or an upgraded connection, may be silent. Default 1 h:
    /// event streams and WebSockets may have nothing to say.
    pub silence: Duration,
    /// Time that an upgraded connection with one end closed may be silent. Default 60 s: the
    /// other end closes soon or has forgotten to.
    pub half_closed: Duration,
    /// Time after which a kept stream is not used for a request that must not be sent twice.
    /// Default 1 s: servers close idle connections after 2 s at the earliest.
    pub sure_for: Duration,
    /// Time after which a kept stream is not used at all. Default 30 s.
    pub kept_for: Duration,
}

/// Time after which a forgotten stream ends at a connector. The server, which is nearer to the visitor, has closer
/// limits, of 24 h at most, and closes the stream.
pub(crate) const FORGOTTEN: Duration = Duration::from_secs(25 * 3600);

impl Limits {
    /// Limits at a connector: the server, which knows the visitor, limits the time of a request.
    pub(crate) fn for_connector() -> Limits {
        Limits {
            answer_time: FORGOTTEN,
            silence: FORGOTTEN,
            ..Limits::default()
        }
    }
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            answer_time: limits::ANSWER_TIME,
            silence: limits::SILENCE,
            half_closed: limits::HALF_CLOSED,
            sure_for: Duration::from_secs(1),
            kept_for: Duration::from_secs(30),
        }
    }
}
