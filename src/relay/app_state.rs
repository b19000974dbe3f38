//! State behind the relay's own names and its metrics, and the drain of a relay that is stopping.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant, SystemTime};

use super::call_stats::CallStats;
use super::operator::Operator;
use super::setup::Service;
use crate::gateway::RequestStats;
use crate::http::Request;
use crate::net::{Cidr, is_within};
use crate::store::DataDir;

/// Time in which senders of visitors notice that it stops: a balancer that checks each second, twice. Default 3 s.
const NOTICED: Duration = Duration::from_secs(3);
/// Pause between two checks if something runs.
const LOOK: Duration = Duration::from_millis(50);
/// Time in which connectors find another relay of the fleet. Default 15 s: three of their pauses.
const ELSEWHERE: Duration = Duration::from_secs(15);
/// Pause between two questions to the other relays. Default 500 ms.
const ELSEWHERE_LOOK: Duration = Duration::from_millis(500);

/// State that the routes work with.
pub(super) struct AppState {
    pub(super) service: Arc<Service>,
    pub(super) operator: Operator,
    /// Proxies whose `X-Forwarded-For` is believed.
    pub(super) trust_proxy: Vec<Cidr>,
    /// The data directory.
    pub(super) data: DataDir,
    /// Start time of the relay.
    pub(super) started: SystemTime,
    /// Counters of the gateway.
    pub(super) requests: Arc<RequestStats>,
    /// Set when the relay is stopping.
    pub(super) drain: Drain,
    /// Quick-setup calls.
    pub(super) calls: CallStats,
}

impl AppState {
    /// True if a request comes by `https`.
    pub(super) fn is_secure(&self, request: &Request) -> bool {
        let is_trusted = is_within(request.peer(), &self.trust_proxy);
        let told = request.header("x-forwarded-proto") == Some("https");
        self.service.urls.is_secure || (told && is_trusted)
    }
}

/// Set when a relay is stopping.
#[derive(Debug, Default)]
pub(super) struct Drain(AtomicBool);

impl Drain {
    /// Sets it.
    pub(super) fn begin(&self) {
        self.0.store(true, Ordering::SeqCst);
    }

    /// True if it is set.
    pub(super) fn has_begun(&self) -> bool {
        self.0.load(Ordering::SeqCst)
    }
}

/// Number of connectors that have no other relay yet, which are awaited for a while.
#[derive(Default)]
pub(super) struct UnplacedConnectors {
    began: Option<Instant>,
    last: Option<(Instant, usize)>,
}

impl UnplacedConnectors {
    /// Returns the number, as `ask` found it lately; 0 when their time is over.
    pub(super) fn count(&mut self, ask: impl Fn() -> usize) -> usize {
        let began = *self.began.get_or_insert_with(Instant::now);
        if began.elapsed() >= ELSEWHERE {
            return 0;
        }
        match self.last {
            Some((at, count)) if at.elapsed() < ELSEWHERE_LOOK => count,
            _ => {
                let count = ask();
                self.last = Some((Instant::now(), count));
                count
            }
        }
    }
}

/// Waits until nothing runs, for `bound` at most, and as long as others need to notice; returns how much still runs.
pub(super) fn wait_until_idle(bound: Duration, mut running: impl FnMut() -> usize) -> usize {
    let began = Instant::now();
    loop {
        let (left, took) = (running(), began.elapsed());
        if took >= bound || (left == 0 && took >= NOTICED) {
            return left;
        }
        std::thread::sleep(LOOK.min(bound - took));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_waits_for_what_runs_and_no_longer_than_it_may() {
        let bound = Duration::from_millis(120);
        for running in [0, 2] {
            let began = Instant::now();
            assert_eq!(wait_until_idle(bound, || running), running);
            assert!(began.elapsed() >= bound, "others are to notice");
        }
        assert_eq!(wait_until_idle(Duration::ZERO, || 1), 1);
    }
}
