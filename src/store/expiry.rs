//! The end of what was given for a time. Pure.
//!
//! The wall clock can be set, and is then wrong for a while; the monotonic one, which goes on while the machine sleeps,
//! begins anew with the machine ([`Ends`](super::Ends) is for that). So both are looked at, and whichever says first
//! that the time is over is believed.

use std::time::{Duration, SystemTime};

use super::time::since_boot;

/// The longest that anything is given for: what is longer is this. Default 100 years.
pub const LONGEST: Duration = Duration::from_secs(100 * 365 * 24 * 3600);

/// Both clocks at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Clocks {
    /// The clock that people read, and can set.
    pub wall: SystemTime,
    /// The one that nobody can set: since the machine was started, what it slept included.
    pub monotonic: Duration,
}

impl Clocks {
    /// As they are.
    pub fn now() -> Self {
        Self {
            wall: SystemTime::now(),
            monotonic: since_boot(),
        }
    }

    /// The wall clock as it would be if nobody had set it since `then`.
    pub fn wall_unset(self, then: Self) -> SystemTime {
        then.wall + self.monotonic.saturating_sub(then.monotonic)
    }

    /// The wall clock, but no more than what has passed since `then` later than it was then. For what is thrown away
    /// when it is old: a clock that is set forward, and is wrong for an hour, throws nothing away.
    pub fn wall_as_passed(self, then: Self) -> SystemTime {
        self.wall.min(self.wall_unset(then))
    }
}

/// When something ends, by both clocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Expiry(Clocks);

impl Expiry {
    /// At this moment of the wall clock, as it stands `now`: setting it back later does not move the end.
    pub fn at(wall: SystemTime, now: Clocks) -> Self {
        let left = wall.duration_since(now.wall).unwrap_or_default();
        Self(Clocks {
            wall,
            monotonic: now.monotonic + left.min(LONGEST),
        })
    }

    /// So much later than `now`.
    pub fn after(left: Duration, now: Clocks) -> Self {
        Self::at(now.wall + left.min(LONGEST), now)
    }

    /// Limits it to this much time.
    #[must_use]
    pub fn within(self, left: Duration, now: Clocks) -> Self {
        let most = now.monotonic + left.min(LONGEST);
        Self(Clocks {
            monotonic: self.0.monotonic.min(most),
            ..self.0
        })
    }

    /// The end by the wall clock.
    pub fn wall(self) -> SystemTime {
        self.0.wall
    }

    /// Remaining time, by the clock that leaves less.
    pub fn left(self, now: Clocks) -> Duration {
        let by_wall = self.0.wall.duration_since(now.wall).unwrap_or_default();
        by_wall.min(self.left_at_most(now))
    }

    /// Remaining time by the clock that nobody can set.
    pub fn left_at_most(self, now: Clocks) -> Duration {
        self.0.monotonic.saturating_sub(now.monotonic)
    }

    /// True if it is over.
    pub fn is_over(self, now: Clocks) -> bool {
        self.left(now).is_zero()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: Duration = Duration::from_secs(3600);

    fn start() -> Clocks {
        Clocks::now()
    }

    /// So much later by the wall clock, and by the other one.
    fn later(now: Clocks, wall: Duration, monotonic: Duration) -> Clocks {
        Clocks {
            wall: now.wall + wall,
            monotonic: now.monotonic + monotonic,
        }
    }

    #[test]
    fn it_ends_in_time_where_both_clocks_go_alike() {
        let start = start();
        let expiry = Expiry::after(HOUR, start);
        assert!(!expiry.is_over(start));
        assert_eq!(expiry.left(start), HOUR);
        let before = later(start, HOUR / 2, HOUR / 2);
        assert_eq!(expiry.left(before), HOUR / 2);
        assert!(expiry.is_over(later(start, HOUR, HOUR)));
    }

    #[test]
    fn a_clock_that_is_set_back_prolongs_nothing() {
        let start = start();
        let expiry = Expiry::after(HOUR, start);
        let back = Clocks {
            wall: start.wall - 24 * HOUR,
            monotonic: start.monotonic + HOUR,
        };
        assert!(expiry.is_over(back));
        let earlier = Clocks {
            monotonic: start.monotonic + HOUR / 2,
            ..back
        };
        assert_eq!(expiry.left(earlier), HOUR / 2);
    }

    #[test]
    fn a_clock_that_is_set_forward_ends_it_and_so_does_a_sleep() {
        let start = start();
        let expiry = Expiry::after(HOUR, start);
        let slept_and_set_back = Clocks {
            wall: start.wall - HOUR,
            monotonic: start.monotonic + HOUR,
        };
        assert!(expiry.is_over(slept_and_set_back));
        assert!(expiry.is_over(later(start, 2 * HOUR, Duration::ZERO)));
        assert!(!expiry.is_over(later(start, HOUR / 2, Duration::ZERO)));
    }

    #[test]
    fn a_clock_that_is_set_forward_makes_nothing_older_than_it_is() {
        let start = start();
        let day = 24 * HOUR;
        for (wall, passed, expected) in
            [(day, day, day), (400 * day, HOUR, HOUR), (HOUR, day, HOUR)]
        {
            let now = later(start, wall, passed);
            assert_eq!(now.wall_as_passed(start), start.wall + expected);
        }
        let back = Clocks {
            wall: start.wall - day,
            monotonic: start.monotonic + HOUR,
        };
        assert_eq!(back.wall_as_passed(start), back.wall);
    }

    #[test]
    fn what_has_passed_is_over_and_what_is_far_away_does_not_overflow() {
        let start = start();
        assert!(Expiry::at(start.wall - HOUR, start).is_over(start));
        assert!(Expiry::at(SystemTime::UNIX_EPOCH, start).is_over(start));
        let far = Expiry::after(Duration::MAX, start);
        assert_eq!(far.left(start), LONGEST);
    }
}
