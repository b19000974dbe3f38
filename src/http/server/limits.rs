//! Every cap and timeout of the server, in one place.

use std::time::Duration;

use crate::limits;
use crate::sync::part_of_memory;

const MIB: usize = 1024 * 1024;
/// Memory for each connection. Default 128 KiB: threads and buffers of both ends of a tunnel in one process.
const BYTES_A_CONNECTION: u64 = 128 * 1024;

/// Caps and timeouts. `Limits::default()` is what the program uses.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Limits {
    /// Bytes of a head, its first line included. Default 32 KiB: browsers with many
    /// cookies stay below it.
    pub head: usize,
    /// Header lines of a head. Default 100: browsers send about 20.
    pub headers: usize,
    /// Bytes of a request body. Default 4 MiB: a long SQL text.
    pub body: usize,
    /// Bytes of all request bodies held at once, small ones (64 KiB) not counted. Default
    /// 64 MiB: sixteen of the largest; less in a small memory.
    pub bodies: usize,
    /// Connections in all. Default 512: a thread each, with a small stack.
    pub connections: usize,
    /// Connections of one source (an IPv4 address, an IPv6 /64), loopback exempt. Default
    /// 64: a browser opens six, many people may share an address.
    pub per_source: usize,
    /// Time from the first awaited byte to a complete head. Default 10 s.
    pub head_time: Duration,
    /// Time that a kept connection may wait for its next request. Default 60 s.
    pub idle_time: Duration,
    /// Time in which at least [`Limits::body_progress`] bytes of a body arrive, or its
    /// end. Default 30 s.
    pub body_stall: Duration,
    /// Bytes, see [`Limits::body_stall`]. Default 16 KiB: slower than any real link.
    pub body_progress: usize,
    /// Time a client may take nothing of its answer. Default 120 s: a paused download
    /// holds a database connection.
    pub write_stall: Duration,
    /// Time until a worker takes a request. Default 30 s: workers only do light work.
    pub upstream_timeout: Duration,
    /// Time that an answer may still take once its client has gone or shut down its
    /// sending side. Default 1 s: such a client may still read a light answer.
    pub gone_grace: Duration,
    /// Time and, below, bytes that are read and thrown away before a connection with an
    /// error answer is closed, so that the client sees the answer. Default 2 s.
    pub linger_time: Duration,
    /// Bytes, see [`Limits::linger_time`]. Default 16 MiB: a client that sends a whole file
    /// is to see its 413; reading them takes a few milliseconds.
    pub linger_bytes: usize,
    /// Time that answers under way may take when the server stops. Default 700 ms: within
    /// the 2 s that the program has from SIGTERM to its end.
    pub stop_time: Duration,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            head: limits::HEAD,
            headers: limits::HEADERS,
            body: limits::BODY,
            bodies: part_of_memory(8, 64 * MIB),
            connections: part_of_memory(BYTES_A_CONNECTION, limits::CONNECTIONS),
            per_source: limits::PER_SOURCE,
            head_time: limits::HEAD_TIME,
            idle_time: limits::IDLE_TIME,
            body_stall: limits::BODY_STALL,
            body_progress: limits::BODY_PROGRESS,
            write_stall: limits::WRITE_STALL,
            upstream_timeout: Duration::from_secs(30),
            gone_grace: limits::GONE_GRACE,
            linger_time: Duration::from_secs(2),
            linger_bytes: 16 * MIB,
            stop_time: Duration::from_millis(700),
        }
    }
}
