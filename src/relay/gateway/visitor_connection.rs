//! One visitor's connection, a request at a time: which site, whether its door opens, and what
//! the visitor is told when the application does not answer.

use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

use super::Gateway;
use super::access_log::Line;
use super::auth::is_sign_in;
use super::forwarded::{Origin, Place};
use super::host::Host;
use super::pages::Message;
use super::permits::{BusyPermit, Full};
use super::proxy::{Ended, Outcome, Proxy};
use super::raw::Raw;
use super::request_head::{self, asks_for_websocket, is_repeatable};
use super::response_head::{Afresh, ResponseHead};
use super::site::{Down, Present, Site};
use super::stream::{ByteStream, Secured};
use crate::http::Response;
use crate::http::h1::body::Framing;
use crate::http::h1::head::Head;
use crate::http::server::ExchangeSlot;
use crate::http::server::connection_handler::{After, ClientConnection, ConnectionHandler};
use crate::http::server::would_block;
use crate::net::is_within;

/// Seconds after which one who found no room may try again. Default 5.
const RETRY_AFTER: &str = "5";

/// The state of one connection.
pub(super) struct VisitorConnection<'g> {
    pub(super) gateway: &'g Gateway,
    peer: IpAddr,
    /// Whom the claimed request is for.
    host: Option<Host>,
    kept: Option<KeptStream>,
}

/// A stream that the visitor's next request may use.
struct KeptStream {
    site: Arc<Site>,
    stream: Box<dyn ByteStream>,
    /// Whose it is, and by which proxies he came.
    chain: Vec<IpAddr>,
    since: Instant,
    slot: ExchangeSlot,
}

/// What became of a request, for its line in the log.
pub(super) struct Served {
    pub(super) after: After,
    /// 0 when the visitor was told nothing.
    pub(super) status: u16,
    pub(super) bytes: usize,
}

/// What a request brings along.
pub(super) struct Request<'r> {
    pub(super) head: &'r Head,
    /// The Host as the visitor sent it.
    pub(super) host: &'r [u8],
    pub(super) site: &'r str,
    pub(super) origin: &'r Origin,
}

impl<'g> VisitorConnection<'g> {
    pub(super) fn new(gateway: &'g Gateway, peer: IpAddr) -> VisitorConnection<'g> {
        VisitorConnection {
            gateway,
            peer,
            host: None,
            kept: None,
        }
    }
}

impl ConnectionHandler for VisitorConnection<'_> {
    /// What has no Host, or several, is the HTTP server's to refuse.
    fn claims(&mut self, head: &Head) -> bool {
        let config = &self.gateway.config;
        let named = head.headers.only("host").ok().flatten();
        self.host = named.and_then(Host::parse);
        let site = self
            .host
            .as_ref()
            .and_then(|host| host.site(&config.domain, &config.own_names));
        site.is_some()
    }

    fn serve(&mut self, head: &Head, visitor: &mut ClientConnection<'_, '_>) -> After {
        let began = Instant::now();
        let Some(host) = self.host.take() else {
            return After::Drop;
        };
        let config = &self.gateway.config;
        let sent = head.headers.all("host").next().unwrap_or_default();
        let place = Place {
            trusted: &config.trust_proxy,
            secure: config.secure,
            port: config.port,
        };
        let shown = String::from_utf8_lossy(sent);
        let origin = Origin::read(&head.headers, self.peer, &shown, &place);
        let request = Request {
            head,
            host: sent,
            site: host.site(&config.domain, &config.own_names).unwrap_or(""),
            origin: &origin,
        };
        let served = self.route(&request, &host, visitor);
        if visitor.inbox().is_empty() {
            *visitor.inbox() = Vec::new(); // an idle connection holds no memory
        }
        self.gateway.log.tell(&Line {
            source: origin.source(),
            site: request.site,
            method: &head.method,
            path: path(head),
            status: served.status,
            bytes: served.bytes,
            took: began.elapsed(),
        });
        served.after
    }
}

impl<'g> VisitorConnection<'g> {
    fn route(
        &mut self,
        request: &Request<'_>,
        host: &Host,
        visitor: &mut ClientConnection<'_, '_>,
    ) -> Served {
        let named = request.head.authority.as_ref();
        let named = named.map(|authority| Host::parse(authority.as_bytes()));
        if named.is_some_and(|named| named.as_ref() != Some(host)) {
            let why = "Its Host and its target name different sites.";
            return self.say(
                request,
                visitor,
                &message(400, "A malformed request", why, ""),
            );
        }
        if request_head::comes_back(request.head, &self.gateway.config.loop_id) {
            let why = "The application that this site leads to leads back to this relay.";
            let hint = "Share the application itself, not the address of its site.";
            return self.say(request, visitor, &message(508, "A loop", why, hint));
        }
        if !self.serves_port(host) {
            let why = "This site is not served on the port that its address names.";
            let hint = "Use the address that you were given. The relay's --public-url says which port visitors use.";
            let refused = message(421, "A wrong port", why, hint);
            return self.say(request, visitor, &refused);
        }
        let Some(site) = self.gateway.sites.find(request.site) else {
            let why = "No site has this name here.";
            let hint = "Check the address. A site has its name from its first connect on.";
            return self.say(request, visitor, &message(404, "Unknown site", why, hint));
        };
        site.figures.requests.fetch_add(1, Ordering::Relaxed);
        if site.code.is_some() {
            if is_sign_in(request.head, &site) {
                return self.enter(request, &site, visitor);
            }
            if !self.is_signed_in(request, &site) {
                let page = self.asking(request);
                return answer(request.head, visitor, page, false);
            }
        }
        self.pass(request, &site, visitor)
    }

    /// Another port of this host is another server, to which links must not lead.
    fn serves_port(&self, host: &Host) -> bool {
        let config = &self.gateway.config;
        let ours = [config.port, config.listen_port];
        host.port.is_none_or(|port| ours.contains(&port))
    }

    fn pass(
        &mut self,
        request: &Request<'_>,
        site: &Arc<Site>,
        visitor: &mut ClientConnection<'_, '_>,
    ) -> Served {
        let _present = Present::at(&site.figures);
        let permit = match self.permitted(request, site, visitor) {
            Ok(permit) => permit,
            Err(full) => return self.say(request, visitor, &too_busy(full)),
        };
        let mut kept = self.take_kept(request, site);
        loop {
            let may_repeat = kept.is_some() && is_repeatable(request.head);
            let opened = match kept.take() {
                Some(kept) => Ok((kept.stream, kept.slot)),
                None => self.open(request, site, visitor),
            };
            let (mut stream, slot) = match opened {
                Ok(opened) => opened,
                Err(served) => return served,
            };
            let (outcome, served) =
                self.exchange(request, (site, &permit), visitor, stream.as_mut());
            if may_repeat && matches!(outcome, Outcome::Unanswered(_)) {
                continue;
            }
            if served.after == After::Keep && outcome.keeps_stream() && self.may_keep(request) {
                self.kept = Some(KeptStream {
                    site: Arc::clone(site),
                    stream,
                    chain: request.origin.chain().to_vec(),
                    since: Instant::now(),
                    slot,
                });
            }
            return self.conclude(request, visitor, outcome, served);
        }
    }

    /// A request that is whole runs from here on. One with a body gives way while it is sent, and
    /// takes its permit after that.
    fn permitted<'s>(
        &self,
        request: &Request<'_>,
        site: &'s Site,
        visitor: &ClientConnection<'_, '_>,
    ) -> Result<BusyPermit<'s>, Full>
    where
        'g: 's,
    {
        let source = self.counted(request.origin.source());
        let permits = &self.gateway.permits;
        let permit = BusyPermit::new(permits, &site.busy, source, visitor.capacity());
        match request.head.framing {
            Framing::Length(0) => permit.take()?,
            _ => permit.check()?,
        }
        Ok(permit)
    }

    /// Who is this machine, or a proxy that does not say whom it speaks for, is many.
    fn counted(&self, source: IpAddr) -> Option<IpAddr> {
        let is_many = source.is_loopback() || is_within(source, &self.gateway.config.trust_proxy);
        (!is_many).then_some(source)
    }

    /// A connection may be many visitors', as a proxy that was not named looks like one of them. So no
    /// stream is kept after a body: what an application leaves unread of it would be the beginning of the
    /// next one's request. And none where nobody says whose it is, as what an application sends late would
    /// be the next one's answer: behind a trusted proxy that names no visitor, and where all come by
    /// `https`, which only proxies end, from a peer that is not trusted.
    fn may_keep(&self, request: &Request<'_>) -> bool {
        let config = &self.gateway.config;
        let is_proxy = is_within(self.peer, &config.trust_proxy);
        let is_one_visitors = match is_proxy {
            true => !is_within(request.origin.source(), &config.trust_proxy),
            false => !config.secure,
        };
        is_one_visitors && request.head.framing == Framing::Length(0)
    }

    /// The kept stream, if it still stands and this request may use it.
    fn take_kept(&mut self, request: &Request<'_>, site: &Arc<Site>) -> Option<KeptStream> {
        let limits = &self.gateway.config.limits;
        let mut kept = self.kept.take()?;
        let usable_for = match is_repeatable(request.head) {
            true => limits.kept_for,
            false => limits.sure_for,
        };
        let same = Arc::ptr_eq(&kept.site, site) && kept.chain == request.origin.chain();
        if !same || kept.since.elapsed() > usable_for {
            return None;
        }
        // Bytes that nobody asked for, or an end: it is of no use.
        let read = kept.stream.read(&mut [0]);
        would_block(&read).then_some(kept)
    }

    fn open(
        &self,
        request: &Request<'_>,
        site: &Site,
        visitor: &mut ClientConnection<'_, '_>,
    ) -> Result<(Box<dyn ByteStream>, ExchangeSlot), Served> {
        let Some(slot) = visitor.reserve() else {
            return Err(self.say(request, visitor, &too_busy(Full::Sites)));
        };
        let opened = (site.open)().and_then(|stream| self.secured(request, site, stream));
        match opened {
            Ok(stream) => Ok((stream, slot)),
            Err(Down::Tunnel) => Err(self.say(request, visitor, &tunnel_is_down())),
            Err(Down::Target(why)) => Err(self.say(request, visitor, &target_is_down(&why))),
        }
    }

    /// TLS to the application, under the name that the visitor used: it is the one that its own
    /// configuration would know.
    fn secured(
        &self,
        request: &Request<'_>,
        site: &Site,
        stream: Box<dyn ByteStream>,
    ) -> Result<Box<dyn ByteStream>, Down> {
        if !site.tls {
            return Ok(stream);
        }
        let name = format!("{}.{}", request.site, self.gateway.config.domain);
        match self.gateway.tls.connection(&name) {
            Ok(tls) => Ok(Box::new(Secured::new(tls, stream))),
            Err(error) => Err(Down::Target(error.to_string())),
        }
    }

    /// One attempt, and if it comes to that, the upgraded connection.
    fn exchange(
        &self,
        request: &Request<'_>,
        (site, permit): (&Site, &BusyPermit<'_>),
        visitor: &mut ClientConnection<'_, '_>,
        stream: &mut dyn ByteStream,
    ) -> (Outcome, Served) {
        let head = request.head;
        let config = &self.gateway.config;
        let limits = &config.limits;
        let to_app = request_head::head(head, request.host, request.origin, &config.loop_id);
        let afresh = Afresh {
            is_private: site.code.is_some(),
            is_https: config.secure,
        };
        let answer = ResponseHead::new(head, asks_for_websocket(head), afresh);
        let figures = &*site.figures;
        let (ours, counts) = ((head, to_app), (figures, permit));
        let mut exchange = Proxy::new((visitor, stream), limits, counts, ours, answer);
        let outcome = exchange.run();
        let mut served = Served {
            after: after(&outcome),
            status: exchange.status().unwrap_or(0),
            bytes: exchange.sent(),
        };
        if outcome == Outcome::Upgraded {
            let down = exchange.rest();
            let up = std::mem::take(visitor.inbox());
            let raw = Raw {
                client: visitor.socket(),
                stream,
                limits,
                write_stall: visitor.limits().write_stall,
                figures,
            };
            served.bytes += raw.run(up, down);
        }
        (outcome, served)
    }

    /// Tells the visitor what he is still to be told.
    fn conclude(
        &self,
        request: &Request<'_>,
        visitor: &mut ClientConnection<'_, '_>,
        outcome: Outcome,
        served: Served,
    ) -> Served {
        let text;
        let told = match &outcome {
            Outcome::Unanswered(Ended::Closed) => {
                target_is_down("it refused the connection, or closed it without an answer")
            }
            Outcome::Unanswered(Ended::Tunnel) => tunnel_is_down(),
            Outcome::Unanswered(Ended::Failed(why)) => {
                text = format!("the connection to it failed: {why}");
                target_is_down(&text)
            }
            Outcome::NotHttp(why) => {
                text = format!("its answer is not valid HTTP: {why}");
                target_is_down(&text)
            }
            Outcome::TooSlow => message(
                504,
                "The application is too slow",
                "It took the request and did not answer in time.",
                "Try again later.",
            ),
            Outcome::Refused(refusal) => {
                message(refusal.status, "A malformed request", &refusal.message, "")
            }
            _ => return served,
        };
        self.say(request, visitor, &told)
    }

    /// Says something in place of an application, to a request that may not have been read to
    /// its end.
    pub(super) fn say(
        &self,
        request: &Request<'_>,
        visitor: &mut ClientConnection<'_, '_>,
        what: &Message<'_>,
    ) -> Served {
        answer(request.head, visitor, self.page(request, what), false)
    }

    pub(super) fn page(&self, request: &Request<'_>, what: &Message<'_>) -> Response {
        let pages = &self.gateway.pages;
        let page = pages.message(request.head, request.site, what);
        match what.status {
            405 => page.header("Allow", "GET, POST"),
            503 => page.header("Retry-After", RETRY_AFTER),
            _ => page,
        }
    }
}

pub(super) fn answer(
    head: &Head,
    visitor: &mut ClientConnection<'_, '_>,
    page: Response,
    is_read: bool,
) -> Served {
    let (status, bytes) = (page.status(), page.body().len());
    Served {
        after: visitor.answer(head, page, is_read),
        status,
        bytes,
    }
}

fn after(outcome: &Outcome) -> After {
    match outcome {
        Outcome::Done {
            keeps_visitor: true,
            ..
        } => After::Keep,
        Outcome::Done { .. } => After::Close,
        Outcome::BrokenOff { shows: false } => After::Reset,
        _ => After::Drop,
    }
}

/// The path as it was sent, without the query.
pub(super) fn path(head: &Head) -> &str {
    head.target.split('?').next().unwrap_or_default()
}

pub(super) fn message<'a>(
    status: u16,
    title: &'a str,
    text: &'a str,
    hint: &'a str,
) -> Message<'a> {
    Message {
        status,
        title,
        text,
        hint,
    }
}

fn too_busy(full: Full) -> Message<'static> {
    let text = match full {
        Full::Source => "Too many requests from your address are under way here.",
        Full::Connector => "Too many visitors are at the sites of the one who shares this one.",
        Full::Sites => "Too many visitors are here at once.",
    };
    message(503, "Too busy", text, "Wait a moment, then reload.")
}

fn tunnel_is_down() -> Message<'static> {
    message(
        502,
        "The tunnel is down",
        "The site is known, but the application behind it is not connected.",
        "Connect it where it is shared from, then reload.",
    )
}

fn target_is_down(why: &str) -> Message<'_> {
    message(
        502,
        "The application does not answer",
        why,
        "The tunnel is up. Check the application on the machine that shares it, then reload.",
    )
}
