//! The owners of a process: which server has one, and who uses it.

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;
use std::time::Instant;

use crossbeam_channel::{Receiver, RecvTimeoutError, Sender};

use super::command::Command;
use super::snapshot::ServerSnapshot;
use crate::sync::{Mutex, MutexGuard};

/// All owners, by origin. Its lock is held for moments only, and for the start of a thread.
pub(super) struct OwnerTable(Mutex<Owners>);

struct Owners {
    by_origin: BTreeMap<String, OwnerEntry>,
    /// Dropped to end them all; none lets no other begin.
    closing: Option<Sender<()>>,
    closed: Receiver<()>,
}

struct OwnerEntry {
    mailbox: Arc<Mailbox>,
    /// How many [`RemoteServer`](super::RemoteServer)s there are.
    users: usize,
}

/// An owner as others see it.
pub(super) struct Mailbox {
    pub(super) origin: String,
    pub(super) commands: Sender<Command>,
    snapshot: Mutex<Arc<ServerSnapshot>>,
    /// Closed when its thread has ended.
    done: Receiver<()>,
}

/// What the thread of an owner is started with.
pub(super) struct OwnersEnd {
    pub(super) mailbox: Arc<Mailbox>,
    pub(super) commands: Receiver<Command>,
    /// Closed when the program ends.
    pub(super) closed: Receiver<()>,
    /// Dropped when the thread has ended.
    pub(super) working: Sender<()>,
    /// Dropped when the identity changes; the receivers are in the snapshots.
    pub(super) identity: Sender<()>,
}

impl Mailbox {
    fn new(origin: &str, closed: Receiver<()>) -> OwnersEnd {
        let (sender, commands) = crossbeam_channel::unbounded();
        let (working, done) = crossbeam_channel::bounded(0);
        let (identity, identity_changed) = crossbeam_channel::bounded(0);
        let mailbox = Arc::new(Self {
            origin: origin.to_owned(),
            commands: sender,
            snapshot: Mutex::new(Arc::new(ServerSnapshot {
                main: None,
                identity_changed,
            })),
            done,
        });
        OwnersEnd {
            mailbox,
            commands,
            closed,
            working,
            identity,
        }
    }

    /// The newest snapshot.
    pub(super) fn snapshot(&self) -> Arc<ServerSnapshot> {
        Arc::clone(&self.snapshot.lock())
    }

    /// Puts another snapshot in its place.
    pub(super) fn publish(&self, snapshot: ServerSnapshot) {
        let before = std::mem::replace(&mut *self.snapshot.lock(), Arc::new(snapshot));
        // The last one to hold a tunnel ends it, which is not for under the lock.
        drop(before);
    }
}

impl Default for OwnerTable {
    fn default() -> Self {
        let (closing, closed) = crossbeam_channel::bounded(0);
        Self(Mutex::new(Owners {
            by_origin: BTreeMap::new(),
            closing: Some(closing),
            closed,
        }))
    }
}

impl OwnerTable {
    /// One more user of the owner for this origin; `spawn` starts its thread where there is none. None at the program's
    /// end.
    pub(super) fn enter(
        &self,
        origin: &str,
        spawn: impl FnOnce(OwnersEnd) -> io::Result<()>,
    ) -> io::Result<Option<Arc<Mailbox>>> {
        let mut owners = self.lock();
        if owners.closing.is_none() {
            return Ok(None);
        }
        if let Some(entry) = owners.by_origin.get_mut(origin) {
            entry.users += 1;
            return Ok(Some(Arc::clone(&entry.mailbox)));
        }
        let end = Mailbox::new(origin, owners.closed.clone());
        let mailbox = Arc::clone(&end.mailbox);
        // It finds its entry when it first looks: the lock is held.
        spawn(end)?;
        let entry = OwnerEntry {
            mailbox: Arc::clone(&mailbox),
            users: 1,
        };
        owners.by_origin.insert(origin.to_owned(), entry);
        Ok(Some(mailbox))
    }

    /// One user less; tells the owner where that was the last.
    pub(super) fn leave(&self, mailbox: &Arc<Mailbox>) {
        let mut owners = self.lock();
        if let Some(entry) = owners.entry(mailbox) {
            entry.users -= 1;
            if entry.users == 0 {
                // One that has ended need not be told.
                let _ = mailbox.commands.send(Command::Unused);
            }
        }
    }

    /// Whether nobody uses it now.
    pub(super) fn is_unused(&self, mailbox: &Arc<Mailbox>) -> bool {
        self.lock()
            .entry(mailbox)
            .is_none_or(|entry| entry.users == 0)
    }

    /// Takes an owner out where nobody uses it; who comes later gets another one.
    pub(super) fn remove_unused(&self, mailbox: &Arc<Mailbox>) -> bool {
        let mut owners = self.lock();
        let is_unused = owners.entry(mailbox).is_none_or(|entry| entry.users == 0);
        if is_unused {
            owners.remove(mailbox);
        }
        is_unused
    }

    /// Takes an owner out whose thread ends.
    pub(super) fn remove(&self, mailbox: &Arc<Mailbox>) {
        self.lock().remove(mailbox);
    }

    /// All of them, by origin.
    pub(super) fn all(&self) -> Vec<Arc<Mailbox>> {
        let owners = self.lock();
        let entries = owners.by_origin.values();
        entries.map(|entry| Arc::clone(&entry.mailbox)).collect()
    }

    /// Tells all owners to end, and lets none begin.
    pub(super) fn begin_close(&self) {
        self.lock().closing = None;
    }

    /// Waits until these have ended; false where that took longer.
    pub(super) fn await_end(owners: &[Arc<Mailbox>], deadline: Instant) -> bool {
        owners
            .iter()
            .all(|owner| owner.done.recv_deadline(deadline) != Err(RecvTimeoutError::Timeout))
    }

    fn lock(&self) -> MutexGuard<'_, Owners> {
        self.0.lock()
    }
}

impl Owners {
    /// The entry of exactly this owner: another one may have its origin.
    fn entry(&mut self, mailbox: &Arc<Mailbox>) -> Option<&mut OwnerEntry> {
        let entry = self.by_origin.get_mut(&mailbox.origin)?;
        Arc::ptr_eq(&entry.mailbox, mailbox).then_some(entry)
    }

    fn remove(&mut self, mailbox: &Arc<Mailbox>) {
        if self.entry(mailbox).is_some() {
            self.by_origin.remove(&mailbox.origin);
        }
    }
}
