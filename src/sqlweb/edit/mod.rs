//! Rows of one table that a person has changed, made or deleted in the grid, written in one transaction.
//!
//! ```text
//! change   what the request says, its shape alone
//! table    what the catalogue says: columns, keys, whether the engine can roll back
//! plan     both together: columns found, values as literals, the statements' texts
//! apply    the transaction: read again FOR UPDATE ─> compared byte by byte (compare) ─> written by key ─> read again
//! failure  how that may end, as it is told
//! ```
//!
//! Equal for the server does not mean as shown (`'a' = 'A'`, spaces at an end), so the latter is compared here.

mod apply;
mod failure;
mod literal;
mod one_row;
mod plan;
mod table;

#[cfg(test)]
pub(super) use apply::{EditHead, EditReview};
pub(super) use apply::{EditJob, edit};
pub(super) use failure::{EditError, EditFailed};
pub(super) use plan::changes_of;
