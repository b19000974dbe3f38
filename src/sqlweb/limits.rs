//! Limits that error messages name.

use std::sync::LazyLock;

use crate::sync::part_of_memory;

/// Database connections that may exist at once, without the short ones that only send `KILL QUERY`.
pub(crate) const MAX_CONNECTIONS: usize = crate::limits::DB_CONNECTIONS;

/// The most of them that one visitor of a shared web client may hold.
pub(crate) const CONNECTIONS_OF_ONE: usize = crate::limits::DB_OF_ONE;

/// Requests that one visitor of a shared web client may have at work on the database's side, those that wait for their
/// session's turn included.
pub(crate) const REQUESTS_OF_ONE: usize = 3 * CONNECTIONS_OF_ONE;

/// Largest packet taken from or sent to the server, in bytes; a row is held whole, and once more while it is taken
/// apart, so this bounds what one row may cost.
pub(crate) static MAX_PACKET: LazyLock<usize> =
    LazyLock::new(|| part_of_memory(8, crate::limits::ROW));

/// Limit in read-only and invisible mode, where visitors may be many.
pub(crate) static MAX_PACKET_SHARED: LazyLock<usize> =
    LazyLock::new(|| MAX_PACKET.min(crate::limits::ROW_SHARED));

/// Longest statement of a script there, in bytes: what one request may hold. A server takes the 200-fold in memory for
/// some.
pub(crate) const MAX_STATEMENT_SHARED: usize = crate::limits::STATEMENT_SHARED;

/// Scripts there that are read at once and are more than small, or have no whole statement yet: each may hold about three of
/// the longest statements.
pub(crate) const SCRIPTS: usize = crate::limits::SCRIPTS;

/// The most of them of one visitor.
pub(crate) const SCRIPTS_OF_ONE: usize = crate::limits::SCRIPTS_OF_ONE;

/// Statements of one script that may fail there, where it goes on after them.
pub(crate) const FAILURES_SHARED: u64 = crate::limits::FAILURES_SHARED;

/// Downloads of one visitor that wait to be fetched.
pub(crate) const DOWNLOADS_OF_ONE: usize = crate::limits::DOWNLOADS_OF_ONE;

/// Bytes that all large rows which are being sent may hold together. One row that is larger is sent alone.
pub(crate) static ROWS_IN_FLIGHT: LazyLock<usize> =
    LazyLock::new(|| part_of_memory(4, crate::limits::LARGE_ROWS));

/// The most of it that one reader's rows may hold: who does not read must not keep everybody out.
pub(crate) static OF_ONE_READER: LazyLock<usize> =
    LazyLock::new(|| crate::limits::LARGE_ROWS_OF_ONE.min(*ROWS_IN_FLIGHT / 2));

/// Changes of one edit.
pub(crate) const MAX_CHANGES: usize = crate::limits::CHANGES;

/// Longest body of an edit, in bytes: a file of 24 MB for a blob, as base64. It is held about five times over while it is
/// written.
pub(crate) static MAX_EDIT: LazyLock<usize> = LazyLock::new(|| {
    crate::limits::CHANGES_SIZE
        .min(*OF_ONE_READER / 4)
        .max(LARGE_EDIT)
});

/// From this size on, in bytes, the body of an edit is counted with the large rows, as [`MAX_EDIT`].
pub(crate) const LARGE_EDIT: usize = 1 << 20;

/// Further bytes counted while such an edit is written: the rows that it reads have room beside it.
pub(crate) static EDIT_WORK: LazyLock<usize> =
    LazyLock::new(|| OF_ONE_READER.saturating_sub(2 * *MAX_EDIT));
