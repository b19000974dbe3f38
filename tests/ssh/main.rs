//! Two ends of an SSH connection in memory.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::as_conversions,
    reason = "a panic is how a test reports"
)]

mod channels;
mod fixture;
mod floods;
mod flow;
mod handshake;
