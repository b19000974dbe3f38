//! One visitor's connection, a request at a time: which site, whether it opens, and what the visitor
//! is told when the application does not answer.

use std::cell::Cell;
use std::io::ErrorKind;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::os::fd::BorrowedFd;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

use super::access_log::AccessLine;
use super::auth::is_sign_in;
use super::beside::is_own;
use super::earlier_owner;
use super::forwarded::{ForwardDefaults, Origin, identity};
use super::gateway_state::GatewayState;
use super::host::Host;
use super::naming;
use super::pages::Message;
use super::permits::{BusyPermit, Full};
use super::replies::{
    answer, has_changed, has_ended, is_not_shared, message, not_for_you, other_protocol,
    target_is_down, tell, too_busy, tunnel_is_down,
};
use super::request_head::{self, is_repeatable, is_safe};
use super::request_stats::Cause;
use super::site::{Down, PresentVisitor, Site, Wanted};
use super::site_request::{Served, SiteRequest, path};
use super::site_rules::SiteRules;
use super::stream::TlsStream;
use super::tries::Tries;
use super::under_way::{KeptStream, Terms, UnderWay, Upstream, served};
use crate::http::h1::body::Framing;
use crate::http::h1::head::Head;
use crate::http::h1::upgrade::Upgrade;
use crate::http::proxy::{
    ByteStream, Exchange, Outcome, RequestBody, Timeouts, Transfer, Upgraded, UpgradedTimeouts,
    gone_grace,
};
use crate::http::server::connection_handler::{After, ClientConnection};
use crate::http::socket::would_block;
use crate::net::is_within;
use crate::store::time::unix_seconds;

/// One visitor's connection.
pub(crate) struct VisitorConnection {
    pub(super) gateway: Arc<GatewayState>,
    peer: IpAddr,
    /// Whom the claimed request is for; none beside an application, which has one site.
    pub(super) host: Option<Host>,
    pub(super) kept: Option<KeptStream>,
    /// Request that runs while no thread waits for it.
    pub(super) under_way: Option<UnderWay>,
    /// When the request that is served came.
    pub(super) began: Instant,
}

impl VisitorConnection {
    pub(super) fn new(gateway: &Arc<GatewayState>, peer: IpAddr) -> VisitorConnection {
        gateway.stats.connections.fetch_add(1, Ordering::Relaxed);
        gateway.stats.open.fetch_add(1, Ordering::Relaxed);
        VisitorConnection {
            gateway: Arc::clone(gateway),
            peer,
            host: None,
            kept: None,
            under_way: None,
            began: Instant::now(),
        }
    }

    /// A stream of a tunnel, beside its application.
    pub(crate) fn beside(gateway: &Arc<GatewayState>) -> VisitorConnection {
        VisitorConnection::new(gateway, Ipv4Addr::LOCALHOST.into())
    }

    /// The connection to the application, to be polled.
    pub(crate) fn upstream(&self) -> Option<BorrowedFd<'_>> {
        let used = self.under_way.as_ref().map(|run| &run.upstream);
        let upstream = used.or(self.kept.as_ref().map(|kept| &kept.upstream))?;
        let [(socket, _), _] = upstream.stream.wanted(true, false);
        Some(socket)
    }

    /// Serves a claimed request to its end.
    pub(super) fn serve_site(&mut self, head: &Head, visitor: &mut dyn ClientConnection) -> After {
        self.began = Instant::now();
        let host = self.host.take();
        let origin = self.origin(head);
        let gateway = Arc::clone(&self.gateway);
        let request = gateway.request(head, host.as_ref(), &origin);
        let served = self.route(&request, host.as_ref(), visitor);
        if visitor.inbox().is_empty() {
            *visitor.inbox() = Vec::new(); // an idle connection holds no memory
        }
        self.record(&request, &served);
        served.after
    }

    pub(super) fn origin(&self, head: &Head) -> Origin {
        if let Some(beside) = &self.gateway.beside {
            let source = beside.source(head).unwrap_or(self.peer);
            return Origin::of(source, beside.is_https());
        }
        let config = &self.gateway.config;
        let defaults = ForwardDefaults {
            trusted: &config.trust_proxy,
            secure: config.secure,
            port: config.port,
        };
        let sent = head.headers.all("host").next();
        let sent = sent.expect("a request without Host is not claimed");
        let shown = String::from_utf8_lossy(sent);
        Origin::read(&head.headers, self.peer, &shown, &defaults)
    }

    /// Counts a request that has come to its end, and logs it; once each.
    pub(super) fn record(&self, request: &SiteRequest<'_>, served: &Served) {
        let took = self.began.elapsed();
        if let Some(beside) = &self.gateway.beside {
            return beside.record(request.head, took, served);
        }
        self.gateway.stats.note(served.status, took);
        self.gateway.log.record(&AccessLine {
            source: request.origin.source(),
            site: request.site,
            method: &request.head.method,
            path: path(request.head),
            status: served.status,
            bytes: served.bytes,
            took,
        });
    }
}

impl VisitorConnection {
    fn route(
        &mut self,
        request: &SiteRequest<'_>,
        host: Option<&Host>,
        visitor: &mut dyn ClientConnection,
    ) -> Served {
        let site = match self.find(request, host) {
            Ok(site) => site,
            Err(refused) => return self.gateway.say(request, visitor, &refused),
        };
        if let Some(refused) = self.closed_to(request, &site) {
            return self.gateway.say(request, visitor, &refused);
        }
        site.stats.count_request(unix_seconds());
        if site.code.is_some() {
            if is_sign_in(request.head, &site) {
                return match self.permitted(request, &site, visitor) {
                    Ok(_permit) => self.gateway.enter(request, &site, visitor),
                    Err(full) => self.gateway.say(request, visitor, &too_busy(full)),
                };
            }
            if !self.gateway.is_signed_in(request, &site) {
                let page = self.gateway.asking(request, &site);
                return answer(request.head, visitor, page, false);
            }
        }
        if self.gateway.beside.is_some() && is_own(request.head) {
            let told = message(404, "Not found", "This page does not exist.", "");
            let told = told.because(Cause::BadRequest);
            return self.gateway.say(request, visitor, &told);
        }
        if let Upgrade::Refused(protocol) = Upgrade::of(request.head) {
            let refused = other_protocol(&protocol);
            return self.gateway.say(request, visitor, &refused.message());
        }
        self.pass(request, &site, visitor)
    }

    pub(super) fn find(
        &self,
        request: &SiteRequest<'_>,
        host: Option<&Host>,
    ) -> Result<Arc<Site>, Message<'static>> {
        if let Some(host) = host {
            self.is_for_us(request, host)?;
        }
        self.gateway.sites.find(request.site).ok_or_else(|| {
            if self.gateway.sites.was(request.site) {
                return is_not_shared();
            }
            let why = "There is nothing at this address.";
            let hint =
                "Check the address for typing errors. A site exists once it has been connected.";
            message(404, "Unknown site", why, hint)
        })
    }

    fn is_for_us(&self, request: &SiteRequest<'_>, host: &Host) -> Result<(), Message<'static>> {
        let named = request.head.authority.as_ref();
        let named = named.map(|authority| Host::parse(authority.as_bytes()));
        if named.is_some_and(|named| named.as_ref() != Some(host)) {
            let why = "Its Host and its target name different sites.";
            return Err(message(400, "A malformed request", why, ""));
        }
        if request_head::comes_back(request.head, &self.gateway.config.loop_id) {
            let why = "The application of this site points back to this relay.";
            let hint = "Share the application itself, not the address of its site.";
            return Err(message(508, "A loop", why, hint));
        }
        if !self.serves_port(host) {
            let why = "This site is not served on this port.";
            let hint = "Use the address you were given. The relay's --public-url sets the port for visitors.";
            return Err(message(421, "A wrong port", why, hint));
        }
        Ok(())
    }

    /// Why nobody sees the site any more, or this visitor never does.
    pub(super) fn closed_to(
        &self,
        request: &SiteRequest<'_>,
        site: &Site,
    ) -> Option<Message<'static>> {
        if site.is_over() {
            return Some(has_ended());
        }
        let source = request.origin.source();
        if site.allow.is_empty() || is_within(source, &site.allow) {
            return None;
        }
        self.gateway.tell_refused(site, request, 403);
        Some(not_for_you())
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
        let terms = match self.terms(request, site, visitor) {
            Ok(terms) => terms,
            Err(full) => return self.gateway.say(request, visitor, &too_busy(full)),
        };
        let Some(KeptStream { mut upstream, .. }) = self.take_kept(request, site) else {
            return self.pass_anew(request, &terms, visitor);
        };
        upstream.is_reused = true;
        let mut transfer = self.transfer(request, &terms.present.site);
        let stream = upstream.stream.as_mut();
        let ended = self.exchange(request, &terms, visitor, stream, &mut transfer);
        self.after_kept(request, &terms, visitor, upstream, ended)
    }

    /// A stream that was kept may have ended just when the request came: then it is sent once more.
    pub(super) fn after_kept(
        &mut self,
        request: &SiteRequest<'_>,
        terms: &Terms,
        visitor: &mut dyn ClientConnection,
        upstream: Upstream,
        (outcome, served): (Outcome, Served),
    ) -> Served {
        if is_repeatable(request.head) && matches!(outcome, Outcome::Unanswered(_)) {
            drop(upstream);
            return self.pass_anew(request, terms, visitor);
        }
        self.keep(request, terms, upstream, (&outcome, served.after));
        self.conclude(request, visitor, outcome, served)
    }

    /// Passes a request on by a stream of its own.
    fn pass_anew(
        &mut self,
        request: &SiteRequest<'_>,
        terms: &Terms,
        visitor: &mut dyn ClientConnection,
    ) -> Served {
        let mut tries = Tries::new(self.gateway.config.passes_on_again);
        loop {
            let mut upstream = match self.open(request, &terms.present.site, visitor) {
                Ok(upstream) => upstream,
                // Nothing of it was sent.
                Err(NotOpened::Down(Down::Tunnel)) if tries.may_go_on() => continue,
                Err(why) => return self.say_why(request, visitor, &why),
            };
            let mut transfer = self.transfer(request, &terms.present.site);
            let stream = upstream.stream.as_mut();
            let (outcome, served) = self.exchange(request, terms, visitor, stream, &mut transfer);
            if is_safe(request.head) && tries.may_repeat(&outcome) {
                continue;
            }
            self.keep(request, terms, upstream, (&outcome, served.after));
            return self.conclude(request, visitor, outcome, served);
        }
    }

    /// Keeps the stream for the next request, where that may be.
    pub(super) fn keep(
        &mut self,
        request: &SiteRequest<'_>,
        terms: &Terms,
        upstream: Upstream,
        (outcome, after): (&Outcome, After),
    ) {
        let is_kept = upstream.stream.may_be_kept() && self.may_keep(request);
        if after == After::Keep && outcome.keeps_upstream() && is_kept {
            self.kept = Some(KeptStream {
                site: Arc::clone(&terms.present.site),
                upstream,
                chain: request.origin.chain().to_vec(),
                identity: self.identity(request.head),
                since: Instant::now(),
            });
        }
    }

    /// Returns the terms that count while the request runs, or whose share is used up.
    pub(super) fn terms(
        &self,
        request: &SiteRequest<'_>,
        site: &Arc<Site>,
        visitor: &dyn ClientConnection,
    ) -> Result<Terms, Full> {
        let present = PresentVisitor::at(site, visitor.resetter());
        let permit = self.permitted(request, site, visitor)?;
        Ok(Terms {
            present,
            permit,
            began: self.began,
            has_begun: Cell::new(false),
        })
    }

    /// A request that is whole runs from here on. One with a body gives way while it is sent, counts as its visitor's
    /// all the while, and takes the rest of its permit after that.
    fn permitted(
        &self,
        request: &SiteRequest<'_>,
        site: &Site,
        visitor: &dyn ClientConnection,
    ) -> Result<BusyPermit, Full> {
        let source = self.counted(request.origin.source());
        let permits = &self.gateway.permits;
        let permit = BusyPermit::begin(permits, &site.busy, source, visitor.capacity())?;
        if request.head.framing == Framing::Length(0) {
            permit.take()?;
        }
        Ok(permit)
    }

    /// This machine, and a proxy that does not say whom it speaks for, stand for many visitors.
    pub(super) fn counted(&self, source: IpAddr) -> Option<IpAddr> {
        if self.gateway.beside.is_some() {
            return None;
        }
        let here = [Ipv4Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into()];
        let is_many = here.contains(&source) || is_within(source, &self.gateway.config.trust_proxy);
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

    /// Returns a number that tells the visitor from others of one address; beside an application, who opens a stream does
    /// that.
    fn identity(&self, head: &Head) -> u64 {
        if self.gateway.beside.is_some() {
            return 0;
        }
        let is_proxy = is_within(self.peer, &self.gateway.config.trust_proxy);
        identity(&head.headers, is_proxy, &self.gateway.identity_key)
    }

    /// The kept stream, if it still stands and this request may use it.
    pub(super) fn take_kept(
        &mut self,
        request: &SiteRequest<'_>,
        site: &Arc<Site>,
    ) -> Option<KeptStream> {
        let limits = &self.gateway.config.limits;
        let mut kept = self.kept.take()?;
        let usable_for = if is_repeatable(request.head) {
            limits.kept_for
        } else {
            limits.sure_for
        };
        let same = Arc::ptr_eq(&kept.site, site)
            && kept.chain == request.origin.chain()
            && kept.identity == self.identity(request.head);
        if !same || self.began.saturating_duration_since(kept.since) > usable_for {
            return None;
        }
        // Bytes that nobody asked for, or an end: it is of no use.
        let read = kept.upstream.stream.read(&mut [0]);
        would_block(&read).then_some(kept)
    }

    fn open(
        &self,
        request: &SiteRequest<'_>,
        site: &Site,
        visitor: &mut dyn ClientConnection,
    ) -> Result<Upstream, NotOpened> {
        let slot = visitor.reserve().ok_or(NotOpened::Busy)?;
        let wanted = Wanted {
            head: request.head,
            visitor,
        };
        let opened = (site.open)(&wanted).and_then(|stream| self.secured(request, site, stream));
        // It may have been opened for terms that hold no more: nobody else would close it.
        if site.is_replaced.load(Ordering::SeqCst) || site.is_over() {
            return Err(NotOpened::Changed);
        }
        Ok(Upstream {
            stream: opened.map_err(NotOpened::Down)?,
            _slot: slot,
            is_reused: false,
        })
    }

    fn say_why(
        &self,
        request: &SiteRequest<'_>,
        visitor: &mut dyn ClientConnection,
        why: &NotOpened,
    ) -> Served {
        let told = match why {
            NotOpened::Busy => too_busy(Full::Sites),
            NotOpened::Changed => has_changed(),
            NotOpened::Down(Down::Tunnel) => tunnel_is_down(),
            NotOpened::Down(Down::Target(why)) => target_is_down(why),
            NotOpened::Down(Down::Full) => too_busy(Full::Application),
        };
        self.gateway.say(request, visitor, &told)
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

    /// The request as the application gets it, of which nothing was sent.
    pub(super) fn transfer(&self, request: &SiteRequest<'_>, site: &Site) -> Transfer {
        let (head, config) = (request.head, &self.gateway.config);
        if let Some(beside) = &self.gateway.beside {
            let to_app = naming::head(head, &beside.naming);
            return Transfer::new(head, RequestBody::new(head.framing, to_app));
        }
        let is_believed = is_within(self.peer, &config.trust_proxy);
        let kept: &[String] = if is_believed {
            &config.pass_headers
        } else {
            &[]
        };
        let (host, origin) = (request.host, request.origin);
        let has_cookies = !earlier_owner::is_of_earlier(head, site);
        let to_app = request_head::head(head, host, origin, &config.loop_id, kept, has_cookies);
        Transfer::new(head, RequestBody::new(head.framing, to_app))
    }

    /// One attempt to its end, and if it comes to that, the upgraded connection.
    pub(super) fn exchange(
        &self,
        request: &SiteRequest<'_>,
        terms: &Terms,
        visitor: &mut dyn ClientConnection,
        stream: &mut dyn ByteStream,
        transfer: &mut Transfer,
    ) -> (Outcome, Served) {
        let rules = SiteRules::new(&self.gateway, request.head, terms);
        let timeouts = timeouts(&self.gateway, request.head, visitor);
        let outcome = Exchange::new(visitor, stream, transfer, &rules, timeouts).run();
        let mut served = served(&outcome, transfer);
        if matches!(outcome, Outcome::Upgraded) {
            let up = std::mem::take(visitor.inbox());
            let upgraded = Upgraded {
                timeouts: self.upgraded_timeouts(visitor),
                client: visitor.stream(),
                upstream: stream,
                rules: &rules,
            };
            served.bytes += upgraded.run(up, transfer.rest());
        }
        (outcome, served)
    }

    fn upgraded_timeouts(&self, visitor: &dyn ClientConnection) -> UpgradedTimeouts {
        let limits = &self.gateway.config.limits;
        UpgradedTimeouts {
            silence: limits.silence,
            half_closed: limits.half_closed,
            client_stall: visitor.limits().write_stall,
            upstream_stall: limits.answer_time,
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
        match (&outcome, &self.gateway.beside) {
            (Outcome::BrokenOff { .. }, _) => self.gateway.stats.refuse(Cause::BrokenOff),
            (Outcome::Unanswered(_), Some(beside)) => beside.events.missed(),
            (Outcome::NotHttp(why), Some(beside)) => {
                beside.events.refused_answer(path(request.head), why);
            }
            (Outcome::Unanswered(Some(error)), None)
                if error.kind() == ErrorKind::ConnectionAborted =>
            {
                return self.gateway.say(request, visitor, &tunnel_is_down());
            }
            _ => {}
        }
        let said = tell(&outcome, |told| self.gateway.say(request, visitor, told));
        said.unwrap_or(served)
    }
}

/// Why there is no stream.
enum NotOpened {
    /// All places are taken.
    Busy,
    /// The site's terms are others now.
    Changed,
    Down(Down),
}

impl Drop for VisitorConnection {
    fn drop(&mut self) {
        // Given up with its connection, as at the end of the relay.
        if self.under_way.take().is_some() {
            self.gateway.stats.note(0, self.began.elapsed());
        }
        self.gateway.stats.open.fetch_sub(1, Ordering::Relaxed);
    }
}

pub(super) fn timeouts(
    gateway: &GatewayState,
    head: &Head,
    visitor: &dyn ClientConnection,
) -> Timeouts {
    let (ours, front) = (&gateway.config.limits, visitor.limits());
    Timeouts {
        write_stall: front.write_stall,
        body_stall: ours.answer_time,
        gone_grace: gone_grace(head, front.gone_grace),
        silence: Some(ours.silence),
    }
}
