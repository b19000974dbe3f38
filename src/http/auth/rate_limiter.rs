//! Limits on how many times a minute one source may do something.

use std::collections::{HashMap, VecDeque};
use std::net::IpAddr;
use std::time::{Duration, Instant};

use crate::http;
use crate::sync::Mutex;

/// The time that calls are counted in.
const WINDOW: Duration = Duration::from_secs(60);
/// Sources that are remembered. Default 10,000: some megabytes.
const MAX_SOURCES: usize = 10_000;
/// Time between two searches for sources that may be forgotten, which look at all of them. Default 1 s.
const SWEEP_EVERY: Duration = Duration::from_secs(1);

/// Treatment of a new source when [`MAX_SOURCES`] are remembered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WhenFull {
    /// The source that has been silent for longest is forgotten: a flood from many addresses keeps no other out.
    Forget,
    /// A call from a new source is one too many while all known ones are recent: a flood from many addresses gets no
    /// more tries than these.
    Refuse,
}

/// Counts calls a source (an IPv4 address, an IPv6 /64) over the last minute.
pub(crate) struct RateLimiter {
    most: usize,
    when_full: WhenFull,
    calls: Mutex<Calls>,
}

#[derive(Default)]
struct Calls {
    by_source: HashMap<IpAddr, VecDeque<Instant>>,
    swept: Option<Instant>,
}

impl RateLimiter {
    /// At most `most` calls a minute.
    pub(crate) fn new(most: usize, when_full: WhenFull) -> Self {
        Self {
            most,
            when_full,
            calls: Mutex::default(),
        }
    }

    /// Counts a call, or returns the time to wait; a call over the limit is not counted.
    pub(crate) fn count(&self, source: IpAddr, now: Instant) -> Result<(), Duration> {
        let source = http::source(source);
        let mut calls = self.calls.lock();
        if !calls.has_room_for(source, self.when_full, now) {
            return Err(WINDOW);
        }
        let times = calls.by_source.entry(source).or_default();
        while times.front().is_some_and(|at| !is_recent(at, now)) {
            times.pop_front();
        }
        match times.front() {
            Some(first) if times.len() >= self.most => {
                Err(WINDOW.saturating_sub(now.saturating_duration_since(*first)))
            }
            _ => {
                times.push_back(now);
                Ok(())
            }
        }
    }

    /// True if a call would be one too many; counts nothing.
    pub(crate) fn is_exhausted(&self, source: IpAddr, now: Instant) -> bool {
        let calls = self.calls.lock();
        let times = calls.by_source.get(&http::source(source));
        times.is_some_and(|times| times.iter().filter(|at| is_recent(at, now)).count() >= self.most)
    }
}

impl Calls {
    fn has_room_for(&mut self, source: IpAddr, when_full: WhenFull, now: Instant) -> bool {
        if self.by_source.len() < MAX_SOURCES || self.by_source.contains_key(&source) {
            return true;
        }
        match when_full {
            WhenFull::Forget => {
                let silent = self.by_source.iter().min_by_key(|(_, times)| times.back());
                if let Some(silent) = silent.map(|(source, _)| *source) {
                    self.by_source.remove(&silent);
                }
            }
            WhenFull::Refuse => self.sweep(now),
        }
        self.by_source.len() < MAX_SOURCES
    }

    /// Forgets sources whose calls are old.
    fn sweep(&mut self, now: Instant) {
        let is_due = |at| now.saturating_duration_since(at) > SWEEP_EVERY;
        if self.swept.is_none_or(is_due) {
            self.by_source
                .retain(|_, times| times.back().is_some_and(|at| is_recent(at, now)));
            self.swept = Some(now);
        }
    }
}

fn is_recent(at: &Instant, now: Instant) -> bool {
    now.saturating_duration_since(*at) < WINDOW
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{Ipv4Addr, Ipv6Addr};

    /// With [`MAX_SOURCES`] sources that called a millisecond after one another.
    fn full(when_full: WhenFull, start: Instant) -> RateLimiter {
        let rate = RateLimiter::new(1, when_full);
        for number in 0..MAX_SOURCES {
            let at = start + Duration::from_millis(number.try_into().unwrap());
            let counted = rate.count(source(number.try_into().unwrap()), at);
            assert_eq!(counted, Ok(()));
        }
        rate
    }

    fn source(number: u32) -> IpAddr {
        Ipv4Addr::from_bits(number + 256).into()
    }

    #[test]
    fn the_window_slides() {
        let rate = RateLimiter::new(2, WhenFull::Forget);
        let start = Instant::now();
        let at = |seconds| {
            let now = start + Duration::from_secs(seconds);
            rate.count(Ipv4Addr::LOCALHOST.into(), now)
        };
        assert_eq!([at(0), at(20)], [Ok(()); 2]);
        assert_eq!(at(30), Err(Duration::from_secs(30)));
        assert_eq!([at(60), at(80)], [Ok(()); 2]);
        assert_eq!(at(81), Err(Duration::from_secs(39)));
    }

    #[test]
    fn sources_are_apart_and_bounded() {
        let now = Instant::now();
        let rate = full(WhenFull::Forget, now);
        let later = now + Duration::from_secs(11);
        let one_more = Ipv6Addr::from_bits(1 << 100).into();
        assert_eq!(
            rate.count(one_more, later),
            Ok(()),
            "nobody is kept out by others"
        );
        assert!(rate.count(one_more, later).is_err());
        assert!(rate.is_exhausted(one_more, later));
        assert!(rate.count(source(1), later).is_err(), "remembered");
        assert_eq!(
            rate.count(source(0), later),
            Ok(()),
            "forgotten, as the oldest"
        );
        assert_eq!(rate.calls.lock().by_source.len(), MAX_SOURCES);
    }

    #[test]
    fn a_flood_from_many_addresses_gets_no_more_tries() {
        let now = Instant::now();
        let rate = full(WhenFull::Refuse, now);
        let one_more = Ipv6Addr::from_bits(1 << 100).into();
        let at = |seconds| rate.count(one_more, now + Duration::from_secs(seconds));
        assert_eq!([at(11), at(59)], [Err(WINDOW); 2]);
        assert_eq!(at(62), Ok(()), "the first ones are forgotten");
        assert!(rate.calls.lock().by_source.len() < MAX_SOURCES);
    }
}
