//! An owner as others see it: where its commands go, and what it last published.

use std::sync::Arc;
use std::time::Instant;

use crossbeam_channel::{Receiver, RecvTimeoutError, Sender, TryRecvError};

use super::command::Command;
use super::view::MainTunnelView;
use crate::sync::Mutex;

/// The owner's thread ends when the last of these is dropped: it holds one itself while it has work.
pub(super) struct Mailbox {
    pub(super) origin: String,
    commands: Sender<(Arc<Mailbox>, Command)>,
    /// Closed when its owner has given everything back.
    done: Receiver<()>,
    snapshot: Mutex<Arc<ServerSnapshot>>,
}

/// One remote server as it is now: published by its owner after each change.
pub(crate) struct ServerSnapshot {
    /// None where no main tunnel is set up.
    pub(crate) main: Option<MainTunnelView>,
    /// Closed when the server knows this connector by another name or password.
    pub(crate) identity_changed: Receiver<()>,
}

impl Mailbox {
    pub(super) fn new(
        origin: &str,
        commands: Sender<(Arc<Self>, Command)>,
        done: Receiver<()>,
        first: ServerSnapshot,
    ) -> Self {
        Self {
            origin: origin.to_owned(),
            commands,
            done,
            snapshot: Mutex::new(Arc::new(first)),
        }
    }

    /// Sends a command. An owner that has ended, with the program, takes none.
    pub(super) fn send(self: &Arc<Self>, command: Command) {
        // With the mailbox, so that the owner does not end over it.
        let _ = self.commands.send((Arc::clone(self), command));
    }

    /// True if the owner has ended.
    pub(super) fn has_ended(&self) -> bool {
        self.done.try_recv() != Err(TryRecvError::Empty)
    }

    /// Waits until it has; false where that took longer than until `deadline`.
    pub(super) fn wait_for_end(&self, deadline: Instant) -> bool {
        self.done.recv_deadline(deadline) != Err(RecvTimeoutError::Timeout)
    }

    /// The newest snapshot.
    pub(super) fn snapshot(&self) -> Arc<ServerSnapshot> {
        Arc::clone(&self.snapshot.lock())
    }

    /// Puts another snapshot in its place.
    pub(super) fn publish(&self, snapshot: ServerSnapshot) {
        let before = std::mem::replace(&mut *self.snapshot.lock(), Arc::new(snapshot));
        // Whoever drops a tunnel last ends it, which is not for under the lock.
        drop(before);
    }
}
