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

/// The pauses of a tunnel.
pub(super) struct Backoff {
    pauses: Pauses,
    retries: Retries,
}

impl Backoff {
    pub(super) fn new(most: Duration, retries: Retries) -> Self {
        Self {
            pauses: Pauses::new(retries.first, most),
            retries,
        }
    }

    pub(super) fn reset(&mut self) {
        self.pauses.reset();
    }

    pub(super) fn next(&mut self, class: Class) -> Duration {
        if class.is_refusal() {
            let refused = self.retries.refused;
            return refused + refused.mul_f64(jitter());
        }
        self.pauses.next()
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
        assert!(backoff.next(Class::HostKeyChanged) >= retries.refused);
    }
}
