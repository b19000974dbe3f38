//! State of a tunnel: written by its thread, read by its owner.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime};

use crossbeam_channel::{Receiver, Sender};

use super::failure::{Class, Failure};
use super::settings::Way;
use crate::sync::Mutex;
use crate::tunnel::mux::{Mux, Traffic};
use crate::tunnel::ws::Cancel;

/// Status of a tunnel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Status {
    /// Working towards a connection, or waiting to try again.
    Connecting,
    /// In use.
    Connected,
    /// It has given up.
    Failed,
    /// It was stopped.
    Stopped,
}

/// A tunnel as it is now.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Snapshot {
    /// Its status.
    pub status: Status,
    /// Reason that it is not connected; none while it is.
    pub error: Option<Failure>,
    /// Time of the next attempt.
    pub next_retry: Option<Instant>,
    /// Time at which it was connected, by the clock of then.
    pub since: Option<SystemTime>,
    /// The way by which it is connected; none while it is not.
    pub way: Option<Way>,
    /// The last round trip; none while it is not connected.
    pub latency: Option<Duration>,
    /// Bytes from targets into the tunnel.
    pub sent: u64,
    /// Bytes out of the tunnel to targets.
    pub received: u64,
    /// Streams that are open.
    pub streams: u64,
    /// Streams that were opened since the tunnel was made.
    pub opened: u64,
    /// Time at which the last of them was opened.
    pub last_opened: Option<SystemTime>,
    /// Streams that were refused: for lack of room, and because their target did not answer.
    pub refused: (u64, u64),
    /// Connections after the first.
    pub reconnects: u64,
}

impl Snapshot {
    /// True if it is connected.
    pub fn is_connected(&self) -> bool {
        self.status == Status::Connected
    }

    /// Joins two tunnels that do the same: bytes and streams of both, and for the rest the one that is connected.
    pub(in crate::tunnel) fn beside(self, other: Self) -> Self {
        let is_better = match (self.status, other.status) {
            (Status::Connected, _) => false,
            (_, Status::Connected) => true,
            (Status::Connecting, _) => false,
            (_, status) => status == Status::Connecting,
        };
        let (shown, hidden) = if is_better {
            (other, self)
        } else {
            (self, other)
        };
        Self {
            sent: shown.sent + hidden.sent,
            received: shown.received + hidden.received,
            streams: shown.streams + hidden.streams,
            opened: shown.opened + hidden.opened,
            last_opened: shown.last_opened.max(hidden.last_opened),
            refused: (
                shown.refused.0 + hidden.refused.0,
                shown.refused.1 + hidden.refused.1,
            ),
            ..shown
        }
    }
}

/// State that the tunnel's thread and its owner share.
pub(super) struct TunnelState {
    pub(super) cancel: Cancel,
    stopping: AtomicBool,
    /// True if another attempt is to follow soon, also if the present one fails.
    wants_retry: AtomicBool,
    pub(super) traffic: Arc<Traffic>,
    connections: AtomicU64,
    connection: Mutex<ConnectionState>,
}

/// The present connection, or the last or next one.
struct ConnectionState {
    status: Status,
    error: Option<Failure>,
    /// A changed host key was logged: it can last for days, and is tried again all the time.
    is_key_logged: bool,
    next_retry: Option<Instant>,
    /// Its start by both clocks: one that never jumps for durations, and the time of day.
    since: Option<(Instant, SystemTime)>,
    way: Option<Way>,
    mux: Option<Arc<Mux>>,
    /// Dropped when connected, which closes the channel.
    signal: Option<Sender<()>>,
    connected: Receiver<()>,
}

// For the owner.
impl TunnelState {
    pub(super) fn new() -> Self {
        let (signal, connected) = crossbeam_channel::bounded(0);
        Self {
            cancel: Cancel::new(),
            stopping: AtomicBool::new(false),
            wants_retry: AtomicBool::new(false),
            traffic: Arc::default(),
            connections: AtomicU64::new(0),
            connection: Mutex::new(ConnectionState {
                status: Status::Connecting,
                error: None,
                is_key_logged: false,
                next_retry: None,
                since: None,
                way: None,
                mux: None,
                signal: Some(signal),
                connected,
            }),
        }
    }

    pub(super) fn status(&self) -> Status {
        self.connection.lock().status
    }

    /// A channel that is closed when the tunnel is connected.
    pub(super) fn connected_signal(&self) -> Receiver<()> {
        self.connection.lock().connected.clone()
    }

    pub(super) fn snapshot(&self) -> Snapshot {
        let traffic = &self.traffic;
        let micros = traffic.latency_micros.load(Ordering::Relaxed);
        let last_opened = traffic.last_opened.load(Ordering::Relaxed);
        let connection = self.connection.lock();
        Snapshot {
            status: connection.status,
            error: connection.error.clone(),
            next_retry: connection.next_retry,
            since: connection.since.map(|(_, time)| time),
            way: connection.way,
            latency: (micros > 0 && connection.status == Status::Connected)
                .then(|| Duration::from_micros(micros)),
            sent: traffic.sent.load(Ordering::Relaxed),
            received: traffic.received.load(Ordering::Relaxed),
            streams: traffic.streams.load(Ordering::Relaxed),
            opened: traffic.opened.load(Ordering::Relaxed),
            refused: (
                traffic.refused_full.load(Ordering::Relaxed),
                traffic.refused_target.load(Ordering::Relaxed),
            ),
            last_opened: (last_opened > 0)
                .then(|| SystemTime::UNIX_EPOCH + Duration::from_millis(last_opened)),
            reconnects: self.connections.load(Ordering::Relaxed).saturating_sub(1),
        }
    }

    /// Ends the connection with DISCONNECT, and an attempt at one at once.
    pub(super) fn begin_stop(&self) {
        self.stopping.store(true, Ordering::SeqCst);
        self.cancel.cancel();
    }

    /// Requests another attempt soon.
    pub(super) fn request_retry(&self) {
        self.wants_retry.store(true, Ordering::SeqCst);
    }

    /// True if there was a request since the last call.
    pub(super) fn take_retry_request(&self) -> bool {
        self.wants_retry.swap(false, Ordering::SeqCst)
    }

    /// Ends the streams that are open now.
    pub(super) fn cut_streams(&self) {
        let mux = self.connection.lock().mux.clone();
        if let Some(mux) = mux {
            mux.cut_streams();
        }
    }

    /// Ends the connection at once.
    pub(super) fn cut(&self) {
        let mux = self.connection.lock().mux.clone();
        if let Some(mux) = mux {
            mux.cut();
        }
    }
}

// For the thread.
impl TunnelState {
    pub(super) fn is_stopping(&self) -> bool {
        self.stopping.load(Ordering::SeqCst)
    }

    /// True if there has been a connection.
    pub(super) fn was_connected(&self) -> bool {
        self.connections.load(Ordering::Relaxed) > 0
    }

    /// Sets the connection that is not ready yet.
    pub(super) fn set_connecting(&self, mux: &Arc<Mux>) {
        self.connection.lock().mux = Some(Arc::clone(mux));
    }

    /// Notes that the tunnel is up, and closes the signal.
    pub(super) fn set_connected(&self, latency: Duration, way: Way, level: log::Level) {
        if self.connections.fetch_add(1, Ordering::Relaxed) > 0 {
            log::debug!("reconnected");
        }
        log::log!(
            level,
            "Connected (Latency {:.2}ms)",
            latency.as_secs_f64() * 1000.0
        );
        let mut connection = self.connection.lock();
        if std::mem::take(&mut connection.is_key_logged) {
            log::info!("the server's host key is the known one again");
        }
        connection.status = Status::Connected;
        connection.error = None;
        connection.way = Some(way);
        connection.since = Some((Instant::now(), SystemTime::now()));
        connection.signal = None;
    }

    /// Notes that the tunnel is down; returns the time that it was up.
    pub(super) fn set_disconnected(&self, failure: &Failure) -> Option<Duration> {
        let mut connection = self.connection.lock();
        (connection.mux, connection.way) = (None, None);
        connection.error = Some(failure.clone());
        if connection.status == Status::Connected {
            let (signal, connected) = crossbeam_channel::bounded(0);
            connection.signal = Some(signal);
            connection.connected = connected;
        }
        connection.status = Status::Connecting;
        connection.since.take().map(|(since, _)| since.elapsed())
    }

    pub(super) fn set_next_retry(&self, at: Option<Instant>) {
        self.connection.lock().next_retry = at;
    }

    /// Logs the reason for another attempt; a changed host key once, until the known one is back.
    pub(super) fn log_retry(&self, failure: &Failure, pause: Duration) {
        let is_key = failure.class == Class::HostKeyChanged;
        let is_logged =
            is_key && std::mem::replace(&mut self.connection.lock().is_key_logged, true);
        let level = if is_logged {
            log::Level::Debug
        } else {
            log::Level::Warn
        };
        let pause = pause.as_secs_f32();
        log::log!(level, "{failure}; next attempt in {pause:.1} s");
    }

    /// Notes that there will be no other attempt.
    pub(super) fn finish(&self, status: Status) {
        let mut connection = self.connection.lock();
        connection.status = status;
        (connection.mux, connection.way) = (None, None);
        connection.since = None;
        // Ends the waits for a connection; the status shows that there is none.
        connection.signal = None;
    }
}
