//! How many clients and visitors the limit of open files allows.

use super::clients::MAX_CONNECTIONS;
use super::ports::MAX_VISITORS;
use crate::http::server::raise_open_files;

/// Open files of a client: its socket, and during the handshake what wakes it.
const CLIENT_FILES: usize = 3;
/// Open files of a visitor of a public port.
const VISITOR_FILES: usize = 1;
/// Open files of all public ports, three each. Default 4096.
const PORT_FILES: usize = 4096;
/// Clients, and visitors, that there is room for whatever the limit is.
const LEAST: usize = 16;

/// How many there may be at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Allowed {
    pub(super) clients: usize,
    pub(super) visitors: usize,
}

/// Raises the limit as far as is needed and may be. `reserved` files are the rest of the program's.
pub(super) fn allowed(reserved: usize) -> Allowed {
    let (clients, visitors) = (MAX_CONNECTIONS * CLIENT_FILES, MAX_VISITORS * VISITOR_FILES);
    let wanted = reserved + clients + visitors + PORT_FILES;
    within(raise_open_files(wanted).saturating_sub(reserved))
}

/// At most a third of what there is for visitors, and a third for ports; the rest is for clients.
fn within(files: usize) -> Allowed {
    let share = files / 3;
    let (visitors, ports) = (
        share.min(MAX_VISITORS * VISITOR_FILES),
        share.min(PORT_FILES),
    );
    let clients = (files - visitors - ports) / CLIENT_FILES;
    Allowed {
        clients: clients.clamp(LEAST, MAX_CONNECTIONS),
        visitors: (visitors / VISITOR_FILES).max(LEAST),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_low_limit_leaves_room_for_the_rest() {
        let allowed = |clients, visitors| Allowed { clients, visitors };
        // Files that the unit's limit leaves.
        assert_eq!(within(60_000), allowed(16_384, 4096));
        assert_eq!(within(20_000), allowed(3936, 4096));
        assert_eq!(within(1500), allowed(166, 500));
        assert_eq!(within(0), allowed(16, 16));
    }
}
