//! The memory of large rows while slow clients read them: one budget for all statements.

use std::sync::{Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

use mysql::{Column, Row, Value};

use super::error::DbError;

/// Bytes that all large rows which are being sent may hold together. One row that is larger is sent alone.
pub(crate) const ROWS_IN_FLIGHT: usize = 256 << 20;

/// Rows up to this size are not counted, in bytes: of 32 statements they come to little.
const SMALL: usize = 1 << 20;

/// How long a row waits for the others.
const WAIT: Duration = Duration::from_secs(10);

/// How often a row that waits looks whether it is still wanted.
const LOOK: Duration = Duration::from_millis(100);

/// The budget.
#[derive(Default)]
pub(crate) struct RowBudget {
    used: Mutex<usize>,
    freed: Condvar,
}

/// The place of one row; free again when dropped.
pub(crate) struct Place<'a> {
    budget: &'a RowBudget,
    bytes: usize,
}

impl RowBudget {
    /// A place for `bytes`, of which there may be no more than [`ROWS_IN_FLIGHT`] in all; waits for others to end, as
    /// long as `wanted`, and fails with [`DbError::NoRoom`].
    pub(crate) fn place(
        &self,
        bytes: usize,
        wanted: &dyn Fn() -> bool,
    ) -> Result<Place<'_>, DbError> {
        let deadline = Instant::now() + WAIT;
        let mut used = self.used.lock().unwrap_or_else(PoisonError::into_inner);
        while *used > 0 && *used + bytes > ROWS_IN_FLIGHT {
            if Instant::now() > deadline || !wanted() {
                return Err(DbError::NoRoom);
            }
            let waited = self.freed.wait_timeout(used, LOOK);
            (used, _) = waited.unwrap_or_else(PoisonError::into_inner);
        }
        *used += bytes;
        Ok(Place {
            budget: self,
            bytes,
        })
    }

    /// Waits until there is any room at all before a row is read that may be large, with the same end.
    pub(crate) fn wait_for_room(&self, wanted: &dyn Fn() -> bool) -> Result<(), DbError> {
        self.place(1, wanted).map(drop)
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        let budget = self.budget;
        *budget.used.lock().unwrap_or_else(PoisonError::into_inner) -= self.bytes;
        budget.freed.notify_all();
    }
}

/// Whether a row of these columns may be larger than what is not counted.
pub(crate) fn may_be_large(columns: &[Column]) -> bool {
    let widths = columns
        .iter()
        .map(|column| u64::from(column.column_length()));
    usize::try_from(widths.sum::<u64>()).unwrap_or(usize::MAX) > SMALL
}

/// What a row counts, in bytes; `None` where it is small.
pub(crate) fn counted(row: &Row) -> Option<usize> {
    let of = |i: usize| match row.as_ref(i) {
        Some(Value::Bytes(bytes)) => bytes.len(),
        _ => 0,
    };
    let bytes = (0..row.len()).map(of).sum();
    (bytes > SMALL).then_some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_wait_for_each_other_and_one_alone_always_passes() {
        let budget = RowBudget::default();
        let alone = budget.place(2 * ROWS_IN_FLIGHT, &|| true).unwrap();
        assert!(matches!(budget.place(1, &|| false), Err(DbError::NoRoom)));
        assert!(budget.wait_for_room(&|| false).is_err());
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| budget.place(1, &|| true).is_ok());
            drop(alone);
            assert!(waiting.join().unwrap());
        });
        assert_eq!(*budget.used.lock().unwrap(), 0);
    }
}
