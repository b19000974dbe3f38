//! All statements that are under way, by visitor and id.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use super::owner::Owner;
use super::running::Running;
use crate::sync::{Condvar, Mutex, MutexGuard};

/// Longest statement id that a client may choose, in bytes.
pub(crate) const MAX_ID: usize = 128;

/// All statements on their way, by owner and the id that the client chose.
#[derive(Default)]
pub(crate) struct RunningMap {
    inner: Mutex<Inner>,
    left: Condvar,
}

#[derive(Default)]
struct Inner {
    /// Key: visitor and query id, or a number of ours where the client chose none.
    map: HashMap<(String, String), Arc<Running>>,
    unnamed: u64,
}

/// A place in the map; leaving it when dropped.
pub(crate) struct Entry<'a> {
    map: &'a RunningMap,
    key: (String, String),
    /// The statement.
    pub(crate) running: Arc<Running>,
}

impl RunningMap {
    /// Enters a statement; `None` when the id is in use by the same visitor.
    pub(crate) fn enter(&self, owner: Owner, query_id: Option<&str>) -> Option<Entry<'_>> {
        let Some(id) = query_id else {
            return Some(self.enter_unnamed(owner));
        };
        let mut inner = self.lock();
        let key = (owner.visitor.clone(), format!("q{id}"));
        let is_free = !inner.map.contains_key(&key);
        is_free.then(|| self.insert(&mut inner, key, owner))
    }

    /// Enters a statement that its client gave no id.
    pub(crate) fn enter_unnamed(&self, owner: Owner) -> Entry<'_> {
        let mut inner = self.lock();
        inner.unnamed += 1;
        let key = (owner.visitor.clone(), format!("u{}", inner.unnamed));
        self.insert(&mut inner, key, owner)
    }

    fn insert(&self, inner: &mut Inner, key: (String, String), owner: Owner) -> Entry<'_> {
        let running = Arc::new(Running::new(owner));
        inner.map.insert(key.clone(), running.clone());
        Entry {
            map: self,
            key,
            running,
        }
    }

    /// The visitor's statement of that id, while it runs.
    pub(crate) fn find(&self, visitor: &str, query_id: &str) -> Option<Arc<Running>> {
        let key = (visitor.to_owned(), format!("q{query_id}"));
        self.lock().map.get(&key).cloned()
    }

    /// Every statement for which `wanted` says yes.
    pub(crate) fn filter(&self, wanted: impl Fn(&Owner, &Running) -> bool) -> Vec<Arc<Running>> {
        let inner = self.lock();
        let all = inner.map.values();
        all.filter(|r| wanted(&r.owner, r)).cloned().collect()
    }

    /// Waits until no statement is under way, for at most `time`.
    pub(crate) fn wait_until_empty(&self, time: Duration) {
        let waited = self
            .left
            .wait_timeout_while(self.lock(), time, |inner| !inner.map.is_empty());
        let inner = waited;
        if !inner.map.is_empty() {
            log::warn!("{} statements have not ended in time", inner.map.len());
        }
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock()
    }
}

impl Drop for Entry<'_> {
    fn drop(&mut self) {
        self.map.lock().map.remove(&self.key);
        self.map.left.notify_all();
    }
}
