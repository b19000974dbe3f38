//! The relays of a fleet, and which of them are there. Pure, but for the time that is given.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

/// A relay whose beat was not seen to change for so long is not there. Default 15 s: three beats.
const LEASE: Duration = Duration::from_secs(15);

/// Entry of a relay for the others.
#[derive(Debug, Default, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::relay) struct Member {
    /// Address that connectors dial.
    pub(in crate::relay) external_ip: String,
    pub(in crate::relay) tunnel_port: u16,
    /// URL that connectors may dial instead.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(in crate::relay) tunnel_url: Option<String>,
    /// Of its host key, as connectors check it.
    pub(in crate::relay) fingerprint: String,
    /// Where other relays reach it: `ADDRESS:PORT`.
    pub(in crate::relay) peer: String,
    /// True if it ends, and takes nothing new.
    #[serde(default)]
    pub(in crate::relay) is_leaving: bool,
    /// Which version it runs; empty of one that does not say.
    #[serde(default)]
    pub(in crate::relay) version: String,
    /// Its public URL.
    #[serde(default)]
    pub(in crate::relay) url: String,
    /// The host of public ports there.
    #[serde(default)]
    pub(in crate::relay) ports_at: String,
}

/// One relay, as it was read last.
#[derive(Debug, Clone)]
struct RosterEntry {
    member: Member,
    beat: u64,
    /// When the beat was seen to change, by this machine's clock alone; not since it is known, where none.
    changed: Option<Instant>,
}

/// All relays but this one, by their ids.
#[derive(Debug, Default)]
pub(super) struct Roster {
    seen: BTreeMap<String, RosterEntry>,
    /// When the store was read last: while it is away nobody is judged anew.
    at: Option<Instant>,
}

impl Roster {
    /// Takes over what the store says: id, beat, and what each says of itself. Who is not in it is not known any more.
    pub(super) fn see(&mut self, rows: impl Iterator<Item = (String, u64, Member)>, now: Instant) {
        let mut before = std::mem::take(&mut self.seen);
        for (id, beat, member) in rows {
            let was = before.remove(&id);
            let changed = match was {
                Some(was) if was.beat == beat => was.changed,
                Some(_) => Some(now),
                None => None,
            };
            let seen = RosterEntry {
                member,
                beat,
                changed,
            };
            self.seen.insert(id, seen);
        }
        self.at = Some(now);
    }

    /// All of them, there or not.
    pub(super) fn members(&self) -> impl Iterator<Item = (&str, &Member)> {
        self.seen
            .iter()
            .map(|(id, seen)| (id.as_str(), &seen.member))
    }

    pub(super) fn get(&self, id: &str) -> Option<&Member> {
        Some(&self.seen.get(id)?.member)
    }

    /// Relays that are alive: their beat changes, or there is a link to them.
    pub(super) fn live(
        &self,
        is_linked: impl Fn(&str) -> bool,
    ) -> impl Iterator<Item = (&str, &Member)> {
        let at = self.at;
        let beats = move |seen: &RosterEntry| {
            let ages = at.zip(seen.changed);
            ages.is_some_and(|(at, changed)| at.saturating_duration_since(changed) < LEASE)
        };
        let seen = self.seen.iter();
        let live = seen.filter(move |(id, seen)| beats(seen) || is_linked(id));
        live.map(|(id, seen)| (id.as_str(), &seen.member))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn member() -> Member {
        Member {
            external_ip: "127.0.0.1".into(),
            tunnel_port: 1,
            peer: "127.0.0.1:2".into(),
            ..Member::default()
        }
    }

    fn live(roster: &Roster, linked: &[&str]) -> Vec<String> {
        let live = roster.live(|id| linked.contains(&id));
        live.map(|(id, _)| id.to_owned()).collect()
    }

    #[test]
    fn who_beats_or_has_a_link_is_there_by_the_clock_of_who_looks() {
        let began = Instant::now();
        let mut roster = Roster::default();
        let see = |roster: &mut Roster, after: u64, beats: &[(&str, u64)]| {
            let rows = beats
                .iter()
                .map(|(id, beat)| ((*id).to_owned(), *beat, member()));
            roster.see(rows, began + Duration::from_secs(after));
        };
        see(&mut roster, 0, &[("a", 7), ("b", 9)]);
        assert!(live(&roster, &[]).is_empty(), "that may be an old beat");
        assert_eq!(live(&roster, &["b"]), ["b"]);
        see(&mut roster, 5, &[("a", 8), ("b", 9)]);
        assert_eq!(live(&roster, &[]), ["a"]);
        // A beat that goes back is one too: a restart begins anew.
        see(&mut roster, 10, &[("a", 8), ("b", 1)]);
        assert_eq!(live(&roster, &[]), ["a", "b"]);
        see(&mut roster, 19, &[("a", 8), ("b", 1)]);
        assert_eq!(live(&roster, &[]), ["a", "b"]);
        see(&mut roster, 20, &[("a", 8), ("b", 1)]);
        assert_eq!(live(&roster, &[]), ["b"], "15 s without a beat");
        // The store is away from here on: nobody is judged anew, however long that is.
        assert_eq!(live(&roster, &["a"]), ["a", "b"]);
        see(&mut roster, 500, &[("b", 1)]);
        assert!(live(&roster, &[]).is_empty());
        assert!(roster.get("a").is_none() && roster.get("b").is_some());
    }
}
