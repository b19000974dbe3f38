//! Availability of the store, as it was found last: while it is away, only the thread that checks for its return waits
//! for it.

use std::mem::discriminant;
use std::time::{Duration, Instant};

use crate::relay::store_error::StoreError;
use crate::sync::Mutex;

/// Time without any answer after which the store is not there, whatever the last one was. Default 15 s: more than a
/// question takes at most.
const SILENT: Duration = Duration::from_secs(15);

/// Availability of the store.
#[derive(Debug)]
pub(super) struct StoreAvailability(Mutex<LastResult>);

/// Last result, and its time.
#[derive(Debug)]
struct LastResult {
    error: Option<StoreError>,
    at: Instant,
}

impl Default for StoreAvailability {
    fn default() -> Self {
        let at = Instant::now();
        Self(Mutex::new(LastResult { error: None, at }))
    }
}

impl StoreAvailability {
    /// Fails if it is away.
    pub(super) fn check(&self) -> Result<(), StoreError> {
        let last = self.0.lock();
        if last.at.elapsed() >= SILENT && last.error.is_none() {
            return Err(StoreError::Away("no answer".into()));
        }
        last.error.clone().map_or(Ok(()), Err)
    }

    /// Notes the result of a question; logged once, again if it is of another kind, and when it is over.
    pub(super) fn note<T>(&self, outcome: &Result<T, StoreError>) {
        let now = outcome.as_ref().err().cloned();
        let mut last = self.0.lock();
        last.at = Instant::now();
        let before = std::mem::replace(&mut last.error, now);
        drop(last);
        match (before, outcome) {
            (before, Err(error))
                if before.as_ref().map(discriminant) != Some(discriminant(error)) =>
            {
                log::error!(
                    "{error}: existing connections continue, nothing new is accepted meanwhile"
                );
            }
            (Some(_), Ok(_)) => log::info!("the store is available again"),
            _ => {}
        }
    }
}
