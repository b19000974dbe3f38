//! The way up: from the socket into the channel.
//!
//! The poller carries a stream while there is little to read. One that has much to say, or must wait
//! for its window, has a thread until it is quiet again. Without a poller every stream has a thread.

use std::sync::Arc;
use std::time::Duration;

use super::connection::Mux;
#[cfg(target_os = "linux")]
use super::poller::{Poller, WatchedStream};
use super::socket::{Socket, is_passing};
use super::stats::add;
use super::stream::Stream;
#[cfg(target_os = "linux")]
use super::stream_state::StreamState;
use crate::sync::{Thread, spawn};
use crate::tunnel::ssh::Error;

/// Bytes read of a quiet stream at once, 16 KiB: one that fills it is not quiet.
const PIECE: usize = 16 * 1024;
/// Pause before a read whose bytes nobody takes any more, 5 ms: 13 MB/s at most.
const DROP_PAUSE: Duration = Duration::from_millis(5);
/// Time without bytes after which a stream gives its thread back, 200 ms: above the pauses of a
/// transfer.
const QUIET: Duration = Duration::from_millis(200);

/// Result of reading the available bytes.
enum ReadOutcome {
    /// The channel has them all, and there are no more now.
    Whole,
    /// More bytes wait, or the channel does not take them now; these are left.
    Part(Vec<u8>),
    /// The bytes came to their end, or (false) something broke.
    Ended(bool),
}

impl Mux {
    /// Begins to carry a visitor, whose channel is open. What it has said by now is carried at once:
    /// measured, new connections are 8 % slower where the poller has to look for it.
    pub(super) fn carry_visitor(self: &Arc<Self>, stream: &Arc<Stream>, socket: Arc<Socket>) {
        match self.carry_piece(stream, &socket, &mut vec![0; PIECE]) {
            ReadOutcome::Whole => self.carry_when_readable(stream, socket),
            ReadOutcome::Part(rest) => self.carry_on_a_thread(stream, socket, rest),
            ReadOutcome::Ended(well) => self.finish(stream, well),
        }
    }

    /// Gives a stream to the poller, or to a thread.
    pub(super) fn carry_when_readable(self: &Arc<Self>, stream: &Arc<Stream>, socket: Arc<Socket>) {
        if !self.poll(stream, &socket) {
            self.carry_on_a_thread(stream, socket, Vec::new());
        }
    }

    /// Notes that nothing more comes up. `well` if the socket's bytes came to their end. To be followed by a
    /// [`Mux::flush`], where this is not the reading thread.
    fn finish(self: &Arc<Self>, stream: &Arc<Stream>, well: bool) {
        self.update(stream, |state| state.on_finished(well));
    }

    // A stream's thread.

    fn carry_on_a_thread(
        self: &Arc<Self>,
        stream: &Arc<Stream>,
        socket: Arc<Socket>,
        rest: Vec<u8>,
    ) {
        let (mux, own) = (Arc::clone(self), Arc::clone(stream));
        // On a thread because it has to wait, or has much to read; ends when it is quiet.
        let job = move || {
            if mux.put(&own, &rest) {
                mux.carry_up(&own, &socket);
            } else {
                mux.finish(&own, false);
            }
            mux.flush();
        };
        if let Err(error) = self.threads.run(job) {
            log::warn!("stream closed: no thread for it: {error}");
            self.finish(stream, false);
        }
    }

    /// Carries until the socket's bytes end, or the poller has taken over.
    fn carry_up(self: &Arc<Self>, stream: &Arc<Stream>, socket: &Arc<Socket>) {
        let mut quiet = Some(QUIET);
        // A read that fills its buffer is followed by another; any other has emptied the socket.
        let mut may_wait = true;
        loop {
            if may_wait && !socket.wait_readable(quiet) {
                if self.poll(stream, socket) {
                    return;
                }
                quiet = None;
                continue;
            }
            // No more is read than the peer takes: a thread that waits for the window holds no buffer.
            let Some(window) = self.wait_window(stream, socket) else {
                return self.finish(stream, false);
            };
            let mut buffer = self.buffers.take();
            let most = buffer.len().min(window).min(self.piece());
            let read = socket.read_now(buffer.get_mut(..most).expect("not above its length"));
            let is_fine = match &read {
                Ok(count) => self.put(stream, buffer.get(..*count).expect("read into it")),
                Err(error) => is_passing(error),
            };
            self.buffers.give_back(buffer);
            self.wait_turn(stream);
            if matches!(read, Ok(0)) {
                self.queue_eof(stream);
                return self.finish(stream, true);
            }
            if !is_fine {
                return self.finish(stream, false);
            }
            may_wait = !matches!(read, Ok(count) if count == most);
        }
    }

    /// Number of bytes to read now, at least one; none when the connection has ended.
    fn wait_window(&self, stream: &Stream, socket: &Socket) -> Option<usize> {
        loop {
            let window = self.session().window(stream.channel);
            match window {
                Ok(0) => {}
                Ok(window) => return Some(window),
                // A target that floods a visitor who has gone must cost no processor while it lingers.
                Err(Error::NoChannel(_)) => return stream.pause(DROP_PAUSE).then_some(usize::MAX),
                Err(_) => return None,
            }
            match socket.peek() {
                Ok(1..) => {
                    if !stream.wait_writable() && stream.state().is_dead() {
                        return None;
                    }
                }
                Err(error) if is_passing(&error) => {
                    socket.wait_readable(None);
                }
                // An end, good or bad, needs no window.
                Ok(0) | Err(_) => return Some(1),
            }
        }
    }

    /// Sends all bytes; false when the connection has ended. Bytes for a closed channel are dropped.
    fn put(&self, stream: &Stream, mut rest: &[u8]) -> bool {
        while !rest.is_empty() {
            let taken = self.session().write(stream.channel, rest);
            self.flush();
            match taken {
                Ok(taken) => {
                    self.count_sent(stream, taken);
                    rest = rest.get(taken..).expect("no more is taken than there is");
                }
                // The channel was closed: nobody takes this any more.
                Err(Error::NoChannel(_)) => return !stream.state().is_dead(),
                Err(_) => return false,
            }
            if !rest.is_empty() && !stream.wait_writable() {
                return !stream.state().is_dead();
            }
        }
        true
    }

    fn queue_eof(&self, stream: &Stream) {
        // A channel that is gone needs no EOF.
        let _ = self.session().eof(stream.channel);
    }

    fn count_sent(&self, stream: &Stream, bytes: usize) {
        add(&self.options.traffic.sent, bytes);
        self.charge(bytes);
        if let Some(port) = &stream.port {
            port.count_in(bytes);
        }
    }

    // Without waiting, and without writing the WebSocket.

    fn carry_piece(&self, stream: &Stream, socket: &Socket, buffer: &mut [u8]) -> ReadOutcome {
        if self.is_held_back() {
            return ReadOutcome::Part(Vec::new());
        }
        let window = match self.session().window(stream.channel) {
            Ok(window @ 1..) => window,
            Ok(0) | Err(Error::NoChannel(_)) => return ReadOutcome::Part(Vec::new()),
            Err(_) => return ReadOutcome::Ended(false),
        };
        let most = buffer.len().min(window);
        match socket.read_now(buffer.get_mut(..most).expect("not above its length")) {
            Ok(0) => {
                self.queue_eof(stream);
                ReadOutcome::Ended(true)
            }
            Ok(count) => {
                let bytes = buffer.get(..count).expect("read into it");
                self.put_now(stream, bytes, count < most)
            }
            Err(error) if is_passing(&error) => ReadOutcome::Whole,
            Err(_) => ReadOutcome::Ended(false),
        }
    }

    fn put_now(&self, stream: &Stream, bytes: &[u8], is_all: bool) -> ReadOutcome {
        let taken = match self.session().write(stream.channel, bytes) {
            Ok(taken) => taken,
            // The channel was closed: nobody takes this any more.
            Err(Error::NoChannel(_)) => return ReadOutcome::Part(Vec::new()),
            Err(_) => return ReadOutcome::Ended(false),
        };
        self.count_sent(stream, taken);
        match bytes.get(taken..).expect("no more is taken than there is") {
            [] if is_all => ReadOutcome::Whole,
            rest => ReadOutcome::Part(rest.to_vec()),
        }
    }
}

// The poller's thread.
#[cfg(target_os = "linux")]
impl Mux {
    /// Gives a quiet stream to the poller; false when it needs a thread.
    fn poll(self: &Arc<Self>, stream: &Arc<Stream>, socket: &Arc<Socket>) -> bool {
        let warn = |error: &_| log::warn!("each stream of this tunnel uses a thread: {error}");
        let start = || self.start_poller().inspect_err(warn).ok();
        let Some(poller) = self.poller.get_or_init(start) else {
            return false;
        };
        if self.has_ended() {
            // The thread that ended it may not have seen this one.
            poller.close();
        }
        poller.add(stream, socket)
    }

    fn start_poller(self: &Arc<Self>) -> std::io::Result<Arc<Poller>> {
        let poller = Arc::new(Poller::new()?);
        let (mux, own) = (Arc::clone(self), Arc::clone(&poller));
        // A thread because it waits; ends with the connection.
        spawn(Thread::TunnelPoller, move || mux.carry_quiet_streams(&own))?;
        Ok(poller)
    }

    /// Bytes for several streams at the same moment leave in one write of the WebSocket.
    fn carry_quiet_streams(self: &Arc<Self>, poller: &Poller) {
        let mut buffer = vec![0; PIECE].into_boxed_slice();
        let mut events = Poller::events();
        while poller.wait(&mut events) {
            for event in &events {
                if let Some(watched) = poller.find(event.data.u64()) {
                    self.carry_quiet_stream(poller, watched, &mut buffer);
                }
            }
            self.flush_once();
        }
        for WatchedStream { stream, .. } in poller.take_all() {
            self.update(&stream, StreamState::on_failed);
        }
    }

    fn carry_quiet_stream(
        self: &Arc<Self>,
        poller: &Poller,
        WatchedStream {
            token,
            stream,
            socket,
        }: WatchedStream,
        buffer: &mut [u8],
    ) {
        match self.carry_piece(&stream, &socket, buffer) {
            ReadOutcome::Whole => {}
            ReadOutcome::Part(rest) => {
                poller.remove(token, &socket);
                self.carry_on_a_thread(&stream, socket, rest);
            }
            ReadOutcome::Ended(well) => {
                poller.remove(token, &socket);
                self.finish(&stream, well);
            }
        }
    }
}

#[cfg(not(target_os = "linux"))]
impl Mux {
    /// Returns false: there is no poller without epoll.
    fn poll(self: &Arc<Self>, _: &Arc<Stream>, _: &Arc<Socket>) -> bool {
        false
    }
}
