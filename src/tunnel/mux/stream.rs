//! A stream as the threads that carry it share it: its state behind a lock, and what they wait for.

use std::sync::Arc;
use std::time::Duration;

use super::socket::Socket;
use super::stats::VisitStats;
use super::stream_state::{Effects, OPEN_WITHIN, StreamState};
use crate::sync::{Condvar, Mutex, MutexGuard};
use crate::tunnel::ssh::ChannelId;

/// Time that a drain thread waits for more, 1 s: saves a thread a burst.
const DRAIN_IDLE: Duration = Duration::from_secs(1);

/// One stream of a connection.
pub(super) struct Stream {
    pub(super) channel: ChannelId,
    /// Counters for its bytes, besides the tunnel's.
    pub(super) port: Option<Arc<VisitStats>>,
    state: Mutex<StreamState>,
    changed: Condvar,
}

/// Next step of a drain thread.
pub(super) enum Draining {
    Write(Arc<Socket>, Vec<u8>),
    Over(Effects),
}

impl Stream {
    pub(super) fn new(
        channel: ChannelId,
        port: Option<Arc<VisitStats>>,
        state: StreamState,
    ) -> Arc<Self> {
        Arc::new(Self {
            channel,
            port,
            state: Mutex::new(state),
            changed: Condvar::new(),
        })
    }

    pub(super) fn state(&self) -> MutexGuard<'_, StreamState> {
        self.state.lock()
    }

    /// Makes threads that wait for a change look again.
    pub(super) fn notify(&self) {
        self.changed.notify_all();
    }

    /// Notes that the channel takes more.
    pub(super) fn writable(&self) {
        let waker = self.state().writable();
        if let Some(waker) = waker {
            waker.wake();
        }
        self.notify();
    }

    /// Waits until the peer has confirmed the channel, [`OPEN_WITHIN`] at most; false when it does not.
    pub(super) fn wait_opened(&self, within: Duration) -> bool {
        let within = within.min(OPEN_WITHIN);
        let state = self
            .changed
            .wait_timeout_while(self.state(), within, |state| state.is_asked());
        state.is_open()
    }

    /// Waits until the channel takes more; false when it never will.
    pub(super) fn wait_writable(&self) -> bool {
        let mut state = self
            .changed
            .wait_while(self.state(), |state| state.is_full());
        state.take_writable() && !state.is_dead()
    }

    /// Waits for so long; false when the stream is dead.
    pub(super) fn pause(&self, time: Duration) -> bool {
        let state = self
            .changed
            .wait_timeout_while(self.state(), time, |state| !state.is_dead());
        !state.is_dead()
    }

    /// The drain thread's next step; waits a while for one.
    pub(super) fn next_chunk(&self) -> Draining {
        let mut state = self.state();
        loop {
            if let Some((socket, chunk)) = state.next_chunk() {
                return Draining::Write(socket, chunk);
            }
            state = self
                .changed
                .wait_timeout_while(state, DRAIN_IDLE, |state| state.awaits_data());
            if let Some(effects) = state.end_drain() {
                return Draining::Over(effects);
            }
        }
    }
}
