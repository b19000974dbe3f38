//! The whole fleet as one of its relays sees it, for its operator: who is there, and where connectors have tunnels.

use std::collections::HashMap;

use super::member::Member;
use crate::api::relay as api;

/// The ports that connectors hold at one relay, by connector.
pub(in crate::relay) type Held = HashMap<String, Vec<u16>>;

/// How a relay is to the one that looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PeerState {
    /// It is that one.
    Own,
    Linked,
    /// It says that it ends.
    Leaving,
    /// There is no link to it.
    Away,
}

/// One relay of the fleet.
#[derive(Debug)]
pub(super) struct Peer {
    pub(super) id: String,
    pub(super) member: Member,
    pub(super) state: PeerState,
    /// Ports held there; none if unknown.
    pub(super) held: Option<Held>,
}

/// All relays that are known, this one first.
#[derive(Debug, Default)]
pub(in crate::relay) struct FleetOverview(pub(super) Vec<Peer>);

impl FleetOverview {
    /// True if there is another relay.
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

    /// As the operator reads it.
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
