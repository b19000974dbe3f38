//! The addresses of a host.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, ToSocketAddrs};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use crossbeam_channel::{RecvTimeoutError, Sender, bounded};

use super::cancel::Cancel;
use super::error::{ConnectStage, DialError};
use super::limits::{MAX_ADDRESSES, MAX_RESOLVERS, RESOLVER_STACK};

type Answer = std::io::Result<Vec<SocketAddr>>;

/// Resolver threads alive.
static RESOLVERS: AtomicUsize = AtomicUsize::new(0);

/// All addresses of `host`, in the resolver's order (RFC 6724).
pub(super) fn resolve(
    host: &str,
    port: u16,
    timeout: Duration,
    cancel: &Cancel,
) -> Result<Vec<SocketAddr>, DialError> {
    if let Some(known) = without_resolver(host, port) {
        return Ok(known);
    }
    let problem = |reason: String| DialError::Resolve {
        host: host.to_owned(),
        reason,
    };
    let addresses =
        ask(host, port, timeout, cancel)?.map_err(|error| problem(error.to_string()))?;
    if addresses.is_empty() {
        return Err(problem("it has none".to_owned()));
    }
    Ok(addresses)
}

/// Addresses, and the name that stands for this machine (RFC 6761 §6.3).
fn without_resolver(host: &str, port: u16) -> Option<Vec<SocketAddr>> {
    let addresses = match host.parse::<IpAddr>() {
        Ok(address) => vec![address],
        Err(_) if host.eq_ignore_ascii_case("localhost") => {
            vec![Ipv4Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into()]
        }
        Err(_) => return None,
    };
    let with_port = |address| SocketAddr::new(address, port);
    Some(addresses.into_iter().map(with_port).collect())
}

/// The system's resolver cannot be interrupted: it works on a thread that is left behind when
/// it takes too long or nobody wants the answer any more.
fn ask(host: &str, port: u16, timeout: Duration, cancel: &Cancel) -> Result<Answer, DialError> {
    let (answer, answered) = bounded(2);
    let query = (host.to_owned(), port);
    start(answer.clone(), move || {
        let addresses = query.to_socket_addrs()?;
        Ok(addresses.take(MAX_ADDRESSES).collect())
    })?;
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
        }),
    }
}

/// Runs `query` on a thread of its own, which ends with the query.
fn start(
    answer: Sender<Option<Answer>>,
    query: impl FnOnce() -> Answer + Send + 'static,
) -> Result<(), DialError> {
    let permit = ResolverPermit::take().ok_or_else(|| {
        let hanging = "too many name resolutions hang: is the name server reachable?";
        DialError::Resources(std::io::Error::other(hanging))
    })?;
    thread::Builder::new()
        .name("tunnel-resolve".to_owned())
        .stack_size(RESOLVER_STACK)
        .spawn(move || {
            let _permit = permit;
            // Nobody may be waiting any more.
            let _ = answer.try_send(Some(query()));
        })
        .map(drop)
        .map_err(DialError::Resources)
}

/// A resolver thread may run.
struct ResolverPermit;

impl ResolverPermit {
    fn take() -> Option<Self> {
        let step = |taken: usize| (taken < MAX_RESOLVERS).then_some(taken + 1);
        RESOLVERS
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, step)
            .ok()
            .map(|_| Self)
    }
}

impl Drop for ResolverPermit {
    fn drop(&mut self) {
        RESOLVERS.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Instant;

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
