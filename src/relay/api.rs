//! Routes that the relay answers under its own names.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;
use zeroize::Zeroizing;

use super::app_state::AppState;
use super::connector_auth::Enrolment;
use super::fleet::FleetOverview;
use super::invites::InviteTerms;
use super::metrics;
use super::state_store::set_aside_notice;
use super::status::{self, Order, Overview, PageRequest};
use super::urls::TunnelUrl;
use super::{call_stats, certificates};
use crate::api::relay as api;
use crate::gateway::forwarded;
use crate::http::auth::{SignInFields, SignInOutcome};
use crate::http::{ApiError, Method, Request, Response, Router, assets};
use crate::net::{Cidr, is_within};
use crate::store::expiry::Clocks;
use crate::store::files_set_aside;
use crate::store::time::rfc3339;
use crate::sync::{Permit, Permits, Thread, spawn};

/// Path for connectors to enrol and to get ports and names.
const QUICK_SETUP: &str = "/api/public/quick-setup";
/// Bytes of a quick-setup call from a known connector. Default 16 KiB: names, a password, a token.
const SMALL_CALL: usize = 16 * 1024;
/// Calls that wait for a slow comparison at once; they are made one at a time. Default 16: a second.
const SLOW_CALLS: usize = 16;
/// Connectors' calls that workers answer at once. Default 5 of their 8: a change waits for its save, and a balancer
/// that gets no answer from `/health` meanwhile moves everybody to other relays.
const CALLS_OF_WORKERS: usize = 5;
/// Further calls that are answered, each by a thread of its own. Default 64.
const EXTRA_CALLS: usize = 64;
/// Seconds until a retry while the store is unavailable.
const STORE_RETRY: &str = "5";

/// All routes.
pub(super) fn routes(app: &Arc<AppState>) -> Router {
    let on = |f: fn(&AppState, Request)| {
        let app = Arc::clone(app);
        move |request: Request| f(&app, request)
    };
    Router::new()
        .on(
            Method::Post,
            QUICK_SETUP,
            of_connectors(app, from_body, quick_setup),
        )
        .on(
            Method::Post,
            "/api/public/enrolment",
            of_connectors(app, from_body, enrolment),
        )
        .on(
            Method::Delete,
            "/api/public/applications/{client_app_id}",
            of_connectors(app, basic, release),
        )
        .on(
            Method::Get,
            "/api/public/tls-allowed",
            on(|app, request| {
                let outcome = tls_allowed(app, &request);
                respond(request, outcome);
            }),
        )
        .on(Method::Get, "/health", on(health))
        .on(Method::Get, "/api/openapi.json", |request| {
            assets::description(request, "openapi/relay.json");
        })
        .on(
            Method::Get,
            "/api/status",
            on(|app, request| operators(app, request, show)),
        )
        .on(
            Method::Delete,
            "/api/connectors/{name}",
            on(|app, request| operators(app, request, revoke)),
        )
        .on(
            Method::Delete,
            "/api/revoked/{name}",
            on(|app, request| operators(app, request, allow)),
        )
        .on(
            Method::Delete,
            "/api/sites/{name}",
            on(|app, request| operators(app, request, take_name)),
        )
        .on(
            Method::Put,
            "/api/sites/{name}",
            on(|app, request| operators(app, request, hand_over)),
        )
        .on(
            Method::Get,
            "/api/invites",
            on(|app, request| operators(app, request, invites)),
        )
        .on(
            Method::Post,
            "/api/invites",
            on(|app, request| operators(app, request, invite)),
        )
        .on(
            Method::Delete,
            "/api/invites/{id}",
            on(|app, request| operators(app, request, uninvite)),
        )
        .on(
            Method::Post,
            "/api/links",
            on(|app, request| operators(app, request, link)),
        )
        .on(Method::Get, "/", on(page))
        .on(Method::Get, "/auth", on(enter))
        .on(Method::Post, "/auth", on(enter))
        .on(Method::Get, "/assets/*", assets::asset)
}

/// Answers if the relay serves; for a relay of a fleet also the state of the store.
fn health(app: &AppState, request: Request) {
    if app.drain.has_begun() {
        return respond(
            request,
            Err(ApiError::new(503, "draining: this relay is stopping")),
        );
    }
    if app
        .service
        .links
        .get()
        .is_some_and(|links| !links.is_ready())
    {
        let starting = ApiError::new(503, "starting: other relays are not linked yet");
        return respond(request, Err(starting));
    }
    let health = api::Health {
        status: "OK".to_owned(),
        store: store_state(app),
    };
    request.respond(Response::json(200, &health));
}

/// Returns the state of the store that a fleet shares; none for a single relay.
fn store_state(app: &AppState) -> Option<String> {
    let looks = app.service.looks.as_ref()?;
    let state = if looks.is_there() { "ok" } else { "away" };
    Some(state.to_owned())
}

/// A connector's name and password.
type Credentials = (String, Zeroizing<String>);

/// Makes a route for connectors. A caller with a known password that is quick to compare is not counted; a slow
/// comparison runs on a thread of its own, so that it delays nobody.
fn of_connectors(
    app: &Arc<AppState>,
    credentials: fn(&Request) -> Option<Credentials>,
    answer: fn(&AppState, &Request) -> Result<Response, ApiError>,
) -> impl Fn(Request) + use<> {
    let app = Arc::clone(app);
    let (slow, of_workers, extra) = <(Permits, Permits, Permits)>::default();
    move |request| {
        let of = credentials(&request);
        let of = of
            .as_ref()
            .map(|(name, password)| (name, password.as_str()));
        let is_known = of.is_some_and(|(name, password)| app.service.is_known(name, password));
        if !is_known && let Err(wait) = app.service.count_call(source(&request, &app.trust_proxy)) {
            let message = "too many calls from this address (limit: 30 a minute)";
            return finish(&app, request, call_stats::LIMITED, too_many(message, wait));
        }
        let is_slow = match of {
            Some((name, password)) => !is_known && app.service.is_slow(name, password),
            None => request.body().len() > SMALL_CALL,
        };
        if is_slow {
            let busy = "too many password checks at once: try again soon";
            return on_a_thread(&app, slow.take(SLOW_CALLS), busy, request, answer);
        }
        let Some(_permit) = of_workers.take(CALLS_OF_WORKERS) else {
            let busy = "too many calls at once: try again soon";
            return on_a_thread(&app, extra.take(EXTRA_CALLS), busy, request, answer);
        };
        let answer = answer(&app, &request);
        finish(
            &app,
            request,
            call_stats::outcome(&answer),
            answer_of(answer),
        );
    }
}

/// Answers a connector's call, and counts it.
fn finish(app: &AppState, request: Request, outcome: &str, response: Response) {
    if request.path() == QUICK_SETUP {
        app.calls.note(outcome);
    }
    request.respond(response);
}

/// Answers on another thread, which ends with the answer, if there is a permit for one.
fn on_a_thread(
    app: &Arc<AppState>,
    permit: Option<Permit>,
    busy: &str,
    request: Request,
    answer: fn(&AppState, &Request) -> Result<Response, ApiError>,
) {
    let Some(permit) = permit else {
        let busy = ApiError::new(503, busy);
        let busy = Response::error(&busy).header("Retry-After", "2");
        return finish(app, request, call_stats::BUSY, busy);
    };
    let app = Arc::clone(app);
    // Without a thread the request answers itself as it is dropped.
    spawn(Thread::RelayCall, move || {
        let answer = answer(&app, &request);
        drop(permit);
        finish(
            &app,
            request,
            call_stats::outcome(&answer),
            answer_of(answer),
        );
    })
    .unwrap_or_else(|error| log::warn!("no thread for a call: {error}"));
}

/// Reads the credentials of a quick-setup call. A large body is not read before it is counted.
fn from_body(request: &Request) -> Option<Credentials> {
    if request.body().len() > SMALL_CALL {
        return None;
    }
    let body = request.json::<Value>().ok()?;
    let text = |name| Some(body.get(name)?.as_str()?.to_owned());
    Some((text("connector_name")?, Zeroizing::new(text("password")?)))
}

fn quick_setup(app: &AppState, request: &Request) -> Result<Response, ApiError> {
    if app.drain.has_begun() {
        return Err(ApiError::new(503, "this relay is stopping: try again soon"));
    }
    let body = request.json::<Value>()?;
    let source = source(request, &app.trust_proxy);
    let answer = (app.service).quick_setup(&body, source, is_vouched_for(app, &body))?;
    Ok(Response::ok(answer))
}

/// Checks if a quick-setup call with this body would be accepted.
fn enrolment(app: &AppState, request: &Request) -> Result<Response, ApiError> {
    let body = request.json::<Value>()?;
    let source = source(request, &app.trust_proxy);
    (app.service).let_in(&body, source, is_vouched_for(app, &body))?;
    Ok(Response::ok(api::Enrols { enrols: true }))
}

/// True if the call has the operator's token, which the operator's own processes read from a file.
fn is_vouched_for(app: &AppState, body: &Value) -> bool {
    let token = body.get("enroll_token").and_then(Value::as_str);
    token.is_some_and(|token| app.operator.has(token))
}

/// Releases an application, given the connector's name and password with `Authorization: Basic`.
fn release(app: &AppState, request: &Request) -> Result<Response, ApiError> {
    let key = request.param("client_app_id").unwrap_or_default();
    let missing = "send the connector's name and password with 'Authorization: Basic'";
    let (name, password) = basic(request).ok_or_else(|| ApiError::unauthorized(missing))?;
    let frees_name = request.query("name") == Some("free");
    let is_free = (app.service).release(&name, &password, key, frees_name)?;
    Ok(Response::ok(api::Released {
        released: true,
        name_released: is_free,
    }))
}

/// Tells the web server in front if it may get a certificate for a name. Only the web server itself gets an answer:
/// visitors that it passes on, even without naming them, and everybody else do not learn which sites exist.
fn tls_allowed(app: &AppState, request: &Request) -> Result<Response, ApiError> {
    let is_visitors = request.header_names().any(forwarded::is_proxied)
        || app.service.urls.is_https_visitors(request.host());
    if is_visitors || !is_within(request.peer(), &app.trust_proxy) {
        let message = "only the web server in front (--trust-proxy) may ask this";
        return Err(ApiError::forbidden(message));
    }
    let Some(domain) = request.only_query("domain") else {
        return Err(ApiError::bad_request("give one host with ?domain=NAME"));
    };
    if !certificates::may_have_certificate(&app.service, domain) {
        let message = "no site of this name was connected within 30 days";
        return Err(ApiError::not_found(message));
    }
    Ok(Response::ok(api::TlsAllowed { allowed: true }))
}

fn basic(request: &Request) -> Option<Credentials> {
    let value = request.header("authorization")?;
    let (scheme, credentials) = value.split_once(' ')?;
    let decoded = Zeroizing::new(STANDARD.decode(credentials.trim()).ok()?);
    let (name, password) = std::str::from_utf8(&decoded).ok()?.split_once(':')?;
    let password = Zeroizing::new(password.to_owned());
    scheme
        .eq_ignore_ascii_case("basic")
        .then(|| (name.to_owned(), password))
}

/// Answers the operator; anyone else learns nothing, not even which paths exist.
fn operators(
    app: &AppState,
    request: Request,
    answer: fn(&AppState, &Request) -> Result<Response, ApiError>,
) {
    let outcome = if app.operator.sent(&request, app.is_secure(&request)) {
        answer(app, &request)
    } else {
        Err(ApiError::unauthorized(
            "sign in at /auth with the token printed at start",
        ))
    };
    respond(request, outcome);
}

/// Shows the status; without a query all connectors, by name.
fn show(app: &AppState, request: &Request) -> Result<Response, ApiError> {
    let urls = &app.service.urls;
    let overview = Overview::of_all(&app.service);
    let page = status::page(&app.service, &overview, &wanted(request)?);
    let (connected, enrolled) = overview.connectors;
    let set_aside = files_set_aside(&app.data);
    let set_aside = set_aside.iter().map(|path| set_aside_notice(path));
    Ok(Response::ok(api::Status {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        since: rfc3339(app.started),
        url: urls.url(),
        domain: urls.domain.clone(),
        tunnel_port: urls.tunnel.port(),
        tunnel_url: urls.tunnel_url.as_ref().map(TunnelUrl::to_string),
        fingerprint: urls.fingerprint.clone(),
        asks_token: app.service.enrolment == Enrolment::WithToken,
        enrolled,
        connected,
        matching: page.matching,
        next: page.next,
        connectors: page.connectors,
        metrics: metrics::json(app, &Overview::of(&app.service)),
        relays: overview.fleet.as_ref().map(FleetOverview::shown),
        store: store_state(app),
        revoked: status::revoked(&app.service.store.snapshot()),
        notices: set_aside.chain(urls.port_notice()).collect(),
    }))
}

fn wanted(request: &Request) -> Result<PageRequest<'_>, ApiError> {
    let number = |name: &str, default: usize| match request.query(name) {
        Some(text) => text
            .parse()
            .map_err(|_| ApiError::bad_request(format!("{name} must be a number"))),
        None => Ok(default),
    };
    let order = match request.query("sort") {
        None => Order::Id,
        Some("name") => Order::Name,
        Some("called") => Order::Called,
        Some("visit") => Order::Visit,
        Some("traffic") => Order::Traffic,
        Some(_) => {
            return Err(ApiError::bad_request(
                "sort must be name, called, visit or traffic",
            ));
        }
    };
    Ok(PageRequest {
        search: request.query("search").unwrap_or_default().trim(),
        order,
        offset: number("offset", 0)?,
        lines: number("lines", usize::MAX)?.max(1),
    })
}

fn revoke(app: &AppState, request: &Request) -> Result<Response, ApiError> {
    let name = request.param("name").unwrap_or_default();
    Ok(Response::ok(app.service.revoke(name)?))
}

fn allow(app: &AppState, request: &Request) -> Result<Response, ApiError> {
    let name = request.param("name").unwrap_or_default();
    Ok(Response::ok(app.service.allow(name)?))
}

/// Releases a site's name.
fn take_name(app: &AppState, request: &Request) -> Result<Response, ApiError> {
    let site = request.param("name").unwrap_or_default();
    let force = request.query("force") == Some("true");
    Ok(Response::ok(app.service.take_name(site, None, force)?))
}

/// Hands a site's name over to a connector.
fn hand_over(app: &AppState, request: &Request) -> Result<Response, ApiError> {
    let body = request.json::<Value>()?;
    let site = request.param("name").unwrap_or_default();
    let Some(to) = body.get("connector").and_then(Value::as_str) else {
        let missing = "connector: give a connector's label or name";
        return Err(ApiError::bad_request(missing));
    };
    let force = body.get("force").and_then(Value::as_bool) == Some(true);
    Ok(Response::ok(app.service.take_name(
        site,
        Some(to),
        force,
    )?))
}

fn invites(app: &AppState, _: &Request) -> Result<Response, ApiError> {
    let invites = app.service.invites();
    Ok(Response::ok(api::Invites { invites }))
}

fn invite(app: &AppState, request: &Request) -> Result<Response, ApiError> {
    let made = app.service.invite(terms(&request.json::<Value>()?)?)?;
    Ok(Response::ok(api::NewInvite {
        invite: made.shown(),
        token: made.token,
        url: app.service.urls.url(),
        notices: app.service.urls.port_notice().into_iter().collect(),
    }))
}

/// Reads the terms of an invite; missing fields have their defaults.
fn terms(body: &Value) -> Result<InviteTerms, ApiError> {
    let bad = |message: &str| ApiError::bad_request(message.to_owned());
    let Some(fields) = body.as_object() else {
        return Err(bad("the body must be a JSON object"));
    };
    const FIELDS: [&str; 3] = ["label", "uses", "expires_in"];
    if let Some(unknown) = fields.keys().find(|name| !FIELDS.contains(&name.as_str())) {
        return Err(bad(&format!(
            "unknown field '{}': use label, uses and expires_in",
            unknown.escape_debug()
        )));
    }
    let mut terms = InviteTerms::default();
    if let Some(label) = fields.get("label") {
        let label = label.as_str();
        terms.label = label.ok_or_else(|| bad("label: give a string"))?.to_owned();
    }
    if let Some(uses) = fields.get("uses") {
        let uses = uses
            .as_u64()
            .map(|uses| u32::try_from(uses).unwrap_or(u32::MAX));
        terms.uses = uses.ok_or_else(|| bad("uses: give a whole number"))?;
    }
    if let Some(seconds) = fields.get("expires_in") {
        let seconds = seconds.as_u64();
        let seconds = seconds.ok_or_else(|| bad("expires_in: give whole seconds"))?;
        terms.life = Duration::from_secs(seconds);
    }
    terms.check().map_err(ApiError::bad_request)?;
    Ok(terms)
}

fn uninvite(app: &AppState, request: &Request) -> Result<Response, ApiError> {
    let id = request.param("id").unwrap_or_default();
    app.service.take_back(id)?;
    let uninvited = id.to_owned();
    Ok(Response::ok(api::Uninvited { uninvited }))
}

/// Makes a link that signs the operator in.
fn link(app: &AppState, _: &Request) -> Result<Response, ApiError> {
    let code = app.operator.link(Clocks::now());
    let url = format!("{}auth?code={}", app.service.urls.url(), *code);
    Ok(Response::ok(api::OperatorLink { url }))
}

fn page(app: &AppState, request: Request) {
    if app.operator.sent(&request, app.is_secure(&request)) {
        assets::page(request, "gateway/status.html");
    } else {
        request.respond(Response::redirect(303, "/auth"));
    }
}

/// Shows the sign-in page, and exchanges the token from the link or from the page's form.
fn enter(app: &AppState, request: Request) {
    let Some(token) = SignInFields::code_of(&request).map(Zeroizing::new) else {
        return assets::page(request, "gateway/operator.html");
    };
    let source = source(&request, &app.trust_proxy);
    match app.operator.enter(&token, source, app.is_secure(&request)) {
        SignInOutcome::SignedIn(cookie) => {
            request.respond(Response::redirect(303, "/").header("Set-Cookie", cookie));
        }
        SignInOutcome::WrongCode => assets::page_with_status(request, "gateway/operator.html", 401),
        SignInOutcome::TooMany(wait) => request.respond(too_many("too many wrong tokens", wait)),
    }
}

fn respond(request: Request, outcome: Result<Response, ApiError>) {
    request.respond(answer_of(outcome));
}

fn answer_of(outcome: Result<Response, ApiError>) -> Response {
    outcome.unwrap_or_else(|error| {
        let answer = Response::error(&error);
        match error.status {
            503 => answer.header("Retry-After", STORE_RETRY),
            _ => answer,
        }
    })
}

/// Answers 429 with the wait in whole seconds, rounded up (RFC 9110 section 10.2.3).
fn too_many(message: &str, wait: Duration) -> Response {
    let seconds = wait.as_secs() + u64::from(wait.subsec_nanos() > 0);
    let message = format!("{message}; try again in {seconds} s");
    Response::error(&ApiError::too_many(message)).header("Retry-After", seconds.to_string())
}

/// Returns the caller's address, by the rules of the gateway.
fn source(request: &Request, trusted: &[Cidr]) -> IpAddr {
    let values = request.header_values(forwarded::FORWARDED_FOR);
    forwarded::source(values.map(str::as_bytes), request.peer(), trusted)
}
