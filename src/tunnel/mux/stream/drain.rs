//! The drain thread: writes what the socket did not take at once.

use crate::sync::MutexGuard;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::socket::write_now;
use super::{Drain, Mux, Socket, State, Stream};

/// Time that a drain thread waits for more. Default 1 s: saves a thread a burst.
const DRAIN_IDLE: Duration = Duration::from_secs(1);
/// Time after which a drain thread looks whether its stream still lives. Default 500 ms.
const DRAIN_LOOK: Timespec = Timespec {
    tv_sec: 0,
    tv_nsec: 500_000_000,
};
/// Time without one byte taken after which a closed stream's queue is dropped. Default 60 s: the
/// visitor of a stream that lives may stall for as long as it likes.
const DRAIN_STALL: Duration = Duration::from_secs(60);

impl Stream {
    /// The queue is not empty: sees that a drain thread works on it.
    pub(super) fn need_drain(self: &Arc<Self>, line: &Arc<Mux>, mut state: MutexGuard<'_, State>) {
        if state.socket.is_none() {
            return;
        }
        match std::mem::replace(&mut state.drain, Drain::Busy) {
            Drain::Busy => {}
            Drain::Idle => self.changed.notify_all(),
            Drain::None => {
                let (own, with) = (Arc::clone(self), Arc::clone(line));
                // On a thread because the socket takes its time; ends soon after it has caught up.
                if let Err(error) = line.workers.run(move || own.drain(&with)) {
                    log::warn!("a stream is cut: no thread for it: {error}");
                    state.drain = Drain::None;
                    self.broken(line, state);
                }
            }
        }
    }

    fn drain(self: &Arc<Self>, line: &Arc<Mux>) {
        while let Some((socket, chunk)) = self.next_chunk(line) {
            if !self.write_chunk(line, &socket, &chunk) {
                let mut state = self.state();
                state.drain = Drain::None;
                self.broken(line, state);
                break;
            }
        }
        line.flush();
    }

    fn next_chunk(self: &Arc<Self>, line: &Arc<Mux>) -> Option<(Arc<Socket>, Vec<u8>)> {
        let mut state = self.state();
        loop {
            if let (Some(socket), false) = (state.socket.clone(), state.dead)
                && let Some(chunk) = state.queue.pop()
            {
                state.drain = Drain::Busy;
                return Some((socket, chunk));
            }
            state.drain = Drain::Idle;
            let over = state.dead || state.down_done || state.peer_eof || state.peer_closed;
            let idle = |state: &mut State| {
                state.queue.is_empty() && !(state.dead || state.peer_eof || state.peer_closed)
            };
            if !over {
                let waited = self.changed.wait_timeout_while(state, DRAIN_IDLE, idle);
                state = waited;
            }
            if state.queue.is_empty() || state.dead {
                state.drain = Drain::None;
                self.advance(line, state);
                return None;
            }
        }
    }

    fn write_chunk(&self, line: &Mux, socket: &Socket, chunk: &[u8]) -> bool {
        let mut rest = chunk;
        let mut moved = Instant::now();
        while !rest.is_empty() {
            let Ok(taken) = write_now(socket, rest) else {
                return false;
            };
            rest = rest.get(taken..).unwrap_or_default();
            if taken > 0 {
                moved = Instant::now();
                line.consumed(self, taken);
                line.flush();
            } else if !self.wait_for_room(socket, moved) {
                return false;
            }
        }
        true
    }

    fn wait_for_room(&self, socket: &Socket, moved: Instant) -> bool {
        let mut fds = [PollFd::new(socket, PollFlags::OUT)];
        // An interrupted or failed wait is followed by another write.
        let _ = poll(&mut fds, Some(&DRAIN_LOOK));
        let state = self.state();
        let has_stalled = state.peer_closed && moved.elapsed() > DRAIN_STALL;
        !(state.dead || has_stalled)
    }
}
