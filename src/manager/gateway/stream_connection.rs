//! One stream of an application's tunnel, a request at a time.

use std::cell::Cell;
use std::io;
use std::net::IpAddr;
use std::os::fd::BorrowedFd;
use std::sync::Arc;
use std::task::Waker;
use std::time::{Duration, Instant, SystemTime};

use super::app_request;
use super::rules::AppRules;
use super::site_gateway::SiteGateway;
use super::stream_client::{HeadNow, StreamClient};
use super::target;
use crate::gateway::{
    Cause, FORWARDED_FOR, Message, REFUSED, Served, is_repeatable, message, other_protocol, path,
    served, target_is_down, tell,
};
use crate::http::ApiError;
use crate::http::Response;
use crate::http::VisitorPresence;
use crate::http::h1::Refusal;
use crate::http::h1::body::Framing;
use crate::http::h1::head::Head;
use crate::http::h1::upgrade::Upgrade;
use crate::http::proxy::{
    ByteStream, Client, Exchange, Outcome, RequestBody, Step, Timeouts, Transfer, Upgraded,
    UpgradedTimeouts, gone_grace,
};
use crate::http::server::connection_handler::{After, ClientConnection};
use crate::http::server::{Next, response_bytes};
use crate::http::socket::would_block;
use crate::manager::request_log::RequestRecord;
use crate::net::authority;
use crate::tunnel::client::StreamThreads;
use crate::tunnel::server::LocalStream;

/// Time after which a kept connection to the application is not used for a request that must not be sent twice, and not
/// at all. As a relay has them for streams.
const SURE_FOR: Duration = Duration::from_secs(1);
const KEPT_FOR: Duration = Duration::from_secs(30);
/// Time after which what has been forgotten ends. Whoever stands nearer to the visitor has closer limits, of 24 h at
/// most.
const FORGOTTEN: Duration = Duration::from_secs(25 * 3600);
/// Time that an upgraded connection with one end closed may be silent, and an answer may take whose visitor has left.
const HALF_CLOSED: Duration = crate::limits::HALF_CLOSED;
/// Prefix of the program's own paths, which are never logged.
const OWN_PATHS: &str = "/.postern/";

/// Steps that an answer may take on a thread of many. Default 8: a longer one has a thread of its own.
const STEPS: usize = 8;

/// One stream.
pub(super) struct StreamConnection {
    gateway: Arc<SiteGateway>,
    client: StreamClient,
    kept: Option<KeptConnection>,
    presence: Option<VisitorPresence<IpAddr>>,
    /// When the request that is served came.
    began: Instant,
    /// When that was, for its log.
    time: SystemTime,
    /// Request that runs while no thread waits for it.
    under_way: Option<UnderWay>,
}

/// A connection to the application that the stream's next request may use.
struct KeptConnection {
    stream: Box<dyn ByteStream>,
    since: Instant,
}

/// A request whose answer is awaited.
struct UnderWay {
    head: Head,
    stream: Box<dyn ByteStream>,
    transfer: Transfer,
    /// How it ended, where that is still to be dealt with.
    outcome: Option<Outcome>,
    /// How often it has gone on.
    steps: usize,
}

/// With what a thread begins.
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

// On a thread of its own.
impl StreamConnection {
    pub(super) fn new(gateway: &Arc<SiteGateway>, stream: LocalStream) -> StreamConnection {
        StreamConnection {
            gateway: Arc::clone(gateway),
            client: StreamClient::new(stream),
            kept: None,
            presence: None,
            began: Instant::now(),
            time: SystemTime::now(),
            under_way: None,
        }
    }

    /// Serves it until it ends; given back where it waits for its next request, of which nothing is there.
    pub(super) fn run(mut self, mut work: Work) -> Option<StreamConnection> {
        loop {
            let after = match work {
                Work::Read => match self.client.read_head() {
                    Ok(Some(head)) => self.serve(&head),
                    Ok(None) => return None,
                    Err(refusal) => self.refuse(refusal),
                },
                Work::Serve(head) => self.serve(&head),
                Work::Finish => self.finish(),
                Work::End(after) => after,
            };
            match after {
                After::Keep if self.client.inbox().is_empty() => return Some(self),
                After::Keep => work = Work::Read,
                After::Close => {
                    self.client.finish();
                    return None;
                }
                After::Reset | After::Drop => return None,
            }
        }
    }

    /// Wakes `waker` from now on when there is something to read, and waits for nothing; see [`LocalStream::defer`].
    pub(super) fn defer(&mut self, waker: Option<Waker>) -> bool {
        self.client.defer(waker)
    }

    fn serve(&mut self, head: &Head) -> After {
        if head.headers.only("host").is_err() {
            return self.refuse(Refusal::new(400, "more than one Host"));
        }
        self.begins(head);
        let served = self.request(head);
        self.note(head, &served);
        served.after
    }

    /// Ends what was begun.
    fn finish(&mut self) -> After {
        let Some(mut run) = self.under_way.take() else {
            return After::Keep;
        };
        let ended = match run.outcome {
            Some(outcome) => {
                let served = served(&outcome, &run.transfer);
                (outcome, served)
            }
            None => self.exchange(&run.head, run.stream.as_mut(), &mut run.transfer),
        };
        let served = self.after_kept(&run.head, run.stream, ended);
        self.note(&run.head, &served);
        served.after
    }
}

// Without a thread.
impl StreamConnection {
    /// Reads the next request and begins with it, as far as that goes without waiting.
    pub(super) fn read_now(&mut self) -> Next<Work> {
        let head = match self.client.head_now() {
            HeadNow::Whole(head) => head,
            HeadNow::Part => return Next::Needs(Work::Read),
            HeadNow::Nothing => return Next::Unchanged,
            HeadNow::End => return Next::Gone,
        };
        let is_short = head.framing == Framing::Length(0)
            && matches!(Upgrade::of(&head), Upgrade::None)
            && head.headers.only("host").is_ok()
            && !path(&head).starts_with(OWN_PATHS);
        let is_simple = self.gateway.tls.is_none() && !self.gateway.door.is_closed();
        if !is_short || !is_simple || !self.client.inbox().is_empty() {
            return Next::Needs(Work::Serve(head));
        }
        let Some(stream) = self.take_kept(&head) else {
            return Next::Needs(Work::Serve(head));
        };
        self.begins(&head);
        self.under_way = Some(UnderWay {
            transfer: self.transfer(&head),
            head,
            stream,
            outcome: None,
            steps: 0,
        });
        self.go_on()
    }

    /// Goes on with what was begun: the application has something to tell.
    pub(super) fn go_on(&mut self) -> Next<Work> {
        let Some(run) = &mut self.under_way else {
            return Next::Unchanged;
        };
        let rules = app_rules(&self.gateway, &run.head, self.began);
        let stream = run.stream.as_mut();
        let times = timeouts(&run.head);
        let mut exchange =
            Exchange::new(&mut self.client, stream, &mut run.transfer, &rules, times);
        let step = match run.steps {
            0 => exchange.send(),
            _ => exchange.step(),
        };
        run.steps += 1;
        match step {
            Step::Ended(outcome @ Outcome::Done { .. }) => self.done(&outcome),
            Step::Ended(outcome) => {
                run.outcome = Some(outcome);
                Next::Needs(Work::Finish)
            }
            // Only one that was found to say nothing wakes its waker.
            Step::Quiet if run.steps < STEPS && would_block(&self.client.receive(1)) => Next::Waits,
            Step::Quiet | Step::Busy => Next::Needs(Work::Finish),
        }
    }

    /// The whole answer has been sent.
    fn done(&mut self, outcome: &Outcome) -> Next<Work> {
        let run = self.under_way.take().expect("it was under way just now");
        let served = served(outcome, &run.transfer);
        self.keep(&run.head, run.stream, outcome, served.after);
        self.note(&run.head, &served);
        match served.after {
            // The next request may be there already.
            After::Keep => match self.read_now() {
                Next::Unchanged => Next::Idle,
                next => next,
            },
            after => Next::Needs(Work::End(after)),
        }
    }

    /// The kept connection has something to tell although nothing was asked.
    pub(super) fn check_kept(&mut self) {
        if let Some(kept) = &mut self.kept
            && !would_block(&kept.stream.read(&mut [0]))
        {
            self.kept = None;
        }
    }

    /// The connection to the application.
    pub(super) fn upstream(&self) -> Option<BorrowedFd<'_>> {
        let used = self.under_way.as_ref().map(|run| &run.stream);
        let stream = used.or(self.kept.as_ref().map(|kept| &kept.stream))?;
        let [(socket, _), _] = stream.wanted(true, false);
        Some(socket)
    }

    pub(super) fn flush(&mut self) {
        self.client.flush();
    }

    pub(super) fn threads(&self) -> StreamThreads {
        self.client.threads()
    }
}

impl StreamConnection {
    /// A request came.
    fn begins(&mut self, head: &Head) {
        (self.began, self.time) = (Instant::now(), SystemTime::now());
        let source = self.source(head);
        let requests = &self.gateway.requests;
        requests.keep_present(&mut self.presence, source);
        requests.begin(self.time);
    }

    /// The visitor, as a relay of ours says: it writes the line afresh, the visitor first.
    fn source(&self, head: &Head) -> Option<IpAddr> {
        let told = head.headers.only(FORWARDED_FOR).ok()??;
        let first = told.split(|b| *b == b',').next()?;
        let first = std::str::from_utf8(first).ok()?.trim().parse().ok();
        first.filter(|_| self.gateway.is_server_ours)
    }

    fn note(&self, head: &Head, served: &Served) {
        let path = path(head);
        if !path.starts_with(OWN_PATHS) {
            let said = (head.method.as_str(), path);
            let times = (self.time, self.began.elapsed());
            let did = (served.status, served.bytes);
            let record = RequestRecord::new(said, self.source(head), times, did);
            self.gateway.requests.note(record);
        }
    }

    fn request(&mut self, head: &Head) -> Served {
        let host = head.headers.all("host").next().unwrap_or_default();
        let door = &self.gateway.door;
        if let Some(served) = door.turn_away(head, host, &mut self.client) {
            return served;
        }
        // Paths below it are the gateway's own and not logged, so none may reach the application.
        if path(head).starts_with(OWN_PATHS) {
            let told = message(404, "Not found", "This page does not exist.", "");
            let told = told.because(Cause::BadRequest);
            return self.say(head, &told);
        }
        if let Upgrade::Refused(protocol) = Upgrade::of(head) {
            return self.say(head, &other_protocol(&protocol).message());
        }
        self.pass(head)
    }

    fn pass(&mut self, head: &Head) -> Served {
        let Some(mut stream) = self.take_kept(head) else {
            return self.pass_anew(head);
        };
        let mut transfer = self.transfer(head);
        let ended = self.exchange(head, stream.as_mut(), &mut transfer);
        self.after_kept(head, stream, ended)
    }

    /// A connection that was kept may have ended just when the request came: then it is sent once more.
    fn after_kept(
        &mut self,
        head: &Head,
        stream: Box<dyn ByteStream>,
        (outcome, served): (Outcome, Served),
    ) -> Served {
        if is_repeatable(head) && matches!(outcome, Outcome::Unanswered(_)) {
            drop(stream);
            return self.pass_anew(head);
        }
        self.keep(head, stream, &outcome, served.after);
        self.conclude(head, outcome, served)
    }

    /// Passes a request on by a connection of its own.
    fn pass_anew(&mut self, head: &Head) -> Served {
        let mut stream = match self.open(head) {
            Ok(stream) => stream,
            Err(error) => return self.unreached(head, &error),
        };
        let mut transfer = self.transfer(head);
        let (outcome, served) = self.exchange(head, stream.as_mut(), &mut transfer);
        self.keep(head, stream, &outcome, served.after);
        self.conclude(head, outcome, served)
    }

    /// Keeps the connection for the next request, where that may be.
    fn keep(&mut self, head: &Head, stream: Box<dyn ByteStream>, outcome: &Outcome, after: After) {
        // The unread rest of a body would be read as the next request.
        let is_clean = outcome.keeps_upstream() && head.framing == Framing::Length(0);
        if after == After::Keep && is_clean {
            let since = Instant::now();
            self.kept = Some(KeptConnection { stream, since });
        }
    }

    /// The kept connection, if it still stands and this request may use it.
    fn take_kept(&mut self, head: &Head) -> Option<Box<dyn ByteStream>> {
        let mut kept = self.kept.take()?;
        let usable_for = if is_repeatable(head) {
            KEPT_FOR
        } else {
            SURE_FOR
        };
        if kept.since.elapsed() > usable_for {
            return None;
        }
        // Bytes that nobody asked for, or an end: it is of no use.
        let read = kept.stream.read(&mut [0]);
        would_block(&read).then_some(kept.stream)
    }

    fn open(&self, head: &Head) -> io::Result<Box<dyn ByteStream>> {
        let host = self.gateway.names.naming.asked_by(&head.headers).host;
        let host = std::str::from_utf8(host).unwrap_or_default();
        let name = authority::split(host).map_or("", |(name, _)| name);
        target::open(&self.gateway, name, || self.client.has_left())
    }

    /// The request as the application gets it, of which nothing was sent.
    fn transfer(&self, head: &Head) -> Transfer {
        let to_app = app_request::head(head, &self.gateway.names.naming);
        Transfer::new(head, RequestBody::new(head.framing, to_app))
    }

    /// One attempt to its end, and if it comes to that, the upgraded connection.
    fn exchange(
        &mut self,
        head: &Head,
        stream: &mut dyn ByteStream,
        transfer: &mut Transfer,
    ) -> (Outcome, Served) {
        let rules = app_rules(&self.gateway, head, self.began);
        let client = &mut self.client;
        let outcome = Exchange::new(client, stream, transfer, &rules, timeouts(head)).run();
        let mut served = served(&outcome, transfer);
        if matches!(outcome, Outcome::Upgraded) {
            let up = std::mem::take(self.client.inbox());
            let upgraded = Upgraded {
                timeouts: upgraded_timeouts(),
                client: self.client.stream(),
                upstream: stream,
                rules: &rules,
            };
            served.bytes += upgraded.run(up, transfer.rest());
        }
        (outcome, served)
    }

    fn unreached(&mut self, head: &Head, error: &io::Error) -> Served {
        log::debug!("cannot reach an application: {error}");
        self.gateway.note_missed();
        self.say(head, &target_is_down(REFUSED))
    }

    /// Tells the visitor what is still to be told.
    fn conclude(&mut self, head: &Head, outcome: Outcome, served: Served) -> Served {
        match &outcome {
            Outcome::Unanswered(_) => self.gateway.note_missed(),
            Outcome::NotHttp(why) => self.gateway.note_refused_answer(path(head), why),
            Outcome::BrokenOff { .. } => self.gateway.requests.stats.refuse(Cause::BrokenOff),
            _ => {}
        }
        tell(&outcome, |told| self.say(head, told)).unwrap_or(served)
    }

    /// Says something in place of the application, to a request that may not have been read to its end.
    fn say(&mut self, head: &Head, what: &Message<'_>) -> Served {
        let host = head.headers.all("host").next().unwrap_or_default();
        let host = String::from_utf8_lossy(host);
        let site = host.split(['.', ':']).next().unwrap_or_default();
        self.gateway.requests.stats.refuse(what.cause);
        let page = self.gateway.pages().message(head, site, what);
        let (status, bytes) = (page.status(), page.body().len());
        Served {
            after: self.client.answer(head, page, false),
            status,
            bytes,
        }
    }

    /// Refuses a request that cannot be passed on.
    fn refuse(&mut self, refusal: Refusal) -> After {
        let page = Response::error(&ApiError::from(refusal));
        match self.client.write_all(&response_bytes(page, false, true)) {
            Ok(()) => After::Close,
            Err(_) => After::Drop,
        }
    }
}

fn app_rules<'a>(gateway: &'a SiteGateway, head: &Head, began: Instant) -> AppRules<'a> {
    AppRules {
        gateway,
        upgrade: Upgrade::passed(head),
        began,
        has_begun: Cell::new(false),
    }
}

fn timeouts(head: &Head) -> Timeouts {
    Timeouts {
        write_stall: FORGOTTEN,
        body_stall: FORGOTTEN,
        gone_grace: gone_grace(head, HALF_CLOSED),
        silence: None,
    }
}

fn upgraded_timeouts() -> UpgradedTimeouts {
    UpgradedTimeouts {
        silence: FORGOTTEN,
        half_closed: HALF_CLOSED,
        client_stall: FORGOTTEN,
        upstream_stall: FORGOTTEN,
    }
}
