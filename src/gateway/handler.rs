//! A visitor's connection as the HTTP server knows it: with a thread of its own, or with many others
//! on one thread that waits for none of them.
//!
//! The second way is for short work: a request without a body, on a stream that was kept from the one before, and an
//! answer that comes at once. Everything else goes on with a thread, from the point that it has reached.

use std::io::Write;
use std::net::IpAddr;
use std::sync::Arc;
use std::task::Waker;
use std::time::Instant;

use rustix::event::PollFlags;

use super::auth::is_sign_in;
use super::connector_side::is_own;
use super::forwarded::Host;
use super::request_state::{KeptStream, ParkedRequest, RequestContext, served};
use super::site::SiteRequest;
use super::site_rules::SiteRules;
use super::visitor_connection::{VisitorConnection, timeouts};
use crate::http::h1::body::Framing;
use crate::http::h1::head::Head;
use crate::http::h1::hop_by_hop::Upgrade;
use crate::http::proxy::{Exchange, ExchangeStep, Outcome};
use crate::http::server::connection_handler::{
    After, ClientConnection, ConnectionHandler, Progress,
};
use crate::net::poll::would_block;
use crate::store::time::unix_seconds;

/// Steps that an answer may take on a thread of many. Default 8: a longer one has a thread of its own.
const STEPS: usize = 8;

impl ConnectionHandler for VisitorConnection {
    /// Requests without a Host, or with several, are for the HTTP server to refuse.
    fn claims(&mut self, head: &Head) -> bool {
        if self.gateway.connector_side.is_some() {
            return true;
        }
        let config = &self.gateway.config;
        let named = head.headers.only("host").ok().flatten();
        self.host = named.and_then(Host::parse);
        let site = self
            .host
            .as_ref()
            .and_then(|host| host.site(&config.domain, &config.own_names));
        site.is_some()
    }

    fn source(&self, head: &Head) -> Option<IpAddr> {
        head.headers.all("host").next()?;
        self.counted(self.origin(head).source())
    }

    fn serve(&mut self, head: &Head, visitor: &mut dyn ClientConnection) -> After {
        self.serve_site(head, visitor)
    }

    fn park(&mut self, waker: &Waker) -> bool {
        let kept = self.kept.as_mut().map(|kept| &mut kept.upstream);
        kept.filter(|upstream| upstream.is_reused)
            .is_some_and(|upstream| upstream.stream.defer(Some(waker.clone())))
    }

    fn unpark(&mut self) {
        let kept = self.kept.as_mut().map(|kept| &mut kept.upstream);
        let used = self.parked.as_mut().map(|used| &mut used.upstream);
        for upstream in kept.into_iter().chain(used) {
            upstream.stream.defer(None);
        }
    }

    fn begin(&mut self, head: Head, visitor: &mut dyn ClientConnection) -> Result<Progress, Head> {
        self.began = Instant::now();
        let is_short = head.framing == Framing::Length(0) && Upgrade::of(&head) == Upgrade::None;
        if !is_short || self.kept.is_none() || !visitor.inbox().is_empty() {
            return Err(head);
        }
        let host = self.host.take();
        let origin = self.origin(&head);
        let gateway = Arc::clone(&self.gateway);
        let request = gateway.request(&head, host.as_ref(), &origin);
        let Some((context, kept)) = self.begins(&request, host.as_ref(), visitor) else {
            return Err(head);
        };
        let transfer = self.transfer(&request, &context.present.site);
        self.parked = Some(ParkedRequest {
            head,
            host,
            origin,
            context,
            upstream: kept.upstream,
            transfer,
            outcome: None,
            steps: 0,
        });
        Ok(self.go_on(visitor))
    }

    fn go_on(&mut self, visitor: &mut dyn ClientConnection) -> Progress {
        let Some(run) = &mut self.parked else {
            return Progress::Idle;
        };
        let rules = SiteRules::new(&self.gateway, &run.head, &run.context);
        let timeouts = timeouts(&self.gateway, &run.head, visitor);
        let stream = run.upstream.stream.as_mut();
        let mut exchange = Exchange::new(visitor, stream, &mut run.transfer, &rules, timeouts);
        let step = match run.steps {
            0 => exchange.send(),
            _ => exchange.step(),
        };
        run.steps += 1;
        match step {
            ExchangeStep::Ended(outcome @ Outcome::Done { .. }) => self.done(&outcome),
            ExchangeStep::Ended(outcome) => {
                run.outcome = Some(outcome);
                Progress::NeedsThread
            }
            ExchangeStep::Quiet if run.steps < STEPS && !needs_room(run) => Progress::Waits,
            ExchangeStep::Quiet | ExchangeStep::Busy => Progress::NeedsThread,
        }
    }

    fn finish(&mut self, visitor: &mut dyn ClientConnection) -> After {
        let Some(run) = self.parked.take() else {
            return After::Keep;
        };
        let (context, mut upstream, mut transfer) = (run.context, run.upstream, run.transfer);
        let gateway = Arc::clone(&self.gateway);
        let request = gateway.request(&run.head, run.host.as_ref(), &run.origin);
        let stream = upstream.stream.as_mut();
        let (outcome, served) = match run.outcome {
            Some(outcome) => {
                let served = served(&outcome, &transfer);
                (outcome, served)
            }
            None => self.exchange(&request, &context, visitor, stream, &mut transfer),
        };
        let served = self.after_kept(&request, &context, visitor, upstream, outcome, served);
        self.record(&request, &served);
        served.after
    }

    fn check_upstream(&mut self) {
        if let Some(kept) = &mut self.kept
            && !would_block(&kept.upstream.stream.read(&mut [0]))
        {
            self.kept = None;
        }
    }

    fn flush(&mut self) {
        let used = self.parked.as_mut().map(|run| &mut run.upstream);
        if let Some(upstream) = used.or(self.kept.as_mut().map(|kept| &mut kept.upstream)) {
            // A broken stream tells so when it is read.
            let _ = upstream.stream.flush();
        }
    }
}

impl VisitorConnection {
    /// Prepares a request that is passed on without waiting; none where anything else is to be done
    /// with it than to pass it on.
    fn begins(
        &mut self,
        request: &SiteRequest<'_>,
        host: Option<&Host>,
        visitor: &dyn ClientConnection,
    ) -> Option<(RequestContext, KeptStream)> {
        if self.gateway.connector_side.is_some() && is_own(request.head) {
            return None;
        }
        let site = self.find(request, host).ok()?;
        if self.refusal_for(request, &site).is_some() {
            return None;
        }
        let is_open = site.code.is_none()
            || (!is_sign_in(request.head, &site) && self.gateway.is_signed_in(request, &site));
        let context = self.context(request, &site, visitor).ok()?;
        let kept = is_open.then(|| self.take_kept(request, &site))??;
        site.stats.count_request(unix_seconds());
        Some((context, kept))
    }

    /// Called when the whole answer has been sent.
    fn done(&mut self, outcome: &Outcome) -> Progress {
        let run = self.parked.take().expect("it was under way just now");
        let gateway = Arc::clone(&self.gateway);
        let request = gateway.request(&run.head, run.host.as_ref(), &run.origin);
        let served = served(outcome, &run.transfer);
        self.keep(&request, &run.context, run.upstream, outcome, served.after);
        self.record(&request, &served);
        Progress::Done(served.after)
    }
}

/// True if TLS has something to send that the stream does not take.
fn needs_room(run: &ParkedRequest) -> bool {
    let [_, (_, room)] = run.upstream.stream.wanted(true, false);
    room != PollFlags::empty()
}
