//! A connection that is served: it leaves the table when whoever has it drops it, also in a panic.

use std::net::TcpStream;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;

use super::connection::CarriedState;
use super::connection_table::ConnectionEntry;
use super::server_state::ServerState;

/// A connection in the table, with what is kept for it. One thread has it at a time.
pub(super) struct AdmittedConnection {
    pub(super) held: CarriedState,
    pub(super) entry: Arc<ConnectionEntry>,
    pub(super) socket: Arc<TcpStream>,
    /// Last, as it is dropped last: what the connection held is given back by then.
    _removal: RemoveOnDrop,
}

/// Takes a connection out of the table when dropped.
pub(super) struct RemoveOnDrop {
    state: Arc<ServerState>,
    id: u64,
}

impl RemoveOnDrop {
    pub(super) fn new(state: &Arc<ServerState>, entry: &ConnectionEntry) -> RemoveOnDrop {
        let (state, id) = (Arc::clone(state), entry.id);
        RemoveOnDrop { state, id }
    }
}

impl AdmittedConnection {
    pub(super) fn new(
        state: &Arc<ServerState>,
        entry: Arc<ConnectionEntry>,
        socket: Arc<TcpStream>,
    ) -> AdmittedConnection {
        let gateway = state.gateway.as_ref();
        AdmittedConnection {
            held: CarriedState::new(gateway.map(|gateway| gateway.visit(entry.peer))),
            _removal: RemoveOnDrop::new(state, &entry),
            entry,
            socket,
        }
    }
}

impl super::parking_lot::Parkable for AdmittedConnection {
    fn id(&self) -> u64 {
        self.entry.id
    }

    fn socket(&self) -> Option<BorrowedFd<'_>> {
        Some(self.socket.as_fd())
    }

    fn flush(&mut self) {
        if let Some(handler) = self.held.handler() {
            handler.flush();
        }
    }
}

impl Drop for RemoveOnDrop {
    fn drop(&mut self) {
        self.state.table.remove(self.id);
    }
}
