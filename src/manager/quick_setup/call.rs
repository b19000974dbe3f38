//! One HTTP call.

use std::io;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use ureq::http::{Response, header};
use ureq::tls::{Certificate, RootCerts, TlsConfig};
use ureq::{Agent, Body, ProxyProtocol};
use zeroize::Zeroizing;

use super::failure::Failure;
use super::retry_after;
use super::shown::clean;
use crate::manager::ServerUrl;
use crate::tunnel::link::{self, Proxy};

/// The API path of a server.
const PATH: &str = "/api/public/quick-setup";
/// Bytes of an answer. Default 1 MiB; one has some hundred.
const MAX_ANSWER: u64 = 1024 * 1024;
/// Bytes of the head of an answer. Default 32 KiB.
const MAX_HEAD: usize = 32 * 1024;

/// What came back.
pub(super) struct Reply {
    pub(super) status: u16,
    /// How long the server asks to wait.
    pub(super) retry_after: Option<Duration>,
    pub(super) body: Zeroizing<Vec<u8>>,
}

/// Why nothing came back.
pub(super) enum NoReply {
    /// The end of the stream, a timeout, a refused connection: worth another attempt.
    Passing(String),
    /// Worth none.
    Lasting(Failure),
}

/// Asks once, and takes at most `timeout` for all of it.
pub(super) fn call(server: &ServerUrl, body: &[u8], timeout: Duration) -> Result<Reply, NoReply> {
    let agent =
        agent(server, timeout).map_err(|reason| NoReply::Lasting(Failure::Local(reason)))?;
    let request = agent
        .post(server.with(PATH))
        .header(header::CONTENT_TYPE, "application/json")
        .header(header::ACCEPT, "application/json");
    let response = request.send(body).map_err(classified)?;
    reply(response).map_err(classified)
}

fn reply(mut response: Response<Body>) -> Result<Reply, ureq::Error> {
    let wait = response.headers().get(header::RETRY_AFTER);
    let wait = wait.and_then(|value| value.to_str().ok());
    Ok(Reply {
        status: response.status().as_u16(),
        retry_after: wait.and_then(|value| retry_after::parse(value, SystemTime::now())),
        body: response
            .body_mut()
            .with_config()
            .limit(MAX_ANSWER)
            .read_to_vec()
            .map(Zeroizing::new)?,
    })
}

/// One agent a call: no connection is kept between attempts, which may be seconds apart.
fn agent(server: &ServerUrl, timeout: Duration) -> Result<Agent, String> {
    let proxy = link::environment_proxy(server.endpoint()).map_err(|error| error.to_string())?;
    let config = Agent::config_builder()
        .timeout_global(Some(timeout))
        .http_status_as_error(false)
        .max_redirects(0)
        .max_response_header_size(MAX_HEAD)
        .max_idle_connections(0)
        .user_agent(concat!("postern/", env!("CARGO_PKG_VERSION")))
        .proxy(proxy.as_ref().map(to_proxy).transpose()?)
        .tls_config(tls(server)?);
    Ok(config.build().into())
}

/// The certificates that the user or the system trusts; the built-in ones where there are none.
fn tls(server: &ServerUrl) -> Result<TlsConfig, String> {
    let config = TlsConfig::builder();
    if !server.endpoint().secure {
        return Ok(config.build());
    }
    let authorities = link::authorities()?;
    let authorities: Vec<_> = authorities
        .iter()
        .map(|authority| Certificate::from_der(authority).to_owned())
        .collect();
    let roots = match authorities.is_empty() {
        true => RootCerts::WebPki,
        false => RootCerts::Specific(Arc::new(authorities)),
    };
    Ok(config.root_certs(roots).build())
}

fn to_proxy(proxy: &Proxy) -> Result<ureq::Proxy, String> {
    let unusable = || format!("the proxy {} cannot be used", proxy.authority());
    let mut builder = ureq::Proxy::builder(ProxyProtocol::Http)
        .host(proxy.host())
        .port(proxy.port());
    if let Some(account) = proxy.basic() {
        let account = BASE64.decode(account).map_err(|_| unusable())?;
        let account = Zeroizing::new(String::from_utf8(account).map_err(|_| unusable())?);
        let (user, password) = account.split_once(':').unwrap_or((&account, ""));
        builder = builder.username(user).password(password);
    }
    builder.build().map_err(|_| unusable())
}

fn classified(error: ureq::Error) -> NoReply {
    let lasting = |reason: String| {
        let reason = clean(&reason, false);
        NoReply::Lasting(Failure::Call { reason })
    };
    match error {
        ureq::Error::Timeout(_) => NoReply::Passing("it did not answer in time".to_owned()),
        ureq::Error::Io(error) => match passing(error.kind()) {
            Some(reason) => NoReply::Passing(reason.to_owned()),
            None => lasting(error.to_string()),
        },
        ureq::Error::HostNotFound => lasting("the server's name has no address".to_owned()),
        ureq::Error::BodyExceedsLimit(limit) => {
            lasting(format!("the answer is larger than {limit} bytes"))
        }
        other => lasting(other.to_string()),
    }
}

/// The rows of the retry table: the end of the stream, a timeout, a refused connection.
fn passing(kind: io::ErrorKind) -> Option<&'static str> {
    use io::ErrorKind::{
        BrokenPipe, ConnectionAborted, ConnectionRefused, ConnectionReset, TimedOut, UnexpectedEof,
        WouldBlock,
    };
    match kind {
        UnexpectedEof | ConnectionReset | ConnectionAborted | BrokenPipe => {
            Some("the connection ended before the answer was complete")
        }
        TimedOut | WouldBlock => Some("it did not answer in time"),
        ConnectionRefused => Some("connection refused"),
        _ => None,
    }
}
