//! Where the rows of a statement go.

use std::io;

use mysql::Column;

use crate::sqlweb::results::{Done, TextRow};

/// Takes the result sets of one statement, row by row.
pub(crate) trait RowSink {
    /// A result set with these columns begins.
    fn begin(&mut self, columns: &[Column]) -> io::Result<()>;
    /// One row of the set that began last.
    fn row(&mut self, row: TextRow<'_>) -> io::Result<Flow>;
    /// The set has ended; `truncated` when the sink had enough before the server did.
    fn end(&mut self, truncated: bool) -> io::Result<()>;
    /// A statement, or a part of one, that returned no rows.
    fn done(&mut self, done: Done);
}

/// Answer of a sink: more rows of this set, or no more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Flow {
    /// The next row, please.
    Continue,
    /// No more of this set; this row was not taken.
    Enough,
}
