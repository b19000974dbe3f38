//! Which relays a connector's tunnels are at: rendezvous hashing (highest random weight, Thaler and Ravishankar 1998). Each
//! relay has a weight for each connector; a relay that joins or leaves moves only what it gets or had. Pure.

use crate::http::auth::sha256;

/// The relays in the order in which a connector is to use them.
pub(super) fn order<'m, M>(
    connector: &str,
    members: impl Iterator<Item = (&'m str, M)>,
) -> Vec<(&'m str, M)> {
    let mut weighed: Vec<_> = members
        .map(|(id, member)| (weight(connector, id), id, member))
        .collect();
    weighed.sort_by(|(a, a_id, _), (b, b_id, _)| b.cmp(a).then(a_id.cmp(b_id)));
    let in_order = weighed.into_iter();
    in_order.map(|(_, id, member)| (id, member)).collect()
}

fn weight(connector: &str, id: &str) -> [u8; 32] {
    let length = u64::try_from(connector.len()).expect("a length has at most 64 bits");
    sha256(&[
        b"postern placement",
        &length.to_be_bytes(),
        connector.as_bytes(),
        id.as_bytes(),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;

    const CONNECTORS: usize = 3000;

    fn firsts(ids: &[&str]) -> Vec<(String, String)> {
        let first = |number: usize| {
            let members = ids.iter().map(|id| (*id, ()));
            let order = order(&format!("c{number}"), members);
            assert_eq!(order.len(), ids.len());
            let mut names = order.into_iter().map(|(id, ())| id.to_owned());
            (names.next().unwrap(), names.next().unwrap_or_default())
        };
        (0..CONNECTORS).map(first).collect()
    }

    #[test]
    fn each_relay_has_its_share() {
        let firsts = firsts(&["a", "b", "c"]);
        for id in ["a", "b", "c"] {
            let count = firsts.iter().filter(|(first, _)| first == id).count();
            assert!((900..1100).contains(&count), "{id}: {count}");
        }
    }

    #[test]
    fn who_leaves_moves_only_what_it_had_and_to_where_the_second_tunnel_is() {
        let (before, after) = (firsts(&["a", "b", "c", "d"]), firsts(&["a", "b", "d"]));
        for ((first, second), (now, _)) in before.iter().zip(&after) {
            let expected = if first == "c" { second } else { first };
            assert_eq!(now, expected);
        }
    }
}
