//! How long to wait before another attempt.

use std::time::Duration;

use ring::rand::{SecureRandom, SystemRandom};

use super::failure::Class;
use super::timing::Retries;

/// Pauses that double, each shortened by up to a quarter, so that the clients of a server
/// that restarts do not come all at once.
pub(crate) struct Pauses {
    first: Duration,
    next: Duration,
    most: Duration,
}

impl Pauses {
    /// From `first` up to `most`.
    pub(crate) fn new(first: Duration, most: Duration) -> Self {
        let first = first.min(most);
        Self {
            first,
            next: first,
            most,
        }
    }

    /// Begins with the first again.
    pub(crate) fn reset(&mut self) {
        self.next = self.first;
    }

    /// The next one.
    pub(crate) fn next(&mut self) -> Duration {
        let pause = self.next;
        self.next = (pause * 2).min(self.most);
        pause - pause.mul_f64(jitter())
    }
}

/// Longest pause after a changed host key. Default 2 min.
const LONGEST_KEY_PAUSE: Duration = Duration::from_secs(120);

/// The pauses of a tunnel.
pub(super) struct Backoff {
    pauses: Pauses,
    retries: Retries,
    /// Next pause after a changed host key.
    key_pause: Duration,
}

impl Backoff {
    pub(super) fn new(most: Duration, retries: Retries) -> Self {
        Self {
            pauses: Pauses::new(retries.first, most),
            key_pause: retries.refused,
            retries,
        }
    }

    pub(super) fn reset(&mut self) {
        self.pauses.reset();
        self.key_pause = self.retries.refused;
    }

    pub(super) fn next(&mut self, class: Class) -> Duration {
        if !class.is_refusal() {
            return self.pauses.next();
        }
        let mut pause = self.retries.refused;
        if class == Class::HostKeyChanged {
            pause = self.key_pause;
            self.key_pause = (pause * 2).min(LONGEST_KEY_PAUSE);
        }
        pause + pause.mul_f64(jitter())
    }
}

/// Up to a quarter.
fn jitter() -> f64 {
    let mut byte = [0];
    // Without random bytes there is no jitter, which is no reason to fail.
    let _ = SystemRandom::new().fill(&mut byte);
    f64::from(byte[0]) / 1024.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_double_up_to_the_most() {
        let retries = Retries::default();
        let mut backoff = Backoff::new(Duration::from_secs(10), retries);
        for millis in [100, 200, 400, 800, 1600, 3200, 6400, 10_000, 10_000] {
            let whole = Duration::from_millis(millis);
            let pause = backoff.next(Class::Network);
            assert!(pause <= whole && pause >= whole * 3 / 4, "{pause:?}");
        }
        backoff.reset();
        assert!(backoff.next(Class::Network) <= retries.first);
        assert!(backoff.next(Class::WrongPassword) >= retries.refused);
        for seconds in [10, 20, 40, 80, 120, 120] {
            let whole = Duration::from_secs(seconds);
            let pause = backoff.next(Class::HostKeyChanged);
            assert!(pause >= whole && pause <= whole * 5 / 4, "{pause:?}");
        }
        backoff.reset();
        assert!(backoff.next(Class::HostKeyChanged) <= retries.refused * 5 / 4);
    }
}
