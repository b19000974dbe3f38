//! The way up: from the socket into the channel.

use std::sync::Arc;
use std::time::Duration;

use super::socket::{is_passing, wait_readable};
use super::{Mux, Socket, State, Stream, add};
use crate::tunnel::ssh::Error;

/// Pause before a read whose bytes nobody takes any more. Default 5 ms: 13 MB/s at most.
const DROP_PAUSE: Duration = Duration::from_millis(5);
/// Time without bytes after which a stream gives its thread back. Default 200 ms: above the pauses
/// of a transfer.
const QUIET: Duration = Duration::from_millis(200);

/// What became of the bytes that were there.
pub(in crate::tunnel::mux) enum ReadOutcome {
    /// The channel has them all, and there are no more now.
    Whole,
    /// There are more, or the channel does not take them now; these are left.
    Part(Vec<u8>),
    /// There are no more: they came to their end, or (false) something broke.
    Ended(bool),
}

impl Stream {
    /// Carries on with a stream that was in the watch.
    pub(in crate::tunnel::mux) fn carry_on_a_thread(
        self: &Arc<Self>,
        line: &Arc<Mux>,
        socket: Arc<Socket>,
        rest: Vec<u8>,
    ) {
        let (own, with) = (Arc::clone(self), Arc::clone(line));
        // On a thread because it has to wait, or has much to read; ends when it is quiet.
        let job = move || {
            match own.put(&with, &rest) {
                true => own.carry_up(&with, &socket),
                false => own.finish(&with, false),
            }
            with.flush();
        };
        if let Err(error) = line.workers.run(job) {
            log::warn!("a stream is cut: no thread for it: {error}");
            self.finish(line, false);
        }
    }

    /// Carries until the socket's bytes end, or the watch has taken over.
    fn carry_up(self: &Arc<Self>, line: &Arc<Mux>, socket: &Arc<Socket>) {
        let mut quiet = Some(QUIET);
        // A read that fills its buffer is followed by another; any other has emptied the socket.
        let mut may_wait = true;
        loop {
            if may_wait && !wait_readable(socket, quiet) {
                if line.watch(self, socket) {
                    return;
                }
                quiet = None;
                continue;
            }
            // No more is read than the peer takes: whoever waits for it holds no buffer.
            let Some(window) = self.wait_window(line, socket) else {
                return self.finish(line, false);
            };
            let mut buffer = line.buffers.take();
            let most = buffer.len().min(window);
            let read = socket.receive_now(buffer.get_mut(..most).unwrap_or_default());
            let fine = match &read {
                Ok(0) => true,
                Ok(count) => self.put(line, buffer.get(..*count).unwrap_or_default()),
                Err(error) => is_passing(error.kind()),
            };
            may_wait = !matches!(read, Ok(count) if count == most);
            line.buffers.give_back(buffer);
            if matches!(read, Ok(0)) {
                return self.end(line);
            }
            if !fine {
                return self.finish(line, false);
            }
        }
    }

    /// EOF is queued first: CLOSE may follow at once.
    fn end(self: &Arc<Self>, line: &Arc<Mux>) {
        // A channel that is gone needs no EOF.
        let _ = line.session().eof(self.channel);
        self.finish(line, true);
    }

    /// Carries what is there, without waiting and without writing the WebSocket.
    pub(in crate::tunnel::mux) fn carry_piece(
        &self,
        line: &Mux,
        socket: &Socket,
        buffer: &mut [u8],
    ) -> ReadOutcome {
        let window = match line.session().window(self.channel) {
            Ok(window @ 1..) => window,
            Ok(0) | Err(Error::NoChannel(_)) => return ReadOutcome::Part(Vec::new()),
            Err(_) => return ReadOutcome::Ended(false),
        };
        let most = buffer.len().min(window);
        match socket.receive_now(buffer.get_mut(..most).unwrap_or_default()) {
            Ok(0) => {
                // A channel that is gone needs no EOF.
                let _ = line.session().eof(self.channel);
                ReadOutcome::Ended(true)
            }
            Ok(count) => self.carry(line, buffer.get(..count).unwrap_or_default(), count < most),
            Err(error) if is_passing(error.kind()) => ReadOutcome::Whole,
            Err(_) => ReadOutcome::Ended(false),
        }
    }

    fn carry(&self, line: &Mux, bytes: &[u8], is_all: bool) -> ReadOutcome {
        let taken = match line.session().write(self.channel, bytes) {
            Ok(taken) => taken,
            // The channel was closed: nobody takes this any more.
            Err(Error::NoChannel(_)) => return ReadOutcome::Part(Vec::new()),
            Err(_) => return ReadOutcome::Ended(false),
        };
        self.count_sent(line, taken);
        match bytes.get(taken..).unwrap_or_default() {
            [] if is_all => ReadOutcome::Whole,
            rest => ReadOutcome::Part(rest.to_vec()),
        }
    }

    fn count_sent(&self, line: &Mux, bytes: usize) {
        add(&line.traffic.sent, bytes);
        if let Some(visits) = &self.visits {
            add(&visits.bytes_in, bytes);
        }
    }

    /// How many bytes to read now, at least one; none when the connection has ended.
    fn wait_window(&self, line: &Mux, socket: &Socket) -> Option<usize> {
        loop {
            let window = line.session().window(self.channel);
            match window {
                Ok(0) => {}
                Ok(window) => return Some(window),
                Err(Error::NoChannel(_)) => return self.drop_slowly().then_some(usize::MAX),
                Err(_) => return None,
            }
            match socket.peek() {
                Ok(1..) => {
                    if !self.wait_writable() && self.state().dead {
                        return None;
                    }
                }
                Err(error) if is_passing(error.kind()) => {
                    wait_readable(socket, None);
                }
                // An end, good or bad, needs no window.
                Ok(0) | Err(_) => return Some(1),
            }
        }
    }

    /// False when the connection has ended. What nobody takes any more is dropped.
    fn put(&self, line: &Mux, mut rest: &[u8]) -> bool {
        while !rest.is_empty() {
            let taken = line.session().write(self.channel, rest);
            line.flush();
            match taken {
                Ok(taken) => {
                    self.count_sent(line, taken);
                    rest = rest.get(taken..).unwrap_or_default();
                }
                // The channel was closed: nobody takes this any more.
                Err(Error::NoChannel(_)) => return !self.state().dead,
                Err(_) => return false,
            }
            if !rest.is_empty() && !self.wait_writable() {
                return !self.state().dead;
            }
        }
        true
    }

    /// A target that floods a visitor who has gone must not cost a processor while it lingers.
    fn drop_slowly(&self) -> bool {
        let waited = self
            .changed
            .wait_timeout_while(self.state(), DROP_PAUSE, |state| !state.dead);
        let state = waited;
        !state.dead
    }

    fn wait_writable(&self) -> bool {
        let ended = |state: &mut State| !(state.writable || state.dead || state.peer_closed);
        let mut state = self.changed.wait_while(self.state(), ended);
        std::mem::take(&mut state.writable) && !state.dead
    }
}
