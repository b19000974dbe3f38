//! Command lines, terminals, the files of the per-user directory, and what the tests themselves lean on.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::as_conversions,
    reason = "a panic is how a test reports"
)]

mod commands;
mod docs;
mod files;
mod operations;
mod serve;
mod snapshots;
mod store_crash;
mod support_self;
mod terminal;
