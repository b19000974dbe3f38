//! Containment of the driver: a rogue server's packets can make it panic, which must end one request and nothing else.

use std::panic::{AssertUnwindSafe, catch_unwind};

use super::error::DbError;

/// Runs `work`, turning a panic into [`DbError::Lost`]. What `work` borrowed mutably must be thrown away by the caller
/// after that error, which is what every caller does with a lost connection.
pub(crate) fn contained<T>(work: impl FnOnce() -> Result<T, DbError>) -> Result<T, DbError> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|_| {
        Err(DbError::Lost(
            "the server sent something that is not the MySQL protocol".into(),
        ))
    })
}
