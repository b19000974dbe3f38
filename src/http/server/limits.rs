//! Every cap and timeout of the server, and the budgets of body memory, exchanges and open files.

use std::io;
use std::time::Duration;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::limits;
use crate::sync::{Permit, Permits, part_of_memory};

const MIB: usize = 1024 * 1024;
/// Memory for each connection. Default 128 KiB: threads and buffers of both ends of a tunnel in one process.
const BYTES_A_CONNECTION: u64 = 128 * 1024;
/// Bytes of each body that [`Limits::bodies`] does not count: slow senders of large bodies
/// must not keep small ones out, such as a sign-in.
const FREE_BODY: usize = 64 * 1024;
/// Open files left to the rest of the program: database connections, logs, our own.
const SPARE_FILES: usize = 128;
/// Open files below which nothing can be served.
const LEAST_FILES: usize = 40;
/// Open files of an exchange beside its connection: ours and tiny_http's two, or the wakers of a gateway's
/// stream.
const EXCHANGE_FILES: usize = 4;
/// Exchanges that have not ended yet although other connections have their places already.
const ENDING: usize = 16;
/// Exchanges that only the server's own names get, whatever a gateway's sites have. Default 16: light
/// answers, which soon make room for the next.
const OWN: usize = 16;

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

/// Makes a body's share of the memory for all as large as the body; false if it is large and all bodies together would
/// be over `max`.
pub(super) fn hold_body(share: &mut Permit, bytes: usize, max: usize) -> bool {
    share.grow_to(bytes.saturating_sub(FREE_BODY), max)
}

/// Permits for requests that run at once.
pub(super) struct Exchanges {
    max: usize,
    permits: Permits,
}

impl Exchanges {
    pub(super) fn new(max: usize) -> Exchanges {
        let permits = Permits::default();
        Exchanges { max, permits }
    }

    /// Enters an exchange; `None` if there are too many.
    pub(super) fn enter(&self) -> Option<ExchangeSlot> {
        self.permits.take(self.max).map(Some).map(ExchangeSlot)
    }

    /// Enters an exchange of a gateway's site.
    pub(super) fn enter_site(&self) -> Option<ExchangeSlot> {
        let permit = self.permits.take(self.for_sites());
        permit.map(Some).map(ExchangeSlot)
    }

    /// Number of exchanges that a gateway's sites may have.
    pub(super) fn for_sites(&self) -> usize {
        self.max.saturating_sub(OWN).max(self.max.div_ceil(2))
    }
}

/// Place of a running request, or of a stream that is kept for the next, until it is dropped.
#[derive(Debug)]
pub struct ExchangeSlot(#[expect(dead_code, reason = "it counts by living")] Option<Permit>);

impl ExchangeSlot {
    /// Makes the place of a connection that is counted elsewhere.
    pub(crate) fn uncounted() -> ExchangeSlot {
        ExchangeSlot(None)
    }
}

/// Numbers of connections and of exchanges that the limit of open files allows, raised as far as possible: running out
/// of files would end tiny_http's accept thread.
pub(super) fn within_open_files(limits: &Limits) -> io::Result<(usize, usize)> {
    let wanted = wanted_files(limits);
    let files = raise_open_files(wanted);
    if files < LEAST_FILES {
        let text = format!("the limit of open files is {files}, and {LEAST_FILES} are needed");
        return Err(io::Error::other(text));
    }
    let connections = limits
        .connections
        .min(files.saturating_sub(SPARE_FILES) / 2)
        .max(8);
    let left = files.saturating_sub(SPARE_FILES + connections);
    Ok((connections, (left / EXCHANGE_FILES).max(4)))
}

/// Open files of a server with these limits at its busiest, those of the rest of the program
/// included.
pub(crate) fn wanted_files(limits: &Limits) -> usize {
    SPARE_FILES + limits.connections + (limits.connections + ENDING + OWN) * EXCHANGE_FILES
}

/// Raises the limit of open files to `wanted`, as far as possible; returns the number that is reached.
pub(crate) fn raise_open_files(wanted: usize) -> usize {
    let limit = getrlimit(Resource::Nofile);
    let wanted = u64::try_from(wanted).unwrap_or(u64::MAX);
    let reachable = limit.maximum.map_or(wanted, |maximum| maximum.min(wanted));
    let current = limit.current.unwrap_or(u64::MAX);
    let raised = Rlimit {
        current: Some(reachable),
        maximum: limit.maximum,
    };
    let now = if current < reachable && setrlimit(Resource::Nofile, raised).is_ok() {
        reachable
    } else {
        current
    };
    usize::try_from(now.min(wanted)).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bodies_and_exchanges_give_back_what_they_held() {
        let bodies = Permits::default();
        let hold = |share: &mut Permit, bytes| hold_body(share, FREE_BODY + bytes, 100);
        let mut one = bodies.empty();
        assert!(hold(&mut one, 60) && hold(&mut one, 60));
        assert!(!hold(&mut bodies.empty(), 41));
        assert!(hold(&mut bodies.empty(), 40));
        let mut greedy = bodies.empty();
        assert!(!hold(&mut greedy, 1000) && hold(&mut greedy, 40));
        assert!(hold(&mut bodies.empty(), 0), "a small one passes");
        drop(greedy);
        assert!(hold(&mut bodies.empty(), 40));
        let exchanges = Exchanges::new(1);
        let slot = exchanges.enter();
        assert!(slot.is_some() && exchanges.enter().is_none());
        drop(slot);
        assert!(exchanges.enter().is_some());
        let exchanges = Exchanges::new(OWN + 20);
        let sites: Vec<_> = std::iter::from_fn(|| exchanges.enter_site()).collect();
        assert_eq!(sites.len(), 20);
        assert!(
            exchanges.enter().is_some(),
            "the server's own names have room"
        );
    }
}
