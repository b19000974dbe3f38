//! What the relay answers under its own names.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use zeroize::Zeroizing;

use super::gateway::Cidr;
use super::operator::Operator;
use super::service::Service;
use super::status;
use crate::http::fence::target::form_fields;
use crate::http::link::Entered;
use crate::http::{ApiError, Method, Request, Response, Router, assets};

/// The description of the API, served at `/api/openapi.json`.
const OPENAPI: &str = include_str!("openapi.json");
/// Addresses of `X-Forwarded-For` that are looked at. Default 16: more proxies than anybody has in a row.
const MAX_CHAIN: usize = 16;

/// What the routes work with.
pub(super) struct Desk {
    pub(super) service: Arc<Service>,
    pub(super) operator: Operator,
    /// Whose `X-Forwarded-For` is believed.
    pub(super) trust_proxy: Vec<Cidr>,
    /// Since when the relay runs, RFC 3339.
    pub(super) since: String,
}

impl Desk {
    /// Whether a request comes by `https`; in doubt it does.
    fn is_secure(&self, request: &Request) -> bool {
        let is_trusted = is_trusted(request.peer(), &self.trust_proxy);
        let told = request.header("x-forwarded-proto") == Some("https");
        self.service.place.is_secure || (told && is_trusted)
    }
}

/// All routes.
pub(super) fn routes(desk: &Arc<Desk>) -> Router {
    let on = |f: fn(&Desk, Request)| {
        let desk = Arc::clone(desk);
        move |request: Request| f(&desk, request)
    };
    Router::new()
        .on(Method::Post, "/api/public/quick-setup", on(quick_setup))
        .on(
            Method::Delete,
            "/api/public/applications/{client_app_id}",
            on(release),
        )
        .on(Method::Get, "/health", |request| {
            request.respond(Response::json(200, &json!({"status": "OK"})));
        })
        .on(Method::Get, "/api/openapi.json", |request| {
            request.respond(Response::new(200, "application/json", OPENAPI));
        })
        .on(
            Method::Get,
            "/api/status",
            on(|desk, request| operators(desk, request, show)),
        )
        .on(
            Method::Delete,
            "/api/connectors/{name}",
            on(|desk, request| operators(desk, request, revoke)),
        )
        .on(
            Method::Delete,
            "/api/revoked/{name}",
            on(|desk, request| operators(desk, request, allow)),
        )
        .on(Method::Get, "/", on(page))
        .on(Method::Get, "/auth", on(enter))
        .on(Method::Post, "/auth", on(enter))
        .on(Method::Get, "/assets/*", assets::asset)
}

fn quick_setup(desk: &Desk, request: Request) {
    let source = source(&request, &desk.trust_proxy);
    if let Err(wait) = desk.service.count_call(source) {
        return request.respond(too_many(
            "too many quick-setup calls from here: 30 a minute are taken",
            wait,
        ));
    }
    let outcome = request.json::<Value>().and_then(|body| {
        let token = body.get("enroll_token").and_then(Value::as_str);
        // The operator's own processes have that token from a file of the operator's.
        let is_vouched_for = token.is_some_and(|token| desk.operator.has(token));
        desk.service.quick_setup(&body, source, is_vouched_for)
    });
    respond(request, outcome.map(Response::ok));
}

/// `Authorization: Basic` with the connector's name and password.
fn release(desk: &Desk, request: Request) {
    let source = source(&request, &desk.trust_proxy);
    if let Err(wait) = desk.service.count_call(source) {
        return request.respond(too_many(
            "too many calls from here: 30 a minute are taken",
            wait,
        ));
    }
    let key = request.param("client_app_id").unwrap_or_default();
    let outcome = match basic(&request) {
        Some((name, password)) => desk.service.release(&name, &password, key),
        None => Err(ApiError::unauthorized(
            "send the connector's name and password with 'Authorization: Basic'",
        )),
    };
    respond(
        request,
        outcome.map(|()| Response::ok(json!({"released": true}))),
    );
}

fn basic(request: &Request) -> Option<(String, Zeroizing<String>)> {
    let value = request.header("authorization")?;
    let (scheme, credentials) = value.split_once(' ')?;
    let decoded = Zeroizing::new(STANDARD.decode(credentials.trim()).ok()?);
    let (name, password) = std::str::from_utf8(&decoded).ok()?.split_once(':')?;
    let password = Zeroizing::new(password.to_owned());
    scheme
        .eq_ignore_ascii_case("basic")
        .then(|| (name.to_owned(), password))
}

/// Who is not the operator learns nothing, also not what there is.
fn operators(
    desk: &Desk,
    request: Request,
    answer: fn(&Desk, &Request) -> Result<Response, ApiError>,
) {
    let outcome = match desk.operator.sent(&request, desk.is_secure(&request)) {
        true => answer(desk, &request),
        false => Err(ApiError::unauthorized(
            "sign in with the token that was printed at the start, at /auth",
        )),
    };
    respond(request, outcome);
}

fn show(desk: &Desk, _: &Request) -> Result<Response, ApiError> {
    let place = &desk.service.place;
    Ok(Response::ok(json!({
        "version": env!("CARGO_PKG_VERSION"),
        "since": desk.since,
        "url": place.url(),
        "domain": place.domain,
        "tunnel_port": place.tunnel.port(),
        "fingerprint": place.fingerprint,
        "connectors": status::connectors(&desk.service),
        "revoked": desk.service.store.look(status::revoked),
    })))
}

fn revoke(desk: &Desk, request: &Request) -> Result<Response, ApiError> {
    let name = request.param("name").unwrap_or_default();
    let token = desk.service.revoke(name)?;
    let token = token.as_deref();
    Ok(Response::ok(
        json!({"revoked": name, "enroll_token": token}),
    ))
}

fn allow(desk: &Desk, request: &Request) -> Result<Response, ApiError> {
    let name = request.param("name").unwrap_or_default();
    let is_back = desk.service.allow(name)?;
    Ok(Response::ok(json!({"allowed": name, "restored": is_back})))
}

fn page(desk: &Desk, request: Request) {
    match desk.operator.sent(&request, desk.is_secure(&request)) {
        true => assets::page(request, "gateway/status.html"),
        false => request.respond(Response::redirect(303, "/auth")),
    }
}

/// The sign-in page, and the exchange of the token: from the link or from the page's form.
fn enter(desk: &Desk, request: Request) {
    let Some(token) = token_of(&request) else {
        return assets::page(request, "gateway/operator.html");
    };
    let source = source(&request, &desk.trust_proxy);
    match desk
        .operator
        .enter(&token, source, desk.is_secure(&request))
    {
        Ok(cookie) => request.respond(Response::redirect(303, "/").header("Set-Cookie", cookie)),
        Err(None) => assets::page_with_status(request, "gateway/operator.html", 401),
        Err(Some(wait)) => request.respond(too_many("too many wrong tokens", wait)),
    }
}

fn token_of(request: &Request) -> Option<Zeroizing<String>> {
    if *request.method() != Method::Post {
        return request
            .query("code")
            .map(|code| Zeroizing::new(code.to_owned()));
    }
    let body = std::str::from_utf8(request.body()).ok()?;
    let fields = form_fields(body).unwrap_or_default();
    let field = fields.iter().find(|(name, _)| name == "code");
    let entered = field.map(|(_, text)| Entered::read(text));
    Some(Zeroizing::new(entered.unwrap_or_default().code))
}

fn respond(request: Request, outcome: Result<Response, ApiError>) {
    request.respond(outcome.unwrap_or_else(|error| Response::error(&error)));
}

/// RFC 9110 section 10.2.3: whole seconds, rounded up.
fn too_many(message: &str, wait: Duration) -> Response {
    let seconds = wait.as_secs() + u64::from(wait.subsec_nanos() > 0);
    let message = format!("{message}; try again in {seconds} s");
    Response::error(&ApiError::too_many(message)).header("Retry-After", seconds.to_string())
}

/// Who asks: the peer, or whom a trusted proxy names. Of the list only what trusted proxies wrote
/// counts, which is its end.
fn source(request: &Request, trusted: &[Cidr]) -> IpAddr {
    let list = request.header("x-forwarded-for").unwrap_or_default();
    source_of(request.peer(), list, trusted)
}

fn is_trusted(address: IpAddr, trusted: &[Cidr]) -> bool {
    trusted.iter().any(|network| network.contains(address))
}

fn source_of(peer: IpAddr, list: &str, trusted: &[Cidr]) -> IpAddr {
    let mut source = peer;
    for address in list.rsplit(',').take(MAX_CHAIN) {
        match address.trim().parse() {
            Ok(before) if is_trusted(source, trusted) => source = before,
            _ => break,
        }
    }
    source
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_trusted_proxies_are_believed() {
        let trusted: Vec<Cidr> = ["127.0.0.1", "10.0.0.0/8"]
            .map(|text| text.parse().unwrap())
            .into();
        for (peer, list, expected) in [
            ("192.0.2.1", "198.51.100.7", "192.0.2.1"),
            ("127.0.0.1", "", "127.0.0.1"),
            ("127.0.0.1", "198.51.100.7", "198.51.100.7"),
            ("127.0.0.1", "1.1.1.1, 198.51.100.7", "198.51.100.7"),
            ("127.0.0.1", "198.51.100.7, 10.1.1.1", "198.51.100.7"),
            ("127.0.0.1", "198.51.100.7, junk", "127.0.0.1"),
        ] {
            let source = source_of(peer.parse().unwrap(), list, &trusted);
            assert_eq!(source, expected.parse::<IpAddr>().unwrap(), "{list}");
        }
    }
}
