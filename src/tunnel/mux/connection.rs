//! One connection: the session, its WebSocket, its streams, its end, and the buffers and threads that the streams
//! share.

use std::collections::{HashMap, VecDeque};
use std::io;
use std::sync::atomic::Ordering;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use crossbeam_channel::Sender;

use super::end::End;
#[cfg(target_os = "linux")]
use super::poller::Poller;
use super::stats::Traffic;
use super::stream::Stream;
use super::timers::Timers;
use super::token_bucket::TokenBucket;
use crate::sync::{Condvar, Mutex, MutexGuard, Permits, Thread, spawn};
use crate::tunnel::ssh::{self, ChannelId, ChannelOpenFailure, RequestId, Session, Writer};
use crate::tunnel::target::MayDial;
use crate::tunnel::ws::WsWriter;

/// Bytes that one stream moves before others of its holder have their turn, where those are held to a rate, 16 KiB.
const TURN: usize = 16 * 1024;

/// Requests without an answer from which on no notices are sent. Default 16: the keep-alive needs room.
const MAX_UNANSWERED: usize = 16;

/// Bytes of a buffer, 64 KiB: two of the largest packets.
const BUFFER_SIZE: usize = 64 * 1024;
/// Unused buffers that are kept, 8 of 512 KiB together: as many streams as a small machine serves at
/// the same moment.
const KEPT_BUFFERS: usize = 8;
/// Buffers in use, 64 of 4 MiB together: more streams than that find no room in the output at the
/// same moment, and wait just as well for a buffer.
const MOST_BUFFERS: usize = 64;
/// Threads of a connection that wait for work, 16: as many as finish at the same moment and are
/// needed again the next.
const KEPT_THREADS: usize = 16;
/// Threads of a connection at work or waiting for it, 8192: two for each channel. Streams outlive
/// their channels by a while, and a peer may open and close those as fast as it likes.
const MOST_THREADS: usize = 8192;
/// Time that a thread waits for work, 1 s.
const THREAD_IDLE: Duration = Duration::from_secs(1);

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

/// Options of a connection.
pub(in crate::tunnel) struct Options {
    /// The pause between keep-alive requests; none for no keep-alive.
    pub(in crate::tunnel) keepalive: Option<Duration>,
    /// Time until [`Mux::mark_ready`] must have been called.
    pub(in crate::tunnel) ready_within: Duration,
    /// Time for a keep-alive's answer.
    pub(in crate::tunnel) answer_within: Duration,
    /// Time to connect to a target.
    pub(in crate::tunnel) target_within: Duration,
    /// Gets a message, if there is room for one, when a stream found nobody at its target.
    pub(in crate::tunnel) target_missed: Option<Sender<()>>,
    /// Check of a target's address before connecting; none for all.
    pub(in crate::tunnel) may_dial: Option<MayDial>,
    /// Counters of the tunnel.
    pub(in crate::tunnel) traffic: Arc<Traffic>,
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
            timers: Mutex::new(Timers::new(
                options.keepalive,
                options.answer_within,
                options.ready_within,
                Instant::now(),
            )),
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

    /// Lifts the deadline: the connection is in use from now on.
    pub(in crate::tunnel) fn mark_ready(&self) {
        self.timers().mark_ready(Instant::now());
        self.wake_writer();
    }

    /// Sets the time until [`Mux::mark_ready`] must have been called, from now on.
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

    /// Asks the peer for a sign of life now; true if one came in time.
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

    /// Sends a notice to the peer in the data of a ping, which other programs ignore. False if it is not sent.
    pub(in crate::tunnel) fn notify(&self, data: &[u8]) -> bool {
        let mut session = self.session();
        let is_sent = session.unanswered() < MAX_UNANSWERED
            && session.request("ping", data, Instant::now()).is_ok();
        drop(session);
        self.flush();
        is_sent
    }

    /// Notes that something has come from the peer.
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

    /// Closes a channel that is done with in both directions. To be followed by a `flush`, where this is not the
    /// reading thread.
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

    /// Counts bytes that have passed to or from a stream.
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

/// Buffers that all streams of a connection share, so that idle ones have none.
#[derive(Default)]
pub(super) struct BufferPool {
    buffers: Mutex<Buffers>,
    returned: Condvar,
}

#[derive(Default)]
struct Buffers {
    kept: Vec<Box<[u8]>>,
    used: usize,
    waiting: usize,
}

impl BufferPool {
    /// Takes a buffer; waits while [`MOST_BUFFERS`] are in use. Its holder waits at most for the WebSocket, which has a
    /// time limit, and never for one stream's window.
    pub(super) fn take(&self) -> Box<[u8]> {
        let all_used = |buffers: &mut Buffers| buffers.used >= MOST_BUFFERS;
        let mut buffers = self.buffers();
        if all_used(&mut buffers) {
            buffers.waiting += 1;
            buffers = self.returned.wait_while(buffers, all_used);
            buffers.waiting -= 1;
        }
        buffers.used += 1;
        let kept = buffers.kept.pop();
        drop(buffers);
        kept.unwrap_or_else(|| vec![0; BUFFER_SIZE].into_boxed_slice())
    }

    pub(super) fn give_back(&self, buffer: Box<[u8]>) {
        let mut buffers = self.buffers();
        buffers.used = buffers.used.saturating_sub(1);
        if buffers.kept.len() < KEPT_BUFFERS {
            buffers.kept.push(buffer);
        }
        let is_wanted = buffers.waiting > 0;
        drop(buffers);
        if is_wanted {
            self.returned.notify_one();
        }
    }

    fn buffers(&self) -> MutexGuard<'_, Buffers> {
        self.buffers.lock()
    }
}

type Job = Box<dyn FnOnce() + Send>;

/// The threads of one connection. A new thread costs more than a short stream, as most are: a few threads that have
/// finished wait for the next.
#[derive(Default)]
pub(super) struct ThreadPool(Arc<ThreadPoolState>);

#[derive(Default)]
struct ThreadPoolState {
    threads: Permits,
    jobs: Mutex<Jobs>,
    wake: Condvar,
}

#[derive(Default)]
struct Jobs {
    /// Never more than `waiting`: each of them has a thread that is about to take it.
    queue: VecDeque<Job>,
    waiting: usize,
    closed: bool,
}

impl ThreadPool {
    /// Runs `job` on a thread of its own. Never waits.
    pub(super) fn run(&self, job: impl FnOnce() + Send + 'static) -> io::Result<()> {
        let job: Job = Box::new(job);
        let mut jobs = self.0.jobs();
        if jobs.waiting > jobs.queue.len() {
            jobs.queue.push_back(job);
            drop(jobs);
            self.0.wake.notify_one();
            return Ok(());
        }
        drop(jobs);
        let permit = self.0.threads.take(MOST_THREADS);
        let permit =
            permit.ok_or_else(|| io::Error::other("a connection has reached its thread limit"))?;
        let pool = Arc::clone(&self.0);
        // A thread because a stream waits for its socket; ends when it has had no work for a while.
        spawn(Thread::TunnelStream, move || {
            pool.work(job);
            drop(permit);
        })
    }

    /// Lets threads end when they have finished, from now on.
    pub(super) fn close(&self) {
        self.0.jobs().closed = true;
        self.0.wake.notify_all();
    }
}

impl ThreadPoolState {
    fn work(&self, first: Job) {
        let mut next = Some(first);
        while let Some(job) = next {
            job();
            next = self.next();
        }
    }

    fn next(&self) -> Option<Job> {
        let mut jobs = self.jobs();
        if jobs.closed || jobs.waiting >= KEPT_THREADS {
            return None;
        }
        jobs.waiting += 1;
        let idle = |jobs: &mut Jobs| jobs.queue.is_empty() && !jobs.closed;
        jobs = self.wake.wait_timeout_while(jobs, THREAD_IDLE, idle);
        jobs.waiting -= 1;
        jobs.queue.pop_front()
    }

    fn jobs(&self) -> MutexGuard<'_, Jobs> {
        self.jobs.lock()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crossbeam_channel::{Receiver, unbounded};
    use std::time::{Duration, Instant};

    #[test]
    fn who_finds_none_waits_for_the_next_that_is_returned() {
        let buffers = BufferPool::default();
        let mut used: Vec<_> = (0..MOST_BUFFERS).map(|_| buffers.take()).collect();
        let (tell, told) = crossbeam_channel::bounded(1);
        std::thread::scope(|scope| {
            scope.spawn(|| tell.send(buffers.take()).unwrap());
            assert!(told.recv_timeout(Duration::from_millis(50)).is_err());
            buffers.give_back(used.pop().unwrap());
            let last = told.recv_timeout(Duration::from_secs(10)).unwrap();
            used.push(last);
        });
        used.into_iter().for_each(|one| buffers.give_back(one));
        let left = buffers.buffers();
        assert_eq!((left.used, left.kept.len()), (0, KEPT_BUFFERS));
    }

    const TIMEOUT: Duration = Duration::from_secs(10);

    /// Waits until so many threads have nothing to do.
    fn wait_idle(workers: &ThreadPool, count: usize) {
        let until = Instant::now() + TIMEOUT;
        while workers.0.jobs().waiting != count {
            assert!(Instant::now() < until, "{}", workers.0.jobs().waiting);
            std::thread::yield_now();
        }
    }

    fn thread_of_next(workers: &ThreadPool) -> std::thread::ThreadId {
        let (tell, told) = unbounded();
        let job = move || tell.send(std::thread::current().id()).unwrap();
        workers.run(job).unwrap();
        told.recv_timeout(TIMEOUT).unwrap()
    }

    #[test]
    fn a_thread_that_has_finished_takes_the_next_job() {
        let workers = ThreadPool::default();
        let first = thread_of_next(&workers);
        wait_idle(&workers, 1);
        assert_eq!(thread_of_next(&workers), first);
    }

    #[test]
    fn every_job_has_a_thread_of_its_own_at_once() {
        let workers = ThreadPool::default();
        let (hold, held): (_, Receiver<()>) = unbounded();
        let (tell, told) = unbounded();
        for round in 0..3 {
            for _ in 0..2 * KEPT_THREADS {
                let (held, tell) = (held.clone(), tell.clone());
                let job = move || {
                    tell.send(()).unwrap();
                    let _ = held.recv();
                };
                workers.run(job).unwrap();
            }
            for _ in 0..2 * KEPT_THREADS {
                told.recv_timeout(TIMEOUT)
                    .unwrap_or_else(|_| panic!("a job waits for another, in round {round}"));
            }
            for _ in 0..2 * KEPT_THREADS {
                hold.send(()).unwrap();
            }
            wait_idle(&workers, KEPT_THREADS);
        }
    }

    #[test]
    fn idle_threads_end_when_it_is_closed_and_after_a_while() {
        let workers = ThreadPool::default();
        thread_of_next(&workers);
        wait_idle(&workers, 1);
        wait_idle(&workers, 0);
        let workers = ThreadPool::default();
        thread_of_next(&workers);
        wait_idle(&workers, 1);
        workers.close();
        wait_idle(&workers, 0);
        // Later work is still done.
        thread_of_next(&workers);
    }
}
