//! Sources of requests, as far as they can be believed, and the limits of each visitor of a shared web client.
//!
//! Visitors come through a tunnel, so that their connections all come from this machine. A relay of ours writes where a
//! request has come from, whatever the visitor wrote; of others nothing is believed, and their visitors count together.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::http::{self, HostPolicy, Request};
use crate::store::random;
use crate::sync::{Mutex, Permits};

/// Visitors whose use is remembered; those that use nothing are forgotten first.
const MAX_REMEMBERED: usize = 1024;

/// The part of what all may use at once that is kept for who is at this machine: one in so many.
const OWNERS_PART: usize = crate::limits::OF_OWNER;

/// Bytes of the tag by which a log tells visitors apart.
const TAG: usize = 3;

/// Where requests come from.
pub(crate) struct Visitors {
    /// The port that the web client listens on.
    port: u16,
    hosts: HostPolicy,
    /// True if what is said of where a request came from is a relay's of ours.
    believes: AtomicBool,
    /// None where nothing is shared, so that nothing is counted.
    uses: Option<Mutex<HashMap<String, Use>>>,
}

/// Sender of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum RequestSender {
    /// Somebody at this machine, by its own name.
    Here,
    /// A visitor, with the address where it is believed.
    Visitor(Option<IpAddr>),
}

/// Limits of one visitor.
#[derive(Clone, Debug, Default)]
pub(crate) struct Use {
    /// Set for somebody at this machine.
    is_here: bool,
    /// Connections to the database.
    pub(crate) connections: Permits,
    /// Requests that are at work.
    pub(crate) requests: Permits,
    /// Large scripts that are read.
    pub(crate) scripts: Permits,
    /// Downloads that wait to be fetched.
    pub(crate) downloads: Permits,
}

impl Visitors {
    /// Visitors of a web client at `port`; counted where it `is_shared`.
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

    /// Returns the counters of a sender who has signed in as `id` or not at all; none where nothing is counted.
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
    /// Number of the `most` places of all that this visitor may use: some are kept for the owner, whatever visitors do.
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
    /// Returns the key of one visitor: an address or the network that one host may use all of, or else a sign-in.
    pub(crate) fn counted(&self, id: &str) -> String {
        match self {
            Self::Here => "here".to_owned(),
            Self::Visitor(Some(address)) => http::source(*address).to_string(),
            Self::Visitor(None) => format!("={id}"),
        }
    }

    /// As a log names who has signed in as `id`.
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

    /// By what wrong codes are counted: all visitors that nothing is known of together, with whoever is here.
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
