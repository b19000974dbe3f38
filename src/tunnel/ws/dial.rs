//! The client's way to a WebSocket: resolver, TCP, proxy, TLS and upgrade.

use std::io;
use std::net::{IpAddr, SocketAddr, TcpStream};
use std::sync::LazyLock;
use std::time::{Duration, Instant};

use crossbeam_channel::{RecvTimeoutError, Sender, bounded};
use tungstenite::protocol::Role;

use super::endpoint::Endpoint;
use super::error::{ConnectStage, DialError};
use super::handshake::{HANDSHAKE_TIMEOUT, HandshakeError, HandshakeStream};
use super::proxy::{Proxy, ProxyChoice, ProxyKind};
use super::reader::WsReader;
use super::shared_socket::WsWriter;
use super::socket::{Cancel, WaitError, Wake};
use super::tls::Tls;
use super::upgrade::{Header, UpgradeAnswer};
use super::{proxy, socket, socks, tls, upgrade};
use crate::net::AddressClass;
use crate::net::authority::{authority, known, resolve as net_resolve};
use crate::sync::{Permits, Thread, spawn};

/// Time to find the addresses of a host. Default 10 s: a resolver's own retry lies within.
pub const RESOLVE_TIMEOUT: Duration = crate::limits::RESOLVE_TIMEOUT;
/// Time for TCP connects to all addresses of a host together. Default 10 s.
pub const CONNECT_TIMEOUT: Duration = crate::limits::CONNECT_TIMEOUT;
/// Interim answers (status 1xx) accepted before the answer. Default 4: none is usual.
const MAX_INTERIM: usize = 4;
/// Resolver threads of the process at once, those included that nobody waits for any more.
/// Default 16: a resolver that hangs must not collect threads.
const MAX_RESOLVERS: usize = 16;

/// Resolver threads alive.
static RESOLVERS: LazyLock<Permits> = LazyLock::new(Permits::default);

/// Options for dialling a server. Default: no extra headers, the proxy of the environment, the server's certificate
/// verified.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct DialOptions {
    /// Sent along with the upgrade.
    pub headers: Vec<Header>,
    /// Proxy to use.
    pub proxy: ProxyChoice,
    /// Certificates to accept.
    pub tls: Tls,
    /// Time limits of the stages.
    pub timeouts: Timeouts,
    /// Innermost class of the server's address, if somebody else than the user has named it; none for any.
    pub innermost: Option<AddressClass>,
    /// Start of a line that must have come before the WebSocket is a success; none to leave that to its reader.
    pub greeting: Option<&'static str>,
}

/// Time limits of the stages.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct Timeouts {
    /// Default [`RESOLVE_TIMEOUT`].
    pub resolve: Duration,
    /// All addresses together. Default [`CONNECT_TIMEOUT`].
    pub connect: Duration,
    /// Proxy, TLS and upgrade together. Default [`HANDSHAKE_TIMEOUT`].
    pub handshake: Duration,
}

impl Default for Timeouts {
    fn default() -> Self {
        Self {
            resolve: RESOLVE_TIMEOUT,
            connect: CONNECT_TIMEOUT,
            handshake: HANDSHAKE_TIMEOUT,
        }
    }
}

/// Opens a WebSocket to a server. Blocks; `cancel` ends it at once, wherever it is.
pub fn dial(
    target: &Endpoint,
    options: &DialOptions,
    cancel: &Cancel,
) -> Result<(WsReader, WsWriter), DialError> {
    let wake = Wake::new(cancel).map_err(DialError::Resources)?;
    if cancel.is_cancelled() {
        return Err(DialError::Cancelled);
    }
    let proxy = proxy::choose(&options.proxy, target)?;
    let (host, port) = match &proxy {
        Some(proxy) => (proxy.host(), proxy.port()),
        None => (target.host.as_str(), target.port),
    };
    if let Some(innermost) = options.innermost {
        judge_literal(&target.host, innermost)?;
    }
    let has_proxy = proxy.is_some();
    let mut addresses = resolve(host, port, options.timeouts.resolve, cancel)
        .map_err(|error| of_proxy(error, has_proxy))?;
    // Behind a proxy, the proxy resolves names, in its own network.
    if let Some(innermost) = options.innermost.filter(|_| proxy.is_none()) {
        addresses = judged(host, addresses, innermost)?;
    }
    let to = authority(host, port);
    let socket = connect(&to, &addresses, options.timeouts.connect, &wake)
        .map_err(|error| of_proxy(error, has_proxy))?;
    let ends = handshake(target, options, proxy.as_ref(), socket, &wake)?;
    if cancel.is_cancelled() {
        return Err(DialError::Cancelled);
    }
    Ok(ends)
}

/// Notes in an error of the first stages that a proxy was dialled.
fn of_proxy(mut error: DialError, has_proxy: bool) -> DialError {
    if let DialError::Resolve { is_proxy, .. } | DialError::Connect { is_proxy, .. } = &mut error {
        *is_proxy = has_proxy;
    }
    error
}

fn judge_literal(host: &str, innermost: AddressClass) -> Result<(), DialError> {
    match host.parse::<IpAddr>() {
        Ok(address) if !innermost.permits(address) => Err(DialError::TooFarInside {
            host: host.to_owned(),
            address,
            innermost,
        }),
        _ => Ok(()),
    }
}

/// Keeps the addresses of a name that may be dialled, at least one. The judged addresses are those that are dialled.
fn judged(
    host: &str,
    addresses: Vec<SocketAddr>,
    innermost: AddressClass,
) -> Result<Vec<SocketAddr>, DialError> {
    let (permitted, refused): (Vec<_>, Vec<_>) = addresses
        .into_iter()
        .partition(|address| innermost.permits(address.ip()));
    match refused.first() {
        Some(refused) if permitted.is_empty() => Err(DialError::TooFarInside {
            host: host.to_owned(),
            address: refused.ip(),
            innermost,
        }),
        _ => Ok(permitted),
    }
}

/// Tries one address after the other; each gets its share of the time left.
fn connect(
    to: &str,
    addresses: &[SocketAddr],
    timeout: Duration,
    wake: &Wake,
) -> Result<TcpStream, DialError> {
    let end = Instant::now() + timeout;
    let mut tried = Vec::new();
    for (index, address) in addresses.iter().enumerate() {
        let to_come = u32::try_from(addresses.len() - index).unwrap_or(u32::MAX);
        let now = Instant::now();
        let share = end.saturating_duration_since(now) / to_come;
        match socket::connect(*address, wake, now + share) {
            Ok(socket) => return Ok(socket),
            Err(WaitError::Cancelled) => return Err(DialError::Cancelled),
            Err(WaitError::TimedOut) => tried.push((*address, io::ErrorKind::TimedOut.into())),
            Err(WaitError::Io(error)) if is_shortage(&error) => {
                return Err(DialError::Resources(error));
            }
            Err(WaitError::Io(error)) => tried.push((*address, error)),
        }
    }
    Err(DialError::Connect {
        to: to.to_owned(),
        tried,
        is_proxy: false,
    })
}

/// True if this machine, not the other one, is the cause.
fn is_shortage(error: &io::Error) -> bool {
    use rustix::io::Errno;
    [Errno::MFILE, Errno::NFILE, Errno::NOBUFS, Errno::NOMEM]
        .iter()
        .any(|errno| error.raw_os_error() == Some(errno.raw_os_error()))
}

fn handshake(
    target: &Endpoint,
    options: &DialOptions,
    proxy: Option<&Proxy>,
    socket: TcpStream,
    wake: &Wake,
) -> Result<(WsReader, WsWriter), DialError> {
    let timeout = options.timeouts.handshake;
    let explain = |stage| move |failure| explained(failure, stage, timeout);
    let mut stream =
        HandshakeStream::new(socket, wake, Instant::now() + timeout).map_err(|error| {
            DialError::Broken {
                stage: ConnectStage::Connect,
                error,
            }
        })?;
    if let Some(proxy) = proxy {
        match proxy.kind() {
            ProxyKind::Http => ask_proxy(&mut stream, proxy, target, explain(ConnectStage::Proxy))?,
            ProxyKind::Socks5 => {
                socks::connect(&mut stream, proxy, target, explain(ConnectStage::Proxy))?;
            }
        }
        // The server never speaks first: these bytes are the proxy's.
        if stream.has_input() {
            return Err(proxy.malformed("unexpected data after its answer"));
        }
    }
    if target.secure {
        let connection = options.tls.connection(&target.host)?;
        stream.secure(connection).map_err(|failure| match failure {
            HandshakeError::Tls(error) => tls::failure(&target.host, error),
            failure => explained(failure, ConnectStage::Tls, timeout),
        })?;
    }
    upgrade(
        &mut stream,
        target,
        &options.headers,
        explain(ConnectStage::Upgrade),
    )?;
    if let Some(start) = options.greeting {
        let awaited = stream.await_line(start.as_bytes());
        awaited.map_err(explain(ConnectStage::Greeting))?;
    }
    stream
        .into_halves(Role::Client)
        .map_err(DialError::Resources)
}

fn ask_proxy(
    stream: &mut HandshakeStream<'_>,
    proxy: &Proxy,
    target: &Endpoint,
    explain: impl Fn(HandshakeError) -> DialError,
) -> Result<(), DialError> {
    let answer = stream
        .send(&proxy.request(target))
        .and_then(|()| stream.receive_head());
    match answer {
        Ok(head) => proxy.check_answer(&head),
        Err(HandshakeError::Head(refusal)) => Err(proxy.malformed(&refusal.message)),
        Err(failure) => Err(explain(failure)),
    }
}

fn upgrade(
    stream: &mut HandshakeStream<'_>,
    target: &Endpoint,
    headers: &[Header],
    explain: impl Fn(HandshakeError) -> DialError,
) -> Result<(), DialError> {
    let key = upgrade::generate_key();
    stream
        .send(&upgrade::request(target, headers, &key))
        .map_err(&explain)?;
    for _ in 0..=MAX_INTERIM {
        let head = stream.receive_head().map_err(&explain)?;
        if upgrade::check_answer(&head, &key)? == UpgradeAnswer::Upgraded {
            return Ok(());
        }
    }
    Err(DialError::BadUpgrade("too many interim answers".to_owned()))
}

fn explained(failure: HandshakeError, stage: ConnectStage, after: Duration) -> DialError {
    match failure {
        HandshakeError::Wait(WaitError::Cancelled) => DialError::Cancelled,
        HandshakeError::Wait(WaitError::TimedOut) => DialError::TimedOut { stage, after },
        HandshakeError::Wait(WaitError::Io(error)) => DialError::Broken { stage, error },
        HandshakeError::Ended => DialError::Broken {
            stage,
            error: io::Error::new(io::ErrorKind::UnexpectedEof, "the other side closed it"),
        },
        HandshakeError::Tls(error) => DialError::Tls(error.to_string()),
        HandshakeError::Head(refusal) => {
            DialError::BadUpgrade(format!("its answer is not HTTP: {}", refusal.message))
        }
    }
}

/// Returns all addresses of `host`, in the resolver's order (RFC 6724).
fn resolve(
    host: &str,
    port: u16,
    timeout: Duration,
    cancel: &Cancel,
) -> Result<Vec<SocketAddr>, DialError> {
    if let Some(known) = known(host, port) {
        return Ok(known);
    }
    let problem = |reason: String| DialError::Resolve {
        host: host.to_owned(),
        reason,
        is_proxy: false,
    };
    ask(host, port, timeout, cancel)?.map_err(|error| problem(error.to_string()))
}

type Answer = io::Result<Vec<SocketAddr>>;

/// Asks the system's resolver. It cannot be interrupted, so it works on a thread that is left behind when it takes too
/// long or the dial is cancelled.
fn ask(host: &str, port: u16, timeout: Duration, cancel: &Cancel) -> Result<Answer, DialError> {
    let (answer, answered) = bounded(2);
    let query = (host.to_owned(), port);
    start(answer.clone(), move || net_resolve(&query.0, query.1))?;
    let _watch = cancel.watch(move || drop(answer.try_send(None)));
    match answered.recv_timeout(timeout) {
        Ok(Some(answer)) => Ok(answer),
        Ok(None) => Err(DialError::Cancelled),
        Err(RecvTimeoutError::Timeout) => Err(DialError::TimedOut {
            stage: ConnectStage::Resolve,
            after: timeout,
        }),
        Err(RecvTimeoutError::Disconnected) => Err(DialError::Resolve {
            host: host.to_owned(),
            reason: "the resolver failed".to_owned(),
            is_proxy: false,
        }),
    }
}

/// Runs `query` on a thread of its own, which ends with the query.
fn start(
    answer: Sender<Option<Answer>>,
    query: impl FnOnce() -> Answer + Send + 'static,
) -> Result<(), DialError> {
    let permit = RESOLVERS.take(MAX_RESOLVERS).ok_or_else(|| {
        let hanging = "too many pending name lookups: is the name server reachable?";
        DialError::Resources(io::Error::other(hanging))
    })?;
    spawn(Thread::TunnelResolve, move || {
        let _permit = permit;
        // The caller may wait no more.
        let _ = answer.try_send(Some(query()));
    })
    .map_err(DialError::Resources)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Instant;

    #[test]
    fn only_what_was_judged_is_dialled() {
        let all: [SocketAddr; 3] =
            ["127.0.0.1:1", "8.8.8.8:1", "[fe80::1]:1"].map(|text| text.parse().unwrap());
        let of = |innermost| judged("relay.example", all.to_vec(), innermost).unwrap();
        assert_eq!(of(AddressClass::Public), [all[1]]);
        assert_eq!(of(AddressClass::Loopback), [all[0], all[1]]);
        let inside = judged("relay.example", vec![all[0], all[2]], AddressClass::Public);
        let error = inside.unwrap_err().to_string();
        assert_eq!(
            error,
            "the server names relay.example (127.0.0.1) for tunnels, which is less public than the server itself \
             (public): not dialled"
        );
    }

    const LONG: Duration = Duration::from_secs(20);

    #[test]
    fn some_hosts_need_no_resolver() {
        let all = |host| resolve(host, 7, LONG, &Cancel::new()).unwrap();
        assert_eq!(all("::1"), ["[::1]:7".parse().unwrap()]);
        let both = ["127.0.0.1:7".parse().unwrap(), "[::1]:7".parse().unwrap()];
        assert_eq!(all("LocalHost"), both);
    }

    #[test]
    fn a_name_that_does_not_exist_is_told_apart() {
        let error = resolve("no-such-host.invalid", 7, LONG, &Cancel::new()).unwrap_err();
        assert!(matches!(error, DialError::Resolve { .. }), "{error}");
    }

    #[test]
    fn a_resolver_that_hangs_is_left_behind() {
        let (release, held) = bounded::<()>(0);
        let (answer, answered) = bounded(2);
        start(answer.clone(), move || {
            let _ = held.recv();
            Ok(Vec::new())
        })
        .unwrap();
        let cancel = Cancel::new();
        let _watch = cancel.watch(move || drop(answer.try_send(None)));
        let begun = Instant::now();
        cancel.cancel();
        assert!(answered.recv().unwrap().is_none());
        assert!(begun.elapsed() < Duration::from_secs(1));
        drop(release);
        assert!(answered.recv().unwrap().is_some());
    }
}
