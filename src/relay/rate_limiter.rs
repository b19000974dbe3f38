//! How often one source may do something.

use crate::sync::Mutex;
use std::collections::{HashMap, VecDeque};
use std::net::IpAddr;
use std::time::{Duration, Instant};

use crate::http;

/// The time that calls are counted in.
const WINDOW: Duration = Duration::from_secs(60);
/// Sources that are remembered. Default 10,000: some megabytes. For one more, the one that has been
/// silent for longest is forgotten: a flood from many addresses must not keep others out.
const MAX_SOURCES: usize = 10_000;

/// Counts calls a source (an IPv4 address, an IPv6 /64) over the last minute.
pub(super) struct RateLimiter {
    most: usize,
    calls: Mutex<HashMap<IpAddr, VecDeque<Instant>>>,
}

impl RateLimiter {
    /// At most `most` calls a minute.
    pub(super) fn new(most: usize) -> Self {
        Self {
            most,
            calls: Mutex::default(),
        }
    }

    /// Counts a call; the time to wait where it is one too many, which is not counted.
    pub(super) fn count(&self, source: IpAddr) -> Result<(), Duration> {
        self.count_at(source, Instant::now())
    }

    /// Whether a call now would be one too many; counts nothing.
    pub(super) fn is_exhausted(&self, source: IpAddr) -> bool {
        let now = Instant::now();
        let calls = self.calls.lock();
        let recent =
            |times: &VecDeque<Instant>| times.iter().filter(|at| is_recent(at, now)).count();
        calls
            .get(&http::source(source))
            .is_some_and(|times| recent(times) >= self.most)
    }

    fn count_at(&self, source: IpAddr, now: Instant) -> Result<(), Duration> {
        let source = http::source(source);
        let mut calls = self.calls.lock();
        if calls.len() >= MAX_SOURCES && !calls.contains_key(&source) {
            let longest = calls.iter().min_by_key(|(_, times)| times.back());
            if let Some(longest) = longest.map(|(source, _)| *source) {
                calls.remove(&longest);
            }
        }
        let times = calls.entry(source).or_default();
        while times.front().is_some_and(|at| !is_recent(at, now)) {
            times.pop_front();
        }
        match times.front() {
            Some(first) if times.len() >= self.most => Err(WINDOW - now.duration_since(*first)),
            _ => {
                times.push_back(now);
                Ok(())
            }
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

    #[test]
    fn the_window_slides() {
        let rate = RateLimiter::new(2);
        let start = Instant::now();
        let at = |seconds| {
            rate.count_at(
                Ipv4Addr::LOCALHOST.into(),
                start + Duration::from_secs(seconds),
            )
        };
        assert_eq!([at(0), at(20)], [Ok(()); 2]);
        assert_eq!(at(30), Err(Duration::from_secs(30)));
        assert_eq!([at(60), at(80)], [Ok(()); 2]);
        assert_eq!(at(81), Err(Duration::from_secs(39)));
    }

    #[test]
    fn sources_are_apart_and_bounded() {
        let rate = RateLimiter::new(1);
        let now = Instant::now();
        for number in 0..MAX_SOURCES {
            let source = Ipv4Addr::from_bits(u32::try_from(number).unwrap() + 256);
            let at = now + Duration::from_millis(number.try_into().unwrap());
            assert_eq!(rate.count_at(source.into(), at), Ok(()));
        }
        let later = now + Duration::from_secs(11);
        let source = |number: u32| Ipv4Addr::from_bits(number + 256).into();
        let one_more = Ipv6Addr::from_bits(1 << 100).into();
        assert_eq!(
            rate.count_at(one_more, later),
            Ok(()),
            "nobody is kept out by others"
        );
        assert!(rate.count_at(one_more, later).is_err());
        assert!(rate.count_at(source(1), later).is_err(), "remembered");
        assert_eq!(
            rate.count_at(source(0), later),
            Ok(()),
            "forgotten, as the oldest"
        );
        assert_eq!(rate.calls.lock().len(), MAX_SOURCES);
    }
}
