//! The pages in a real Chromium, and their modules under Node.js.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::as_conversions,
    reason = "a panic is how a test reports"
)]

mod driver;
mod js_units;
mod manager;
mod relay;
mod sql;
