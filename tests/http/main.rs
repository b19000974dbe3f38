//! The HTTP server: what it takes and refuses, its limits, its pages.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::as_conversions,
    reason = "a panic is how a test reports"
)]

mod assets;
mod connections;
mod files;
mod fixture;
mod users;
mod vectors;
