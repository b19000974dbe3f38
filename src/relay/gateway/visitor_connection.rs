//! One visitor's connection, a request at a time: which site, whether it opens, and what the visitor
//! is told when the application does not answer.

use std::cell::Cell;
use std::io::ErrorKind;
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

use super::access_log::AccessLine;
use super::auth::is_sign_in;
use super::forwarded::{ForwardDefaults, Origin};
use super::gateway_state::GatewayState;
use super::host::Host;
use super::pages::Message;
use super::permits::{BusyPermit, Full};
use super::replies::{
    answer, has_changed, has_ended, is_not_shared, message, not_for_you, not_http, target_is_down,
    too_busy, tunnel_is_down, unanswered,
};
use super::request_head::{self, asks_for_websocket, is_repeatable};
use super::request_stats::Cause;
use super::site::{Down, PresentVisitor, Site};
use super::site_request::{Served, SiteRequest, path};
use super::site_rules::SiteRules;
use super::stream::TlsStream;
use crate::http::h1::body::Framing;
use crate::http::h1::head::Head;
use crate::http::proxy::{
    ByteStream, Exchange, Outcome, RequestBody, Timeouts, Upgraded, UpgradedTimeouts,
};
use crate::http::server::ExchangeSlot;
use crate::http::server::connection_handler::{After, ClientConnection, ConnectionHandler};
use crate::http::socket::would_block;
use crate::net::is_within;

/// One visitor's connection.
pub(super) struct VisitorConnection<'g> {
    gateway: &'g GatewayState,
    peer: IpAddr,
    /// Whom the claimed request is for.
    host: Option<Host>,
    kept: Option<KeptStream>,
    /// When the request that is served came.
    began: Instant,
}

/// A stream that the visitor's next request may use.
struct KeptStream {
    site: Arc<Site>,
    stream: Box<dyn ByteStream>,
    /// Whose it is, and the proxies on the way here.
    chain: Vec<IpAddr>,
    since: Instant,
    slot: ExchangeSlot,
}

impl<'g> VisitorConnection<'g> {
    pub(super) fn new(gateway: &'g GatewayState, peer: IpAddr) -> VisitorConnection<'g> {
        gateway.stats.connections.fetch_add(1, Ordering::Relaxed);
        gateway.stats.open.fetch_add(1, Ordering::Relaxed);
        VisitorConnection {
            gateway,
            peer,
            host: None,
            kept: None,
            began: Instant::now(),
        }
    }
}

impl Drop for VisitorConnection<'_> {
    fn drop(&mut self) {
        self.gateway.stats.open.fetch_sub(1, Ordering::Relaxed);
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

    fn serve(&mut self, head: &Head, visitor: &mut dyn ClientConnection) -> After {
        self.began = Instant::now();
        let Some(host) = self.host.take() else {
            return After::Drop;
        };
        let config = &self.gateway.config;
        let sent = head.headers.all("host").next();
        let sent = sent.expect("a request without Host is not claimed");
        let defaults = ForwardDefaults {
            trusted: &config.trust_proxy,
            secure: config.secure,
            port: config.port,
        };
        let shown = String::from_utf8_lossy(sent);
        let origin = Origin::read(&head.headers, self.peer, &shown, &defaults);
        let request = SiteRequest {
            head,
            host: sent,
            site: host
                .site(&config.domain, &config.own_names)
                .expect("a request for no site is not claimed"),
            origin: &origin,
        };
        let served = self.route(&request, &host, visitor);
        if visitor.inbox().is_empty() {
            *visitor.inbox() = Vec::new(); // an idle connection holds no memory
        }
        let took = self.began.elapsed();
        self.gateway.stats.note(served.status, took);
        self.gateway.log.record(&AccessLine {
            source: origin.source(),
            site: request.site,
            method: &head.method,
            path: path(head),
            status: served.status,
            bytes: served.bytes,
            took,
        });
        served.after
    }
}

impl<'g> VisitorConnection<'g> {
    fn route(
        &mut self,
        request: &SiteRequest<'_>,
        host: &Host,
        visitor: &mut dyn ClientConnection,
    ) -> Served {
        let site = match self.find(request, host) {
            Ok(site) => site,
            Err(refused) => return self.gateway.say(request, visitor, &refused),
        };
        if let Some(refused) = self.closed_to(request, &site) {
            return self.gateway.say(request, visitor, &refused);
        }
        site.figures.count_request();
        if site.code.is_some() {
            if is_sign_in(request.head, &site) {
                return self.gateway.enter(request, &site, visitor);
            }
            if !self.gateway.is_signed_in(request, &site) {
                let page = self.gateway.asking(request, &site);
                return answer(request.head, visitor, page, false);
            }
        }
        self.pass(request, &site, visitor)
    }

    fn find(&self, request: &SiteRequest<'_>, host: &Host) -> Result<Arc<Site>, Message<'static>> {
        let named = request.head.authority.as_ref();
        let named = named.map(|authority| Host::parse(authority.as_bytes()));
        if named.is_some_and(|named| named.as_ref() != Some(host)) {
            let why = "Its Host and its target name different sites.";
            return Err(message(400, "A malformed request", why, ""));
        }
        if request_head::comes_back(request.head, &self.gateway.config.loop_id) {
            let why = "The application that this site leads to leads back to this relay.";
            let hint = "Share the application itself, not the address of its site.";
            return Err(message(508, "A loop", why, hint));
        }
        if !self.serves_port(host) {
            let why = "This site is not served on the port that its address names.";
            let hint = "Use the address that you were given. The relay's --public-url says which port visitors use.";
            return Err(message(421, "A wrong port", why, hint));
        }
        self.gateway.sites.find(request.site).ok_or_else(|| {
            if self.gateway.sites.was(request.site) {
                return is_not_shared();
            }
            let why = "There is nothing at this address.";
            let hint = "Check it for a slip. A site has its name from its first connect on.";
            message(404, "Unknown site", why, hint)
        })
    }

    /// Why nobody sees the site any more, or this visitor never does.
    fn closed_to(&self, request: &SiteRequest<'_>, site: &Site) -> Option<Message<'static>> {
        if site.is_over() {
            return Some(has_ended());
        }
        let is_welcome = site.allow.is_empty() || is_within(request.origin.source(), &site.allow);
        (!is_welcome).then(not_for_you)
    }

    /// Another port of this host is another server, to which links must not lead.
    fn serves_port(&self, host: &Host) -> bool {
        let config = &self.gateway.config;
        let ours = [config.port, config.listen_port];
        host.port.is_none_or(|port| ours.contains(&port))
    }

    fn pass(
        &mut self,
        request: &SiteRequest<'_>,
        site: &Arc<Site>,
        visitor: &mut dyn ClientConnection,
    ) -> Served {
        let present = PresentVisitor::at(site, visitor.resetter());
        let permit = match self.permitted(request, site, visitor) {
            Ok(permit) => permit,
            Err(full) => return self.gateway.say(request, visitor, &too_busy(full)),
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
                self.exchange(request, (&present, &permit), visitor, stream.as_mut());
            if may_repeat && matches!(outcome, Outcome::Unanswered(_)) {
                continue;
            }
            if served.after == After::Keep && outcome.keeps_upstream() && self.may_keep(request) {
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
        request: &SiteRequest<'_>,
        site: &'s Site,
        visitor: &dyn ClientConnection,
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

    /// This machine, and a proxy that does not say whom it speaks for, stand for many visitors.
    fn counted(&self, source: IpAddr) -> Option<IpAddr> {
        let is_many = source.is_loopback() || is_within(source, &self.gateway.config.trust_proxy);
        (!is_many).then_some(source)
    }

    /// A connection may be many visitors', as a proxy that was not named looks like one of them. So no
    /// stream is kept after a body: what an application leaves unread of it would be the beginning of the
    /// next one's request. And none where nobody says whose it is, as what an application sends late would
    /// be the next one's answer: behind a trusted proxy that names no visitor, and where all come by
    /// `https`, which only proxies end, from a peer that is not trusted.
    fn may_keep(&self, request: &SiteRequest<'_>) -> bool {
        let config = &self.gateway.config;
        let is_proxy = is_within(self.peer, &config.trust_proxy);
        let is_one_visitors = if is_proxy {
            !is_within(request.origin.source(), &config.trust_proxy)
        } else {
            !config.secure
        };
        is_one_visitors && request.head.framing == Framing::Length(0)
    }

    /// The kept stream, if it still stands and this request may use it.
    fn take_kept(&mut self, request: &SiteRequest<'_>, site: &Arc<Site>) -> Option<KeptStream> {
        let limits = &self.gateway.config.limits;
        let mut kept = self.kept.take()?;
        let usable_for = if is_repeatable(request.head) {
            limits.kept_for
        } else {
            limits.sure_for
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
        request: &SiteRequest<'_>,
        site: &Site,
        visitor: &mut dyn ClientConnection,
    ) -> Result<(Box<dyn ByteStream>, ExchangeSlot), Served> {
        let Some(slot) = visitor.reserve() else {
            return Err(self.gateway.say(request, visitor, &too_busy(Full::Sites)));
        };
        let opened = (site.open)().and_then(|stream| self.secured(request, site, stream));
        // It may have been opened for terms that hold no more: nobody else would close it.
        if site.is_replaced.load(Ordering::SeqCst) || site.is_over() {
            return Err(self.gateway.say(request, visitor, &has_changed()));
        }
        match opened {
            Ok(stream) => Ok((stream, slot)),
            Err(Down::Tunnel) => Err(self.gateway.say(request, visitor, &tunnel_is_down())),
            Err(Down::Target(why)) => {
                Err(self.gateway.say(request, visitor, &target_is_down(&why)))
            }
        }
    }

    /// TLS to the application, under the name that the visitor used: it is the one that its own
    /// configuration would know.
    fn secured(
        &self,
        request: &SiteRequest<'_>,
        site: &Site,
        stream: Box<dyn ByteStream>,
    ) -> Result<Box<dyn ByteStream>, Down> {
        if !site.tls {
            return Ok(stream);
        }
        let name = format!("{}.{}", request.site, self.gateway.config.domain);
        match self.gateway.tls.connection(&name) {
            Ok(tls) => Ok(Box::new(TlsStream::new(tls, stream))),
            Err(error) => Err(Down::Target(error.to_string())),
        }
    }

    /// One attempt, and if it comes to that, the upgraded connection.
    fn exchange(
        &self,
        request: &SiteRequest<'_>,
        (present, permit): (&PresentVisitor<'_>, &BusyPermit<'_>),
        visitor: &mut dyn ClientConnection,
        stream: &mut dyn ByteStream,
    ) -> (Outcome, Served) {
        let head = request.head;
        let config = &self.gateway.config;
        let to_app = request_head::head(head, request.host, request.origin, &config.loop_id);
        let rules = SiteRules {
            present,
            permit,
            asks_for_websocket: asks_for_websocket(head),
            answer_time: config.limits.answer_time,
            is_private: present.site.is_private(),
            is_https: config.secure,
            stats: &self.gateway.stats,
            began: self.began,
            has_begun: Cell::new(false),
        };
        let timeouts = self.timeouts(visitor);
        let sent = (head, RequestBody::new(head.framing, to_app));
        let mut exchange = Exchange::new(visitor, stream, sent, &rules, timeouts);
        let outcome = exchange.run();
        let mut served = Served {
            after: After::from(&outcome),
            status: exchange.status().unwrap_or(0),
            bytes: exchange.sent(),
        };
        if matches!(outcome, Outcome::Upgraded) {
            let down = exchange.rest();
            let up = std::mem::take(visitor.inbox());
            let upgraded = Upgraded {
                timeouts: self.upgraded_timeouts(visitor),
                client: visitor.socket(),
                upstream: stream,
                rules: &rules,
            };
            served.bytes += upgraded.run(up, down);
        }
        (outcome, served)
    }

    fn timeouts(&self, visitor: &dyn ClientConnection) -> Timeouts {
        let (ours, front) = (&self.gateway.config.limits, visitor.limits());
        Timeouts {
            write_stall: front.write_stall,
            body_stall: front.body_stall,
            gone_grace: front.gone_grace,
            request_stall: Some(ours.request_stall),
            silence: Some(ours.silence),
        }
    }

    fn upgraded_timeouts(&self, visitor: &dyn ClientConnection) -> UpgradedTimeouts {
        let limits = &self.gateway.config.limits;
        UpgradedTimeouts {
            silence: limits.silence,
            half_closed: limits.half_closed,
            client_stall: visitor.limits().write_stall,
            upstream_stall: limits.request_stall,
        }
    }

    /// Tells the visitor what is still to be told.
    fn conclude(
        &self,
        request: &SiteRequest<'_>,
        visitor: &mut dyn ClientConnection,
        outcome: Outcome,
        served: Served,
    ) -> Served {
        let text;
        let told = match &outcome {
            Outcome::Unanswered(Some(error)) if error.kind() == ErrorKind::ConnectionAborted => {
                tunnel_is_down()
            }
            Outcome::Unanswered(error) => {
                text = unanswered(error.as_ref());
                target_is_down(&text)
            }
            Outcome::NotHttp(why) => {
                text = not_http(why);
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
            Outcome::BrokenOff { .. } => {
                self.gateway.stats.refuse(Cause::BrokenOff);
                return served;
            }
            _ => return served,
        };
        self.gateway.say(request, visitor, &told)
    }
}
