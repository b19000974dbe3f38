//! Log lines about unreachable servers: one line when one goes, one when it is back, however many applications are
//! connected through it.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use crate::api::{ErrorClass, Whose};

/// The servers that are away, by origin.
#[derive(Default)]
pub(super) struct Outages(HashMap<String, Outage>);

struct Outage {
    since: Instant,
    /// Kinds of failure that were logged: another one is news.
    logged: Vec<Option<ErrorClass>>,
}

impl Outages {
    /// A server was not reached, or refuses; whether that is news.
    pub(super) fn begin(&mut self, origin: &str, class: ErrorClass, now: Instant) -> bool {
        let outage = self.0.entry(origin.to_owned()).or_insert_with(|| Outage {
            since: now,
            logged: Vec::new(),
        });
        let kind = kind(class);
        // A server that cannot be reached any more is the same outage, whatever it said before that.
        let is_news =
            outage.logged.is_empty() || (kind.is_some() && !outage.logged.contains(&kind));
        if is_news {
            outage.logged.push(kind);
        }
        is_news
    }

    /// It is back; for how long it was away, where that was logged.
    pub(super) fn end(&mut self, origin: &str, now: Instant) -> Option<Duration> {
        let outage = self.0.remove(origin)?;
        Some(now.saturating_duration_since(outage.since))
    }
}

/// Kind of a failure by what a user can do about it: none for all the ways in which a server is not there.
fn kind(class: ErrorClass) -> Option<ErrorClass> {
    use ErrorClass::{PortHeld, Refused};
    let is_away = class.row().whose == Whose::Away || matches!(class, Refused | PortHeld);
    Some(class).filter(|_| !is_away)
}

/// True if a failure is the server's, and so concerns all its applications.
pub(super) fn is_of_server(class: ErrorClass) -> bool {
    let whose = class.row().whose;
    matches!(whose, Whose::Away | Whose::Server) || class == ErrorClass::Forbidden
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_outage_is_told_once_and_a_refusal_within_it_once_more() {
        let (mut outages, now) = (Outages::default(), Instant::now());
        assert!(outages.begin("a", ErrorClass::Network, now));
        assert!(
            !outages.begin("a", ErrorClass::Network, now)
                && !outages.begin("a", ErrorClass::Dns, now)
        );
        assert!(outages.begin("b", ErrorClass::Dns, now));
        assert!(outages.begin("a", ErrorClass::HostKeyChanged, now));
        assert!(!outages.begin("a", ErrorClass::HostKeyChanged, now));
        let later = now + Duration::from_secs(125);
        assert!(!outages.begin("a", ErrorClass::Network, later));
        assert_eq!(outages.end("a", later), Some(Duration::from_secs(125)));
        assert!(outages.end("a", later).is_none());
        assert!(outages.begin("a", ErrorClass::Network, later));
    }
}
