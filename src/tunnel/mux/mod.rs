//! One connection at work: what client and server share once there is a WebSocket.
//!
//! ```text
//! link ──> reading thread ──> stream's socket         (what the socket does not take at
//!            │  wakes            ▲                     once waits in the stream's queue,
//!            ▼                   └─ drain thread <──── and the window stays closed)
//!          pump thread ──┐
//! watch, for all quiet   │
//! streams together ──────┼─ whoever holds the writer's lock ──> link
//! a busy stream's thread ┘
//! ```
//!
//! The reading thread never waits: not for a target, and not for the WebSocket to take something.
//! Each thread writes what it has queued itself, which saves a change of threads, unless another
//! thread is writing: then that one goes on with it. Where the reading or a listening thread would
//! have to wait for the WebSocket, the writer thread does.
//! The writer thread also keeps the time: keep-alive, deadlines, sockets that linger.
//!
//! Locks are taken in this order: writer, session, streams, a stream's state; the clock's after the
//! session's or alone. None but the writer's is held over a call that waits.

mod buffers;
mod local_stream;
#[cfg(target_os = "linux")]
mod poller;
mod port_stats;
mod queue;
mod socket;
mod stream;
mod thread_pool;
mod timers;
mod waker;
mod writer_thread;

use crate::sync::{Condvar, Mutex, MutexGuard};
use std::collections::HashMap;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use crossbeam_channel::Sender;

use super::ssh::{self, ChannelId, ChannelOpenFailure, Event, Reader, RequestId, Session, Writer};
use super::target::MayDial;
use super::ws::{WsReader, WsWriter};
use buffers::Buffers;
pub use local_stream::{LocalStream, OpenError};
pub use port_stats::PortStats;
use stream::Stream;
use thread_pool::ThreadPool;
pub(super) use timers::ANSWER_WITHIN;
use timers::Timers;

/// Bytes of the writer thread's stack. Default 128 KiB: sealing and TLS; touched as above.
const PUMP_STACK: usize = 128 * 1024;
/// Time for the last packets (DISCONNECT) to leave before the WebSocket is shut. Default 300 ms: a stop
/// takes a second at most.
pub(super) const FAREWELL: Duration = Duration::from_millis(300);

/// Why a connection ended.
#[derive(Debug, Clone)]
pub(super) enum End {
    /// This side wanted it.
    Stopped,
    /// The peer closed the WebSocket, or vanished.
    Link(String),
    /// The peer broke the protocol, or said why it left.
    Protocol(ssh::Error),
    /// Nothing came for so long although an answer was due.
    Silent(Duration),
    /// The connection was not ready for use after so long.
    NotReady(Duration),
    /// This machine is short of something.
    Resources(String),
    /// The handler of events has its own reason.
    Handler,
}

/// Figures of a tunnel, over all its connections.
#[derive(Debug, Default)]
pub struct Traffic {
    /// Bytes from targets into the tunnel.
    pub sent: AtomicU64,
    /// Bytes out of the tunnel to targets.
    pub received: AtomicU64,
    /// Streams that are open.
    pub streams: AtomicU64,
    /// The last round trip in microseconds; 0 before the first.
    pub latency_micros: AtomicU64,
    /// Changes of keys after the first, whichever side began them.
    pub rekeys: AtomicU64,
}

/// What differs between client and server: everything but streams at work and pings.
pub(super) trait Handler {
    /// Deals with an event, on the reading thread; an error ends the connection.
    fn event(&mut self, line: &Arc<Mux>, event: Event<'_>) -> Result<(), End>;
}

/// A connection: the session's state, its link, its streams.
pub(super) struct Mux {
    session: Mutex<Session>,
    writer: Mutex<Writer>,
    link: WsWriter,
    streams: Mutex<HashMap<ChannelId, Arc<Stream>>>,
    clock: Mutex<Timers>,
    wake: Condvar,
    end: OnceLock<End>,
    buffers: Buffers,
    workers: ThreadPool,
    /// Made for the first stream; none where that failed.
    #[cfg(target_os = "linux")]
    watch: OnceLock<Option<Arc<poller::Poller>>>,
    target_within: Duration,
    target_missed: Option<Sender<()>>,
    may_dial: Option<MayDial>,
    traffic: Arc<Traffic>,
}

/// What a line is made with.
pub(super) struct Options {
    /// The pause between keep-alive requests; none for no keep-alive.
    pub(super) keepalive: Option<Duration>,
    /// Time until [`Mux::ready`] must have been called.
    pub(super) ready_within: Duration,
    /// Time for a keep-alive's answer.
    pub(super) answer_within: Duration,
    /// Time to connect to a target.
    pub(super) target_within: Duration,
    /// Is told, as far as there is room, when a stream found nobody at its target.
    pub(super) target_missed: Option<Sender<()>>,
    /// Whether a target's address may be connected to; none for all.
    pub(super) may_dial: Option<MayDial>,
    /// Where to count.
    pub(super) traffic: Arc<Traffic>,
}

impl Mux {
    pub(super) fn new(
        session: Session,
        writer: Writer,
        link: WsWriter,
        options: Options,
    ) -> Arc<Self> {
        Arc::new(Self {
            session: Mutex::new(session),
            writer: Mutex::new(writer),
            link,
            streams: Mutex::default(),
            clock: Mutex::new(Timers::new(&options, Instant::now())),
            wake: Condvar::new(),
            end: OnceLock::new(),
            buffers: Buffers::default(),
            workers: ThreadPool::default(),
            #[cfg(target_os = "linux")]
            watch: OnceLock::new(),
            target_within: options.target_within,
            target_missed: options.target_missed,
            may_dial: options.may_dial,
            traffic: options.traffic,
        })
    }

    /// Reads until the connection ends; the caller's thread is the reading thread.
    pub(super) fn run(
        self: &Arc<Self>,
        reader: Reader,
        mut link: WsReader,
        handler: &mut dyn Handler,
    ) -> End {
        let line = Arc::clone(self);
        // A thread because whoever reads must not wait to write; ends with the connection.
        let (working, done) = crossbeam_channel::bounded::<()>(0);
        let pump = std::thread::Builder::new()
            .name("tunnel-pump".into())
            .stack_size(PUMP_STACK)
            .spawn(move || {
                line.pump();
                drop(working);
            });
        let end = match &pump {
            // The WebSocket is lent: dropping it would shut the connection before the last packets.
            Ok(_) => self.read_all(reader, &mut link, handler),
            Err(error) => End::Resources(error.to_string()),
        };
        self.end(end);
        self.abandon_streams();
        self.close_watch();
        self.workers.close();
        // The writer thread sends the last packets, unless the WebSocket is stuck.
        let _ = done.recv_timeout(FAREWELL);
        self.cut();
        if let Ok(pump) = pump {
            // It has nothing to say.
            let _ = pump.join();
        }
        self.end.get().cloned().unwrap_or(End::Stopped)
    }

    /// Ends the connection politely: the peer is told, as far as it reads. Never waits;
    /// [`Mux::cut`] after [`FAREWELL`] makes it certain.
    pub(super) fn stop(&self) {
        self.session()
            .disconnect(ssh::DisconnectReason::ByApplication, "stopped");
        self.end(End::Stopped);
    }

    /// Ends the connection at once.
    pub(super) fn cut(&self) {
        self.link.shutdown();
    }

    /// Ends the connection for a reason; the first one counts.
    pub(super) fn end(&self, end: End) {
        // Already ended: that reason stays.
        let _ = self.end.set(end);
        self.wake_pump();
    }

    pub(super) fn has_ended(&self) -> bool {
        self.end.get().is_some()
    }

    /// The connection is in use from now on: its deadline is lifted.
    pub(super) fn ready(&self) {
        self.clock().ready(Instant::now());
        self.wake_pump();
    }

    /// Time until [`Mux::ready`] must have been called, counted from now.
    pub(super) fn allow(&self, time: Duration) {
        self.clock().allow(Instant::now(), time);
        self.wake_pump();
    }

    /// Stands still for this long, or until the end.
    pub(super) fn pause(&self, time: Duration) {
        let until = Instant::now() + time;
        let mut clock = self.clock();
        while !self.has_ended() && Instant::now() < until {
            let left = until.saturating_duration_since(Instant::now());
            clock = self.wake.wait_timeout(clock, left);
        }
    }

    pub(super) fn session(&self) -> MutexGuard<'_, Session> {
        self.session.lock()
    }

    /// Asks the peer for a sign of life now, and answers whether one came in time.
    pub(super) fn probe(&self, wait: Duration) -> bool {
        let (since, until) = (Instant::now(), Instant::now() + wait);
        self.clock().ping_now(since);
        self.wake_pump();
        let mut clock = self.clock();
        while !self.has_ended() && clock.heard() <= since {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return false;
            }
            clock.watched = true;
            clock = self.wake.wait_timeout(clock, left);
        }
        !self.has_ended()
    }

    // The reading thread.

    fn read_all(
        self: &Arc<Self>,
        mut reader: Reader,
        link: &mut WsReader,
        handler: &mut dyn Handler,
    ) -> End {
        loop {
            match link.read(reader.space()) {
                Ok(0) => return End::Link("the other end closed the connection".into()),
                Ok(count) => reader.filled(count),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return End::Link(error.to_string()),
            }
            let now = Instant::now();
            self.heard(now);
            loop {
                let step = match reader.next(now, || self.session()) {
                    Ok(None) => break,
                    Ok(Some(event)) => self.dispatch(event, handler),
                    Err(error) => Err(End::Protocol(error)),
                };
                if let Err(end) = step {
                    return end;
                }
            }
            self.flush_now();
            if self.has_ended() {
                return End::Stopped;
            }
        }
    }

    fn dispatch(self: &Arc<Self>, event: Event<'_>, handler: &mut dyn Handler) -> Result<(), End> {
        match event {
            Event::Handled => {}
            Event::Rekeyed => {
                self.traffic.rekeys.fetch_add(1, Ordering::Relaxed);
            }
            Event::Data { channel, data } => {
                if let Some(stream) = self.stream(channel) {
                    stream.data(self, data);
                }
            }
            Event::Eof { channel } => self.notify(channel, |stream| stream.eof(self)),
            Event::Closed { channel } => match self.stream(channel) {
                Some(stream) => stream.closed(self),
                None => self.release(channel),
            },
            Event::Writable { channel } => self.notify(channel, |stream| stream.writable()),
            Event::ChannelOpenConfirmation { channel } => {
                self.notify(channel, |stream| stream.opened(self))
            }
            Event::ChannelOpenFailure { channel, .. } => {
                if let Some(stream) = self.streams().remove(&channel) {
                    stream.refused(self);
                }
            }
            Event::GlobalRequest {
                id: Some(id),
                name: "ping",
                ..
            } => self.answer(id, true, b"pong")?,
            Event::RequestReply { id, round_trip, .. } if self.clock().answered(id) => {
                self.timed(round_trip);
                // The writer thread sleeps until this answer is late; now the next ping counts.
                self.wake.notify_all();
            }
            other => handler.event(self, other)?,
        }
        Ok(())
    }

    /// Answers a global request.
    pub(super) fn answer(&self, id: RequestId, success: bool, data: &[u8]) -> Result<(), End> {
        self.session()
            .reply(id, success, data)
            .map_err(End::Protocol)
    }

    /// Notes a round trip.
    pub(super) fn timed(&self, round_trip: Duration) {
        let micros = u64::try_from(round_trip.as_micros())
            .unwrap_or(u64::MAX)
            .max(1);
        self.traffic.latency_micros.store(micros, Ordering::Relaxed);
    }

    fn heard(&self, now: Instant) {
        let mut clock = self.clock();
        clock.hear(now);
        if std::mem::take(&mut clock.watched) {
            self.wake.notify_all();
        }
    }

    /// Refuses a channel that was just offered.
    pub(super) fn refuse(
        &self,
        channel: ChannelId,
        why: ChannelOpenFailure,
        text: &str,
    ) -> Result<(), End> {
        self.session()
            .refuse(channel, why, text)
            .map_err(End::Protocol)
    }

    // Streams.

    fn stream(&self, channel: ChannelId) -> Option<Arc<Stream>> {
        self.streams().get(&channel).cloned()
    }

    fn notify(&self, channel: ChannelId, what: impl FnOnce(&Arc<Stream>)) {
        if let Some(stream) = self.stream(channel) {
            what(&stream);
        }
    }

    fn streams(&self) -> MutexGuard<'_, HashMap<ChannelId, Arc<Stream>>> {
        self.streams.lock()
    }

    fn clock(&self) -> MutexGuard<'_, Timers> {
        self.clock.lock()
    }

    /// Gives a quiet stream to the watch; false when it needs a thread.
    #[cfg(target_os = "linux")]
    fn watch(self: &Arc<Self>, stream: &Arc<Stream>, socket: &Arc<socket::Socket>) -> bool {
        let start = || match poller::Poller::start(self) {
            Ok(watch) => Some(watch),
            Err(error) => {
                log::warn!("every stream of this tunnel has a thread: {error}");
                None
            }
        };
        let Some(watch) = self.watch.get_or_init(start) else {
            return false;
        };
        if self.has_ended() {
            // Whoever ended it may not have seen this one.
            watch.close();
        }
        watch.add(stream, socket)
    }

    /// There is none without epoll.
    #[cfg(not(target_os = "linux"))]
    fn watch(self: &Arc<Self>, _: &Arc<Stream>, _: &Arc<socket::Socket>) -> bool {
        false
    }

    fn close_watch(&self) {
        #[cfg(target_os = "linux")]
        if let Some(Some(watch)) = self.watch.get() {
            watch.close();
        }
    }

    /// A channel is done with in both directions. To be followed by a [`Mux::flush`], where this
    /// is not the reading thread.
    fn release(&self, channel: ChannelId) {
        self.streams().remove(&channel);
        // A connection that has ended has no channels.
        let _ = self.session().close(channel);
    }

    fn abandon_streams(&self) {
        let streams = std::mem::take(&mut *self.streams());
        for stream in streams.into_values() {
            stream.abort(self);
        }
    }
}
