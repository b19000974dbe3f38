//! The memory of large rows while slow clients read them: one budget for all statements.

use std::time::{Duration, Instant};

use mysql::Column;

use crate::sqlweb::error::DbError;
use crate::sqlweb::limits::{OF_ONE_READER, ROWS_IN_FLIGHT};
use crate::sqlweb::results::TextRow;
use crate::sync::{Condvar, KeyedPermits, Mutex, Permit, Permits};

/// Rows up to this size are not counted, in bytes: of 32 statements they come to little.
const SMALL: usize = 1 << 20;

/// How long a row waits for the others.
const WAIT_TIMEOUT: Duration = Duration::from_secs(10);

/// How often a row that waits looks whether it is still wanted.
const POLL_INTERVAL: Duration = Duration::from_millis(100);

/// The budget: bytes in use, in all and by reader.
#[derive(Default)]
pub(crate) struct RowBudget {
    all: Permits,
    of_readers: KeyedPermits<String>,
    /// Held while room is looked for, so that none is freed unnoticed.
    turn: Mutex<()>,
    freed: Condvar,
}

/// The room that one row takes; free again when dropped, in this order.
pub(crate) struct RowPermit<'a> {
    _permits: [Permit; 2],
    _notifier: FreedNotifier<'a>,
}

/// Wakes those who wait for room when dropped.
struct FreedNotifier<'a>(&'a RowBudget);

impl RowBudget {
    /// Room for `bytes`, of which there may be no more than [`ROWS_IN_FLIGHT`] in all and [`OF_ONE_READER`] of
    /// `reader`; waits for others to end, as long as `wanted`, and fails with [`DbError::NoRoom`]. If nothing else is in
    /// use, any size fits.
    pub(crate) fn acquire(
        &self,
        reader: &str,
        bytes: usize,
        wanted: &dyn Fn() -> bool,
    ) -> Result<RowPermit<'_>, DbError> {
        let deadline = Instant::now() + WAIT_TIMEOUT;
        let own = self.of_readers.of(reader.to_owned());
        let take = |of: &Permits, most: usize| of.take_several(bytes, most.max(bytes));
        let mut turn = self.turn.lock();
        loop {
            let own = take(&own, *OF_ONE_READER);
            let both = own.and_then(|own| Some([own, take(&self.all, *ROWS_IN_FLIGHT)?]));
            if let Some(permits) = both {
                return Ok(RowPermit {
                    _permits: permits,
                    _notifier: FreedNotifier(self),
                });
            }
            if Instant::now() > deadline || !wanted() {
                return Err(DbError::NoRoom);
            }
            turn = self.freed.wait_timeout(turn, POLL_INTERVAL);
        }
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

impl Drop for FreedNotifier<'_> {
    fn drop(&mut self) {
        drop(self.0.turn.lock());
        self.0.freed.notify_all();
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
        let of = |reader: &str| budget.of_readers.of(reader.to_owned()).out();
        assert_eq!((budget.all.out(), of("a"), of("b")), (0, 0, 0));
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
