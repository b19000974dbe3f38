//! One visitor's connection, a request at a time: finds the site, checks access to it, and sends the visitor a message
//! if the application does not answer.

use std::cell::Cell;
use std::io::ErrorKind;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::os::fd::BorrowedFd;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

use super::auth::is_sign_in;
use super::connector_side::is_own;
use super::cookies;
use super::forwarded::{ForwardDefaults, ForwardedOrigin, Host, identity};
use super::gateway_state::GatewayState;
use super::naming;
use super::pages::Message;
use super::replies::{
    answer, changed_page, expired_page, message, message_for, not_allowed_page, not_shared_page,
    other_protocol, target_down_page, too_busy_page, tunnel_down_page,
};
use super::request_head::{self, is_repeatable, is_safe};
use super::request_state::{BusyPermit, Full};
use super::request_state::{KeptStream, ParkedRequest, RequestContext, Upstream, served};
use super::request_stats::{AccessLine, Cause};
use super::site::{ActiveVisit, Served, Site, SiteRequest, StreamRequest, Unreachable, path};
use super::site_rules::SiteRules;
use super::stream::{Resends, TlsStream};
use crate::http::h1::body::Framing;
use crate::http::h1::head::Head;
use crate::http::h1::hop_by_hop::Upgrade;
use crate::http::proxy::{
    ByteStream, Exchange, Outcome, RequestBody, Timeouts, Transfer, Upgraded, UpgradedTimeouts,
    gone_grace,
};
use crate::http::server::connection_handler::{After, ClientConnection};
use crate::net::is_within;
use crate::net::poll::would_block;
use crate::store::time::unix_seconds;

/// One visitor's connection.
pub(crate) struct VisitorConnection {
    pub(super) gateway: Arc<GatewayState>,
    peer: IpAddr,
    /// Host of the claimed request; none at a connector, whose application has one site.
    pub(super) host: Option<Host>,
    pub(super) kept: Option<KeptStream>,
    /// Request that runs while no thread waits for it.
    pub(super) parked: Option<ParkedRequest>,
    /// Time at which the current request came.
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
            parked: None,
            began: Instant::now(),
        }
    }

    /// Connection of one stream of a tunnel, at a connector.
    pub(crate) fn for_stream(gateway: &Arc<GatewayState>) -> VisitorConnection {
        VisitorConnection::new(gateway, Ipv4Addr::LOCALHOST.into())
    }

    /// The connection to the application, to be polled.
    pub(crate) fn upstream(&self) -> Option<BorrowedFd<'_>> {
        let used = self.parked.as_ref().map(|run| &run.upstream);
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

    pub(super) fn origin(&self, head: &Head) -> ForwardedOrigin {
        if let Some(connector_side) = &self.gateway.connector_side {
            let source = connector_side.source(head).unwrap_or(self.peer);
            return ForwardedOrigin::of(source, connector_side.is_https());
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
        ForwardedOrigin::read(&head.headers, self.peer, &shown, &defaults)
    }

    /// Counts a request that has come to its end, and logs it; once each.
    pub(super) fn record(&self, request: &SiteRequest<'_>, served: &Served) {
        let took = self.began.elapsed();
        if let Some(connector_side) = &self.gateway.connector_side {
            return connector_side.record(request.head, took, served);
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
            Err(refused) => return self.gateway.send_message(request, visitor, &refused),
        };
        if let Some(refused) = self.refusal_for(request, &site) {
            return self.gateway.send_message(request, visitor, &refused);
        }
        site.stats.count_request(unix_seconds());
        if site.code.is_some() {
            if is_sign_in(request.head, &site) {
                return match self.permitted(request, &site, visitor) {
                    Ok(_permit) => self.gateway.enter(request, &site, visitor),
                    Err(full) => self
                        .gateway
                        .send_message(request, visitor, &too_busy_page(full)),
                };
            }
            if !self.gateway.is_signed_in(request, &site) {
                let page = self.gateway.asking(request, &site);
                return answer(request.head, visitor, page, false);
            }
        }
        if self.gateway.connector_side.is_some() && is_own(request.head) {
            let page = message(404, "Not found", "This page does not exist.", "");
            let page = page.because(Cause::BadRequest);
            return self.gateway.send_message(request, visitor, &page);
        }
        if let Upgrade::Refused(protocol) = Upgrade::of(request.head) {
            let refused = other_protocol(&protocol);
            return self
                .gateway
                .send_message(request, visitor, &refused.message());
        }
        self.pass(request, &site, visitor)
    }

    pub(super) fn find(
        &self,
        request: &SiteRequest<'_>,
        host: Option<&Host>,
    ) -> Result<Arc<Site>, Message<'static>> {
        if let Some(host) = host {
            self.check_target(request, host)?;
        }
        self.gateway.sites.find(request.site).ok_or_else(|| {
            if self.gateway.sites.was_shared(request.site) {
                return not_shared_page();
            }
            let why = "There is nothing at this address.";
            let hint =
                "Check the address for typing errors. A site exists once it has been connected.";
            message(404, "Unknown site", why, hint)
        })
    }

    fn check_target(&self, request: &SiteRequest<'_>, host: &Host) -> Result<(), Message<'static>> {
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

    /// Refusal if the site has expired, or does not allow this visitor.
    pub(super) fn refusal_for(
        &self,
        request: &SiteRequest<'_>,
        site: &Site,
    ) -> Option<Message<'static>> {
        if site.is_over() {
            return Some(expired_page());
        }
        let source = request.origin.source();
        if site.allow.is_empty() || is_within(source, &site.allow) {
            return None;
        }
        self.gateway.report_refused(site, request, 403);
        Some(not_allowed_page())
    }

    /// True if the Host has no port of another server: links must not lead there.
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
        let context = match self.context(request, site, visitor) {
            Ok(context) => context,
            Err(full) => {
                return self
                    .gateway
                    .send_message(request, visitor, &too_busy_page(full));
            }
        };
        let Some(KeptStream { mut upstream, .. }) = self.take_kept(request, site) else {
            return self.pass_anew(request, &context, visitor);
        };
        upstream.is_reused = true;
        let mut transfer = self.transfer(request, &context.present.site);
        let stream = upstream.stream.as_mut();
        let (outcome, served) = self.exchange(request, &context, visitor, stream, &mut transfer);
        self.after_kept(request, &context, visitor, upstream, outcome, served)
    }

    /// Ends a request on a kept stream. If that stream ended just when the request came, the request is sent once more.
    pub(super) fn after_kept(
        &mut self,
        request: &SiteRequest<'_>,
        context: &RequestContext,
        visitor: &mut dyn ClientConnection,
        upstream: Upstream,
        outcome: Outcome,
        served: Served,
    ) -> Served {
        if is_repeatable(request.head) && matches!(outcome, Outcome::Unanswered(_)) {
            drop(upstream);
            return self.pass_anew(request, context, visitor);
        }
        self.keep(request, context, upstream, &outcome, served.after);
        self.conclude(request, visitor, outcome, served)
    }

    /// Passes a request on by a stream of its own.
    fn pass_anew(
        &mut self,
        request: &SiteRequest<'_>,
        context: &RequestContext,
        visitor: &mut dyn ClientConnection,
    ) -> Served {
        let mut resends = Resends::new(self.gateway.config.passes_on_again);
        loop {
            let mut upstream = match self.open(request, &context.present.site, visitor) {
                Ok(upstream) => upstream,
                // No byte of it was sent.
                Err(OpenFailure::Unreachable(Unreachable::Tunnel)) if resends.begin_next() => {
                    continue;
                }
                Err(why) => return self.send_open_failure(request, visitor, &why),
            };
            let mut transfer = self.transfer(request, &context.present.site);
            let stream = upstream.stream.as_mut();
            let (outcome, served) = self.exchange(request, context, visitor, stream, &mut transfer);
            if is_safe(request.head) && resends.begin_after(&outcome) {
                continue;
            }
            self.keep(request, context, upstream, &outcome, served.after);
            return self.conclude(request, visitor, outcome, served);
        }
    }

    /// Keeps the stream for the next request, if that is allowed.
    pub(super) fn keep(
        &mut self,
        request: &SiteRequest<'_>,
        context: &RequestContext,
        upstream: Upstream,
        outcome: &Outcome,
        after: After,
    ) {
        let is_kept = upstream.stream.may_be_kept() && self.may_keep(request);
        if after == After::Keep && outcome.keeps_upstream() && is_kept {
            self.kept = Some(KeptStream {
                site: Arc::clone(&context.present.site),
                upstream,
                chain: request.origin.chain().to_vec(),
                identity: self.identity(request.head),
                since: Instant::now(),
            });
        }
    }

    /// Takes the request's permit; fails with the share that is used up.
    pub(super) fn context(
        &self,
        request: &SiteRequest<'_>,
        site: &Arc<Site>,
        visitor: &dyn ClientConnection,
    ) -> Result<RequestContext, Full> {
        let present = ActiveVisit::at(site, visitor.resetter());
        let permit = self.permitted(request, site, visitor)?;
        Ok(RequestContext {
            present,
            permit,
            began: self.began,
            has_begun: Cell::new(false),
        })
    }

    /// Takes the permit of a request. A whole request runs from here on. A request with a body gives way while it is
    /// sent, counts as its visitor's all the while, and takes the rest of its permit after that.
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

    /// Returns the source if it is one visitor. This machine, and a proxy that does not name its visitor, stand for
    /// many.
    pub(super) fn counted(&self, source: IpAddr) -> Option<IpAddr> {
        if self.gateway.connector_side.is_some() {
            return None;
        }
        let here = [Ipv4Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into()];
        let is_many = here.contains(&source) || is_within(source, &self.gateway.config.trust_proxy);
        (!is_many).then_some(source)
    }

    /// True if the stream may be kept. A connection may carry many visitors' requests, as a proxy that was not named
    /// looks like one of them. So no stream is kept after a body: the unread rest of it would be the beginning of the
    /// next request. Nor is one kept if the visitor is unknown, as late bytes of the application would be the next
    /// one's answer: behind a trusted proxy that names no visitor, and, if all come by `https`, which only proxies
    /// terminate, from a peer that is not trusted.
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

    /// Returns a number that distinguishes the visitor from others of one address; 0 at a connector, where each stream
    /// is one visitor's.
    fn identity(&self, head: &Head) -> u64 {
        if self.gateway.connector_side.is_some() {
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
        // Bytes that no request asked for, or an end: it is of no use.
        let read = kept.upstream.stream.read(&mut [0]);
        would_block(&read).then_some(kept)
    }

    fn open(
        &self,
        request: &SiteRequest<'_>,
        site: &Site,
        visitor: &mut dyn ClientConnection,
    ) -> Result<Upstream, OpenFailure> {
        let slot = visitor.reserve().ok_or(OpenFailure::Busy)?;
        let wanted = StreamRequest {
            head: request.head,
            visitor,
        };
        let opened = (site.open)(&wanted).and_then(|stream| self.secured(request, site, stream));
        // It may have been opened for terms that have changed: nothing else would close it.
        if site.is_replaced.load(Ordering::SeqCst) || site.is_over() {
            return Err(OpenFailure::Changed);
        }
        Ok(Upstream {
            stream: opened.map_err(OpenFailure::Unreachable)?,
            _slot: slot,
            is_reused: false,
        })
    }

    fn send_open_failure(
        &self,
        request: &SiteRequest<'_>,
        visitor: &mut dyn ClientConnection,
        why: &OpenFailure,
    ) -> Served {
        let page = match why {
            OpenFailure::Busy => too_busy_page(Full::Sites),
            OpenFailure::Changed => changed_page(),
            OpenFailure::Unreachable(Unreachable::Tunnel) => tunnel_down_page(),
            OpenFailure::Unreachable(Unreachable::Target(why)) => target_down_page(why),
            OpenFailure::Unreachable(Unreachable::Full) => too_busy_page(Full::Application),
        };
        self.gateway.send_message(request, visitor, &page)
    }

    /// Adds TLS to the application, under the name that the visitor used: its own configuration would know that one.
    fn secured(
        &self,
        request: &SiteRequest<'_>,
        site: &Site,
        stream: Box<dyn ByteStream>,
    ) -> Result<Box<dyn ByteStream>, Unreachable> {
        if !site.tls {
            return Ok(stream);
        }
        let name = format!("{}.{}", request.site, self.gateway.config.domain);
        match self.gateway.tls.connection(&name) {
            Ok(tls) => Ok(Box::new(TlsStream::new(tls, stream))),
            Err(error) => Err(Unreachable::Target(error.to_string())),
        }
    }

    /// Returns the request as the application gets it, before any byte of it was sent.
    pub(super) fn transfer(&self, request: &SiteRequest<'_>, site: &Site) -> Transfer {
        let (head, config) = (request.head, &self.gateway.config);
        if let Some(connector_side) = &self.gateway.connector_side {
            let to_app = naming::head(head, &connector_side.naming);
            return Transfer::new(head, RequestBody::new(head.framing, to_app));
        }
        let is_believed = is_within(self.peer, &config.trust_proxy);
        let kept: &[String] = if is_believed {
            &config.pass_headers
        } else {
            &[]
        };
        let (host, origin) = (request.host, request.origin);
        let has_cookies = !cookies::is_of_earlier(head, site);
        let to_app = request_head::head(head, host, origin, &config.loop_id, kept, has_cookies);
        Transfer::new(head, RequestBody::new(head.framing, to_app))
    }

    /// Makes one attempt to its end, and then carries the upgraded connection, if there is one.
    pub(super) fn exchange(
        &self,
        request: &SiteRequest<'_>,
        context: &RequestContext,
        visitor: &mut dyn ClientConnection,
        stream: &mut dyn ByteStream,
        transfer: &mut Transfer,
    ) -> (Outcome, Served) {
        let rules = SiteRules::new(&self.gateway, request.head, context);
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

    /// Counts the outcome, and sends the visitor a message if no answer was sent.
    fn conclude(
        &self,
        request: &SiteRequest<'_>,
        visitor: &mut dyn ClientConnection,
        outcome: Outcome,
        served: Served,
    ) -> Served {
        match (&outcome, &self.gateway.connector_side) {
            (Outcome::BrokenOff { .. }, _) => self.gateway.stats.refuse(Cause::BrokenOff),
            (Outcome::Unanswered(_), Some(connector_side)) => {
                connector_side.events.on_unreachable()
            }
            (Outcome::NotHttp(why), Some(connector_side)) => {
                connector_side
                    .events
                    .on_invalid_answer(path(request.head), why);
            }
            (Outcome::Unanswered(Some(error)), None)
                if error.kind() == ErrorKind::ConnectionAborted =>
            {
                return self
                    .gateway
                    .send_message(request, visitor, &tunnel_down_page());
            }
            _ => {}
        }
        let said = message_for(&outcome, |page| {
            self.gateway.send_message(request, visitor, page)
        });
        said.unwrap_or(served)
    }
}

/// Reason that no stream was opened.
enum OpenFailure {
    /// All places are taken.
    Busy,
    /// The site's access has changed.
    Changed,
    Unreachable(Unreachable),
}

impl Drop for VisitorConnection {
    fn drop(&mut self) {
        // Given up with its connection, as at the end of the relay.
        if self.parked.take().is_some() {
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
