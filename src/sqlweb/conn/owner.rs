//! To whom statements and sessions belong.

/// To whom a statement belongs.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Default)]
pub(crate) struct Owner {
    /// The visitor's id in invisible mode, else empty.
    pub(crate) visitor: String,
    /// The client's session id, else empty.
    pub(crate) session: String,
}
