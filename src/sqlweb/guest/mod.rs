//! A guest's account: a temporary account on the database server that may only `SELECT` what is listed.
//!
//! ```text
//! write record ─> CREATE USER ─> CREATE DATABASE, VIEW … if columns are listed ─> GRANT SELECT …
//!      ─> proof: sign in, see only what is listed ─> used by the web client
//!      after a crash at any step the next start for the same database sweeps by the records (sweep)
//! at the end: lock ─> kill its connections ─> DROP USER ─> DROP DATABASE ─> remove record
//! ```
//!
//! Tables are granted one by one: a grant on a database would take `_` and `%` in its name for wildcards, and would
//! include later tables. If only columns of a table are listed, the account gets a view ([`views`]). `SHOW VIEW` is
//! never granted, since a view's text reveals other tables.

mod account;
mod expand;
mod lifecycle;
mod proof;
mod records;
mod statements;
mod sweep;
mod views;

pub(super) use expand::objects;
pub(super) use lifecycle::{Guest, GuestFailure, begin, sweep_left};
