//! A single HTTP call to a server: quick setup, a look at the server, or a release.

use std::io::{self, Read};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use ureq::http::{Response, StatusCode, header};
use ureq::tls::{Certificate, RootCerts, TlsConfig};
use ureq::unversioned::transport::{
    ConnectProxyConnector, Connector, RustlsConnector, SocksConnector,
};
use ureq::{Agent, Body, ProxyProtocol};
use zeroize::Zeroizing;

use super::failure::{Failure, NAMELESS, NO_PROXY_THERE, NO_ROUTE, PROXY_SETTING, clean};
use super::transport::{ReachedAddress, RecordingConnector, Resolve};
use crate::manager::ServerUrl;
use crate::net::{AddressClass, in_words};
use crate::store::Credentials;
use crate::tunnel::ws::{
    self, Cancel, DialError, DialOptions, NO_NAME, Proxy, ProxyChoice, ProxyKind, Timeouts,
};

/// The API path of a server.
pub(super) const PATH: &str = "/api/public/quick-setup";
/// The API path at a relay of ours that tells whether such a call would be accepted.
pub(super) const ENROLMENT: &str = "/api/public/enrolment";
/// The API path of an application at a relay of ours; its id follows.
const APPLICATIONS: &str = "/api/public/applications/";
/// Bytes of an answer.
const MAX_ANSWER: u64 = 1024 * 1024;
/// Bytes read of an answer with another status than 2xx: they are only shown.
const MAX_EXPLANATION: u64 = 16 * 1024;
/// Bytes of the head of an answer.
const MAX_HEAD: usize = 32 * 1024;

/// The longest wait that a server can ask for: a person is looking at it.
const MAX_WAIT: Duration = crate::limits::RETRY_AFTER;
/// Time for the greeting of a SOCKS proxy, after a call that was late.
const GREETING_WITHIN: Duration = Duration::from_secs(3);

const LATE: &str = "it did not answer in time";

/// Reply.
pub(super) struct Reply {
    pub(super) status: u16,
    /// Class of the address at which the server was reached; behind a proxy a name counts as public.
    pub(super) server_class: AddressClass,
    /// Time that the server asks to wait.
    pub(super) retry_after: Option<Duration>,
    pub(super) body: Zeroizing<Vec<u8>>,
}

/// Asks once, within `timeout`. After [`Failure::Unreachable`] another attempt may succeed.
pub(super) fn post(
    server: &ServerUrl,
    path: &str,
    body: &[u8],
    timeout: Duration,
) -> Result<Reply, Failure> {
    let (agent, proxy, reached) = agent(server, timeout).map_err(Failure::Local)?;
    let explained = |error| classified(server, error, proxy.as_ref());
    let request = agent
        .post(server.with(path))
        .header(header::CONTENT_TYPE, "application/json")
        .header(header::ACCEPT, "application/json");
    let response = request.send(body).map_err(explained)?;
    let mut reply = reply(response).map_err(explained)?;
    // Behind a proxy, only an address in the URL tells where the server is.
    let address = if proxy.is_none() {
        *reached.lock()
    } else {
        server.host().parse().ok()
    };
    if let Some(class) = address.and_then(AddressClass::of) {
        reply.server_class = class;
    }
    Ok(reply)
}

/// Text for errors that names the proxy. A proxy rarely leads back into its own network.
fn way_by(proxy: &Proxy, host: &str) -> String {
    let by = format!("by the proxy {}", proxy.authority());
    let class = host.parse().ok().and_then(AddressClass::of);
    if class.is_some_and(|class| class != AddressClass::Public) {
        format!(" ({by}; to connect directly, add {host} to NO_PROXY)")
    } else {
        format!(" ({by})")
    }
}

/// Answer at the address of quick-setup calls.
pub struct SetupEndpoint {
    /// The status of the answer.
    pub status: u16,
    /// True if it accepts such calls: those are POST only (RFC 9110 section 15.5.6).
    pub is_there: bool,
    /// The server's clock: the `Date` of the answer.
    pub clock: Option<SystemTime>,
}

/// Reason that a server does not answer, with the advice that fits its cause.
#[derive(Default)]
pub struct NoAnswer {
    /// Message.
    pub error: String,
    /// Advice; none where the server or the network in general may be the cause.
    pub advice: Option<&'static str>,
    /// True if a proxy refuses its credentials.
    pub is_refusal: bool,
}

impl From<String> for NoAnswer {
    fn from(error: String) -> Self {
        Self {
            error,
            ..Self::default()
        }
    }
}

/// Asks a server for its kind, without a body or a password: nothing is set up.
pub(crate) fn look(server: &ServerUrl, timeout: Duration) -> Result<SetupEndpoint, NoAnswer> {
    let (agent, proxy, _) = agent(server, timeout)?;
    let response = agent.get(server.with(PATH)).call();
    let response = response.map_err(|error| {
        let failure = classified(server, error, proxy.as_ref());
        NoAnswer {
            advice: match &failure {
                Failure::Unreachable { reason, .. } if reason.starts_with(NO_PROXY_THERE) => {
                    Some(PROXY_SETTING)
                }
                Failure::Unreachable { reason, .. } => {
                    reason.starts_with(NAMELESS).then_some(NO_NAME)
                }
                Failure::Proxy { advice, .. } => Some(advice),
                _ => None,
            },
            is_refusal: failure.is_about_proxy_account(),
            error: failure.into_reason(),
        }
    })?;
    let date = response.headers().get(header::DATE);
    let date = date.and_then(|value| value.to_str().ok());
    let status = response.status().as_u16();
    Ok(SetupEndpoint {
        status,
        is_there: status == 405,
        clock: date.and_then(|date| httpdate::parse_http_date(date).ok()),
    })
}

/// Releases an application at a relay of ours; `place` is its identifier, perhaps with a query. Other servers have no
/// such call.
pub(super) fn release(
    server: &ServerUrl,
    credentials: &Credentials,
    place: &str,
    timeout: Duration,
) -> Result<Reply, Failure> {
    let (agent, proxy, _) = agent(server, timeout).map_err(Failure::Local)?;
    let (name, password) = (&credentials.connector_name, &credentials.password);
    let account = Zeroizing::new(format!("{name}:{}", password.as_str()));
    let basic = Zeroizing::new(format!("Basic {}", BASE64.encode(account.as_bytes())));
    let request = agent
        .delete(server.with(&format!("{APPLICATIONS}{place}")))
        .header(header::AUTHORIZATION, basic.as_str());
    let response = request.call().and_then(reply);
    response.map_err(|error| classified(server, error, proxy.as_ref()))
}

fn reply(mut response: Response<Body>) -> Result<Reply, ureq::Error> {
    let wait = response.headers().get(header::RETRY_AFTER);
    let wait = wait.and_then(|value| value.to_str().ok());
    let retry_after = wait.and_then(|value| retry_after(value, SystemTime::now()));
    let status = response.status();
    let body = if status.is_success() {
        let body = response.body_mut().with_config();
        body.limit(MAX_ANSWER).read_to_vec()?
    } else {
        beginning(response.body_mut())
    };
    Ok(Reply {
        status: status.as_u16(),
        server_class: AddressClass::Public,
        retry_after,
        body: Zeroizing::new(body),
    })
}

/// Time to wait from `now` on: the header (RFC 9110 §10.2.3) has seconds or a date. `None` for anything else.
fn retry_after(value: &str, now: SystemTime) -> Option<Duration> {
    let value = value.trim();
    let is_number = !value.is_empty() && value.bytes().all(|b| b.is_ascii_digit());
    let wait = if is_number {
        // A number that does not fit is a long time.
        Duration::from_secs(value.parse().unwrap_or(u64::MAX))
    } else {
        let date = httpdate::parse_http_date(value).ok()?;
        date.duration_since(now).unwrap_or_default()
    };
    Some(wait.min(MAX_WAIT))
}

/// Reads the beginning of an error's explanation; a read error is ignored, as the status is known.
fn beginning(body: &mut Body) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut start = body.as_reader().take(MAX_EXPLANATION);
    let _ = start.read_to_end(&mut bytes);
    bytes
}

/// Makes the agent of a call: no connection is kept between attempts, which may be seconds apart. Also returns the
/// proxy that it uses and the cell for the reached address.
fn agent(
    server: &ServerUrl,
    timeout: Duration,
) -> Result<(Agent, Option<Proxy>, ReachedAddress), String> {
    let proxy = ws::environment_proxy(server.endpoint()).map_err(|error| error.to_string())?;
    let noting = RecordingConnector::default();
    let reached = Arc::clone(&noting.reached);
    let config = Agent::config_builder()
        .timeout_global(Some(timeout))
        .http_status_as_error(false)
        .max_redirects(0)
        .max_response_header_size(MAX_HEAD)
        .max_idle_connections(0)
        .user_agent(concat!("postern/", env!("CARGO_PKG_VERSION")))
        // Always set, because the library would else choose a proxy by rules of its own.
        .proxy(proxy.as_ref().map(to_proxy).transpose()?)
        .tls_config(tls(server)?)
        .build();
    let agent = Agent::with_parts(
        config,
        ConnectProxyConnector::default()
            .chain(SocksConnector::default())
            .chain(noting)
            .chain(RustlsConnector::default()),
        Resolve::default(),
    );
    Ok((agent, proxy, reached))
}

/// The certificates that the user or the system trusts; the built-in ones if there are none.
fn tls(server: &ServerUrl) -> Result<TlsConfig, String> {
    let config = TlsConfig::builder();
    if !server.endpoint().secure {
        return Ok(config.build());
    }
    let authorities = ws::authorities()?;
    let authorities: Vec<_> = authorities
        .iter()
        .map(|authority| Certificate::from_der(authority).to_owned())
        .collect();
    let roots = if authorities.is_empty() {
        RootCerts::WebPki
    } else {
        RootCerts::Specific(Arc::new(authorities))
    };
    Ok(config.root_certs(roots).build())
}

fn to_proxy(proxy: &Proxy) -> Result<ureq::Proxy, String> {
    let unusable = || format!("the proxy {} cannot be used", proxy.authority());
    let protocol = match proxy.kind() {
        ProxyKind::Http => ProxyProtocol::Http,
        ProxyKind::Socks5 => ProxyProtocol::Socks5h,
    };
    let mut builder = ureq::Proxy::builder(protocol)
        .host(proxy.host())
        .port(proxy.port());
    if let Some(account) = proxy.account() {
        let [user, password] =
            [&account.user, &*account.password].map(|part| std::str::from_utf8(part));
        let (Ok(user), Ok(password)) = (user, password) else {
            return Err(unusable());
        };
        builder = builder.username(user).password(password);
    }
    builder.build().map_err(|_| unusable())
}

/// Failure of a call; it names the proxy if there is one.
fn classified(server: &ServerUrl, error: ureq::Error, proxy: Option<&Proxy>) -> Failure {
    if let Some(error) = proxy.and_then(|proxy| of_proxy(server, proxy, &error)) {
        return Failure::of_proxy(&error);
    }
    let way = proxy.map(|proxy| way_by(proxy, server.host()));
    let way = way.unwrap_or_default();
    let passing = |reason: &str| Failure::passing(format!("{reason}{way}"));
    let lasting = |reason: String| Failure::Call {
        reason: format!("{}{way}", clean(&reason)),
    };
    if let Some(error) = of_tls(&error) {
        return lasting(ws::https_failure(server.host(), error));
    }
    match (error, proxy) {
        // Refused by the proxy's address: a refusal by the server would be in the proxy's answer.
        (ureq::Error::Io(error), Some(proxy))
            if error.kind() == io::ErrorKind::ConnectionRefused
                && error.raw_os_error().is_some() =>
        {
            let to = proxy.authority();
            Failure::passing(format!("{NO_PROXY_THERE} {to}: connection refused"))
        }
        (ureq::Error::HostNotFound, Some(proxy)) => Failure::passing(format!(
            "{NO_PROXY_THERE} {}: its name has no DNS entry",
            proxy.authority()
        )),
        (error, _) => classified_by_kind(error, passing, lasting),
    }
}

fn classified_by_kind(
    error: ureq::Error,
    passing: impl Fn(&str) -> Failure,
    lasting: impl Fn(String) -> Failure,
) -> Failure {
    match error {
        ureq::Error::Timeout(_) => passing(LATE),
        ureq::Error::Io(error) => match row(error.kind()) {
            Some(reason) => passing(reason),
            None => lasting(in_words(error)),
        },
        // A computer that has just been started has no network yet.
        ureq::Error::HostNotFound => passing(NAMELESS),
        ureq::Error::Protocol(error) => {
            lasting(format!("the program there is not a web server ({error})"))
        }
        ureq::Error::BodyExceedsLimit(limit) => {
            lasting(format!("the answer is larger than {limit} bytes"))
        }
        other => lasting(in_words(other)),
    }
}

/// Refusal by the proxy itself, with the texts of tunnels; none for anything else.
fn of_proxy(server: &ServerUrl, proxy: &Proxy, error: &ureq::Error) -> Option<DialError> {
    const SOCKS: [&str; 3] = [
        "no acceptable auth methods",
        "unknown auth method",
        "password authentication failed",
    ];
    match error {
        ureq::Error::ConnectProxyFailed(reason) => {
            let digits = |word: &&str| word.len() == 3 && word.bytes().all(|b| b.is_ascii_digit());
            let status = reason.split(|c: char| !c.is_ascii_digit()).find(digits);
            let status = status.and_then(|status| StatusCode::from_bytes(status.as_bytes()).ok());
            Some(match status {
                Some(status) => {
                    proxy.refused_with(status.as_u16(), status.canonical_reason().unwrap_or(""))
                }
                None => proxy.malformed(&clean(reason)),
            })
        }
        // The answer to CONNECT, unless TLS or a web server's answer was awaited.
        ureq::Error::Protocol(_) if proxy.kind() == ProxyKind::Http => greeting(server, proxy),
        ureq::Error::Io(error) if SOCKS.contains(&error.to_string().as_str()) => {
            Some(proxy.wants_credentials())
        }
        ureq::Error::Timeout(_) if proxy.kind() == ProxyKind::Socks5 => greeting(server, proxy),
        ureq::Error::Io(failed) if proxy.kind() == ProxyKind::Socks5 => {
            let is_unknown = row(failed.kind()).is_none() && of_tls(error).is_none();
            is_unknown.then(|| greeting(server, proxy)).flatten()
        }
        _ => None,
    }
}

/// Asks the proxy once more: the library does not tell its silence or gibberish from the server's.
fn greeting(server: &ServerUrl, proxy: &Proxy) -> Option<DialError> {
    let options = DialOptions {
        proxy: ProxyChoice::Fixed(proxy.clone()),
        timeouts: Timeouts {
            resolve: GREETING_WITHIN,
            connect: GREETING_WITHIN,
            handshake: GREETING_WITHIN,
        },
        ..DialOptions::default()
    };
    let error = ws::dial(server.endpoint(), &options, &Cancel::new()).err()?;
    matches!(error, DialError::ProxyMalformed { .. }).then_some(error)
}

/// Returns the TLS error, however the library wraps it.
fn of_tls(error: &ureq::Error) -> Option<&rustls::Error> {
    match error {
        ureq::Error::Rustls(error) => Some(error),
        ureq::Error::Io(error) => error.get_ref()?.downcast_ref(),
        _ => None,
    }
}

/// Reason for each kind of error in the retry table: the end of the stream, a timeout, a refused connection; and for
/// errors of a machine without a network.
fn row(kind: io::ErrorKind) -> Option<&'static str> {
    use io::ErrorKind::{
        BrokenPipe, ConnectionAborted, ConnectionRefused, ConnectionReset, HostUnreachable,
        NetworkDown, NetworkUnreachable, TimedOut, UnexpectedEof, WouldBlock,
    };
    match kind {
        UnexpectedEof | ConnectionReset | ConnectionAborted | BrokenPipe => {
            Some("the connection ended before the answer was complete")
        }
        TimedOut | WouldBlock => Some(LATE),
        ConnectionRefused => Some("connection refused"),
        HostUnreachable | NetworkDown | NetworkUnreachable => Some(NO_ROUTE),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_private_relay_behind_a_proxy_names_no_proxy() {
        let proxy = Proxy::parse("http://proxy.example:3128").unwrap();
        assert_eq!(
            way_by(&proxy, "10.0.0.5"),
            " (by the proxy proxy.example:3128; to connect directly, add 10.0.0.5 to NO_PROXY)"
        );
        for public in ["relay.example", "192.0.2.5", "8.8.8.8"] {
            let way = way_by(&proxy, public);
            assert_eq!(way, " (by the proxy proxy.example:3128)", "{public}");
        }
    }

    fn at(seconds: u64) -> SystemTime {
        SystemTime::UNIX_EPOCH + Duration::from_secs(seconds)
    }

    #[test]
    fn seconds_and_dates_are_read() {
        let now = at(784_111_777);
        for (value, seconds) in [
            ("0", 0),
            (" 7 ", 7),
            ("301", 300),
            ("99999999999999999999999", 300),
            ("Sun, 06 Nov 1994 08:49:47 GMT", 10),
            ("Sun, 06 Nov 1994 08:49:07 GMT", 0),
            ("Fri, 31 Dec 9999 23:59:59 GMT", 300),
        ] {
            assert_eq!(
                retry_after(value, now),
                Some(Duration::from_secs(seconds)),
                "{value}"
            );
        }
        for value in [
            "",
            "-1",
            "1.5",
            "soon",
            "Sun, 06 Nov 1994",
            "Sun, 30 Feb 2024 00:00:00 GMT",
            "Sun, 06 Nov 1994 08:49:47 CET",
            "Sun, 06 Nov 1994 24:00:00 GMT",
            "Sun, 06 Foo 1994 08:00:00 GMT",
            "Sun, 06 Nov 1894 08:00:00 GMT",
            "Sun, 06 Nov 1994 08:00 GMT",
        ] {
            assert_eq!(retry_after(value, now), None, "{value}");
        }
    }
}
