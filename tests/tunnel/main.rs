//! Tunnels between a client and a server: their WebSocket, streams, faults and commands.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::as_conversions,
    reason = "a panic is how a test reports"
)]

mod commands;
mod end_to_end;
mod faults;
mod fixture;
mod floods;
mod hostile_server;
mod leaks;
mod peer_client;
mod peer_server;
mod peers;
mod policy;
mod rekey;
mod retries;
mod silence;
mod targets;
mod ways;
mod ws;
mod ws_dial;
mod ws_fixture;
mod ws_secure;
