//! The way down: from the channel to the socket.
//!
//! The reading thread writes what the socket takes at once. What it does not take is queued, and a
//! drain thread writes that; there is one only while there is a queue, and a little longer.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::connection::Mux;
use super::end::End;
use super::socket::Socket;
use super::stats::add;
use super::stream::{Draining, Stream};
use super::stream_state::{Effects, StreamState};
use crate::tunnel::ssh::Error;

/// Time after which a drain thread looks whether its stream still lives.
const DRAIN_LOOK: Duration = Duration::from_millis(500);
/// Time without one byte taken after which a closed stream's queue is dropped, 60 s: the visitor of
/// a stream that lives may stall for as long as it likes.
const DRAIN_STALL: Duration = Duration::from_secs(60);

impl Mux {
    /// Changes a stream's state, and then does what that leads to.
    pub(super) fn update(
        self: &Arc<Self>,
        stream: &Arc<Stream>,
        transition: impl FnOnce(&mut StreamState) -> Effects,
    ) {
        let effects = transition(&mut stream.state());
        self.apply(stream, effects);
    }

    /// Does what a transition leads to. Not under the state's lock; never waits. To be followed by
    /// a [`Mux::flush`], where this is not the reading thread.
    pub(super) fn apply(self: &Arc<Self>, stream: &Arc<Stream>, effects: Effects) {
        if let Some((socket, how)) = effects.shut {
            socket.shutdown(how);
        }
        if let Some(waker) = effects.wake {
            waker.wake();
        }
        if effects.notify {
            stream.notify();
        }
        if effects.consumed > 0 {
            self.grant(stream, effects.consumed);
        }
        if effects.linger {
            self.timers().linger(Arc::clone(stream), Instant::now());
            self.wake_writer();
        }
        if effects.close_channel {
            self.close_channel(stream.channel);
        }
        if effects.start_drain {
            self.start_drain(stream);
        }
        drop((effects.freed, effects.visitor));
    }

    /// Lets the peer send as many bytes again.
    fn grant(&self, stream: &Stream, bytes: usize) {
        add(&self.options.traffic.received, bytes);
        self.charge(bytes);
        if let Some(port) = &stream.port {
            port.count_out(bytes);
        }
        let granted = self
            .session()
            .consume(stream.channel, bytes, Instant::now());
        // A channel that was closed meanwhile needs no window.
        if let Err(flooded @ Error::Flooded) = granted {
            self.end(End::Protocol(flooded));
            self.cut();
        }
    }

    fn start_drain(self: &Arc<Self>, stream: &Arc<Stream>) {
        let (mux, own) = (Arc::clone(self), Arc::clone(stream));
        // On a thread because the socket takes its time; ends soon after it has caught up.
        if let Err(error) = self.threads.run(move || mux.drain(&own)) {
            log::warn!("stream closed: no thread for it: {error}");
            self.update(stream, StreamState::drain_broke);
        }
    }

    fn drain(self: &Arc<Self>, stream: &Arc<Stream>) {
        loop {
            match stream.next_chunk() {
                Draining::Write(socket, chunk) if self.write_chunk(stream, &socket, &chunk) => {}
                Draining::Write(..) => break self.update(stream, StreamState::drain_broke),
                Draining::Over(effects) => break self.apply(stream, effects),
            }
        }
        self.flush();
    }

    fn write_chunk(&self, stream: &Stream, socket: &Socket, chunk: &[u8]) -> bool {
        let mut rest = chunk;
        let mut moved = Instant::now();
        while !rest.is_empty() {
            self.wait_turn(stream);
            let piece = rest.get(..self.piece()).unwrap_or(rest);
            let Ok(taken) = socket.write_now(piece) else {
                return false;
            };
            rest = rest.get(taken..).expect("no more is taken than there is");
            if taken > 0 {
                moved = Instant::now();
                self.grant(stream, taken);
                self.flush();
                continue;
            }
            socket.wait_writable(DRAIN_LOOK);
            let state = stream.state();
            if state.is_dead() || (state.is_closed_by_peer() && moved.elapsed() > DRAIN_STALL) {
                return false;
            }
        }
        true
    }
}
