//! Every cap and timeout of the fence, in one place.

use std::time::Duration;

/// Caps and timeouts. `Limits::default()` is what the program uses.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Limits {
    /// Bytes of a request head, the request line included. Default 32 KiB: browsers with
    /// many cookies stay below it.
    pub head: usize,
    /// Bytes of a request body. Default 4 MiB: a long SQL text.
    pub body: usize,
    /// Time from the first byte awaited to a complete head. Default 10 s.
    pub head_time: Duration,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            head: 32 * 1024,
            body: 4 * 1024 * 1024,
            head_time: Duration::from_secs(10),
        }
    }
}
