//! The whole way as a person meets it: the management page, the relay, the tunnel and the application behind it, in
//! Chromium. Nothing is scripted but the small web site that is shared.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a panic is how a test reports"
)]

#[path = "../support/mod.rs"]
mod support;

mod looks;
mod outage;
mod page;
mod site;
mod story;
