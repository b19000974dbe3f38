//! A connection without a thread: one step of it, which waits for nothing.

use std::net::TcpStream;
use std::sync::Arc;

use super::connection::{CarriedState, Connection, Work};
use super::connection_handler::{After, ConnectionHandler, Progress};
use super::connection_table::{ConnectionEntry, Phase};
use super::parking_lot::Next;
use super::requests::HeadNow;
use super::server_state::ServerState;

/// Reads the next request of a parked connection and begins with it, as far as that goes without
/// waiting.
pub(super) fn read_parked(
    state: &ServerState,
    entry: &Arc<ConnectionEntry>,
    socket: &TcpStream,
    held: &mut CarriedState,
) -> Next<Work> {
    with_parked(state, entry, socket, held, |connection, handler| {
        connection.read_now(handler)
    })
}

/// Goes on with what was begun: the upstream has something to tell.
pub(super) fn go_on_parked(
    state: &ServerState,
    entry: &Arc<ConnectionEntry>,
    socket: &TcpStream,
    held: &mut CarriedState,
) -> Next<Work> {
    with_parked(state, entry, socket, held, |connection, handler| {
        let progress = handler.go_on(connection);
        connection.parked(progress)
    })
}

fn with_parked(
    state: &ServerState,
    entry: &Arc<ConnectionEntry>,
    socket: &TcpStream,
    held: &mut CarriedState,
    step: impl FnOnce(&mut Connection<'_, &TcpStream>, &mut dyn ConnectionHandler) -> Next<Work>,
) -> Next<Work> {
    let mut connection = Connection::new(state, entry, socket, &mut held.inbox);
    let Some(handler) = held.handler() else {
        return Next::Gone;
    };
    let next = step(&mut connection, handler);
    held.inbox = connection.requests.inbox;
    next
}

impl Connection<'_, &TcpStream> {
    fn read_now(&mut self, handler: &mut dyn ConnectionHandler) -> Next<Work> {
        let head = match self.requests.head_now(&self.state.limits) {
            HeadNow::Whole(head) => head,
            HeadNow::Part => return Next::Needs(Work::Read),
            HeadNow::Nothing => return Next::Unchanged,
            HeadNow::Gone => return Next::Gone,
        };
        let begun = if handler.claims(&head) {
            handler.begin(head, self)
        } else {
            Err(head)
        };
        let next = match begun {
            Ok(progress) => self.parked(progress),
            Err(head) => Next::Needs(Work::Serve(head)),
        };
        // A waiting one is at work, as it says itself.
        if matches!(next, Next::Needs(_)) {
            self.entry.mark_reading();
        }
        next
    }

    fn parked(&self, progress: Progress) -> Next<Work> {
        match progress {
            Progress::Idle => Next::Unchanged,
            Progress::Waits => Next::Waits,
            Progress::NeedsThread => Next::Needs(Work::Finish),
            Progress::Done(After::Keep) if self.state.is_stopping() => {
                Next::Needs(Work::ConnectionEnd(After::Close))
            }
            Progress::Done(After::Keep) => {
                self.entry.set_phase(Phase::Idle);
                Next::Idle
            }
            Progress::Done(after) => Next::Needs(Work::ConnectionEnd(after)),
        }
    }
}
