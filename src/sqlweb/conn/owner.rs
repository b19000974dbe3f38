//! Owners of statements and sessions.

/// Owner of a statement: a visitor, and a session.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Default)]
pub(crate) struct StatementOwner {
    /// The visitor's id in invisible mode, else empty.
    pub(crate) visitor: String,
    /// The client's session id, else empty.
    pub(crate) session: String,
}
