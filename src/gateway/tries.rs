//! How often a request is passed on whose tunnel is lost.

use std::io::ErrorKind;
use std::time::{Duration, Instant};

use crate::http::proxy::Outcome;

/// Time from the first loss in which another way is looked for. Default 1 s: a connector has a second tunnel, and one that
/// has lost both is as soon back.
const WITHIN: Duration = Duration::from_secs(1);
/// Pause before each try but the second. Default 100 ms.
const PAUSE: Duration = Duration::from_millis(100);

/// The tries of one request.
pub(super) struct Tries {
    /// True if there may be more than one.
    are_many: bool,
    lost: Option<Instant>,
}

impl Tries {
    /// None so far.
    pub(super) fn new(are_many: bool) -> Self {
        Self {
            are_many,
            lost: None,
        }
    }

    /// True if the whole is passed on again after `outcome`: where the stream was closed, and not its tunnel lost, once,
    /// as that may have been the application.
    pub(super) fn may_repeat(&mut self, outcome: &Outcome) -> bool {
        let Outcome::Unanswered(error) = outcome else {
            return false;
        };
        let is_of_tunnel = error
            .as_ref()
            .is_some_and(|error| error.kind() == ErrorKind::ConnectionAborted);
        (is_of_tunnel || self.lost.is_none()) && self.may_go_on()
    }

    /// True if another one is made after one that was lost: the first at once, the others after a pause.
    pub(super) fn may_go_on(&mut self) -> bool {
        if !self.are_many {
            return false;
        }
        let now = Instant::now();
        let Some(lost) = self.lost else {
            self.lost = Some(now);
            return true;
        };
        if now.saturating_duration_since(lost) + PAUSE > WITHIN {
            return false;
        }
        std::thread::sleep(PAUSE);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_is_one_try_or_as_many_as_a_second_has_room_for() {
        assert!(!Tries::new(false).may_go_on());
        let (mut tries, began) = (Tries::new(true), Instant::now());
        assert!(tries.may_go_on() && began.elapsed() < PAUSE);
        let mut count = 1;
        while tries.may_go_on() {
            count += 1;
        }
        assert!((2..=10).contains(&count), "{count}");
        assert!(began.elapsed() >= PAUSE);
    }

    #[test]
    fn what_the_application_may_have_closed_is_asked_once_more() {
        let closed = Outcome::Unanswered(None);
        let lost = Outcome::Unanswered(Some(ErrorKind::ConnectionAborted.into()));
        let mut tries = Tries::new(true);
        assert!(tries.may_repeat(&closed) && !tries.may_repeat(&closed));
        assert!(tries.may_repeat(&lost));
        let mut tries = Tries::new(true);
        assert!(
            !tries.may_repeat(&Outcome::TooSlow { has_request: true }) && tries.may_repeat(&lost)
        );
        assert!(!tries.may_repeat(&closed));
        assert!(!Tries::new(false).may_repeat(&lost));
    }
}
