//! A connection that is served: it leaves the table when whoever has it drops it, also in a panic.

use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;

use super::connection::Held;
use super::connection_table::ConnectionEntry;
use super::server_state::ServerState;

/// A connection in the table, with what is kept for it. One thread has it at a time.
pub(super) struct Admitted {
    pub(super) held: Held,
    pub(super) entry: Arc<ConnectionEntry>,
    /// Last, as it is dropped last: what the connection held is given back by then.
    _removal: Removal,
}

struct Removal {
    state: Arc<ServerState>,
    id: u64,
}

impl Admitted {
    pub(super) fn new(state: &Arc<ServerState>, entry: Arc<ConnectionEntry>) -> Admitted {
        let gateway = state.gateway.as_ref();
        Admitted {
            held: Held::new(gateway.map(|gateway| gateway.visit(entry.peer))),
            _removal: Removal {
                state: Arc::clone(state),
                id: entry.id,
            },
            entry,
        }
    }
}

impl super::parking_lot::Parkable for Admitted {
    fn id(&self) -> u64 {
        self.entry.id
    }

    fn socket(&self) -> Option<BorrowedFd<'_>> {
        Some(self.entry.socket.as_fd())
    }

    fn flush(&mut self) {
        if let Some(handler) = self.held.handler() {
            handler.flush();
        }
    }
}

impl Drop for Removal {
    fn drop(&mut self) {
        self.state.table.remove(self.id);
    }
}
