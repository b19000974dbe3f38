//! A token bucket that the streams of several connections share.
//!
//! Bytes are taken when they have been moved, and the thread that moved them waits until they are paid for. So no
//! stream is more than one piece ahead, and all have their turns in the order in which they came: a stream among a
//! hundred gets a hundredth, and no queue grows but the one that its channel's window bounds.

use std::num::NonZeroU64;
use std::time::{Duration, Instant};

use crate::sync::Mutex;

/// Burst after silence, as the time that it takes. Default 250 ms: a page with what belongs to it is
/// not slowed down on a quick line.
const BURST: Duration = Duration::from_millis(250);

/// A rate in bytes a second, for both directions together.
#[derive(Debug)]
pub struct TokenBucket {
    bytes_per_second: NonZeroU64,
    /// Time at which the taken bytes are paid for.
    paid_until: Mutex<Instant>,
}

impl TokenBucket {
    /// Makes a full bucket.
    pub fn new(bytes_per_second: NonZeroU64, now: Instant) -> Self {
        Self {
            bytes_per_second,
            paid_until: Mutex::new(now.checked_sub(BURST).unwrap_or(now)),
        }
    }

    /// Takes bytes that have been moved.
    pub(super) fn take(&self, bytes: usize, now: Instant) {
        let bytes = u128::try_from(bytes).unwrap_or(u128::MAX);
        let nanos = bytes.saturating_mul(1_000_000_000) / u128::from(self.bytes_per_second.get());
        let cost = Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX));
        let full = now.checked_sub(BURST).unwrap_or(now);
        let mut paid_until = self.paid_until.lock();
        *paid_until = (*paid_until).max(full) + cost;
    }

    /// The time until all that was taken by now is paid for.
    pub(super) fn wait(&self, now: Instant) -> Duration {
        self.paid_until.lock().saturating_duration_since(now)
    }

    /// True if it is full, as a new one is.
    pub fn is_full(&self, now: Instant) -> bool {
        now.saturating_duration_since(*self.paid_until.lock()) >= BURST
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn over_any_time_no_more_passes_than_its_rate_and_a_burst() {
        let start = Instant::now() + SECOND;
        let bucket = TokenBucket::new(NonZeroU64::new(1_000_000).unwrap(), start);
        let (mut now, mut moved) = (start, 0);
        while now < start + 10 * SECOND {
            bucket.take(16_384, now);
            moved += 16_384;
            now += bucket.wait(now);
        }
        assert!((10_000_000..10_300_000).contains(&moved), "{moved}");
        assert!(!bucket.is_full(now));
        assert!(bucket.is_full(now + SECOND));
    }

    /// Each moves a piece and waits until that is paid for: a second stream halves what the first gets, and no more.
    #[test]
    fn streams_have_their_turns_in_the_order_in_which_they_came() {
        let start = Instant::now() + SECOND;
        let bucket = TokenBucket::new(NonZeroU64::new(1_000_000).unwrap(), start);
        // Burst after silence.
        bucket.take(250_000, start);
        let mut streams = [(start, 0_u32); 5];
        loop {
            let next = streams.iter_mut().min_by_key(|(ready, _)| *ready).unwrap();
            let now = next.0;
            if now > start + 10 * SECOND {
                break;
            }
            bucket.take(10_000, now);
            *next = (now + bucket.wait(now), next.1 + 1);
        }
        let turns = streams.map(|(_, turns)| turns);
        let (least, most) = (turns.iter().min().unwrap(), turns.iter().max().unwrap());
        assert!(most - least <= 1, "{turns:?}");
    }
}
