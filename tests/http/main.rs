//! The HTTP server: what it takes and refuses, its limits, its pages.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::as_conversions,
    reason = "a panic is how a test reports"
)]

mod assets;
// The build's own code for pages.
#[path = "../../build/bundle.rs"]
mod bundle;
mod connections;
mod files;
mod fixture;
#[path = "../../build/pages.rs"]
mod pages;
mod put_together;
#[path = "../../build/script.rs"]
mod script;
mod tiny_http;
mod users;
mod vectors;
