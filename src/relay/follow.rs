//! Effects of changes of the state, made here or at another relay: sites lead elsewhere, and the open tunnels of a
//! revoked connector end.

use std::collections::{BTreeMap, HashMap};

use super::setup::Service;
use super::state::{Application, Connector, RelayState};

/// Applies the difference of two states, of which readers see the second.
pub(super) fn follow(service: &Service, before: &RelayState, after: &RelayState) {
    let Some(opener) = service.opener.get() else {
        return;
    };
    if after.connectors.is_shared_with(&before.connectors) {
        return;
    }
    let mut others: BTreeMap<&String, (Option<&Connector>, Option<&Connector>)> = BTreeMap::new();
    let mut unseen: HashMap<&String, _> = before.connectors.iter().collect();
    for (name, is) in &after.connectors {
        let was = unseen.remove(name);
        if was != Some(is) {
            others.insert(name, (was.map(|was| &**was), Some(is)));
        }
    }
    let gone = unseen.into_iter();
    others.extend(gone.map(|(name, was)| (name, (Some(&**was), None))));
    for (name, (was, is)) in &others {
        let Some(was) = was else {
            continue;
        };
        // The connector was revoked, or another one has its name.
        if is.is_none_or(|is| is.password != was.password) {
            opener.disconnect(name);
        }
        for was in &was.applications {
            let is = is.and_then(|is| is.find(&was.app_id));
            if is.is_none_or(|is| is.port != was.port) {
                // Its connector has to learn that, and asks again if it still wants it.
                opener.cut(name, was.port);
                // Nobody remembers any more that its tunnel listens there.
                opener.free(name, was.port);
            }
            if is.is_none() {
                service.sites.remove(was);
            }
        }
    }
    for (name, (was, is)) in &others {
        for is in is.iter().flat_map(|is| &is.applications) {
            // A new `connected_at` changes nothing here.
            let is_as_before = was.and_then(|was| was.find(&is.app_id)).is_some_and(|was| {
                let connected_at = is.connected_at.clone();
                *is == Application {
                    connected_at,
                    ..was.clone()
                }
            });
            if !is_as_before {
                service.sites.put(name, is, opener);
            }
        }
    }
}
