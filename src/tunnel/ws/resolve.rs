//! The addresses of a host.

use crate::net::resolve::{known, resolve as net_resolve};
use crate::sync::{Permits, Thread, spawn};
use std::net::SocketAddr;
use std::sync::LazyLock;
use std::time::Duration;

use crossbeam_channel::{RecvTimeoutError, Sender, bounded};

use super::cancel::Cancel;
use super::error::{ConnectStage, DialError};
use super::limits::MAX_RESOLVERS;

type Answer = std::io::Result<Vec<SocketAddr>>;

/// Resolver threads alive.
static RESOLVERS: LazyLock<Permits> = LazyLock::new(Permits::default);

/// All addresses of `host`, in the resolver's order (RFC 6724).
pub(super) fn resolve(
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

/// The system's resolver cannot be interrupted: it works on a thread that is left behind when
/// it takes too long or nobody wants the answer any more.
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
        DialError::Resources(std::io::Error::other(hanging))
    })?;
    spawn(Thread::TunnelResolve, move || {
        let _permit = permit;
        // Nobody may be waiting any more.
        let _ = answer.try_send(Some(query()));
    })
    .map(drop)
    .map_err(DialError::Resources)
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
