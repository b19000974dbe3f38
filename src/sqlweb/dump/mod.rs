//! Tables or a database as SQL that the server's own client restores: `mariadb db < file`, `mysql db < file`.
//!
//! ```text
//! writer ── inventory ── columns       selected expressions and literal forms
//!   │          └──────── programs      views, routines, triggers and events as statements, views in their order
//!   ├── one_statement                  check of the server's CREATE statements
//!   └── reader                         one connection, one read-only snapshot
//! ```
//!
//! The inventory opens everything once, so that unreadable objects are known before the first byte, and are noted on
//! top of the file and in the page. Names and rows are the server's own: no statement calls a function, which somebody
//! could have created.

mod columns;
mod inventory;
mod one_statement;
mod programs;
mod reader;
mod writer;

#[cfg(test)]
pub(super) use writer::DumpReview;
pub(super) use writer::{dump, review};
