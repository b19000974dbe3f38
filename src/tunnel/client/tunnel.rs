//! A tunnel, its thread, and the pauses between its attempts.

use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, RecvTimeoutError, Sender};
use ring::rand::{SecureRandom, SystemRandom};

use super::attempt;
use super::failure::Class;
use super::settings::{Retries, Settings};
use super::state::{Snapshot, Status, TunnelState};
use crate::sync::{Thread, spawn};
use crate::tunnel::mux::FAREWELL;

/// Attempts in a row that reach nobody after which a server may have moved. Default 5: some seconds.
const MOVED_AFTER: u32 = 5;
/// Time since the loss after which it may have moved, after any number of attempts: a program that has its port now may
/// not answer.
const MOVED_WITHIN: Duration = Duration::from_secs(5);
/// Time for a stopped tunnel's thread to end. Default 600 ms, with [`FAREWELL`] below a second.
const STOP_WAIT: Duration = Duration::from_millis(600);

/// The longest pause after an attempt during which the server came back. Default 300 ms.
const WOKEN_PAUSE: Duration = Duration::from_millis(300);

/// Longest pause after a changed host key. Default 2 min.
const LONGEST_KEY_PAUSE: Duration = Duration::from_secs(120);

/// Stops a tunnel from elsewhere than its owner.
pub(in crate::tunnel) struct Stopper {
    state: Weak<TunnelState>,
    retry: Sender<()>,
}

impl Stopper {
    /// Does not wait.
    pub(in crate::tunnel) fn begin_stop(&self) {
        if let Some(state) = self.state.upgrade() {
            state.begin_stop();
        }
        // One request is enough.
        let _ = self.retry.try_send(());
    }
}

/// A tunnel at work. Dropping it stops it.
pub struct Tunnel {
    state: Arc<TunnelState>,
    retry: Sender<()>,
    done: Receiver<()>,
}

impl Tunnel {
    /// Starts the tunnel's thread; does not wait for a connection.
    pub fn start(settings: Settings) -> std::io::Result<Self> {
        let state = Arc::new(TunnelState::new());
        let (retry, retries) = crossbeam_channel::bounded(1);
        let (working, done) = crossbeam_channel::bounded(0);
        let of_thread = Arc::clone(&state);
        // The tunnel's own thread: it connects and reads; ends after `stop`, or when it gives up.
        spawn(Thread::Tunnel, move || {
            let status = run(&of_thread, &settings, &retries);
            of_thread.finish(status);
            drop::<Sender<()>>(working);
        })?;
        Ok(Self { state, retry, done })
    }

    /// A channel that is closed when the tunnel is connected; closed already when it is.
    pub fn connected(&self) -> Receiver<()> {
        self.state.connected_signal()
    }

    /// Waits for the connected signal; false when none came.
    pub fn wait(&self, time: Duration) -> bool {
        let signalled = self.connected().recv_timeout(time) == Err(RecvTimeoutError::Disconnected);
        signalled && self.state.status() == Status::Connected
    }

    /// Returns its state.
    pub fn snapshot(&self) -> Snapshot {
        self.state.snapshot()
    }

    /// Ends the present pause before another attempt.
    pub fn retry_now(&self) {
        // One request is enough.
        let _ = self.retry.try_send(());
    }

    /// Makes it try at once, as its server is back; also if the attempt that is under way still fails.
    pub fn wake(&self) {
        self.state.request_retry();
        self.retry_now();
    }

    /// Ends the connection, if there is one, and tries again at once: the server has given it up already.
    pub fn renew(&self) {
        self.wake();
        self.state.cut();
    }

    /// Ends the streams that are open now; the connection stays.
    pub fn cut_streams(&self) {
        self.state.cut_streams();
    }

    /// A channel that is closed when the tunnel has ended.
    pub fn ended(&self) -> Receiver<()> {
        self.done.clone()
    }

    /// Stops the tunnel in any state, within a second.
    pub fn stop(&self) {
        self.begin_stop();
        self.finish_stop();
    }

    /// The first half of [`Tunnel::stop`], which does not wait.
    pub(in crate::tunnel) fn begin_stop(&self) {
        self.state.begin_stop();
        self.retry_now();
    }

    /// Returns a handle that does the same from elsewhere.
    pub(in crate::tunnel) fn stopper(&self) -> Stopper {
        Stopper {
            state: Arc::downgrade(&self.state),
            retry: self.retry.clone(),
        }
    }

    /// The second half, which waits.
    pub(in crate::tunnel) fn finish_stop(&self) {
        if self.done.recv_timeout(FAREWELL) == Err(RecvTimeoutError::Timeout) {
            self.state.cut();
            if self.done.recv_timeout(STOP_WAIT) == Err(RecvTimeoutError::Timeout) {
                log::warn!("a tunnel takes too long to stop");
            }
        }
    }
}

impl Drop for Tunnel {
    fn drop(&mut self) {
        self.begin_stop();
        self.state.cut();
    }
}

/// Level for the end of a tunnel: an owner that is told of failures shows them itself.
fn level(settings: &Settings) -> log::Level {
    match settings.on_failed {
        Some(_) => log::Level::Info,
        None => log::Level::Warn,
    }
}

/// Attempts in a row that have failed.
struct Misses {
    count: u32,
    since: Instant,
}

impl Misses {
    fn note(&mut self, was_connected: bool) {
        (self.count, self.since) = if was_connected {
            (0, Instant::now())
        } else {
            (self.count + 1, self.since)
        };
    }

    /// True if the last failure suggests that the server has moved to another port: another server is there, or nobody.
    fn suggests_move(&self, class: Class) -> bool {
        let is_missed = match class {
            Class::HostKeyChanged | Class::NotATunnelServer | Class::Protocol => true,
            Class::Network => self.count >= MOVED_AFTER || self.since.elapsed() >= MOVED_WITHIN,
            _ => false,
        };
        is_missed && self.count > 0
    }
}

/// Connects again and again; returns the final status.
fn run(state: &TunnelState, settings: &Settings, retry_requests: &Receiver<()>) -> Status {
    let retries = &settings.retries;
    let mut backoff = Backoff::new(settings.max_retry_interval, *retries);
    let (mut left, since) = (settings.max_retries, Instant::now());
    let mut misses = Misses { count: 0, since };
    while !state.is_stopping() {
        state.take_retry_request();
        let failure = attempt::run(state, settings);
        if state.is_stopping() {
            break;
        }
        let lived = state.set_disconnected(&failure);
        misses.note(lived.is_some());
        if lived.is_some_and(|lived| lived >= retries.proven_after) {
            backoff.reset();
            left = settings.max_retries;
        }
        if left == Some(0) {
            log::error!("{failure}; giving up");
            return Status::Failed;
        }
        if retries.end_when_disowned && state.was_connected() && failure.class.is_disowned() {
            log::log!(level(settings), "{failure}; it was accepted before");
            return Status::Failed;
        }
        if retries.end_when_moved && state.was_connected() && misses.suggests_move(failure.class) {
            log::log!(level(settings), "{failure}; its server may have moved");
            return Status::Failed;
        }
        left = left.map(|left| left - 1);
        let mut pause = backoff.next(failure.class);
        if lived.is_some() {
            pause = pause.max(retries.after_loss);
        }
        if state.take_retry_request() {
            pause = pause.min(WOKEN_PAUSE);
        }
        match &settings.on_failed {
            Some(on_failed) => {
                log::debug!("{failure}; next attempt in {:.1} s", pause.as_secs_f32());
                on_failed(&failure, lived.is_some());
            }
            None => state.log_retry(&failure, pause),
        }
        state.set_next_retry(Some(Instant::now() + pause));
        // Requests from before this pause were for an earlier one; a stop is seen all the same.
        while retry_requests.try_recv().is_ok() {}
        if !state.is_stopping() {
            // A request, or a stop, or neither in time.
            let _ = retry_requests.recv_timeout(pause);
        }
        state.set_next_retry(None);
    }
    Status::Stopped
}

/// Pauses that double, each shortened by up to a quarter, so that the clients of a server
/// that restarts do not come all at once.
pub(crate) struct Pauses {
    first: Duration,
    next: Duration,
    most: Duration,
}

impl Pauses {
    /// From `first` up to `most`.
    pub(crate) fn new(first: Duration, most: Duration) -> Self {
        let first = first.min(most);
        Self {
            first,
            next: first,
            most,
        }
    }

    /// Begins with the first again.
    pub(crate) fn reset(&mut self) {
        self.next = self.first;
    }

    /// The next one.
    pub(crate) fn next(&mut self) -> Duration {
        let pause = self.next;
        self.next = (pause * 2).min(self.most);
        pause - pause.mul_f64(jitter())
    }
}

/// The pauses of a tunnel.
struct Backoff {
    pauses: Pauses,
    retries: Retries,
    /// Next pause after a changed host key.
    key_pause: Duration,
}

impl Backoff {
    fn new(most: Duration, retries: Retries) -> Self {
        Self {
            pauses: Pauses::new(retries.first, most),
            key_pause: retries.refused,
            retries,
        }
    }

    fn reset(&mut self) {
        self.pauses.reset();
        self.key_pause = self.retries.refused;
    }

    fn next(&mut self, class: Class) -> Duration {
        if !class.is_refusal() {
            return self.pauses.next();
        }
        let mut pause = self.retries.refused;
        if class == Class::HostKeyChanged {
            pause = self.key_pause;
            self.key_pause = (pause * 2).min(LONGEST_KEY_PAUSE);
        }
        pause + pause.mul_f64(jitter())
    }
}

/// Random fraction of a pause, up to a quarter.
fn jitter() -> f64 {
    let mut byte = [0];
    // Without random bytes there is no jitter, which is no reason to fail.
    let _ = SystemRandom::new().fill(&mut byte);
    f64::from(byte[0]) / 1024.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_has_moved_where_another_one_is_or_nobody_for_a_while() {
        let mut misses = Misses {
            count: 0,
            since: Instant::now(),
        };
        let mut suggests = |was_connected, class| {
            misses.note(was_connected);
            misses.suggests_move(class)
        };
        assert!(
            !suggests(true, Class::NotATunnelServer),
            "it was just there"
        );
        for class in [
            Class::HostKeyChanged,
            Class::NotATunnelServer,
            Class::Protocol,
        ] {
            assert!(
                !suggests(true, class) && suggests(false, class),
                "{class:?}"
            );
        }
        assert!(!suggests(true, Class::Network));
        let refused = [(); 5].map(|()| suggests(false, Class::Network));
        assert_eq!(refused, [false, false, false, false, true]);
        assert!(!suggests(false, Class::WrongPassword) && !suggests(false, Class::Local));
        suggests(true, Class::Network);
        misses.since = Instant::now().checked_sub(MOVED_WITHIN).unwrap();
        misses.note(false);
        assert!(misses.suggests_move(Class::Network), "it says nothing");
    }

    #[test]
    fn pauses_double_up_to_the_most() {
        let retries = Retries::default();
        let mut backoff = Backoff::new(Duration::from_secs(10), retries);
        for millis in [100, 200, 400, 800, 1600, 3200, 6400, 10_000, 10_000] {
            let whole = Duration::from_millis(millis);
            let pause = backoff.next(Class::Network);
            assert!(pause <= whole && pause >= whole * 3 / 4, "{pause:?}");
        }
        backoff.reset();
        assert!(backoff.next(Class::Network) <= retries.first);
        assert!(backoff.next(Class::WrongPassword) >= retries.refused);
        for seconds in [10, 20, 40, 80, 120, 120] {
            let whole = Duration::from_secs(seconds);
            let pause = backoff.next(Class::HostKeyChanged);
            assert!(pause >= whole && pause <= whole * 5 / 4, "{pause:?}");
        }
        backoff.reset();
        assert!(backoff.next(Class::HostKeyChanged) <= retries.refused * 5 / 4);
    }
}
