//! Effects here of changes at another relay: sites lead elsewhere, tunnels end.

use super::setup::Service;
use super::state::{Application, Connector, RelayState};
use crate::tunnel::server::Opener;

/// Does it, of two states of which the second is the one that readers see.
pub(super) fn follow(service: &Service, before: &RelayState, after: &RelayState) {
    let Some(opener) = service.opener.get() else {
        return;
    };
    if after.connectors.is_shared_with(&before.connectors) {
        return;
    }
    for (name, was) in &before.connectors {
        let is = after.connectors.get(name);
        // Turned out, or another one of the same name.
        if is.is_none_or(|is| is.password != was.password) {
            opener.disconnect(name);
        }
        for gone in was.applications.iter().filter(|was| !has(is, was)) {
            // Its connector is to learn that, and asks anew where it wants it yet.
            opener.cut(name, gone.port);
            service.forget(name, gone);
        }
    }
    for (name, is) in &after.connectors {
        let was = before.connectors.get(name);
        if was == Some(is) {
            continue;
        }
        for application in is.applications.iter() {
            put(service, opener, name, (was, application));
        }
    }
}

fn has(connector: Option<&Connector>, application: &Application) -> bool {
    find(connector, &application.app_id).is_some()
}

fn find<'c>(connector: Option<&'c Connector>, app_id: &str) -> Option<&'c Application> {
    let mut applications = connector?.applications.iter();
    applications.find(|known| known.app_id == app_id)
}

fn put(
    service: &Service,
    opener: &Opener,
    name: &str,
    (connector, is): (Option<&Connector>, &Application),
) {
    let was = find(connector, &is.app_id);
    if was.is_some_and(|was| is_as_before(was, is)) {
        return;
    }
    if let Some(was) = was.filter(|was| was.port != is.port) {
        opener.free(name, was.port);
    }
    service.sites.put(name, is, opener);
}

/// When it was called for or connected last changes nothing here.
fn is_as_before(was: &Application, is: &Application) -> bool {
    let mut was = was.clone();
    was.connected_at.clone_from(&is.connected_at);
    was.is_repeated_by(is)
}
