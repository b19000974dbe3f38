//! Tunnels: the protocol of both ends.
//!
//! ```text
//! registry ── group ── client ──┐           ┌── ws        bytes between the ends
//!                               ├── mux ────┤
//!                      server ──┘           └── ssh       the protocol, without sockets
//! ```
//!
//! [`ws`] carries bytes between the ends, [`ssh`] is the state machine, `mux` the threads around both; [`client`] and
//! [`server`] are its two users. [`group`] makes one of two tunnels to a fleet; [`remote`] describes what is forwarded.

pub mod client;
pub(crate) mod fleet_keys;
pub mod group;
pub mod known_servers;
mod mux;
pub mod registry;
pub mod remote;
pub mod server;
pub mod ssh;
pub(crate) mod target;
pub mod ws;
