//! Limits that error messages name.

use std::sync::LazyLock;

use crate::sync::part_of_memory;

/// Maximum number of database connections, without the short ones that only send `KILL QUERY`.
pub(crate) const MAX_CONNECTIONS: usize = crate::limits::DB_CONNECTIONS;

/// Maximum number of them for one visitor of a shared web client.
pub(crate) const CONNECTIONS_OF_ONE: usize = crate::limits::DB_OF_ONE;

/// Maximum number of requests of one visitor of a shared web client that use the database, or wait for their session's
/// turn.
pub(crate) const REQUESTS_OF_ONE: usize = 3 * CONNECTIONS_OF_ONE;

/// Largest packet to and from the server, in bytes. It bounds the cost of a row, which is held whole, and twice while
/// it is parsed.
pub(crate) static MAX_PACKET: LazyLock<usize> =
    LazyLock::new(|| part_of_memory(8, crate::limits::ROW));

/// Largest packet in read-only and invisible mode, where there may be many visitors.
pub(crate) static MAX_PACKET_SHARED: LazyLock<usize> =
    LazyLock::new(|| MAX_PACKET.min(crate::limits::ROW_SHARED));

/// Longest statement of a script on a shared web client, in bytes: the size of one request. For some statements a
/// server needs 200 times as much memory.
pub(crate) const MAX_STATEMENT_SHARED: usize = crate::limits::STATEMENT_SHARED;

/// Maximum number of scripts on a shared web client that are being read and are large or have no whole statement yet;
/// each may hold about three of the longest statements.
pub(crate) const SCRIPTS: usize = crate::limits::SCRIPTS;

/// Maximum number of them for one visitor.
pub(crate) const SCRIPTS_OF_ONE: usize = crate::limits::SCRIPTS_OF_ONE;

/// Maximum number of failed statements of one script on a shared web client.
pub(crate) const FAILURES_SHARED: u64 = crate::limits::FAILURES_SHARED;

/// Maximum number of a visitor's downloads that wait to be fetched.
pub(crate) const DOWNLOADS_OF_ONE: usize = crate::limits::DOWNLOADS_OF_ONE;

/// Maximum bytes of all large rows that are being sent; one row that is larger is sent alone.
pub(crate) static ROWS_IN_FLIGHT: LazyLock<usize> =
    LazyLock::new(|| part_of_memory(4, crate::limits::LARGE_ROWS));

/// Maximum bytes of one reader's large rows, so that a slow reader does not block everybody.
pub(crate) static OF_ONE_READER: LazyLock<usize> =
    LazyLock::new(|| crate::limits::LARGE_ROWS_OF_ONE.min(*ROWS_IN_FLIGHT / 2));

/// Maximum number of changes of one edit.
pub(crate) const MAX_CHANGES: usize = crate::limits::CHANGES;

/// Longest body of an edit, in bytes: a file of 24 MB for a blob, as base64. Writing it takes about five times as much
/// memory.
pub(crate) static MAX_EDIT: LazyLock<usize> = LazyLock::new(|| {
    crate::limits::CHANGES_SIZE
        .min(*OF_ONE_READER / 4)
        .max(LARGE_EDIT)
});

/// Size in bytes from which the body of an edit is counted among the large rows, as [`MAX_EDIT`].
pub(crate) const LARGE_EDIT: usize = 1 << 20;

/// Further bytes counted while such an edit is written; they leave room for the rows that it reads.
pub(crate) static EDIT_WORK: LazyLock<usize> =
    LazyLock::new(|| OF_ONE_READER.saturating_sub(2 * *MAX_EDIT));
