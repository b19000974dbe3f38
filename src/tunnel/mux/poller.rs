//! Poller of the sockets of all quiet streams of a connection.

use std::collections::HashMap;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;

use rustix::buffer::spare_capacity;
use rustix::event::epoll;
use rustix::io::Errno;

use super::socket::Socket;
use super::stream::Stream;
use crate::net::Waker;
use crate::sync::{Mutex, MutexGuard};

/// Streams that are looked after between two writes of the WebSocket, 64: a batch of small packets.
const TURN: usize = 64;
/// Streams at most, 8192: as many as may have threads; further ones do.
const MOST: usize = 8192;
/// Token of the waker; streams count from 1.
const WAKER_TOKEN: u64 = 0;

pub(super) struct Poller {
    epoll: OwnedFd,
    waker: Waker,
    watching: Mutex<Watching>,
}

#[derive(Default)]
struct Watching {
    streams: HashMap<u64, WatchedStream>,
    last_token: u64,
    /// The connection has ended: nothing is added any more.
    closed: bool,
}

/// A stream in the poller.
#[derive(Clone)]
pub(super) struct WatchedStream {
    pub(super) token: u64,
    pub(super) stream: Arc<Stream>,
    pub(super) socket: Arc<Socket>,
}

impl Poller {
    pub(super) fn new() -> io::Result<Self> {
        let poller = Self {
            epoll: epoll::create(epoll::CreateFlags::CLOEXEC)?,
            waker: Waker::new()?,
            watching: Mutex::default(),
        };
        poller.wait_for(&poller.waker, WAKER_TOKEN)?;
        Ok(poller)
    }

    /// False when the stream needs a thread of its own.
    pub(super) fn add(&self, stream: &Arc<Stream>, socket: &Arc<Socket>) -> bool {
        let mut watching = self.watching();
        if watching.closed || watching.streams.len() >= MOST {
            return false;
        }
        watching.last_token += 1;
        let token = watching.last_token;
        let watched = WatchedStream {
            token,
            stream: Arc::clone(stream),
            socket: Arc::clone(socket),
        };
        watching.streams.insert(token, watched);
        // Under the lock: its first event must find it.
        let is_waited_for = self.wait_for(socket.as_ref(), token).is_ok();
        if !is_waited_for {
            watching.streams.remove(&token);
        }
        is_waited_for
    }

    pub(super) fn remove(&self, token: u64, socket: &Socket) {
        // Sockets that are not waited for any more need no removal.
        let _ = epoll::delete(&self.epoll, socket);
        self.watching().streams.remove(&token);
    }

    pub(super) fn find(&self, token: u64) -> Option<WatchedStream> {
        self.watching().streams.get(&token).cloned()
    }

    /// The connection has ended: its thread takes all out, and ends.
    pub(super) fn close(&self) {
        self.watching().closed = true;
        self.waker.wake();
    }

    pub(super) fn take_all(&self) -> impl Iterator<Item = WatchedStream> + use<> {
        std::mem::take(&mut self.watching().streams).into_values()
    }

    /// Room for the events of one turn.
    pub(super) fn events() -> Vec<epoll::Event> {
        Vec::with_capacity(TURN)
    }

    /// Waits for events; false when the connection has ended, or waiting failed.
    pub(super) fn wait(&self, events: &mut Vec<epoll::Event>) -> bool {
        events.clear();
        match epoll::wait(&self.epoll, spare_capacity(events), None) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => {
                log::warn!("cannot wait for the tunnel's streams: {error}");
                self.watching().closed = true;
            }
        }
        !self.watching().closed
    }

    fn wait_for(&self, what: impl AsFd, token: u64) -> io::Result<()> {
        let data = epoll::EventData::new_u64(token);
        Ok(epoll::add(&self.epoll, what, data, epoll::EventFlags::IN)?)
    }

    fn watching(&self) -> MutexGuard<'_, Watching> {
        self.watching.lock()
    }
}
