//! Settings of a tunnel, with its time limits, its pauses, and the ways to its server.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use crossbeam_channel::Sender;
use zeroize::Zeroizing;

use super::failure::Failure;
use crate::sync::Mutex;
use crate::tunnel::known_servers::KnownServers;
use crate::tunnel::mux::Serve;
use crate::tunnel::remote::Remote;
use crate::tunnel::target::MayDial;
use crate::tunnel::ws::{DialOptions, Endpoint};
use crate::tunnel::{mux, ssh, target};

/// The pause between keep-alive requests. Default 25 s: below what middle boxes forget.
pub const KEEPALIVE: Duration = crate::limits::KEEPALIVE;
/// The longest pause before another attempt. Default 10 s.
pub const MAX_RETRY_INTERVAL: Duration = crate::limits::MAX_RETRY_INTERVAL;

/// Time in which a side that hears nothing of the other gives a connection up: the keep-alive's pause, and 15 s for its
/// answer. Default 40 s.
pub const GONE_WITHIN: Duration = crate::limits::GONE_WITHIN;

/// Time from the WebSocket to `Connected`: identification, keys, login and configuration. Default 30 s.
pub const READY_WITHIN: Duration = crate::limits::TUNNEL_WAIT;
/// The first pause before another attempt. Default 100 ms.
const FIRST_RETRY: Duration = Duration::from_millis(100);
/// Least pause after a refused password or host key. Default 10 s: servers lock out clients that retry fast.
const REFUSED_RETRY: Duration = Duration::from_secs(10);
/// Life of a connection after which the pauses begin at the shortest again. Default 5 s: a chisel server may find that
/// it cannot bind a port only after it has accepted the remote.
const PROVEN_AFTER: Duration = Duration::from_secs(5);

/// Settings of a tunnel.
#[non_exhaustive]
pub struct Settings {
    /// The server, known by this address.
    pub endpoint: Endpoint,
    /// Its URL, for networks that allow nothing else; the same as `endpoint` if there is no other way.
    pub url: Option<Endpoint>,
    /// The ways that worked, shared with other tunnels.
    pub(crate) last_ways: Arc<LastWays>,
    /// Options for dialling it.
    pub dial: DialOptions,
    /// The user name.
    pub user: String,
    /// The password.
    pub password: Zeroizing<String>,
    /// Remotes to forward.
    pub remotes: Vec<Remote>,
    /// The address that `localhost` in a remote means; none for all that the name leads to.
    pub localhost: Option<IpAddr>,
    /// Rule for its host key.
    pub host_key: HostKeyCheck,
    /// The pause between keep-alive requests; none for no keep-alive.
    pub keepalive: Option<Duration>,
    /// The longest pause before another attempt.
    pub max_retry_interval: Duration,
    /// Attempts after a failed one before the tunnel gives up; none for no end.
    pub max_retries: Option<u32>,
    /// Time limits of the stages.
    pub timeouts: Timeouts,
    /// The other times of retrying.
    pub retries: Retries,
    /// Gets a message, as far as there is room, when nothing listens at the target of a stream.
    pub target_missed: Option<Sender<()>>,
    /// Streams at once; none for the cap of all tunnels alone.
    pub max_streams: Option<u64>,
    /// Check of a target's address before connecting, asked at each stream; none for all. A stream to one that may not
    /// is refused.
    pub may_dial: Option<MayDial>,
    /// Server of the streams in this process, if they are not to be connected to the target.
    pub(crate) serve: Option<Serve>,
    /// Offers and limits of the protocol.
    pub ssh: ssh::Config,
    /// Called each time that the tunnel is connected, on its own thread: it must not block.
    pub on_connected: Option<Box<dyn Fn() + Send + Sync>>,
    /// Called instead of a log line each time that an attempt or a connection has failed, on the tunnel's own thread:
    /// it must not block.
    pub on_failed: Option<OnFailed>,
    /// Called with a notice of the server, the data of a ping, on the tunnel's own thread: it must not block.
    pub(crate) on_notice: Option<OnNotice>,
}

/// Takes a notice of the server.
pub(crate) type OnNotice = Arc<dyn Fn(&[u8]) + Send + Sync>;

/// Takes a failure, and true if there was a connection before it.
pub type OnFailed = Box<dyn Fn(&Failure, bool) + Send + Sync>;

impl Settings {
    /// Default settings, without a login and for any host key.
    pub fn new(endpoint: Endpoint, remotes: Vec<Remote>) -> Self {
        Self {
            endpoint,
            url: None,
            last_ways: Arc::default(),
            dial: DialOptions::default(),
            user: String::new(),
            password: Zeroizing::default(),
            remotes,
            localhost: None,
            host_key: HostKeyCheck::Any,
            keepalive: Some(KEEPALIVE),
            max_retry_interval: MAX_RETRY_INTERVAL,
            max_retries: None,
            timeouts: Timeouts::default(),
            retries: Retries::default(),
            target_missed: None,
            max_streams: None,
            may_dial: None,
            serve: None,
            ssh: ssh::Config::default(),
            on_connected: None,
            on_failed: None,
            on_notice: None,
        }
    }

    /// Makes settings for another server, whose state is reported to nobody.
    pub(in crate::tunnel) fn beside(&self, place: Alternate) -> Self {
        Self {
            endpoint: place.endpoint,
            url: place.url,
            last_ways: Arc::clone(&self.last_ways),
            dial: self.dial.clone(),
            user: self.user.clone(),
            password: self.password.clone(),
            remotes: self.remotes.clone(),
            localhost: self.localhost,
            host_key: place.host_key,
            keepalive: self.keepalive,
            max_retry_interval: self.max_retry_interval,
            max_retries: self.max_retries,
            timeouts: self.timeouts,
            retries: self.retries,
            target_missed: self.target_missed.clone(),
            max_streams: self.max_streams,
            may_dial: self.may_dial.clone(),
            serve: self.serve.clone(),
            ssh: self.ssh.clone(),
            on_connected: None,
            on_failed: None,
            on_notice: self.on_notice.clone(),
        }
    }
}

/// Another relay of the fleet for a tunnel to the same.
pub struct Alternate {
    /// Its address.
    pub endpoint: Endpoint,
    /// Its URL, as in [`Settings::url`].
    pub url: Option<Endpoint>,
    /// Rule for its host key.
    pub host_key: HostKeyCheck,
}

/// Rule for a server's host key.
#[derive(Clone)]
#[non_exhaustive]
pub enum HostKeyCheck {
    /// The one with this fingerprint.
    Fingerprint(String),
    /// The one that was seen first.
    Pinned(Arc<KnownServers>),
    /// None. The failure names the known key and the one that the server shows. No password is sent.
    Shown(Arc<KnownServers>),
    /// Any: for tests, or if the user asked for it.
    Any,
}

/// Way to a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Way {
    /// The server's port for tunnels.
    Port,
    /// The URL of its web server.
    Url,
}

impl Way {
    /// Its name in the API.
    pub fn name(self) -> &'static str {
        match self {
            Self::Port => "port",
            Self::Url => "url",
        }
    }
}

/// The way that worked last to each server of several tunnels, by its address.
#[derive(Default)]
pub(crate) struct LastWays(Mutex<BTreeMap<String, Way>>);

impl LastWays {
    pub(super) fn of(&self, server: &str) -> Option<Way> {
        self.0.lock().get(server).copied()
    }

    /// Remembers the way that has worked.
    pub(super) fn note(&self, server: String, way: Way) {
        self.0.lock().insert(server, way);
    }
}

/// Time limits of the stages; [`DialOptions`] has those of dialling.
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

/// Rules for further attempts.
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
    /// True if a tunnel that was up once ends when another server, or repeatedly none, is found at its address: its own
    /// may have moved to another port.
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
