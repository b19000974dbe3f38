//! The SQL client as a person meets it: the real page in Chromium, served by the real binary, on a real MariaDB.
//!
//! One browser and one database server serve all tests here; each has a database, a `postern` and a browser context
//! of its own.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::as_conversions,
    reason = "a panic is how a test reports"
)]

#[path = "../support/mod.rs"]
mod support;

mod client;
mod editor;
mod hostile;
mod keyboard;
mod looks;
mod mode;
mod modules;
mod outage;
mod results;
mod running;
mod sidebar;
mod transaction;
mod transfer;
mod typing;
