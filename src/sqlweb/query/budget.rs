//! Budget of all statements for the memory of large rows while slow clients read them.

use std::time::{Duration, Instant};

use mysql::Column;

use crate::sqlweb::error::DbError;
use crate::sqlweb::limits::{OF_ONE_READER, ROWS_IN_FLIGHT};
use crate::sqlweb::results::TextRow;
use crate::sync::{Condvar, KeyedPermits, Mutex, Permit, Permits};

/// Size in bytes up to which rows are not counted, since those of 32 statements take little.
const SMALL: usize = 1 << 20;

/// Time that a row waits for others.
const WAIT_TIMEOUT: Duration = Duration::from_secs(10);

/// Interval in which a waiting row checks if it is still wanted.
const POLL_INTERVAL: Duration = Duration::from_millis(100);

/// Bytes in use, in all and by reader.
#[derive(Default)]
pub(crate) struct RowBudget {
    all: Permits,
    of_readers: KeyedPermits<String>,
    /// Locked while room is looked for, so that none is freed unnoticed.
    turn: Mutex<()>,
    freed: Condvar,
}

/// Room of one row, which is freed when this is dropped, in the order of the fields.
pub(crate) struct RowPermit<'a> {
    _permits: [Permit; 2],
    _notifier: FreedNotifier<'a>,
}

/// Wakes waiting rows when dropped.
struct FreedNotifier<'a>(&'a RowBudget);

impl RowBudget {
    /// Takes room for `bytes`, at most [`ROWS_IN_FLIGHT`] in all and [`OF_ONE_READER`] of `reader`. Waits for others to
    /// end while `wanted`, and then fails with [`DbError::NoRoom`]. Any size fits if nothing else is in use.
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

    /// Waits for any room before a row is read that may be large; fails like [`acquire`](Self::acquire).
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

/// True if a row of these columns may be large enough to be counted.
pub(crate) fn may_be_large(columns: &[Column]) -> bool {
    let widths = columns
        .iter()
        .map(|column| u64::from(column.column_length()));
    usize::try_from(widths.sum::<u64>()).unwrap_or(usize::MAX) > SMALL
}

/// Number of bytes of a row that is counted; `None` if it is small.
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
