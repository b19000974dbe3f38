//! Resends of a request whose tunnel is lost.

use std::io::ErrorKind;
use std::time::{Duration, Instant};

use crate::http::proxy::Outcome;

/// Time from the first loss in which another way is looked for. Default 1 s: a connector has a second tunnel, and one that
/// has lost both is as soon back.
const WITHIN: Duration = Duration::from_secs(1);
/// Pause before each try but the second. Default 100 ms.
const PAUSE: Duration = Duration::from_millis(100);

/// Resends of one request.
pub(super) struct Resends {
    /// True if a request may be sent more than once.
    allows_several: bool,
    lost: Option<Instant>,
}

impl Resends {
    /// None so far.
    pub(super) fn new(allows_several: bool) -> Self {
        Self {
            allows_several,
            lost: None,
        }
    }

    /// Begins a resend after `outcome`, if there is to be one. After a stream that was closed while its tunnel was not
    /// lost there is only one: the application may have closed it.
    pub(super) fn begin_after(&mut self, outcome: &Outcome) -> bool {
        let Outcome::Unanswered(error) = outcome else {
            return false;
        };
        let is_of_tunnel = error
            .as_ref()
            .is_some_and(|error| error.kind() == ErrorKind::ConnectionAborted);
        (is_of_tunnel || self.lost.is_none()) && self.begin_next()
    }

    /// Begins the next resend, if there is to be one: the first at once, the others after a pause.
    pub(super) fn begin_next(&mut self) -> bool {
        if !self.allows_several {
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
        assert!(!Resends::new(false).begin_next());
        let (mut resends, began) = (Resends::new(true), Instant::now());
        assert!(resends.begin_next() && began.elapsed() < PAUSE);
        let mut count = 1;
        while resends.begin_next() {
            count += 1;
        }
        assert!((2..=10).contains(&count), "{count}");
        assert!(began.elapsed() >= PAUSE);
    }

    #[test]
    fn what_the_application_may_have_closed_is_asked_once_more() {
        let closed = Outcome::Unanswered(None);
        let lost = Outcome::Unanswered(Some(ErrorKind::ConnectionAborted.into()));
        let mut resends = Resends::new(true);
        assert!(resends.begin_after(&closed) && !resends.begin_after(&closed));
        assert!(resends.begin_after(&lost));
        let mut resends = Resends::new(true);
        assert!(
            !resends.begin_after(&Outcome::TooSlow { has_request: true })
                && resends.begin_after(&lost)
        );
        assert!(!resends.begin_after(&closed));
        assert!(!Resends::new(false).begin_after(&lost));
    }
}
