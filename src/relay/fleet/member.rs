//! The relays of a fleet: their entries, the roster of live ones, the id of this one, and the overview for the
//! operator.

use std::collections::{BTreeMap, HashMap};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use crate::api::relay as api;
use crate::store::random::{bytes, hex};
use crate::store::{DataDir, Error};

/// Time after which a relay whose beat does not change counts as dead. Default 15 s: three beats.
const LEASE: Duration = Duration::from_secs(15);
/// File of this relay's id.
const FILE: &str = "fleet.id";
/// Bytes of that file, at most.
const CAP: u64 = 64;

/// Entry of a relay for the others.
#[derive(Debug, Default, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::relay) struct Member {
    /// Address that connectors dial.
    pub(in crate::relay) external_ip: String,
    pub(in crate::relay) tunnel_port: u16,
    /// URL that connectors may dial instead.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(in crate::relay) tunnel_url: Option<String>,
    /// Fingerprint of its host key, as connectors check it.
    pub(in crate::relay) fingerprint: String,
    /// Address at which other relays reach it: `ADDRESS:PORT`.
    pub(in crate::relay) peer: String,
    /// True if it is stopping, and accepts nothing new.
    #[serde(default)]
    pub(in crate::relay) is_leaving: bool,
    /// Version that it runs; empty if unknown.
    #[serde(default)]
    pub(in crate::relay) version: String,
    /// Its public URL.
    #[serde(default)]
    pub(in crate::relay) url: String,
    /// Host of its public ports.
    #[serde(default)]
    pub(in crate::relay) ports_at: String,
}

/// Another relay, as it was read last.
#[derive(Debug, Clone)]
struct RosterEntry {
    member: Member,
    beat: u64,
    /// Time at which the beat was seen to change, by this machine's clock; none if it has not changed yet.
    changed: Option<Instant>,
}

/// All relays but this one, by their ids.
#[derive(Debug, Default)]
pub(super) struct Roster {
    seen: BTreeMap<String, RosterEntry>,
    /// Time of the last read of the store: while the store is unavailable, no relay's state changes.
    at: Option<Instant>,
}

impl Roster {
    /// Takes over the rows of the store: id, beat, and the entry of each relay. Relays without a row are forgotten.
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

    /// All of them, live or not.
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

/// True if the directory belongs to a relay of a fleet, whose state is in the store.
pub(in crate::relay) fn is_member(home: &DataDir) -> bool {
    // Reading the directory reports the error.
    home.dir().join(FILE).try_exists().unwrap_or(false)
}

/// Returns this relay's id, 16 hexadecimal digits; creates one if there is none.
pub(super) fn id_of(home: &DataDir) -> Result<String, Error> {
    let locked = home.lock()?;
    let kept = home.read(FILE, CAP)?.unwrap_or_default();
    let kept = String::from_utf8(kept).unwrap_or_default();
    let kept = kept.trim();
    if kept.len() == 16 && kept.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return Ok(kept.to_ascii_lowercase());
    }
    let made = hex(&bytes::<8>());
    locked.write(FILE, format!("{made}\n").as_bytes())?;
    Ok(made)
}

/// The ports that connectors hold at one relay, by connector.
pub(in crate::relay) type Held = HashMap<String, Vec<u16>>;

/// State of a relay, as this one sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PeerState {
    /// This relay itself.
    Own,
    Linked,
    /// It is stopping.
    Leaving,
    /// There is no link to it.
    Away,
}

/// A relay of the fleet.
#[derive(Debug)]
pub(super) struct Peer {
    pub(super) id: String,
    pub(super) member: Member,
    pub(super) state: PeerState,
    /// Ports held there, by connector; none if unknown.
    pub(super) held: Option<Held>,
}

/// All known relays, this one first.
#[derive(Debug, Default)]
pub(in crate::relay) struct FleetOverview(pub(super) Vec<Peer>);

impl FleetOverview {
    /// True if another relay is linked.
    pub(super) fn has_linked(&self) -> bool {
        self.0.iter().any(|peer| peer.state == PeerState::Linked)
    }

    /// The host of a public port that a connector holds, at the first relay that has it.
    pub(in crate::relay) fn ports_host(&self, connector: &str, port: u16) -> Option<&str> {
        let holds = |peer: &&Peer| {
            let held = peer.held.as_ref().and_then(|held| held.get(connector));
            held.is_some_and(|ports| ports.contains(&port))
        };
        let host = self.0.iter().find(holds)?.member.ports_at.as_str();
        Some(host).filter(|host| !host.is_empty())
    }

    /// The relays that a connector has tunnels at.
    pub(in crate::relay) fn relays_of(&self, connector: &str) -> Vec<&str> {
        let holds = |peer: &&Peer| {
            let held = peer.held.as_ref();
            held.is_some_and(|held| held.contains_key(connector))
        };
        let holders = self.0.iter().filter(holds);
        holders.map(|peer| peer.id.as_str()).collect()
    }

    /// Returns the ports held at any of them.
    pub(in crate::relay) fn held(&self) -> Held {
        let mut all = Held::new();
        for (connector, ports) in self
            .0
            .iter()
            .filter_map(|peer| peer.held.as_ref())
            .flatten()
        {
            all.entry(connector.clone()).or_default().extend(ports);
        }
        all
    }

    /// Returns the operator's view.
    pub(in crate::relay) fn shown(&self) -> Vec<api::Peer> {
        let peers = self.0.iter().map(|peer| api::Peer {
            id: peer.id.clone(),
            state: peer.state.name().to_owned(),
            external_ip: peer.member.external_ip.clone(),
            tunnel_port: peer.member.tunnel_port,
            tunnel_url: peer.member.tunnel_url.clone(),
            peer: peer.member.peer.clone(),
            version: peer.member.version.clone(),
            connected: peer.held.as_ref().map(HashMap::len),
        });
        peers.collect()
    }
}

impl PeerState {
    fn name(self) -> &'static str {
        match self {
            Self::Own => "this one",
            Self::Linked => "linked",
            Self::Leaving => "leaving",
            Self::Away => "away",
        }
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

    #[test]
    fn it_stays_what_it_is_and_marks_the_directory() {
        let dir = tempfile::tempdir().unwrap();
        let home = DataDir::at(dir.path());
        assert!(!is_member(&home));
        let made = id_of(&home).unwrap();
        assert!(is_member(&home));
        assert_eq!(id_of(&home).unwrap(), made);
        std::fs::write(dir.path().join(FILE), "damaged").unwrap();
        assert_ne!(id_of(&home).unwrap(), made);
    }

    #[test]
    fn a_connector_is_where_any_relay_says_that_it_is() {
        let peer = |id: &str, held: Option<&[(&str, u16)]>| Peer {
            id: id.to_owned(),
            member: Member::default(),
            state: PeerState::Linked,
            held: held.map(|held| {
                let held = held
                    .iter()
                    .map(|(name, port)| ((*name).to_owned(), vec![*port]));
                held.collect()
            }),
        };
        let peers = vec![
            peer("a", Some(&[("one", 1), ("two", 2)])),
            peer("b", None),
            peer("c", Some(&[("two", 3)])),
        ];
        let overview = FleetOverview(peers);
        assert_eq!(overview.relays_of("two"), ["a", "c"]);
        assert!(overview.relays_of("three").is_empty());
        let mut two = overview.held().remove("two").unwrap();
        two.sort_unstable();
        assert_eq!(two, [2, 3]);
        assert_eq!(overview.shown()[1].connected, None);
    }
}
