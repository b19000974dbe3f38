//! All statements that are under way, by visitor and id.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use super::owner::StatementOwner;
use super::running::RunningStatement;
use crate::sync::{Condvar, Mutex, MutexGuard};

/// Longest statement id that a client may choose, in bytes.
pub(crate) const MAX_ID: usize = 128;

/// All statements on their way, by owner and the id that the client chose.
#[derive(Default)]
pub(crate) struct RunningStatements {
    table: Mutex<StatementTable>,
    left: Condvar,
}

#[derive(Default)]
struct StatementTable {
    /// Key: visitor and query id, or a number of ours where the client chose none.
    map: HashMap<(String, String), Arc<RunningStatement>>,
    unnamed: u64,
}

/// A place in the map; leaving it when dropped.
pub(crate) struct RunningEntry<'a> {
    map: &'a RunningStatements,
    key: (String, String),
    /// The statement.
    pub(crate) running: Arc<RunningStatement>,
}

impl RunningStatements {
    /// Enters a statement; `None` when the id is in use by the same visitor.
    pub(crate) fn enter(&self, owner: StatementOwner, query_id: &str) -> Option<RunningEntry<'_>> {
        let mut table = self.lock();
        let key = (owner.visitor.clone(), format!("q{query_id}"));
        let is_free = !table.map.contains_key(&key);
        is_free.then(|| self.insert(&mut table, key, owner))
    }

    /// Enters a statement that its client gave no id.
    pub(crate) fn enter_unnamed(&self, owner: StatementOwner) -> RunningEntry<'_> {
        let mut table = self.lock();
        table.unnamed += 1;
        let key = (owner.visitor.clone(), format!("u{}", table.unnamed));
        self.insert(&mut table, key, owner)
    }

    fn insert(
        &self,
        table: &mut StatementTable,
        key: (String, String),
        owner: StatementOwner,
    ) -> RunningEntry<'_> {
        let running = Arc::new(RunningStatement::new(owner));
        table.map.insert(key.clone(), running.clone());
        RunningEntry {
            map: self,
            key,
            running,
        }
    }

    /// The visitor's statement of that id, while it runs.
    pub(crate) fn find(&self, visitor: &str, query_id: &str) -> Option<Arc<RunningStatement>> {
        let key = (visitor.to_owned(), format!("q{query_id}"));
        self.lock().map.get(&key).cloned()
    }

    /// Every statement for which `wanted` says yes.
    pub(crate) fn filter(
        &self,
        wanted: impl Fn(&StatementOwner, &RunningStatement) -> bool,
    ) -> Vec<Arc<RunningStatement>> {
        let table = self.lock();
        let all = table.map.values();
        all.filter(|r| wanted(&r.owner, r)).cloned().collect()
    }

    /// Waits until no statement is under way, for at most `time`.
    pub(crate) fn wait_until_empty(&self, time: Duration) {
        let table = self
            .left
            .wait_timeout_while(self.lock(), time, |table| !table.map.is_empty());
        if !table.map.is_empty() {
            log::warn!("{} statements did not end in time", table.map.len());
        }
    }

    fn lock(&self) -> MutexGuard<'_, StatementTable> {
        self.table.lock()
    }
}

impl Drop for RunningEntry<'_> {
    fn drop(&mut self) {
        self.map.lock().map.remove(&self.key);
        self.map.left.notify_all();
    }
}
