//! Two clocks that differ by the time that the machine has slept.

#[cfg(not(target_os = "linux"))]
use std::time::SystemTime;
use std::time::{Duration, Instant};

#[cfg(target_os = "linux")]
use crate::store::time::since_boot;

/// The least gap that counts: corrections of a clock are smaller, and a try too many does no harm.
pub(super) const SLEPT: Duration = Duration::from_secs(10);

/// One look at both.
pub(super) struct Clocks {
    /// Stands still while the machine sleeps.
    awake: Instant,
    /// Goes on.
    always: Always,
}

/// The time since the machine was started.
#[cfg(target_os = "linux")]
type Always = Duration;
/// The wall clock, which may be set.
#[cfg(not(target_os = "linux"))]
type Always = SystemTime;

impl Clocks {
    /// As they are now.
    pub(super) fn now() -> Self {
        Self {
            awake: Instant::now(),
            always: always(),
        }
    }

    /// For how long the machine has slept since an earlier look.
    pub(super) fn slept_since(&self, before: &Self) -> Duration {
        let awake = self.awake.saturating_duration_since(before.awake);
        gap(awake, elapsed(before.always, self.always))
    }
}

/// How much further the one clock has gone than the other.
fn gap(awake: Duration, always: Duration) -> Duration {
    always.saturating_sub(awake)
}

#[cfg(target_os = "linux")]
fn always() -> Always {
    since_boot()
}

#[cfg(target_os = "linux")]
fn elapsed(before: Always, now: Always) -> Duration {
    now.saturating_sub(before)
}

#[cfg(not(target_os = "linux"))]
fn always() -> Always {
    SystemTime::now()
}

#[cfg(not(target_os = "linux"))]
fn elapsed(before: Always, now: Always) -> Duration {
    now.duration_since(before).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gap_between_the_clocks_is_a_sleep() {
        let seconds = Duration::from_secs;
        assert_eq!(gap(seconds(1), seconds(3601)), seconds(3600));
        assert!(gap(seconds(1), seconds(3601)) >= SLEPT);
        assert!(gap(seconds(60), seconds(61)) < SLEPT);
        assert_eq!(gap(seconds(60), seconds(0)), Duration::ZERO);
        let before = Clocks::now();
        assert!(Clocks::now().slept_since(&before) < SLEPT, "it is awake");
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn the_clocks_of_a_machine_that_slept_are_read_so() {
        let now = Clocks::now();
        let later = |awake, always| Clocks {
            awake: now.awake + Duration::from_secs(awake),
            always: now.always + Duration::from_secs(always),
        };
        assert_eq!(later(2, 902).slept_since(&now), Duration::from_secs(900));
        assert_eq!(later(2, 2).slept_since(&now), Duration::ZERO);
    }
}
