//! A connection without a thread: one step of it, which waits for nothing.

use std::sync::Arc;

use super::connection::{Connection, Held, PIECE, Work};
use super::connection_handler::{After, ConnectionHandler, Progress};
use super::connection_table::{ConnectionEntry, Phase};
use super::parking_lot::Next;
use super::server_state::ServerState;
use crate::http::h1::head::{Head, HeadScan};
use crate::http::proxy::Client;
use crate::http::socket::would_block;

/// Reads the next request of a parked connection and begins with it, as far as that goes without
/// waiting.
pub(super) fn read_parked(
    state: &ServerState,
    entry: &Arc<ConnectionEntry>,
    held: &mut Held,
) -> Next<Work> {
    with_parked(state, entry, held, |connection, handler| {
        connection.read_now(handler)
    })
}

/// Goes on with what was begun: the upstream has something to tell.
pub(super) fn go_on_parked(
    state: &ServerState,
    entry: &Arc<ConnectionEntry>,
    held: &mut Held,
) -> Next<Work> {
    with_parked(state, entry, held, |connection, handler| {
        let progress = handler.go_on(connection);
        connection.parked(progress)
    })
}

fn with_parked(
    state: &ServerState,
    entry: &Arc<ConnectionEntry>,
    held: &mut Held,
    step: impl FnOnce(&mut Connection<'_>, &mut dyn ConnectionHandler) -> Next<Work>,
) -> Next<Work> {
    let mut connection = Connection::new(state, entry, held);
    let Some(handler) = held.handler() else {
        return Next::Gone;
    };
    let next = step(&mut connection, handler);
    held.inbox = connection.inbox;
    next
}

impl Connection<'_> {
    /// A head that is not whole, or that is refused, is looked at again by a thread.
    fn read_now(&mut self, handler: &mut dyn ConnectionHandler) -> Next<Work> {
        let range = loop {
            let count = match self.receive(PIECE) {
                Ok(count @ 1..) => count,
                failed if would_block(&failed) && self.inbox.is_empty() => {
                    return Next::Unchanged;
                }
                failed if would_block(&failed) => return Next::Needs(Work::Read),
                _ => return Next::Gone,
            };
            match HeadScan::default().scan(&self.inbox, self.state.limits.head) {
                Ok(Some(range)) => break range,
                // Where all has come that was asked for, there may be more.
                Ok(None) if count == PIECE => {}
                _ => return Next::Needs(Work::Read),
            }
        };
        let bytes = self.inbox.get(range.clone()).expect("a head was scanned");
        let Ok(head) = Head::parse(bytes, self.state.limits.headers) else {
            return Next::Needs(Work::Read);
        };
        self.consume(range.end);
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
            self.entry.leave_idle();
        }
        next
    }

    fn parked(&self, progress: Progress) -> Next<Work> {
        match progress {
            Progress::Idle => Next::Unchanged,
            Progress::Waits => Next::Waits,
            Progress::NeedsThread => Next::Needs(Work::Finish),
            Progress::Done(After::Keep) if self.state.is_stopping() => {
                Next::Needs(Work::End(After::Close))
            }
            Progress::Done(After::Keep) => {
                self.entry.enter(Phase::Idle);
                Next::Idle
            }
            Progress::Done(after) => Next::Needs(Work::End(after)),
        }
    }
}
