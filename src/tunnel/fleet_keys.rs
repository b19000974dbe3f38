//! Host keys of the relays of a fleet, vouched for by keys that the reader may know already. A new relay can join this
//! way, and an impostor cannot add its key.

use serde::{Deserialize, Serialize};

use super::ssh::{Error, HostKey, ServerKey};

/// Limit for keys, and for proofs. Default 64: the relays of a fleet.
const MOST: usize = 64;

/// The keys of a fleet's relays.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct FleetKeys {
    /// Fingerprint of the fleet's own key, which all its relays have.
    pub(crate) key: String,
    /// Fingerprints of the relays' host keys.
    pub(crate) relays: Vec<String>,
    /// Proofs of all of these, each by another key ([`ServerKey::prove`]).
    proofs: Vec<String>,
}

impl FleetKeys {
    /// Vouches for `relays` with the fleet's key and with this relay's own.
    pub(crate) fn new(
        relays: Vec<String>,
        fleet: &ServerKey,
        own: &ServerKey,
    ) -> Result<Self, Error> {
        let mut keys = Self {
            key: fleet.public().fingerprint(),
            relays,
            proofs: Vec::new(),
        };
        let statement = keys.statement();
        keys.proofs = vec![fleet.prove(&statement)?, own.prove(&statement)?];
        Ok(keys)
    }

    /// True if one of the `known` keys vouches for them.
    pub(crate) fn is_vouched(&self, known: &[String]) -> bool {
        let statement = self.statement();
        let is_of = |proof: &String| {
            known
                .iter()
                .any(|known| HostKey::is_proof(proof, known, &statement))
        };
        self.relays.len() <= MOST && self.proofs.iter().take(MOST).any(is_of)
    }

    fn statement(&self) -> Vec<u8> {
        let lines = std::iter::once(&self.key).chain(&self.relays);
        lines.fold(b"postern fleet".to_vec(), |mut said, line| {
            said.push(b'\n');
            said.extend_from_slice(line.as_bytes());
            said
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tunnel::ssh::KeyKind;

    #[test]
    fn a_known_key_vouches_for_exactly_what_was_said() {
        let [own, other, stranger] =
            [(); 3].map(|()| ServerKey::generate(KeyKind::Ed25519).unwrap());
        let fleet = ServerKey::from_seed(&[7; 32]).unwrap();
        let shown = |key: &ServerKey| key.public().fingerprint();
        let relays = vec![shown(&own), shown(&other)];
        let keys = FleetKeys::new(relays, &fleet, &own).unwrap();
        assert!(keys.is_vouched(&[shown(&stranger), shown(&own)]));
        assert!(keys.is_vouched(&[shown(&ServerKey::from_seed(&[7; 32]).unwrap())]));
        assert!(!keys.is_vouched(&[]) && !keys.is_vouched(&[shown(&other), shown(&stranger)]));
        let known = [shown(&own), shown(&fleet)];
        let changes: [fn(&mut FleetKeys); 6] = [
            |keys| keys.relays.push("more".to_owned()),
            |keys| keys.relays.swap(0, 1),
            |keys| keys.relays.truncate(1),
            |keys| keys.key = "another".to_owned(),
            |keys| keys.proofs.clear(),
            |keys| {
                let (key, relay) = (keys.key.clone(), keys.relays.remove(0));
                keys.key = format!("{key}\n{relay}");
                keys.proofs.truncate(0);
            },
        ];
        for change in changes {
            let mut changed = keys.clone();
            change(&mut changed);
            assert!(!changed.is_vouched(&known), "{changed:?}");
        }
    }
}
