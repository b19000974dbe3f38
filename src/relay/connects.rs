//! Sites whose tunnel came or went, until that is noted in the state.

use std::collections::BTreeSet;
use std::time::Duration;

use crate::sync::{Lookout, Mutex};

/// Connector and port of each.
#[derive(Debug, Default)]
pub(super) struct Connects {
    pending: Mutex<BTreeSet<(String, u16)>>,
    lookout: Lookout,
}

impl Connects {
    /// Adds one, and has `note` called soon, on another thread, until it answers that nothing was left.
    pub(super) fn add(
        &self,
        connector: &str,
        port: u16,
        note: impl FnMut() -> Option<Duration> + Send + 'static,
    ) {
        self.pending.lock().insert((connector.to_owned(), port));
        self.lookout.begin("relay-connects", note);
    }

    /// All that are to be noted.
    pub(super) fn take(&self) -> BTreeSet<(String, u16)> {
        std::mem::take(&mut *self.pending.lock())
    }
}
