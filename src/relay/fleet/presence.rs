//! Whether the store is there, as it was found last: while it is away nobody waits for it but who looks whether it is
//! back.

use std::mem::discriminant;

use crate::relay::store_error::StoreError;
use crate::sync::Mutex;

/// Whether the store is there.
#[derive(Debug, Default)]
pub(super) struct Presence(Mutex<Option<StoreError>>);

impl Presence {
    /// Why it is away.
    pub(super) fn check(&self) -> Result<(), StoreError> {
        self.0.lock().clone().map_or(Ok(()), Err)
    }

    /// What came of a question; said once, again where it is of another kind, and when it is over.
    pub(super) fn note<T>(&self, outcome: &Result<T, StoreError>) {
        let now = outcome.as_ref().err().cloned();
        let before = std::mem::replace(&mut *self.0.lock(), now);
        match (before, outcome) {
            (before, Err(error))
                if before.as_ref().map(discriminant) != Some(discriminant(error)) =>
            {
                log::error!(
                    "{error}: what is connected goes on, and nothing new is promised before it is back"
                );
            }
            (Some(_), Ok(_)) => log::info!("the store is back"),
            _ => {}
        }
    }
}
