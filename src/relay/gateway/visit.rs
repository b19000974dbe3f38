//! One visitor's connection, a request at a time: which site, whether its door opens, and what
//! the visitor is told when the application does not answer.

use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

use super::answer::Answer;
use super::door::Entrance;
use super::exchange::{Ended, Exchange, Outcome};
use super::forwarded::{Origin, Place};
use super::host::Host;
use super::pages::{Message, private};
use super::raw::Raw;
use super::request::{self, asks_for_websocket, is_repeatable};
use super::site::{Down, Present, Site};
use super::stream::{ByteStream, Secured};
use super::{Gateway, cookies};
use crate::http::Response;
use crate::http::fence::ExchangeSlot;
use crate::http::fence::head::Head;
use crate::http::fence::target::Target;
use crate::http::fence::visit::{After, Visit, Visitor};
use crate::http::fence::would_block;

/// What an invisible site's door is behind.
const AUTH: &str = "/auth";
/// Bytes of the form that brings a code. Default 4 KiB.
const MAX_FORM: usize = 4096;

/// The state of one connection.
pub(super) struct Visiting<'g> {
    gateway: &'g Gateway,
    peer: IpAddr,
    /// Whom the claimed request is for.
    host: Option<Host>,
    kept: Option<Kept>,
}

/// A stream that the visitor's next request may use.
struct Kept {
    site: Arc<Site>,
    stream: Box<dyn ByteStream>,
    since: Instant,
    slot: ExchangeSlot,
}

/// What became of a request, for its line in the log.
struct Served {
    after: After,
    /// 0 when the visitor was told nothing.
    status: u16,
    bytes: usize,
}

/// What a request brings along.
struct Request<'r> {
    head: &'r Head,
    /// The Host as the visitor sent it.
    host: &'r [u8],
    site: &'r str,
    origin: &'r Origin,
}

impl<'g> Visiting<'g> {
    pub(super) fn new(gateway: &'g Gateway, peer: IpAddr) -> Visiting<'g> {
        Visiting {
            gateway,
            peer,
            host: None,
            kept: None,
        }
    }
}

impl Visit for Visiting<'_> {
    /// What has no Host, or several, is the fence's to refuse.
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

    fn serve(&mut self, head: &Head, visitor: &mut Visitor<'_, '_>) -> After {
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
        log::info!(
            target: "postern::access",
            "{} {} {} {} {} {} {:.1}",
            origin.source(),
            request.site,
            head.method,
            path(head),
            served.status,
            served.bytes,
            began.elapsed().as_secs_f64() * 1000.0
        );
        served.after
    }
}

impl Visiting<'_> {
    fn route(
        &mut self,
        request: &Request<'_>,
        host: &Host,
        visitor: &mut Visitor<'_, '_>,
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
        let Some(site) = self.gateway.sites.find(request.site) else {
            let why = "No site has this name here.";
            let hint = "Check the address; a site that was never connected has none.";
            return self.say(request, visitor, &message(404, "Unknown site", why, hint));
        };
        site.figures.requests.fetch_add(1, Ordering::Relaxed);
        if site.code.is_some() {
            if path(request.head) == AUTH {
                return self.enter(request, &site, visitor);
            }
            if !self.is_signed_in(request.head, &site) {
                return self.ask(request, visitor, 401, "", true);
            }
        }
        self.pass(request, &site, visitor)
    }

    fn is_signed_in(&self, head: &Head, site: &Site) -> bool {
        let door = &self.gateway.door;
        let mut headers = head.headers.all("cookie");
        headers.any(|header| {
            cookies::find(header, door.cookie()).is_some_and(|cookie| door.knows(cookie, site))
        })
    }

    // The door.

    fn enter(&self, request: &Request<'_>, site: &Site, visitor: &mut Visitor<'_, '_>) -> Served {
        let head = request.head;
        let query = match head.method.as_str() {
            "GET" => head
                .target
                .split_once('?')
                .map_or("", |(_, query)| query)
                .to_owned(),
            "POST" => match self.form(request, visitor) {
                Ok(form) => form,
                Err(served) => return served,
            },
            _ => {
                let why = "The code is sent by GET or POST.";
                return self.say(
                    request,
                    visitor,
                    &message(405, "Method not allowed", why, ""),
                );
            }
        };
        let Ok(target) = Target::parse(&format!("/?{query}")) else {
            return self.ask(request, visitor, 401, "That code cannot be read.", false);
        };
        let value = |name: &str| {
            let found = target.query.iter().find(|(key, _)| key == name);
            found.map(|(_, value)| value.as_str())
        };
        let Some(code) = value("code") else {
            return self.ask(request, visitor, 401, "", head.method == "GET");
        };
        let source = request.origin.source();
        let door = &self.gateway.door;
        match door.enter(site, value("app_id"), code.trim(), source) {
            Entrance::Open(cookie) => {
                let response = Response::redirect(303, "/").header("Set-Cookie", cookie);
                self.send(request, visitor, private(response))
            }
            Entrance::Wrong => self.ask(request, visitor, 401, "That code is not right.", false),
            Entrance::TooMany(wait) => {
                let seconds = wait.as_secs() + 1;
                let error = format!(
                    "Too many wrong codes from here. The next try counts in {seconds} s; a right code always passes."
                );
                let page = self.gateway.pages.signin(head, 429, request.site, &error);
                let page = page.header("Retry-After", seconds.to_string());
                self.send(request, visitor, page)
            }
            Entrance::NoRandom => {
                let why = "This server has no random numbers for a session.";
                self.say(
                    request,
                    visitor,
                    &message(500, "Cannot sign in", why, "Try again."),
                )
            }
        }
    }

    /// The form's body, when it comes from the site's own page.
    fn form(&self, request: &Request<'_>, visitor: &mut Visitor<'_, '_>) -> Result<String, Served> {
        let head = request.head;
        if !is_same_origin(head, request.host) {
            let why = "The code may only be sent from this site's own page.";
            let refused = message(403, "Refused", why, "Open the site and enter it there.");
            return Err(self.say(request, visitor, &refused));
        }
        let kind = head.headers.only("content-type").ok().flatten();
        let kind = kind.and_then(|kind| kind.split(|b| *b == b';').next());
        let form = b"application/x-www-form-urlencoded";
        if !kind.is_some_and(|kind| kind.trim_ascii().eq_ignore_ascii_case(form)) {
            let why = "The code is sent as a form.";
            return Err(self.say(request, visitor, &message(415, "Not a form", why, "")));
        }
        let body = visitor.body(head).map_err(|after| Served {
            after,
            status: 400,
            bytes: 0,
        })?;
        match String::from_utf8(body) {
            Ok(form) if form.len() <= MAX_FORM => Ok(form),
            _ => {
                let error = "That code cannot be read.";
                Err(self.ask(request, visitor, 401, error, false))
            }
        }
    }

    /// Asks for the code. `unread` when the request's body has not been read.
    fn ask(
        &self,
        request: &Request<'_>,
        visitor: &mut Visitor<'_, '_>,
        status: u16,
        error: &str,
        unread: bool,
    ) -> Served {
        let page = self
            .gateway
            .pages
            .signin(request.head, status, request.site, error);
        answer(request.head, visitor, page, !unread)
    }

    // The application.

    fn pass(
        &mut self,
        request: &Request<'_>,
        site: &Arc<Site>,
        visitor: &mut Visitor<'_, '_>,
    ) -> Served {
        let _present = Present::at(&site.figures);
        let mut kept = self.take_kept(request.head, site);
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
            let (outcome, served) = self.exchange(request, site, visitor, stream.as_mut());
            match outcome {
                Outcome::Unanswered(_) if may_repeat => continue,
                Outcome::Done {
                    keeps_stream: true, ..
                } if served.after == After::Keep => {
                    self.kept = Some(Kept {
                        site: Arc::clone(site),
                        stream,
                        since: Instant::now(),
                        slot,
                    });
                }
                _ => {}
            }
            return self.conclude(request, visitor, outcome, served);
        }
    }

    /// The kept stream, if it still stands and this request may use it.
    fn take_kept(&mut self, head: &Head, site: &Arc<Site>) -> Option<Kept> {
        let limits = &self.gateway.config.limits;
        let mut kept = self.kept.take()?;
        let usable_for = match is_repeatable(head) {
            true => limits.kept_for,
            false => limits.sure_for,
        };
        let same = Arc::ptr_eq(&kept.site, site);
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
        visitor: &mut Visitor<'_, '_>,
    ) -> Result<(Box<dyn ByteStream>, ExchangeSlot), Served> {
        let Some(slot) = visitor.reserve() else {
            let why = "Too many visitors are here at once.";
            return Err(self.say(
                request,
                visitor,
                &message(503, "Too busy", why, "Try again soon."),
            ));
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
        site: &Site,
        visitor: &mut Visitor<'_, '_>,
        stream: &mut dyn ByteStream,
    ) -> (Outcome, Served) {
        let head = request.head;
        let cookie = self.gateway.door.cookie();
        let limits = &self.gateway.config.limits;
        let to_app = request::head(head, request.host, request.origin, cookie);
        let answer = Answer::new(head, asks_for_websocket(head), cookie);
        let figures = &site.figures;
        let mut exchange = Exchange::new(visitor, stream, limits, figures, (head, to_app), answer);
        let outcome = exchange.run();
        let mut served = Served {
            after: after(&outcome),
            status: exchange.status().unwrap_or(0),
            bytes: exchange.sent(),
        };
        if outcome == Outcome::Upgraded {
            let down = exchange.rest();
            let up = std::mem::take(visitor.inbox());
            served.bytes += Raw {
                client: visitor.socket(),
                stream,
                limits,
                write_stall: visitor.limits().write_stall,
                figures,
            }
            .run(up, down);
        }
        (outcome, served)
    }

    /// Tells the visitor what he is still to be told.
    fn conclude(
        &self,
        request: &Request<'_>,
        visitor: &mut Visitor<'_, '_>,
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
        let page = self
            .gateway
            .pages
            .message(request.head, request.site, &told);
        // The request may not have been read to its end.
        answer(request.head, visitor, page, false)
    }

    fn say(
        &self,
        request: &Request<'_>,
        visitor: &mut Visitor<'_, '_>,
        what: &Message<'_>,
    ) -> Served {
        let mut page = self.gateway.pages.message(request.head, request.site, what);
        if what.status == 405 {
            page = page.header("Allow", "GET, POST");
        }
        answer(request.head, visitor, page, false)
    }

    /// Answers a request whose body has been read.
    fn send(&self, request: &Request<'_>, visitor: &mut Visitor<'_, '_>, page: Response) -> Served {
        answer(request.head, visitor, page, true)
    }
}

fn answer(head: &Head, visitor: &mut Visitor<'_, '_>, page: Response, is_read: bool) -> Served {
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
fn path(head: &Head) -> &str {
    head.target.split('?').next().unwrap_or_default()
}

/// Browsers say where a form comes from; one that was told not to name its page sends `null`,
/// and then says all the same that it is the same site.
fn is_same_origin(head: &Head, host: &[u8]) -> bool {
    let only = |name| head.headers.only(name);
    let (Ok(origin), Ok(site)) = (only("origin"), only("sec-fetch-site")) else {
        return false;
    };
    let is_same_site = site == Some(b"same-origin");
    let names_us = |origin: &[u8]| {
        let name = origin
            .strip_prefix(b"http://")
            .or(origin.strip_prefix(b"https://"));
        name.is_some_and(|name| name.eq_ignore_ascii_case(host))
    };
    match origin {
        Some(b"null") => is_same_site,
        Some(origin) => names_us(origin) && site.is_none_or(|_| is_same_site),
        None => site.is_none_or(|site| site == b"same-origin" || site == b"none"),
    }
}

fn message<'a>(status: u16, title: &'a str, text: &'a str, hint: &'a str) -> Message<'a> {
    Message {
        status,
        title,
        text,
        hint,
    }
}

fn tunnel_is_down() -> Message<'static> {
    message(
        502,
        "The tunnel is down",
        "The site is known, but the machine that shares it is not connected.",
        "Connect the application there, then reload.",
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
