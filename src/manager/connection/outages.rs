//! Log lines about unreachable servers: one line when one goes, one when it is back, however many applications are
//! connected through it.

use std::collections::HashMap;
use std::time::{Duration, Instant};

/// The servers that are away, by origin.
#[derive(Default)]
pub(super) struct Outages(HashMap<String, Outage>);

struct Outage {
    since: Instant,
    /// Kinds of failure that were told: another one is news.
    told: Vec<&'static str>,
}

impl Outages {
    /// A server was not reached, or refuses; whether that is news.
    pub(super) fn begin(&mut self, origin: &str, class: &'static str, now: Instant) -> bool {
        let outage = self.0.entry(origin.to_owned()).or_insert_with(|| Outage {
            since: now,
            told: Vec::new(),
        });
        let kind = kind(class);
        // A server that cannot be reached any more is the same outage, whatever it said before that.
        let is_news = outage.told.is_empty() || (kind != AWAY && !outage.told.contains(&kind));
        if is_news {
            outage.told.push(kind);
        }
        is_news
    }

    /// It is back; for how long it was away, where that was told.
    pub(super) fn end(&mut self, origin: &str, now: Instant) -> Option<Duration> {
        let outage = self.0.remove(origin)?;
        Some(now.saturating_duration_since(outage.since))
    }
}

/// All the ways in which a server is not there.
const AWAY: &str = "away";

/// Kind of a failure by what a user can do about it.
fn kind(class: &'static str) -> &'static str {
    match class {
        "network" | "dns" | "proxy" | "proxy-credentials" | "timeout" | "protocol" | "refused"
        | "port-held" => AWAY,
        other => other,
    }
}

/// True if a failure is the server's, and so concerns all its applications.
pub(super) fn is_of_server(class: &str) -> bool {
    matches!(
        class,
        "network" | "wrong-password" | "forbidden" | "revoked"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_outage_is_told_once_and_a_refusal_within_it_once_more() {
        let (mut outages, now) = (Outages::default(), Instant::now());
        assert!(outages.begin("a", "network", now));
        assert!(!outages.begin("a", "network", now) && !outages.begin("a", "dns", now));
        assert!(outages.begin("b", "dns", now));
        assert!(outages.begin("a", "host-key-changed", now));
        assert!(!outages.begin("a", "host-key-changed", now));
        let later = now + Duration::from_secs(125);
        assert!(!outages.begin("a", "network", later));
        assert_eq!(outages.end("a", later), Some(Duration::from_secs(125)));
        assert!(outages.end("a", later).is_none());
        assert!(outages.begin("a", "network", later));
    }
}
