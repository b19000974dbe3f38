//! The streams of an application: each has a thread while a request takes long, else one thread carries them all
//! ([`carry`]).

use std::io;
use std::net::IpAddr;
use std::os::fd::BorrowedFd;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, LazyLock, OnceLock};
use std::time::{Duration, SystemTime};

use super::site_gateway::SiteGateway;
use crate::gateway::{FORGOTTEN, VisitorConnection};
use crate::http::h1::Refusal;
use crate::http::h1::body::Framing;
use crate::http::h1::head::Head;
use crate::http::proxy::{Client, ClientStream};
use crate::http::server::connection_handler::{
    After, ClientConnection, ConnectionHandler, Progress, Reset,
};
use crate::http::server::{
    ConnectionEnd, ExchangeSlot, HeadNow, Next, Parkable, Parked, ParkingLot, RequestReader, Steps,
    carry,
};
use crate::http::{ApiError, Limits, Response, VisitorPresence};
use crate::limits::HALF_CLOSED;
use crate::net::poll::would_block;
use crate::sync::{Permits, Thread, spawn};
use crate::tunnel::client::Serve;
use crate::tunnel::server::LocalStream;

/// Streams that have a thread at once: long requests and upgraded connections. Default 512.
const MOST_THREADS: usize = crate::limits::THREADS_OF_SITE;

/// Time for the first byte of a request. Default 2 min: browsers open connections ahead; a relay opens one for a
/// request that is there.
const IDLE_TIME: Duration = Duration::from_secs(120);

/// Limits of requests that a server in front has passed on: its lines and added lines are accepted, and the server
/// limits the time of an answer.
static LIMITS: LazyLock<Limits> = LazyLock::new(|| {
    let mut limits = Limits::default();
    (limits.head, limits.headers) = (64 * 1024, 128);
    (limits.head_time, limits.idle_time) = (Duration::from_secs(30), IDLE_TIME);
    (limits.write_stall, limits.gone_grace) = (FORGOTTEN, HALF_CLOSED);
    limits
});

/// Handler for the streams of the application's tunnel.
pub(crate) fn serve(gateway: SiteGateway) -> Serve {
    let (gateway, ending) = (Arc::new(gateway), StreamsEnd::default());
    Arc::new(move |stream| {
        let connection = StreamConnection::new(&gateway, stream);
        ending.0.accept(connection);
    })
}

/// Ends the parked streams of an application with its tunnel.
#[derive(Default)]
struct StreamsEnd(Arc<Streams>);

/// The streams of an application.
#[derive(Default)]
struct Streams {
    /// Made for the first parked stream; none if that failed.
    lot: OnceLock<Option<Arc<ParkingLot<StreamConnection>>>>,
    /// The last number.
    number: AtomicU64,
    /// Streams that have a thread.
    threads: Permits,
}

impl Drop for StreamsEnd {
    fn drop(&mut self) {
        if let Some(Some(lot)) = self.0.lot.get() {
            lot.close();
        }
    }
}

impl Streams {
    /// Takes a new stream. It gets no thread before its first request.
    fn accept(self: &Arc<Self>, connection: StreamConnection) {
        // Part of a request has come, or the end.
        let asked = if connection.client.stream.has_something() {
            Some(connection)
        } else {
            self.park(connection)
        };
        if let Some(asked) = asked {
            self.run(asked, Work::Read);
        }
    }

    /// Serves a stream on this thread until it ends, or is parked.
    fn run(self: &Arc<Self>, mut connection: StreamConnection, mut work: Work) {
        connection.client.stream.defer(None);
        let permit = self.threads.take(MOST_THREADS);
        if permit.is_none() && matches!(work, Work::Read | Work::Serve(_)) {
            return connection.turn_away();
        }
        while let Some(idle) = connection.run(work) {
            let Some(own) = self.park(idle) else { return };
            (connection, work) = (own, Work::Read);
        }
    }

    /// Parks a stream that waits for its next request; gives it back if that is not possible.
    fn park(self: &Arc<Self>, mut connection: StreamConnection) -> Option<StreamConnection> {
        let Some(lot) = self.lot() else {
            return Some(connection);
        };
        connection.number = self.number.fetch_add(1, Ordering::Relaxed) + 1;
        let waker = lot.waker(connection.number);
        if !connection.client.stream.defer(Some(waker.clone())) {
            return Some(connection);
        }
        if let Err(error) = lot.park(connection) {
            log::warn!("cannot keep a stream: {error}");
        }
        // The next request may have come before the waker was set.
        waker.wake();
        None
    }

    fn lot(self: &Arc<Self>) -> Option<&Arc<ParkingLot<StreamConnection>>> {
        let start = || {
            let failed = |error: &io::Error| log::warn!("each stream uses a thread: {error}");
            self.start().inspect_err(failed).ok()
        };
        self.lot.get_or_init(start).as_ref()
    }

    fn start(self: &Arc<Self>) -> io::Result<Arc<ParkingLot<StreamConnection>>> {
        let lot = Arc::new(ParkingLot::new()?);
        let (streams, own) = (Arc::clone(self), Arc::clone(&lot));
        // A thread because it waits; ends with the application's tunnel.
        spawn(Thread::AppStreams, move || carry(&streams, &own))?;
        Ok(lot)
    }
}

impl Steps<StreamConnection> for Streams {
    type Work = Work;

    /// Woken by the stream, or by the application's socket.
    fn next(&self, parked: &mut Parked<StreamConnection>, is_woken: bool) -> Next<Work> {
        let connection = &mut parked.one;
        match (parked.waits, is_woken) {
            (false, true) => connection.read_now(),
            (true, false) => connection.go_on(),
            // The visitor has left, or sends more already.
            (true, true) => Next::Needs(Work::Finish),
            (false, false) => {
                // The kept connection has sent something without a request.
                connection.handler.check_upstream();
                Next::Unchanged
            }
        }
    }

    fn leave(self: &Arc<Self>, one: StreamConnection, work: Work) {
        let threads = one.client.stream.threads();
        let streams = Arc::clone(self);
        if let Err(error) = threads.run(move || streams.run(one, work)) {
            log::warn!("stream ended: no thread for it: {error}");
        }
    }

    fn idle_time(&self) -> Duration {
        IDLE_TIME
    }

    fn overdue(&self) -> Work {
        Work::Finish
    }
}

/// The visitor's side of a stream.
type StreamClient = RequestReader<LocalStream>;

/// Connection of a visitor on a stream.
pub(super) struct StreamConnection {
    /// Number among the parked ones.
    pub(super) number: u64,
    gateway: Arc<SiteGateway>,
    pub(super) client: StreamClient,
    pub(super) handler: VisitorConnection,
    presence: Option<VisitorPresence<IpAddr>>,
}

/// First work of a thread.
pub(super) enum Work {
    /// A request is to be read.
    Read,
    /// A request is to be served.
    Serve(Head),
    /// The request that was begun is to be ended.
    Finish,
    /// The last answer is sent.
    End(After),
}

// Work on a thread of its own.
impl StreamConnection {
    pub(super) fn new(gateway: &Arc<SiteGateway>, stream: LocalStream) -> StreamConnection {
        StreamConnection {
            number: 0,
            gateway: Arc::clone(gateway),
            client: RequestReader::new(stream, Vec::new()),
            handler: VisitorConnection::for_stream(&gateway.state),
            presence: None,
        }
    }

    /// Serves it until it ends; gives it back when it waits for its next request.
    pub(super) fn run(mut self, mut work: Work) -> Option<StreamConnection> {
        loop {
            let after = match work {
                Work::Read => match self.client.read_head(&LIMITS, IDLE_TIME, || ()) {
                    Ok(head) => self.serve(&head),
                    Err(ConnectionEnd::Refused(refusal, _)) => self.refuse(refusal, false),
                    Err(_) => return None,
                },
                Work::Serve(head) => self.serve(&head),
                Work::Finish => self.handler.finish(&mut self.client),
                Work::End(after) => after,
            };
            match after {
                After::Keep if self.client.inbox.is_empty() => return Some(self),
                After::Keep => work = Work::Read,
                After::Close => {
                    self.client.linger(&LIMITS, || false);
                    return None;
                }
                After::Reset | After::Drop => return None,
            }
        }
    }

    /// Refuses a request because too many others have threads.
    pub(super) fn turn_away(mut self) {
        let refusal = Refusal::new(503, "too many requests at once: try again later");
        if self.refuse(refusal, false) == After::Close {
            self.client.linger(&LIMITS, || false);
        }
    }

    fn serve(&mut self, head: &Head) -> After {
        if head.headers.only("host").is_err() {
            let refusal = Refusal::new(400, "more than one Host");
            return self.refuse(refusal, head.method == "HEAD");
        }
        self.note_visitor(head);
        self.handler.serve(head, &mut self.client)
    }

    /// Refuses a request that cannot be passed on.
    fn refuse(&mut self, refusal: Refusal, to_head: bool) -> After {
        let page = Response::error(&ApiError::from(refusal));
        match self.client.send_last(page, to_head) {
            true => After::Close,
            false => After::Drop,
        }
    }

    /// Notes the visitor, who is present from the first request on.
    fn note_visitor(&mut self, head: &Head) {
        let requests = &self.gateway.requests;
        requests.keep_present(&mut self.presence, self.gateway.state.source(head));
        requests.begin(SystemTime::now());
    }
}

// Work on the shared thread.
impl StreamConnection {
    /// Reads and begins the next request, as far as possible without waiting.
    pub(super) fn read_now(&mut self) -> Next<Work> {
        let head = match self.client.head_now(&LIMITS) {
            HeadNow::Whole(head) => head,
            HeadNow::Part => return Next::Needs(Work::Read),
            HeadNow::Nothing => return Next::Unchanged,
            HeadNow::Gone => return Next::Gone,
        };
        if head.headers.only("host").is_err() {
            return Next::Needs(Work::Serve(head));
        }
        self.note_visitor(&head);
        match self.handler.begin(head, &mut self.client) {
            Ok(progress) => self.after(progress),
            Err(head) => Next::Needs(Work::Serve(head)),
        }
    }

    /// Continues a request because the application has sent something.
    pub(super) fn go_on(&mut self) -> Next<Work> {
        let progress = self.handler.go_on(&mut self.client);
        self.after(progress)
    }

    fn after(&mut self, progress: Progress) -> Next<Work> {
        match progress {
            Progress::Idle => Next::Unchanged,
            // The waker is set only after a read found nothing.
            Progress::Waits if would_block(&self.client.receive(1)) => Next::Waits,
            Progress::Waits | Progress::NeedsThread => Next::Needs(Work::Finish),
            // The next request may be there already.
            Progress::Done(After::Keep) => match self.read_now() {
                Next::Unchanged => Next::Idle,
                next => next,
            },
            Progress::Done(after) => Next::Needs(Work::End(after)),
        }
    }
}

impl Parkable for StreamConnection {
    fn id(&self) -> u64 {
        self.number
    }

    /// The connection to the application.
    fn socket(&self) -> Option<BorrowedFd<'_>> {
        self.handler.upstream()
    }

    fn flush(&mut self) {
        self.client.stream.flush();
    }
}

impl Client for StreamClient {
    fn stream(&mut self) -> &mut dyn ClientStream {
        &mut self.stream
    }

    fn inbox(&mut self) -> &mut Vec<u8> {
        &mut self.inbox
    }

    fn receive(&mut self, most: usize) -> io::Result<usize> {
        RequestReader::receive(self, most)
    }

    /// Always false: the stream ends with the tunnel.
    fn is_stopping(&self) -> bool {
        false
    }

    fn mark_busy(&self) {}

    fn mark_stalled(&self) {}
}

/// No limits here: the tunnel limits and ends its streams.
impl ClientConnection for StreamClient {
    fn limits(&self) -> &Limits {
        &LIMITS
    }

    fn capacity(&self) -> usize {
        usize::MAX / 16
    }

    fn reserve(&self) -> Option<ExchangeSlot> {
        Some(ExchangeSlot::uncounted())
    }

    fn has_left(&self) -> bool {
        self.stream.has_gone()
    }

    fn resetter(&self) -> Option<Arc<dyn Reset>> {
        None
    }

    fn body(&mut self, head: &Head, most: usize) -> Result<Vec<u8>, After> {
        let read = self.read_body(head, &LIMITS, most, |_| true);
        read.map_err(|end| match end {
            ConnectionEnd::Refused(refusal, _) => {
                self.send(head, Response::error(&refusal.into()), true)
            }
            _ => After::Drop,
        })
    }

    fn answer(&mut self, head: &Head, response: Response, body_is_read: bool) -> After {
        let unread = !body_is_read && head.framing != Framing::Length(0);
        self.send(head, response, unread || !head.keep_alive)
    }
}
