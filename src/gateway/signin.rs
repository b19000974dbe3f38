//! The dialogue at the sign-in of an invisible site: its page, its form, its link.

use std::time::Duration;

use super::auth::AUTH;
use super::cookies;
use super::gateway_state::GatewayState;
use super::pages::{Message, private};
use super::replies::{answer, message};
use super::request_stats::Cause;
use super::site::{Served, Site, SiteRequest};
use crate::http::Response;
use crate::http::auth::{SignInFields, SignInOutcome, same_site};
use crate::http::h1::body::Framing;
use crate::http::h1::head::Head;
use crate::http::server::connection_handler::ClientConnection;

/// Answer to a wrong code: it may have been right once.
const WRONG: &str = "Wrong code. It may have been changed: ask for a new link.";
/// Path after a correct code if no page was asked for.
const HOME: &str = "/";
/// Bytes of the form that brings a code. Default 16 KiB: a whole link and the path after it, percent-encoded.
const MAX_FORM: usize = 16 * 1024;

impl GatewayState {
    /// True if a cookie of this request opens the site.
    pub(super) fn is_signed_in(&self, request: &SiteRequest<'_>, site: &Site) -> bool {
        let auth = &self.auth;
        let name = auth.cookie(self.is_secure(request));
        let headers = request.head.headers.all("cookie");
        let mut cookies = headers.flat_map(|header| cookies::all(header, name));
        cookies.any(|cookie| auth.knows(cookie, site))
    }

    /// Answers a request to the sign-in.
    pub(super) fn enter(
        &self,
        request: &SiteRequest<'_>,
        site: &Site,
        visitor: &mut dyn ClientConnection,
    ) -> Served {
        let head = request.head;
        match head.method.as_str() {
            "GET" => {
                let query = head.target.split_once('?').map_or("", |(_, query)| query);
                answer(head, visitor, self.judge(request, site, query), false)
            }
            "POST" => match self.form(request, site, visitor) {
                Ok(form) => answer(head, visitor, self.judge(request, site, &form), true),
                Err(served) => served,
            },
            _ => {
                let why = "The code is sent by GET or POST.";
                let refused = message(405, "Method not allowed", why, "");
                self.send_message(request, visitor, &refused)
            }
        }
    }

    /// Returns the page that asks for the code, in place of the page that was asked for.
    pub(super) fn asking(&self, request: &SiteRequest<'_>, site: &Site) -> Response {
        self.stats.refuse(Cause::CodeAsked);
        let head = request.head;
        // Data of a form is lost; a page can be asked for once more.
        let again = matches!(head.method.as_str(), "GET" | "HEAD");
        let next = same_site(&head.target).filter(|_| again).unwrap_or(HOME);
        self.asking_with(request, site, 401, next, "")
    }

    /// Returns the page; `error` is the fault of the last code, `next` the path after a correct one.
    fn asking_with(
        &self,
        request: &SiteRequest<'_>,
        site: &Site,
        status: u16,
        next: &str,
        error: &str,
    ) -> Response {
        let pages = self.pages();
        let title = site.title.as_deref();
        pages.signin(request.head, status, &site.name, title, next, error)
    }

    /// Answers a code, if there is one.
    fn judge(&self, request: &SiteRequest<'_>, site: &Site, query: &str) -> Response {
        let Ok(fields) = SignInFields::parse(query) else {
            return self.asking_with(request, site, 401, HOME, "The code is unreadable.");
        };
        let mut next = fields.next.iter();
        let next = next.find_map(|next| leads_on(next)).unwrap_or(HOME);
        let Some(code) = &fields.code else {
            return self.asking_with(request, site, 401, next, "");
        };
        let (source, is_secure) = (request.origin.source(), self.is_secure(request));
        let app_id = fields.app_id.as_deref();
        match self.auth.enter(site, app_id, code, source, is_secure) {
            SignInOutcome::SignedIn(cookie) => {
                private(Response::redirect(303, next)).header("Set-Cookie", cookie)
            }
            SignInOutcome::WrongCode => {
                self.stats.refuse(Cause::WrongCode);
                self.report_refused(site, request, 401);
                self.asking_with(request, site, 401, next, WRONG)
            }
            SignInOutcome::TooMany(wait) => {
                self.stats.refuse(Cause::TooManyCodes);
                self.report_refused(site, request, 429);
                self.too_many(request, site, next, wait)
            }
        }
    }

    /// True if the visitor comes by `https`.
    fn is_secure(&self, request: &SiteRequest<'_>) -> bool {
        self.config.secure || request.origin.is_secure()
    }

    fn too_many(
        &self,
        request: &SiteRequest<'_>,
        site: &Site,
        next: &str,
        wait: Duration,
    ) -> Response {
        let seconds = (wait.as_secs() + 1).to_string();
        let error = format!(
            "Too many wrong codes from your address. Try again in {seconds} s; a correct code always works."
        );
        let page = self.asking_with(request, site, 429, next, &error);
        page.header("Retry-After", seconds)
    }

    /// The form's body, when it comes from the site's own page.
    fn form(
        &self,
        request: &SiteRequest<'_>,
        site: &Site,
        visitor: &mut dyn ClientConnection,
    ) -> Result<String, Served> {
        let head = request.head;
        if let Some(refused) = refusal(head, request.host, self.is_secure(request)) {
            return Err(self.send_message(request, visitor, &refused));
        }
        let body = visitor.body(head, MAX_FORM).map_err(|after| Served {
            after,
            status: 400,
            bytes: 0,
        })?;
        let form = String::from_utf8(body).ok();
        form.filter(|form| form.len() <= MAX_FORM).ok_or_else(|| {
            let page = self.asking_with(request, site, 401, HOME, "The code is unreadable.");
            answer(head, visitor, page, true)
        })
    }
}

/// Returns a path of the same site, unless it is the home page or the sign-in itself.
fn leads_on(next: &str) -> Option<&str> {
    let path = next.split('?').next().unwrap_or_default();
    same_site(next).filter(|next| *next != HOME && path != AUTH)
}

/// Returns the fault of a form, before its body is read.
fn refusal(head: &Head, host: &[u8], is_secure: bool) -> Option<Message<'static>> {
    if !is_same_origin(head, host, is_secure) {
        let why = "The code may only be sent from this site's own page.";
        let hint = "Open the site and enter the code there.";
        return Some(message(403, "Refused", why, hint));
    }
    let kind = head.headers.only("content-type").ok().flatten();
    let kind = kind.and_then(|kind| kind.split(|b| *b == b';').next());
    let form = b"application/x-www-form-urlencoded";
    if !kind.is_some_and(|kind| kind.trim_ascii().eq_ignore_ascii_case(form)) {
        return Some(message(
            415,
            "Not a form",
            "The code is sent as a form.",
            "",
        ));
    }
    let cap = u64::try_from(MAX_FORM).unwrap_or(u64::MAX);
    let is_large = matches!(head.framing, Framing::Length(length) if length > cap);
    let why = "The form is larger than a code needs.";
    is_large.then(|| message(413, "Too large", why, ""))
}

/// True if a form comes from this site. Browsers name the origin of a form; a browser that was told not to name its
/// page sends `null`, and `Sec-Fetch-Site` still says that it is the same site. If the visitor comes by `https`,
/// anybody on the way can have written a page of the same name by `http`; the other way round, a proxy may not have
/// said that it terminates TLS.
fn is_same_origin(head: &Head, host: &[u8], is_secure: bool) -> bool {
    let only = |name| head.headers.only(name);
    let (Ok(origin), Ok(site)) = (only("origin"), only("sec-fetch-site")) else {
        return false;
    };
    let is_same_site = site == Some(b"same-origin");
    let names_us = |origin: &[u8]| {
        let plain = origin.strip_prefix(b"http://").filter(|_| !is_secure);
        let name = plain.or(origin.strip_prefix(b"https://"));
        name.is_some_and(|name| name.eq_ignore_ascii_case(host))
    };
    match origin {
        Some(b"null") => is_same_site,
        Some(origin) => names_us(origin) && site.is_none_or(|_| is_same_site),
        None => site.is_none_or(|site| site == b"same-origin" || site == b"none"),
    }
}
