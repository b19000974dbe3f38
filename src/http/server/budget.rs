//! Memory and open files that all connections of a server share.

use std::io;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use super::limits::Limits;
use crate::sync::{Permit, Permits};

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
/// Exchanges that have not ended yet while the places of their connections are others' already.
const ENDING: usize = 16;
/// Exchanges that only the server's own names get, whatever a gateway's sites have. Default 16: light
/// answers, which soon make room for the next.
const OWN: usize = 16;

/// Makes a body's share of the memory for all as large as the body; false when it is large and all bodies together
/// would be over `max`.
pub(super) fn hold_body(share: &mut Permit, bytes: usize, max: usize) -> bool {
    share.grow_to(bytes.saturating_sub(FREE_BODY), max)
}

/// Requests under way at once.
pub(super) struct Exchanges {
    max: usize,
    permits: Permits,
}

impl Exchanges {
    pub(super) fn new(max: usize) -> Exchanges {
        let permits = Permits::default();
        Exchanges { max, permits }
    }

    /// `None` when there are too many.
    pub(super) fn enter(&self) -> Option<ExchangeSlot> {
        self.permits.take(self.max).map(Some).map(ExchangeSlot)
    }

    /// Enters an exchange of a gateway's site.
    pub(super) fn enter_site(&self) -> Option<ExchangeSlot> {
        let permit = self.permits.take(self.for_sites());
        permit.map(Some).map(ExchangeSlot)
    }

    /// How many a gateway's sites may have.
    pub(super) fn for_sites(&self) -> usize {
        self.max.saturating_sub(OWN).max(self.max.div_ceil(2))
    }
}

/// One request under way, or a stream that is kept for the next, until it is dropped.
#[derive(Debug)]
pub struct ExchangeSlot(#[expect(dead_code, reason = "it counts by living")] Option<Permit>);

impl ExchangeSlot {
    /// One of a connection that has its place elsewhere.
    pub(crate) fn uncounted() -> ExchangeSlot {
        ExchangeSlot(None)
    }
}

/// How many connections and exchanges the limit of open files allows, raised as far as may
/// be: running out of files would end tiny_http's accept thread.
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

/// Raises the limit of open files to `wanted`, as far as may be; how many of them there are.
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
