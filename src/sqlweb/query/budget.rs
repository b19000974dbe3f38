//! The memory of large rows while slow clients read them: one budget for all statements.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use mysql::Column;

use crate::sqlweb::error::DbError;
use crate::sqlweb::limits::{OF_ONE_READER, ROWS_IN_FLIGHT};
use crate::sqlweb::results::TextRow;
use crate::sync::{Condvar, Mutex};

/// Rows up to this size are not counted, in bytes: of 32 statements they come to little.
const SMALL: usize = 1 << 20;

/// How long a row waits for the others.
const WAIT_TIMEOUT: Duration = Duration::from_secs(10);

/// How often a row that waits looks whether it is still wanted.
const POLL_INTERVAL: Duration = Duration::from_millis(100);

/// The budget.
#[derive(Default)]
pub(crate) struct RowBudget {
    /// Bytes in use, by reader; nobody is in it who uses none.
    used: Mutex<HashMap<String, usize>>,
    freed: Condvar,
}

/// The room that one row takes; free again when dropped.
pub(crate) struct RowPermit<'a> {
    budget: &'a RowBudget,
    reader: &'a str,
    bytes: usize,
}

impl RowBudget {
    /// Room for `bytes`, of which there may be no more than [`ROWS_IN_FLIGHT`] in all and [`OF_ONE_READER`] of
    /// `reader`; waits for others to end, as long as `wanted`, and fails with [`DbError::NoRoom`].
    pub(crate) fn acquire<'a>(
        &'a self,
        reader: &'a str,
        bytes: usize,
        wanted: &dyn Fn() -> bool,
    ) -> Result<RowPermit<'a>, DbError> {
        let deadline = Instant::now() + WAIT_TIMEOUT;
        let mut used = self.used.lock();
        while !has_room(&used, reader, bytes) {
            if Instant::now() > deadline || !wanted() {
                return Err(DbError::NoRoom);
            }
            used = self.freed.wait_timeout(used, POLL_INTERVAL);
        }
        *used.entry(reader.to_owned()).or_default() += bytes;
        Ok(RowPermit {
            budget: self,
            reader,
            bytes,
        })
    }

    /// Waits until there is any room at all before a row is read that may be large, with the same end.
    pub(crate) fn wait_for_room(
        &self,
        reader: &str,
        wanted: &dyn Fn() -> bool,
    ) -> Result<(), DbError> {
        self.acquire(reader, 1, wanted).map(drop)
    }
}

/// True if there is room for so many bytes. If nothing else is in use, any size fits.
fn has_room(used: &HashMap<String, usize>, reader: &str, bytes: usize) -> bool {
    let fits = |used: usize, most: usize| used == 0 || used + bytes <= most;
    let own = used.get(reader).copied().unwrap_or(0);
    fits(used.values().sum(), *ROWS_IN_FLIGHT) && fits(own, *OF_ONE_READER)
}

impl Drop for RowPermit<'_> {
    fn drop(&mut self) {
        let budget = self.budget;
        let mut used = budget.used.lock();
        if let Some(own) = used.get_mut(self.reader) {
            *own = own.saturating_sub(self.bytes);
        }
        used.retain(|_, bytes| *bytes > 0);
        drop(used);
        budget.freed.notify_all();
    }
}

/// True if a row of these columns may be larger than what is not counted.
pub(crate) fn may_be_large(columns: &[Column]) -> bool {
    let widths = columns
        .iter()
        .map(|column| u64::from(column.column_length()));
    usize::try_from(widths.sum::<u64>()).unwrap_or(usize::MAX) > SMALL
}

/// Returns the bytes that a row counts; `None` if it is small.
pub(crate) fn counted(row: TextRow<'_>) -> Option<usize> {
    Some(row.size()).filter(|bytes| *bytes > SMALL)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_wait_for_each_other_and_one_alone_always_passes() {
        let budget = RowBudget::default();
        let alone = budget.acquire("a", 2 * *ROWS_IN_FLIGHT, &|| true).unwrap();
        let refused = budget.acquire("b", 1, &|| false);
        assert!(matches!(refused, Err(DbError::NoRoom)));
        assert!(budget.wait_for_room("b", &|| false).is_err());
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| budget.acquire("b", 1, &|| true).is_ok());
            drop(alone);
            assert!(waiting.join().unwrap());
        });
        assert!(budget.used.lock().is_empty());
    }

    #[test]
    fn one_reader_leaves_room_for_others() {
        let budget = RowBudget::default();
        let acquire = |reader| budget.acquire(reader, *OF_ONE_READER, &|| false);
        let first = acquire("a").unwrap();
        assert!(acquire("a").is_err() && budget.wait_for_room("a", &|| false).is_err());
        let second = acquire("b").unwrap();
        assert!(acquire("c").is_err(), "all is in use");
        drop(first);
        assert!(acquire("c").is_ok());
        drop(second);
    }
}
