//! Tables or a database as SQL that the server's own client restores: `mariadb db < file`, `mysql db < file`.
//!
//! ```text
//! writer ── inventory ── rights        what there is to write, and what this account cannot read
//!   │          ├──────── columns       how each column is read, and written as a literal
//!   │          └──────── programs      views, routines, triggers and events as statements
//!   ├── views                          which view comes before which
//!   ├── inserts                        rows as statements of bounded size
//!   └── reader                         one connection, one read-only snapshot
//! ```
//!
//! The first look (`Inventory`) opens everything once, so that what cannot be read is known before the first byte, and
//! is said on top of the file and in the page. Names and rows come from the server as they are: no statement calls a
//! function, which somebody could have made.

mod columns;
mod inventory;
mod one_statement;
mod programs;
mod reader;
mod writer;

#[cfg(test)]
pub(super) use writer::DumpReview;
pub(super) use writer::{dump, review};
