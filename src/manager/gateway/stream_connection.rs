//! One stream of an application's tunnel, a request at a time.

use std::cell::Cell;
use std::io;
use std::net::{IpAddr, TcpStream};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use super::app_request;
use super::rules::AppRules;
use super::site_gateway::SiteGateway;
use super::stream_client::StreamClient;
use super::target;
use crate::http::ApiError;
use crate::http::Response;
use crate::http::h1::Refusal;
use crate::http::h1::body::Framing;
use crate::http::h1::head::Head;
use crate::http::proxy::{
    ByteStream, Client, Exchange, Outcome, RequestBody, Timeouts, Transfer, Upgraded,
    UpgradedTimeouts, gone_grace,
};
use crate::http::server::connection_handler::{After, ClientConnection};
use crate::http::server::response_bytes;
use crate::http::socket::would_block;
use crate::manager::visits::{Presence, RequestRecord};
use crate::net::authority;
use crate::relay::gateway::{
    Cause, FORWARDED_FOR, Message, REFUSED, Served, asks_for_websocket, is_repeatable, message,
    not_http, path, refused, target_is_down, too_slow, unanswered,
};
use crate::tunnel::target::Serve;

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

/// Handler for the streams of the application's tunnel.
pub(crate) fn serve(gateway: SiteGateway) -> Serve {
    let gateway = Arc::new(gateway);
    Arc::new(move |socket| StreamConnection::new(&gateway, socket).run())
}

/// One stream.
struct StreamConnection<'g> {
    gateway: &'g SiteGateway,
    client: StreamClient,
    kept: Option<KeptConnection>,
    presence: Option<Presence<'g>>,
    /// When the request that is served came.
    began: Instant,
}

/// A connection to the application that the stream's next request may use.
struct KeptConnection {
    stream: Box<dyn ByteStream>,
    since: Instant,
}

impl<'g> StreamConnection<'g> {
    fn new(gateway: &'g SiteGateway, socket: TcpStream) -> StreamConnection<'g> {
        StreamConnection {
            gateway,
            client: StreamClient::new(socket),
            kept: None,
            presence: None,
            began: Instant::now(),
        }
    }

    /// Serves it to its end.
    fn run(mut self) {
        loop {
            let head = match self.client.read_head() {
                Ok(Some(head)) => head,
                Ok(None) => return,
                Err(refusal) => return self.refuse(refusal),
            };
            if head.headers.only("host").is_err() {
                return self.refuse(Refusal::new(400, "more than one Host"));
            }
            let time = SystemTime::now();
            self.began = Instant::now();
            let source = self.source(&head);
            self.is_present(source);
            self.gateway.visits.asks(time);
            let served = self.request(&head);
            self.note(&head, source, (time, self.began.elapsed()), &served);
            match served.after {
                After::Keep => {}
                After::Close => return self.client.finish(),
                After::Reset | After::Drop => return,
            }
        }
    }

    /// The visitor, as a relay of ours says: it writes the line afresh, the visitor first.
    fn source(&self, head: &Head) -> Option<IpAddr> {
        let told = head.headers.only(FORWARDED_FOR).ok()??;
        let first = told.split(|b| *b == b',').next()?;
        let first = std::str::from_utf8(first).ok()?.trim().parse().ok();
        first.filter(|_| self.gateway.is_server_ours)
    }

    fn is_present(&mut self, source: Option<IpAddr>) {
        let visits = &self.gateway.visits;
        self.presence
            .get_or_insert_with(|| Presence::new(visits, source))
            .is_of(source);
    }

    fn note(
        &self,
        head: &Head,
        source: Option<IpAddr>,
        times: (SystemTime, Duration),
        served: &Served,
    ) {
        let path = path(head);
        if !path.starts_with(OWN_PATHS) {
            let said = (head.method.as_str(), path);
            let record = RequestRecord::new(said, source, times, (served.status, served.bytes));
            self.gateway.visits.note(record);
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
        self.pass(head)
    }

    fn pass(&mut self, head: &Head) -> Served {
        let gateway = self.gateway;
        let host = gateway.names.naming.asked_by(&head.headers).host;
        let mut kept = self.take_kept(head);
        loop {
            let may_repeat = kept.is_some() && is_repeatable(head);
            let opened = match kept.take() {
                Some(kept) => Ok(kept),
                None => self.open(host),
            };
            let mut stream = match opened {
                Ok(stream) => stream,
                Err(error) => return self.unreached(head, &error),
            };
            let (outcome, served) = self.exchange(head, stream.as_mut());
            if may_repeat && matches!(outcome, Outcome::Unanswered(_)) {
                continue;
            }
            // The unread rest of a body would be read as the next request.
            let is_clean = outcome.keeps_upstream() && head.framing == Framing::Length(0);
            if served.after == After::Keep && is_clean {
                let since = Instant::now();
                self.kept = Some(KeptConnection { stream, since });
            }
            return self.conclude(head, outcome, served);
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

    fn open(&self, host: &[u8]) -> io::Result<Box<dyn ByteStream>> {
        let host = std::str::from_utf8(host).unwrap_or_default();
        let name = authority::split(host).map_or("", |(name, _)| name);
        target::open(self.gateway, name, || self.client.has_left())
    }

    /// One attempt, and if it comes to that, the upgraded connection.
    fn exchange(&mut self, head: &Head, stream: &mut dyn ByteStream) -> (Outcome, Served) {
        let rules = AppRules {
            gateway: self.gateway,
            asks_for_websocket: asks_for_websocket(head),
            began: self.began,
            has_begun: Cell::new(false),
        };
        let to_app = app_request::head(head, &self.gateway.names.naming);
        let mut transfer = Transfer::new(head, RequestBody::new(head.framing, to_app));
        let client = &mut self.client;
        let outcome = Exchange::new(client, stream, &mut transfer, &rules, timeouts(head)).run();
        let mut served = Served {
            after: After::from(&outcome),
            status: transfer.status().unwrap_or(0),
            bytes: transfer.sent(),
        };
        if matches!(outcome, Outcome::Upgraded) {
            let down = transfer.rest();
            let up = std::mem::take(self.client.inbox());
            let upgraded = Upgraded {
                timeouts: upgraded_timeouts(),
                client: self.client.socket(),
                upstream: stream,
                rules: &rules,
            };
            served.bytes += upgraded.run(up, down);
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
        let text;
        let told = match &outcome {
            Outcome::Unanswered(error) => {
                self.gateway.note_missed();
                text = unanswered(error.as_ref());
                target_is_down(&text)
            }
            Outcome::NotHttp(why) => {
                self.gateway.note_missed();
                text = not_http(why);
                target_is_down(&text)
            }
            Outcome::TooSlow { has_request } => too_slow(*has_request),
            Outcome::Refused(refusal) => refused(refusal),
            Outcome::BrokenOff { .. } => {
                self.gateway.visits.stats.refuse(Cause::BrokenOff);
                return served;
            }
            _ => return served,
        };
        self.say(head, &told)
    }

    /// Says something in place of the application, to a request that may not have been read to its end.
    fn say(&mut self, head: &Head, what: &Message<'_>) -> Served {
        let host = head.headers.all("host").next().unwrap_or_default();
        let host = String::from_utf8_lossy(host);
        let site = host.split(['.', ':']).next().unwrap_or_default();
        self.gateway.visits.stats.refuse(what.cause);
        let page = self.gateway.pages().message(head, site, what);
        let (status, bytes) = (page.status(), page.body().len());
        Served {
            after: self.client.answer(head, page, false),
            status,
            bytes,
        }
    }

    /// Refuses a request that cannot be passed on.
    fn refuse(self, refusal: Refusal) {
        let page = Response::error(&ApiError::from(refusal));
        let bytes = response_bytes(page, false, true);
        if self.client.write_all(&bytes).is_ok() {
            self.client.finish();
        }
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
