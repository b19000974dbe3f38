//! Writes changed, new and deleted rows of one table in one transaction.
//!
//! ```text
//! table    the catalogue's facts: columns, keys, rollback of the engine
//! plan     the request's changes, checked against the table, with values as literals (literal) and statements
//! apply    the transaction: read again FOR UPDATE ─> compare byte by byte (one_row) ─> write by key ─> read again
//! failure  failures and their answers
//! ```
//!
//! A row is compared here, since values that differ may be equal for the server (`'a' = 'A'`, trailing spaces).

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
