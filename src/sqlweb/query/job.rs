//! One statement as a request asks for it.

use crate::sqlweb::conn::owner::Owner;

/// One statement as a request has it.
pub(crate) struct Job {
    /// The text.
    pub(crate) sql: String,
    /// The database to run in.
    pub(crate) db: Option<String>,
    /// The id by which it can be cancelled.
    pub(crate) query_id: Option<String>,
    /// To whom it belongs.
    pub(crate) owner: Owner,
    /// Who reads its rows: the visitor, or else where the request came from.
    pub(crate) reader: String,
}
