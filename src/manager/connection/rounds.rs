//! Coming back: what happens between a round that failed and the next one.
//!
//! A round is one connect sequence, with the specification's five calls. What is to be connected whenever the program
//! runs, or was connected since it started, is tried for ever; what a user connected for the first time is not.

use std::time::Duration;

use crate::tunnel::client::Pauses;

/// The pause after the first round that failed: the round itself took some ten, unless it was refused.
const FIRST_PAUSE: Duration = Duration::from_secs(5);
/// The longest pause: one call a minute is little to a server, and an hour's outage costs a minute more.
const LONGEST_PAUSE: Duration = Duration::from_secs(60);

/// The rounds of one connection.
pub(super) struct Rounds {
    pauses: Pauses,
    /// Error of the last round, so that an outage is logged once.
    told: String,
}

impl Rounds {
    pub(super) fn new() -> Self {
        Self {
            pauses: pauses(),
            told: String::new(),
        }
    }

    /// A round has succeeded: the next failure is a new one.
    pub(super) fn reset(&mut self) {
        self.pauses.reset();
        self.told.clear();
    }

    /// The pause before the next round.
    pub(super) fn pause(&mut self) -> Duration {
        self.pauses.next()
    }

    /// Checks whether this failure was already logged.
    pub(super) fn is_told(&mut self, error: &str) -> bool {
        let is_told = self.told == error;
        error.clone_into(&mut self.told);
        is_told
    }
}

/// The pauses between tries of which there is no last.
pub(super) fn pauses() -> Pauses {
    Pauses::new(FIRST_PAUSE, LONGEST_PAUSE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_from_five_seconds_to_a_minute() {
        let mut rounds = Rounds::new();
        for seconds in [5, 10, 20, 40, 60, 60] {
            let whole = Duration::from_secs(seconds);
            let pause = rounds.pause();
            assert!(pause <= whole && pause >= whole * 3 / 4, "{pause:?}");
        }
        rounds.reset();
        assert!(rounds.pause() <= FIRST_PAUSE);
        assert!(!rounds.is_told("gone") && rounds.is_told("gone") && !rounds.is_told("other"));
    }
}
