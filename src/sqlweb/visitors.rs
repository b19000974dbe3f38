//! Senders of requests, as far as they can be trusted, and the limits of each visitor of a shared web client.
//!
//! Visitors come through a tunnel, so all their connections come from this machine. A relay of ours replaces the
//! visitor's own statement of the origin by the true one. Other relays are not trusted, and their visitors count
//! together.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::http::{self, HostPolicy, Request};
use crate::store::random;
use crate::sync::{Mutex, Permits};

/// Number of visitors from which those that use nothing are forgotten.
const MAX_REMEMBERED: usize = 1024;

/// Divisor for the part of all limits that is reserved for people at this machine.
const OWNERS_PART: usize = crate::limits::OF_OWNER;

/// Bytes of a visitor's tag in a log.
const TAG: usize = 3;

/// The visitors of a web client.
pub(crate) struct Visitors {
    /// The port that the web client listens on.
    port: u16,
    hosts: HostPolicy,
    /// True if the origin of a request is from a relay of ours.
    believes: AtomicBool,
    /// Use by visitor; `None` if the web client is not shared, so that nothing is counted.
    uses: Option<Mutex<HashMap<String, Use>>>,
}

/// Sender of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum RequestSender {
    /// Somebody at this machine, by its own name.
    Here,
    /// A visitor, with the address if it can be trusted.
    Visitor(Option<IpAddr>),
}

/// Limits of one visitor.
#[derive(Clone, Debug, Default)]
pub(crate) struct Use {
    /// True for somebody at this machine.
    is_here: bool,
    /// Permits for connections to the database.
    pub(crate) connections: Permits,
    /// Permits for running requests.
    pub(crate) requests: Permits,
    /// Permits for scripts that are large or have no whole statement yet.
    pub(crate) scripts: Permits,
    /// Permits for waiting downloads.
    pub(crate) downloads: Permits,
}

impl Visitors {
    /// Visitors of a web client at `port`; they are counted if it `is_shared`.
    pub(crate) fn new(port: u16, hosts: HostPolicy, is_shared: bool) -> Self {
        Self {
            port,
            hosts,
            believes: AtomicBool::new(false),
            uses: is_shared.then(Mutex::default),
        }
    }

    /// Sets whether requests under other names than this machine's come from a relay of ours.
    pub(crate) fn believe(&self, is_ours: bool) {
        self.believes.store(is_ours, Ordering::SeqCst);
    }

    /// Returns the sender of a request.
    pub(crate) fn source(&self, request: &Request) -> RequestSender {
        if !request.peer().is_loopback() {
            return RequestSender::Visitor(Some(request.peer()));
        }
        if self.hosts.is_own(request.host(), self.port) {
            return RequestSender::Here;
        }
        let told = || {
            let mut lines = request.header_values("x-forwarded-for");
            let first = lines.next()?.split(',').next()?;
            // A relay writes one line.
            first.trim().parse().ok().filter(|_| lines.next().is_none())
        };
        let believes = self.believes.load(Ordering::SeqCst);
        RequestSender::Visitor(believes.then(told).flatten())
    }

    /// Returns the counters of a sender, who may have signed in as `id`; `None` if nothing is counted.
    pub(crate) fn use_of(&self, source: &RequestSender, id: &str) -> Option<Use> {
        let key = source.counted(id);
        let mut uses = self.uses.as_ref()?.lock();
        if uses.len() >= MAX_REMEMBERED && !uses.contains_key(&key) {
            uses.retain(|_, used| !used.is_idle());
        }
        let one = || Use {
            is_here: *source == RequestSender::Here,
            ..Use::default()
        };
        Some(uses.entry(key).or_insert_with(one).clone())
    }
}

impl Use {
    /// Number of the `most` places that this visitor may use; some are reserved for the owner.
    pub(crate) fn most_of(uses: Option<&Self>, most: usize) -> usize {
        match uses {
            Some(uses) if !uses.is_here => most - most / OWNERS_PART,
            _ => most,
        }
    }

    fn is_idle(&self) -> bool {
        // A large script is a request, too.
        [&self.connections, &self.requests, &self.downloads]
            .iter()
            .all(|permits| permits.out() == 0)
    }
}

impl RequestSender {
    /// Returns the key of one visitor: an address, the network that one host may own, or else a sign-in.
    pub(crate) fn counted(&self, id: &str) -> String {
        match self {
            Self::Here => "here".to_owned(),
            Self::Visitor(Some(address)) => http::source(*address).to_string(),
            Self::Visitor(None) => format!("={id}"),
        }
    }

    /// Name for a log of a sender, who may have signed in as `id`.
    pub(crate) fn label(&self, id: &str) -> String {
        let tag = if id.is_empty() {
            String::new()
        } else {
            let digest = ring::digest::digest(&ring::digest::SHA256, id.as_bytes());
            let (first, _) = digest.as_ref().split_at(TAG);
            random::hex(first)
        };
        let address = match self {
            Self::Here => "here".to_owned(),
            Self::Visitor(address) => address.map_or(String::new(), |address| address.to_string()),
        };
        format!("{tag} {address}").trim().to_owned()
    }

    /// Address for counting wrong codes; all visitors without a trusted address count together, with people at this
    /// machine.
    pub(crate) fn counted_as(&self, peer: IpAddr) -> IpAddr {
        match self {
            Self::Visitor(Some(address)) => *address,
            Self::Here | Self::Visitor(None) => peer,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_network_that_one_host_may_use_all_of_counts_as_one() {
        let counted = |address: &str| {
            let source = RequestSender::Visitor(Some(address.parse().unwrap()));
            source.counted("c")
        };
        assert_eq!(counted("2001:db8::1"), counted("2001:db8::ffff:2"));
        assert_ne!(counted("2001:db8::1"), counted("2001:db8:0:1::1"));
        assert_ne!(counted("192.0.2.1"), counted("192.0.2.2"));
    }
}
