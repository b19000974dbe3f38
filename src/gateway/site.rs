//! Sites as the gateway knows them: their terms, the requests for them, and the visits that are open.

use std::cell::Cell;
use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use serde::{Deserialize, Serialize};

use super::forwarded::ForwardedOrigin;
use crate::http::auth::Code;
use crate::http::h1::head::Head;
use crate::http::proxy::ByteStream;
use crate::http::server::connection_handler::{After, ClientConnection, Reset};
use crate::net::Cidr;
use crate::store::expiry::{Clocks, Expiry};
use crate::sync::{CountedMap, Mutex, Permits};
use crate::tunnel::server::{OpenError, Opener, VisitStats};

/// Message if the other end refuses a stream.
const REFUSED_STREAM: &str = "The other end of the tunnel refused the connection.";
/// Characters of a path that are reported. Default 200: a visitor may send 32 KiB.
const MAX_PATH: usize = 200;

/// All sites; asked once a request.
pub trait Sites: Send + Sync + 'static {
    /// The site of this name, in lower case.
    fn find(&self, site: &str) -> Option<Arc<Site>>;

    /// True if the name is reserved for a site that was shared and is not now.
    fn was_shared(&self, _site: &str) -> bool {
        false
    }
}

/// Opens a stream to a site's application. May wait, some 30 s at most.
pub type OpenStream =
    Arc<dyn Fn(&StreamRequest<'_>) -> Result<Box<dyn ByteStream>, Unreachable> + Send + Sync>;

/// A request that a stream is opened for.
pub struct StreamRequest<'r> {
    pub(crate) head: &'r Head,
    pub(crate) visitor: &'r dyn ClientConnection,
}

/// Sends a notice to the owner of a site; false if that is not possible from here.
pub(crate) type NotifyOwner = Box<dyn Fn(&[u8]) -> bool + Send + Sync>;

/// One site.
pub struct Site {
    /// Its name: the label before the domain.
    pub name: String,
    /// Name that its owner gives it and visitors may know.
    pub title: Option<String>,
    /// ID that names its application to visitors with a code.
    pub app_id: String,
    /// True if the application speaks TLS. Its certificate is not verified.
    pub tls: bool,
    /// The code of an invisible site.
    pub code: Option<Code>,
    /// The networks that visitors may come from; empty lets everybody in.
    pub allow: Vec<Cidr>,
    /// End time of the share.
    pub expiry: Option<Expiry>,
    /// Number in cookies: another one ends all sign-ins. A single relay counts it in memory; in a fleet it is the
    /// generation, which all relays know.
    pub epoch: u64,
    /// Number of sign-outs of everybody, as stored.
    pub generation: u64,
    /// Time at which the name was taken from its former owner, in seconds since 1970: browsers may still keep that
    /// owner's data.
    pub renamed_at: Option<u64>,
    /// Set when all its connections must be closed, because its terms have changed.
    pub is_replaced: Arc<AtomicBool>,
    /// Leads to the application.
    pub open: OpenStream,
    /// Reports refused visitors to its owner.
    pub(crate) notify_owner: NotifyOwner,
    /// Traffic counters; go on when the site is made again.
    pub stats: Arc<VisitStats>,
    /// Connections with open visits; go on when the site is made again.
    pub open_visits: Arc<OpenVisits>,
    /// Requests that run at all sites of its owner and are not given up for others.
    pub busy: Permits,
}

impl Site {
    /// A visible site of a plain `http` application.
    pub fn new(name: impl Into<String>, app_id: impl Into<String>, open: OpenStream) -> Site {
        Site {
            name: name.into(),
            title: None,
            app_id: app_id.into(),
            tls: false,
            code: None,
            allow: Vec::new(),
            expiry: None,
            epoch: 0,
            generation: 0,
            renamed_at: None,
            is_replaced: Arc::default(),
            open,
            notify_owner: Box::new(|_| false),
            stats: Arc::default(),
            open_visits: Arc::default(),
            busy: Permits::default(),
        }
    }
}

impl Site {
    /// True if its time is over.
    pub(crate) fn is_over(&self) -> bool {
        self.expiry
            .is_some_and(|expiry| expiry.is_over(Clocks::now()))
    }

    /// Ends what its visitors have open, even if they take nothing; a request that found the site by these terms opens
    /// nothing more.
    pub(crate) fn end_visits(&self) {
        self.is_replaced.store(true, Ordering::SeqCst);
        self.open_visits.end();
    }

    /// True if its answers are not for everybody, or not without end.
    pub(super) fn is_private(&self) -> bool {
        self.code.is_some() || !self.allow.is_empty() || self.expiry.is_some()
    }
}

impl fmt::Debug for Site {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Site")
            .field("name", &self.name)
            .field("app_id", &self.app_id)
            .field("tls", &self.tls)
            .field("code", &self.code)
            .field("stats", &self.stats)
            .finish_non_exhaustive()
    }
}

/// Reason that an application cannot be reached.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unreachable {
    /// Its tunnel is not connected.
    Tunnel,
    /// The tunnel is connected, but its target is not reached; with the reason.
    Target(String),
    /// The other end of the tunnel has reached its limit of visitors.
    Full,
}

/// Opens streams through a tunnel to the target of `holder`'s remote with this `port`.
pub fn through(opener: Opener, holder: impl Into<String>, port: u16) -> OpenStream {
    let holder = holder.into();
    Arc::new(move |_| match opener.open(&holder, port) {
        Ok(stream) => Ok(Box::new(stream)),
        Err(OpenError::Full) => Err(Unreachable::Full),
        Err(OpenError::Refused) => Err(Unreachable::Target(REFUSED_STREAM.to_owned())),
        Err(_) => Err(Unreachable::Tunnel),
    })
}

/// Connections on which a site's answers are under way. A connection that was sent nothing is not among them: its
/// visitor gets a message when the stream ends.
#[derive(Default)]
pub struct OpenVisits(Mutex<CountedMap<Arc<dyn Reset>>>);

impl OpenVisits {
    fn end(&self) {
        let open: Vec<Arc<dyn Reset>> = self.0.lock().values().cloned().collect();
        open.iter().for_each(|visit| visit.reset());
    }
}

/// Counts a visitor for as long as it lives.
pub(super) struct ActiveVisit {
    pub(super) site: Arc<Site>,
    resetter: Option<Arc<dyn Reset>>,
    /// Number among the open visits, once it is one.
    number: Cell<Option<u64>>,
}

impl ActiveVisit {
    pub(super) fn at(site: &Arc<Site>, resetter: Option<Arc<dyn Reset>>) -> ActiveVisit {
        site.stats.visitors.fetch_add(1, Ordering::Relaxed);
        let number = Cell::new(None);
        ActiveVisit {
            site: Arc::clone(site),
            resetter,
            number,
        }
    }

    /// Adds it to the open visits: an answer is under way to it.
    pub(super) fn mark_answered(&self) {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let Some(resetter) = self
            .resetter
            .as_ref()
            .filter(|_| self.number.get().is_none())
        else {
            return;
        };
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        self.number.set(Some(number));
        let visits = &self.site.open_visits;
        visits.0.lock().insert(number, Arc::clone(resetter));
        // The thread that ended them may not have seen this one.
        if self.site.is_replaced.load(Ordering::SeqCst) {
            resetter.reset();
        }
    }
}

impl Drop for ActiveVisit {
    fn drop(&mut self) {
        if let Some(number) = self.number.get() {
            self.site.open_visits.0.lock().remove(&number);
        }
        self.site.stats.visitors.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Request for a site.
pub(crate) struct SiteRequest<'r> {
    pub(crate) head: &'r Head,
    /// The Host as the visitor sent it.
    pub(crate) host: &'r [u8],
    pub(crate) site: &'r str,
    pub(crate) origin: &'r ForwardedOrigin,
}

/// Result of a request, for its line in the log.
pub(crate) struct Served {
    pub(crate) after: After,
    /// 0 when the visitor was told nothing.
    pub(crate) status: u16,
    pub(crate) bytes: u64,
}

/// The path as it was sent, without the query.
pub(crate) fn path(head: &Head) -> &str {
    head.target
        .split_once('?')
        .map_or(&head.target, |(path, _)| path)
}

/// A request that was refused: the JSON `{"refused": {"source", "method", "path", "status"}}` in the data of a ping.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct RefusedVisit {
    pub(crate) source: IpAddr,
    pub(crate) method: String,
    /// Without the query.
    pub(crate) path: String,
    /// 401 for a wrong code, 429 for too many of them, 403 for a network that is not allowed.
    pub(crate) status: u16,
}

#[derive(Serialize, Deserialize)]
struct RefusedVisitMessage {
    refused: RefusedVisit,
}

impl RefusedVisit {
    pub(super) fn new(request: &SiteRequest<'_>, status: u16) -> RefusedVisit {
        RefusedVisit {
            source: request.origin.source(),
            method: request.head.method.chars().take(MAX_PATH).collect(),
            path: path(request.head).chars().take(MAX_PATH).collect(),
            status,
        }
    }

    /// A connection to a public port, from a network that is not allowed.
    pub(crate) fn at_port(source: IpAddr) -> RefusedVisit {
        RefusedVisit {
            source,
            method: "TCP".to_owned(),
            path: String::new(),
            status: 403,
        }
    }

    pub(crate) fn encode(self) -> Vec<u8> {
        serde_json::to_vec(&RefusedVisitMessage { refused: self }).unwrap_or_default()
    }

    /// Reads the data of a ping; none if it says something else. A server of another maker may send anything.
    pub(crate) fn decode(data: &[u8]) -> Option<RefusedVisit> {
        let RefusedVisitMessage { refused } = serde_json::from_slice(data).ok()?;
        let is_plain = |text: &str| text.len() <= 4 * MAX_PATH && !text.contains(char::is_control);
        (is_plain(&refused.method) && is_plain(&refused.path)).then_some(refused)
    }
}

impl fmt::Display for RefusedVisit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let why = match self.status {
            401 => "a wrong code",
            429 => "too many wrong codes",
            _ => "not from an allowed network",
        };
        write!(f, "{} was refused: {why}", self.source)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_understood_and_nothing_else_is() {
        let visit = RefusedVisit {
            source: "2001:db8::1".parse().unwrap(),
            method: "GET".into(),
            path: "/a\u{2026}".into(),
            status: 401,
        };
        let said = "2001:db8::1 was refused: a wrong code";
        assert_eq!(visit.to_string(), said);
        let data = visit.clone().encode();
        assert_eq!(RefusedVisit::decode(&data), Some(visit.clone()));
        let escape = RefusedVisit {
            path: "/\u{1b}[2J".into(),
            ..visit.clone()
        };
        assert_eq!(RefusedVisit::decode(&escape.encode()), None);
        let long = RefusedVisit {
            path: "x".repeat(4096),
            ..visit
        };
        assert_eq!(RefusedVisit::decode(&long.encode()), None);
        for other in [&b""[..], b"{}", b"pong", br#"{"refused": 1}"#, b"\xff"] {
            assert_eq!(RefusedVisit::decode(other), None);
        }
    }
}
