//! The client: one thread a tunnel, which connects, serves streams, and connects again, for ever.
//!
//! ```text
//!             ┌───────────────── wait (100 ms doubling to 10 s) <──┐
//!             ▼                                                    │ failed, or ended
//! start ─> connecting: dial, key, login, config ─────────> connected
//!             └─ stop() at any moment: stopped
//! ```

mod attempt;
mod backoff;
mod failure;
mod streams;
mod timing;

use crate::sync::{Mutex, MutexGuard};
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime};

use crossbeam_channel::{Receiver, RecvTimeoutError, Sender};
use zeroize::Zeroizing;

use super::known_servers::KnownServers;
use super::mux::{FAREWELL, Mux, Traffic};
use super::remote::Remote;
use super::ssh;
use super::target::MayDial;
use super::ws::{Cancel, DialOptions, Endpoint};
use backoff::Backoff;
pub(crate) use backoff::Pauses;
pub use failure::{Class, Failure, HostKeyChange};
pub use timing::{READY_WITHIN, Retries, Timeouts};

/// The pause between keep-alive requests. Default 25 s: below what middle boxes forget.
pub const KEEPALIVE: Duration = Duration::from_secs(25);
/// The longest pause before another attempt. Default 10 s.
pub const MAX_RETRY_INTERVAL: Duration = Duration::from_secs(10);
/// Bytes of the tunnel thread's stack. Default 512 KiB: TLS and the dialling; only what is
/// touched takes memory.
const STACK: usize = 512 * 1024;
/// Time for a stopped tunnel's thread to end. Default 600 ms, with [`FAREWELL`] below a second.
const STOP_WAIT: Duration = Duration::from_millis(600);

/// What a tunnel is made of.
#[non_exhaustive]
pub struct Settings {
    /// The server.
    pub endpoint: Endpoint,
    /// How to reach it.
    pub dial: DialOptions,
    /// The user name.
    pub user: String,
    /// The password.
    pub password: Zeroizing<String>,
    /// What to forward.
    pub remotes: Vec<Remote>,
    /// The address that `localhost` in a remote means; none for all that the name leads to.
    pub localhost: Option<IpAddr>,
    /// Which host keys are accepted.
    pub host_key: HostKeyCheck,
    /// The pause between keep-alive requests; none for no keep-alive.
    pub keepalive: Option<Duration>,
    /// The longest pause before another attempt.
    pub max_retry_interval: Duration,
    /// Attempts after a failed one before the tunnel gives up; none for no end.
    pub max_retries: Option<u32>,
    /// How long each stage may take.
    pub timeouts: Timeouts,
    /// The other times of retrying.
    pub retries: Retries,
    /// Is told, as far as there is room, when a stream found nobody at its target.
    pub target_missed: Option<Sender<()>>,
    /// Whether a target's address may be connected to, asked at each stream; none for all. A stream to one that may not
    /// is refused.
    pub may_dial: Option<MayDial>,
    /// What the protocol offers and allows.
    pub ssh: ssh::Config,
    /// Called each time that the tunnel is connected, on its own thread: it must not block.
    pub on_connected: Option<Box<dyn Fn() + Send + Sync>>,
}

impl Settings {
    /// The usual ones, for anybody and any key.
    pub fn new(endpoint: Endpoint, remotes: Vec<Remote>) -> Self {
        Self {
            endpoint,
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
            may_dial: None,
            ssh: ssh::Config::default(),
            on_connected: None,
        }
    }
}

/// Which host keys are accepted.
#[derive(Clone)]
#[non_exhaustive]
pub enum HostKeyCheck {
    /// The one with this fingerprint.
    Fingerprint(String),
    /// The one that was seen first.
    Pinned(Arc<KnownServers>),
    /// Any: for tests, and where the user asked for it.
    Any,
}

/// Where a tunnel is.
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
    /// Where it is.
    pub status: Status,
    /// Why it is not connected, or was not before.
    pub error: Option<Failure>,
    /// When it tries again.
    pub next_retry: Option<Instant>,
    /// Since when it is connected, as the clock was then.
    pub since: Option<SystemTime>,
    /// The last round trip; none while it is not connected.
    pub latency: Option<Duration>,
    /// Bytes from targets into the tunnel.
    pub sent: u64,
    /// Bytes out of the tunnel to targets.
    pub received: u64,
    /// Streams that are open.
    pub streams: u64,
    /// Connections after the first.
    pub reconnects: u64,
}

/// A tunnel at work. Dropping it stops it.
pub struct Tunnel {
    shared: Arc<Shared>,
    retry: Sender<()>,
    done: Receiver<()>,
}

/// What the tunnel's thread and its owner share.
struct Shared {
    cancel: Cancel,
    stopping: AtomicBool,
    traffic: Arc<Traffic>,
    connections: AtomicU64,
    state: Mutex<State>,
}

struct State {
    status: Status,
    error: Option<Failure>,
    /// A changed host key was told: it can last for days, and is tried again all the time.
    is_key_told: bool,
    next_retry: Option<Instant>,
    /// By both clocks: how long is asked of the one that never jumps, when of the other.
    since: Option<(Instant, SystemTime)>,
    line: Option<Arc<Mux>>,
    /// Dropped when connected, which closes the channel.
    signal: Option<Sender<()>>,
    connected: Receiver<()>,
}

impl Tunnel {
    /// Starts the tunnel's thread; does not wait for a connection.
    pub fn start(settings: Settings) -> std::io::Result<Self> {
        let (signal, connected) = crossbeam_channel::bounded(0);
        let shared = Arc::new(Shared {
            cancel: Cancel::new(),
            stopping: AtomicBool::new(false),
            traffic: Arc::default(),
            connections: AtomicU64::new(0),
            state: Mutex::new(State {
                status: Status::Connecting,
                error: None,
                is_key_told: false,
                next_retry: None,
                since: None,
                line: None,
                signal: Some(signal),
                connected,
            }),
        });
        let (retry, retries) = crossbeam_channel::bounded(1);
        let (working, done) = crossbeam_channel::bounded(0);
        let of_thread = Arc::clone(&shared);
        // The tunnel's own thread: it connects and reads; ends after `stop`, or when it gives up.
        std::thread::Builder::new()
            .name("tunnel".into())
            .stack_size(STACK)
            .spawn(move || {
                of_thread.run(&settings, &retries);
                drop::<Sender<()>>(working);
            })?;
        Ok(Self {
            shared,
            retry,
            done,
        })
    }

    /// A channel that is closed when the tunnel is connected; closed already when it is.
    pub fn connected(&self) -> Receiver<()> {
        self.shared.state().connected.clone()
    }

    /// Waits for the connected signal; false when none came.
    pub fn wait(&self, time: Duration) -> bool {
        let signalled = self.connected().recv_timeout(time) == Err(RecvTimeoutError::Disconnected);
        signalled && self.shared.state().status == Status::Connected
    }

    /// How it is.
    pub fn snapshot(&self) -> Snapshot {
        self.shared.snapshot()
    }

    /// Ends the present pause before another attempt.
    pub fn retry_now(&self) {
        // One wish is enough.
        let _ = self.retry.try_send(());
    }

    /// A channel that is closed when the tunnel has ended.
    pub fn ended(&self) -> Receiver<()> {
        self.done.clone()
    }

    /// Ends the tunnel, wherever it is, within a second.
    pub fn stop(&self) {
        self.begin_stop();
        self.finish_stop();
    }

    /// The first half of [`Tunnel::stop`], which does not wait.
    pub(super) fn begin_stop(&self) {
        self.shared.stopping.store(true, Ordering::SeqCst);
        self.shared.cancel.cancel();
        self.retry_now();
    }

    pub(super) fn finish_stop(&self) {
        if self.done.recv_timeout(FAREWELL) == Err(RecvTimeoutError::Timeout) {
            if let Some(line) = self.shared.state().line.clone() {
                line.cut();
            }
            if self.done.recv_timeout(STOP_WAIT) == Err(RecvTimeoutError::Timeout) {
                log::warn!("a tunnel takes longer to end than it should");
            }
        }
    }
}

impl Drop for Tunnel {
    fn drop(&mut self) {
        self.begin_stop();
        if let Some(line) = self.shared.state().line.clone() {
            line.cut();
        }
    }
}

impl Shared {
    /// The tunnel's thread.
    fn run(self: &Arc<Self>, settings: &Settings, retries: &Receiver<()>) {
        let mut backoff = Backoff::new(settings.max_retry_interval, settings.retries);
        let mut left = settings.max_retries;
        while !self.is_stopping() {
            let failure = attempt::run(self, settings);
            if self.is_stopping() {
                break;
            }
            let lived = self.disconnected(&failure);
            if lived.is_some_and(|lived| lived >= settings.retries.proven_after) {
                backoff.reset();
                left = settings.max_retries;
            }
            if left == Some(0) {
                log::error!("{failure}; giving up");
                return self.finish(Status::Failed);
            }
            if settings.retries.end_when_disowned && self.was_up() && failure.class.is_disowned() {
                log::warn!("{failure}; it was accepted before");
                return self.finish(Status::Failed);
            }
            left = left.map(|left| left - 1);
            let mut pause = backoff.next(failure.class);
            if lived.is_some() {
                pause = pause.max(settings.retries.after_loss);
            }
            self.notify(&failure, pause);
            self.state().next_retry = Some(Instant::now() + pause);
            // Wishes from before this pause were for an earlier one; a stop is seen all the same.
            while retries.try_recv().is_ok() {}
            if !self.is_stopping() {
                // A wish to retry, or to stop, or neither in time.
                let _ = retries.recv_timeout(pause);
            }
            self.state().next_retry = None;
        }
        self.finish(Status::Stopped);
    }

    /// Tells why there is another attempt; of a changed host key once, until the known one is back.
    fn notify(&self, failure: &Failure, pause: Duration) {
        let is_key = failure.class == Class::HostKeyChanged;
        let is_told = is_key && std::mem::replace(&mut self.state().is_key_told, true);
        let level = match is_told {
            true => log::Level::Debug,
            false => log::Level::Warn,
        };
        log::log!(
            level,
            "{failure}; next attempt in {:.1} s",
            pause.as_secs_f32()
        );
    }

    fn was_up(&self) -> bool {
        self.connections.load(Ordering::Relaxed) > 0
    }

    fn is_stopping(&self) -> bool {
        self.stopping.load(Ordering::SeqCst)
    }

    /// The line is up, which the signal says.
    fn connected(&self, latency: Duration) {
        if self.connections.fetch_add(1, Ordering::Relaxed) > 0 {
            log::debug!("connected again");
        }
        log::info!(
            "Connected (Latency {:.2}ms)",
            latency.as_secs_f64() * 1000.0
        );
        let mut state = self.state();
        if std::mem::take(&mut state.is_key_told) {
            log::info!("the server shows the known host key again");
        }
        state.status = Status::Connected;
        state.error = None;
        state.since = Some((Instant::now(), SystemTime::now()));
        state.signal = None;
    }

    /// The line is down; answers how long it was up.
    fn disconnected(&self, failure: &Failure) -> Option<Duration> {
        let mut state = self.state();
        state.line = None;
        state.error = Some(failure.clone());
        if state.status == Status::Connected {
            let (signal, connected) = crossbeam_channel::bounded(0);
            state.signal = Some(signal);
            state.connected = connected;
        }
        state.status = Status::Connecting;
        state.since.take().map(|(since, _)| since.elapsed())
    }

    fn finish(&self, status: Status) {
        let mut state = self.state();
        state.status = status;
        state.line = None;
        state.since = None;
        // Who waits need not wait longer; the status tells that it is no success.
        state.signal = None;
    }

    fn snapshot(&self) -> Snapshot {
        let traffic = &self.traffic;
        let micros = traffic.latency_micros.load(Ordering::Relaxed);
        let state = self.state();
        Snapshot {
            status: state.status,
            error: state.error.clone(),
            next_retry: state.next_retry,
            since: state.since.map(|(_, time)| time),
            latency: (micros > 0 && state.status == Status::Connected)
                .then(|| Duration::from_micros(micros)),
            sent: traffic.sent.load(Ordering::Relaxed),
            received: traffic.received.load(Ordering::Relaxed),
            streams: traffic.streams.load(Ordering::Relaxed),
            reconnects: self.connections.load(Ordering::Relaxed).saturating_sub(1),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock()
    }
}
