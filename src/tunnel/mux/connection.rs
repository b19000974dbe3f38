//! One connection: the session, its WebSocket, its streams, its end.

use std::collections::HashMap;
use std::sync::atomic::Ordering;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use super::buffers::BufferPool;
use super::end::End;
use super::options::Options;
#[cfg(target_os = "linux")]
use super::poller::Poller;
use super::stream::Stream;
use super::thread_pool::ThreadPool;
use super::timers::Timers;
use super::token_bucket::TokenBucket;
use crate::sync::{Condvar, Mutex, MutexGuard};
use crate::tunnel::ssh::{self, ChannelId, ChannelOpenFailure, RequestId, Session, Writer};
use crate::tunnel::ws::WsWriter;

/// Bytes that one stream moves before others of its holder have their turn, where those are held to a rate, 16 KiB.
const TURN: usize = 16 * 1024;

/// Requests without an answer from which on nothing more is told. Default 16: the keep-alive needs room.
const MAX_UNANSWERED: usize = 16;

/// A connection that carries many streams.
pub(in crate::tunnel) struct Mux {
    session: Mutex<Session>,
    pub(super) writer: Mutex<Writer>,
    pub(super) ws: WsWriter,
    streams: Mutex<HashMap<ChannelId, Arc<Stream>>>,
    timers: Mutex<Timers>,
    /// With the timers' lock: the writer thread has work, the peer was heard, the connection ends.
    pub(super) timers_changed: Condvar,
    end: OnceLock<End>,
    pub(super) buffers: BufferPool,
    pub(super) threads: ThreadPool,
    /// Made for the first stream; none where that failed.
    #[cfg(target_os = "linux")]
    pub(super) poller: OnceLock<Option<Arc<Poller>>>,
    /// Bandwidth that its streams share with those of other connections; none if nothing limits them.
    rate: OnceLock<Arc<TokenBucket>>,
    pub(super) options: Options,
}

impl Mux {
    pub(in crate::tunnel) fn new(
        session: Session,
        writer: Writer,
        ws: WsWriter,
        options: Options,
    ) -> Arc<Self> {
        Arc::new(Self {
            session: Mutex::new(session),
            writer: Mutex::new(writer),
            ws,
            streams: Mutex::default(),
            timers: Mutex::new(Timers::new(&options, Instant::now())),
            timers_changed: Condvar::new(),
            end: OnceLock::new(),
            buffers: BufferPool::default(),
            threads: ThreadPool::default(),
            #[cfg(target_os = "linux")]
            poller: OnceLock::new(),
            rate: OnceLock::new(),
            options,
        })
    }

    /// Ends the connection politely: the peer is told, as far as it reads. Never waits;
    /// [`Mux::cut`] after [`FAREWELL`](super::FAREWELL) makes it certain.
    pub(in crate::tunnel) fn stop(&self) {
        self.session()
            .disconnect(ssh::DisconnectReason::ByApplication, "stopped");
        self.end(End::Stopped);
    }

    /// Ends the connection at once.
    pub(in crate::tunnel) fn cut(&self) {
        self.ws.shutdown();
    }

    /// Ends the connection for a reason; the first one counts.
    pub(in crate::tunnel) fn end(&self, end: End) {
        // Already ended: that reason stays.
        let _ = self.end.set(end);
        self.wake_writer();
    }

    pub(super) fn has_ended(&self) -> bool {
        self.end.get().is_some()
    }

    /// Reason that it has ended.
    pub(super) fn reason(&self) -> End {
        self.end.get().cloned().unwrap_or(End::Stopped)
    }

    /// The connection is in use from now on: its deadline is lifted.
    pub(in crate::tunnel) fn mark_ready(&self) {
        self.timers().mark_ready(Instant::now());
        self.wake_writer();
    }

    /// Time until [`Mux::mark_ready`] must have been called, counted from now.
    pub(in crate::tunnel) fn allow(&self, time: Duration) {
        self.timers().allow(Instant::now(), time);
        self.wake_writer();
    }

    /// Stands still for this long, or until the end.
    pub(in crate::tunnel) fn pause(&self, time: Duration) {
        let lives = |_: &mut Timers| !self.has_ended();
        drop(
            self.timers_changed
                .wait_timeout_while(self.timers(), time, lives),
        );
    }

    /// Asks the peer for a sign of life now, and answers whether one came in time.
    pub(in crate::tunnel) fn probe(&self, wait: Duration) -> bool {
        let since = Instant::now();
        self.timers().ping_now(since);
        self.wake_writer();
        let is_silent = |timers: &mut Timers| {
            timers.is_probed = true;
            timers.heard() <= since && !self.has_ended()
        };
        let timers = self
            .timers_changed
            .wait_timeout_while(self.timers(), wait, is_silent);
        timers.heard() > since && !self.has_ended()
    }

    /// Tells the peer something in the data of a ping, which programs of others ignore. False if it is not sent.
    pub(in crate::tunnel) fn notify(&self, data: &[u8]) -> bool {
        let mut session = self.session();
        let is_sent = session.unanswered() < MAX_UNANSWERED
            && session.request("ping", data, Instant::now()).is_ok();
        drop(session);
        self.flush();
        is_sent
    }

    /// Something has come from the peer.
    pub(super) fn note_heard(&self, now: Instant) {
        let mut timers = self.timers();
        timers.hear(now);
        if std::mem::take(&mut timers.is_probed) {
            self.timers_changed.notify_all();
        }
    }

    /// Notes a round trip.
    pub(in crate::tunnel) fn note_round_trip(&self, round_trip: Duration) {
        let micros = u64::try_from(round_trip.as_micros())
            .unwrap_or(u64::MAX)
            .max(1);
        let latency = &self.options.traffic.latency_micros;
        latency.store(micros, Ordering::Relaxed);
    }

    /// Answers a global request.
    pub(in crate::tunnel) fn answer(
        &self,
        id: RequestId,
        success: bool,
        data: &[u8],
    ) -> Result<(), End> {
        self.session()
            .reply(id, success, data)
            .map_err(End::Protocol)
    }

    /// Refuses a channel that was just offered.
    pub(in crate::tunnel) fn refuse(
        &self,
        channel: ChannelId,
        why: ChannelOpenFailure,
        text: &str,
    ) -> Result<(), End> {
        self.session()
            .refuse(channel, why, text)
            .map_err(End::Protocol)
    }

    /// A channel is done with in both directions. To be followed by a `flush`, where this is not
    /// the reading thread.
    pub(super) fn close_channel(&self, channel: ChannelId) {
        self.streams().remove(&channel);
        // A connection that has ended has no channels.
        let _ = self.session().close(channel);
    }

    /// Holds its streams to a rate from now on; the first one counts.
    pub(in crate::tunnel) fn limit(&self, rate: Arc<TokenBucket>) {
        // A connection logs in once.
        let _ = self.rate.set(rate);
    }

    /// True if its streams wait for their turns.
    pub(super) fn is_limited(&self) -> bool {
        self.rate.get().is_some()
    }

    /// Counts what has passed to or from a stream.
    pub(super) fn charge(&self, bytes: usize) {
        if let Some(rate) = self.rate.get() {
            rate.take(bytes, Instant::now());
        }
    }

    /// True if streams are to wait before they go on.
    pub(super) fn is_held_back(&self) -> bool {
        let rate = self.rate.get();
        rate.is_some_and(|rate| !rate.wait(Instant::now()).is_zero())
    }

    /// Bytes that a stream may move before it waits for its turn.
    pub(super) fn piece(&self) -> usize {
        self.rate.get().map_or(usize::MAX, |_| TURN)
    }

    /// Waits until it is this stream's turn, or the stream is dead.
    pub(super) fn wait_turn(&self, stream: &Stream) {
        let wait = self.rate.get().map(|rate| rate.wait(Instant::now()));
        if let Some(wait) = wait.filter(|wait| !wait.is_zero()) {
            stream.pause(wait);
        }
    }

    pub(super) fn wake_writer(&self) {
        self.timers().is_writer_woken = true;
        self.timers_changed.notify_all();
    }

    /// Wakes the writer if nobody but its thread needs to know.
    pub(super) fn nudge_writer(&self) {
        if !std::mem::replace(&mut self.timers().is_writer_woken, true) {
            self.timers_changed.notify_all();
        }
    }

    pub(in crate::tunnel) fn session(&self) -> MutexGuard<'_, Session> {
        self.session.lock()
    }

    pub(super) fn streams(&self) -> MutexGuard<'_, HashMap<ChannelId, Arc<Stream>>> {
        self.streams.lock()
    }

    pub(super) fn stream(&self, channel: ChannelId) -> Option<Arc<Stream>> {
        self.streams().get(&channel).cloned()
    }

    pub(super) fn timers(&self) -> MutexGuard<'_, Timers> {
        self.timers.lock()
    }
}
