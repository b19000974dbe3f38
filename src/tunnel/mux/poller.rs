//! The watch: one thread that waits for all quiet streams of a connection.
//!
//! A stream in the watch has no thread of its own. What comes for several at the same moment is
//! read in one turn and leaves in one write of the WebSocket. A stream that has much to say, or must
//! wait for its window, is taken out and gets a thread until it is quiet again.

use crate::sync::{Mutex, MutexGuard};
use std::collections::HashMap;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;

use rustix::buffer::spare_capacity;
use rustix::event::epoll;
use rustix::io::Errno;

use super::Mux;
use super::socket::Socket;
use super::stream::{PIECE, ReadOutcome, Stream};
use super::waker::Waker;

/// Bytes of the thread's stack. Default 128 KiB: sealing and TLS, as it writes the WebSocket.
const STACK: usize = 128 * 1024;
/// Streams that are looked after in one turn. Default 64: a batch of small packets.
const TURN: usize = 64;
/// Streams in the watch. Default 8192, as many as may have threads; further ones do.
const MOST: usize = 8192;
/// What the waker is known by; streams count from 1.
const BELL: u64 = 0;

pub(super) struct Poller {
    epoll: OwnedFd,
    waker: Waker,
    table: Mutex<Table>,
}

#[derive(Default)]
struct Table {
    streams: HashMap<u64, Watched>,
    last: u64,
    /// The connection has ended: nothing is added any more.
    over: bool,
}

#[derive(Clone)]
struct Watched {
    stream: Arc<Stream>,
    socket: Arc<Socket>,
}

impl Poller {
    pub(super) fn start(line: &Arc<Mux>) -> io::Result<Arc<Self>> {
        let watch = Arc::new(Self {
            epoll: epoll::create(epoll::CreateFlags::CLOEXEC)?,
            waker: Waker::new()?,
            table: Mutex::default(),
        });
        watch.wait_for(&watch.waker, BELL)?;
        let (own, line) = (Arc::clone(&watch), Arc::clone(line));
        // A thread because it waits; ends with the connection.
        std::thread::Builder::new()
            .name("tunnel-watch".into())
            .stack_size(STACK)
            .spawn(move || own.run(&line))?;
        Ok(watch)
    }

    /// False when the stream needs a thread of its own.
    pub(super) fn add(&self, stream: &Arc<Stream>, socket: &Arc<Socket>) -> bool {
        let mut table = self.table();
        if table.over || table.streams.len() >= MOST {
            return false;
        }
        table.last += 1;
        let token = table.last;
        let watched = Watched {
            stream: Arc::clone(stream),
            socket: Arc::clone(socket),
        };
        table.streams.insert(token, watched);
        // Under the lock: its first event must find it.
        let waits = self.wait_for(socket.as_ref(), token).is_ok();
        if !waits {
            table.streams.remove(&token);
        }
        waits
    }

    /// The connection has ended, and so do the streams that are left.
    pub(super) fn close(&self) {
        self.table().over = true;
        self.waker.wake();
    }

    fn run(&self, line: &Arc<Mux>) {
        let mut buffer = vec![0; PIECE].into_boxed_slice();
        let mut events = Vec::with_capacity(TURN);
        loop {
            events.clear();
            match epoll::wait(&self.epoll, spare_capacity(&mut events), None) {
                Ok(_) | Err(Errno::INTR) => {}
                Err(error) => {
                    log::warn!("the tunnel's streams cannot be waited for: {error}");
                    self.table().over = true;
                }
            }
            for event in &events {
                self.look_after(line, event.data.u64(), &mut buffer);
            }
            line.flush_once();
            if self.table().over {
                return self.abandon(line);
            }
        }
    }

    fn look_after(&self, line: &Arc<Mux>, token: u64, buffer: &mut [u8]) {
        let watched = self.table().streams.get(&token).cloned();
        let Some(Watched { stream, socket }) = watched else {
            return;
        };
        match stream.carry_piece(line, &socket, buffer) {
            ReadOutcome::Whole => {}
            ReadOutcome::Ended(well) => {
                self.forget(token, &socket);
                stream.finish(line, well);
            }
            ReadOutcome::Part(rest) => {
                self.forget(token, &socket);
                stream.carry_on_a_thread(line, socket, rest);
            }
        }
    }

    fn forget(&self, token: u64, socket: &Socket) {
        // What is not waited for any more needs no removal.
        let _ = epoll::delete(&self.epoll, socket);
        self.table().streams.remove(&token);
    }

    fn abandon(&self, line: &Arc<Mux>) {
        let streams = std::mem::take(&mut self.table().streams);
        for Watched { stream, .. } in streams.into_values() {
            stream.cut();
            stream.finish(line, false);
        }
    }

    fn wait_for(&self, what: impl std::os::fd::AsFd, token: u64) -> io::Result<()> {
        let data = epoll::EventData::new_u64(token);
        Ok(epoll::add(&self.epoll, what, data, epoll::EventFlags::IN)?)
    }

    fn table(&self) -> MutexGuard<'_, Table> {
        self.table.lock()
    }
}
