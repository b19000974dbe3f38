//! Several relays with one state: a real database, real relays and connectors, HAProxy in front.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::as_conversions,
    reason = "a panic is how a test reports"
)]

mod away;
mod ends;
mod links;
mod lost;
mod state;
mod visitors;
