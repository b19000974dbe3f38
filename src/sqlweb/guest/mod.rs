//! A guest's account: a temporary account on the database server that may `SELECT` what is listed and nothing else.
//!
//! ```text
//! record written ─> CREATE USER ─> CREATE DATABASE, VIEW … where columns are listed ─> GRANT SELECT …
//!      ─> proof: signed in, sees what is listed ─> used by the web client
//!      every step may be the last: the next start for the same database sweeps by the records (sweep)
//! the end: locked ─> its connections killed ─> DROP USER ─> DROP DATABASE ─> record removed
//! ```
//!
//! Tables are granted one by one: a grant on a database would take `_` and `%` of its name for wildcards, and
//! tables that are made later would come with it. Of a table of which columns are listed it gets a view ([`views`]).
//! `SHOW VIEW` is never granted: a view's text tells of other tables.

mod expand;
mod lifecycle;
mod proof;
mod records;
mod sweep;
mod views;

pub(super) use expand::objects;
pub(super) use lifecycle::{Guest, GuestFailure, begin, sweep_left};
