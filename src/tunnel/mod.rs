//! Tunnels: the protocol of both ends.
//!
//! ```text
//! registry ── client ──┐            ┌── link      bytes between the ends
//!                      ├── line ────┤
//!             server ──┘            └── ssh       the protocol, without sockets
//! ```
//!
//! [`link`] carries bytes between the ends, [`ssh`] is the state machine, `line` the threads
//! around it; [`client`] and [`server`] are its two users; [`remote`] says what is to be forwarded.

pub mod client;
pub mod known_servers;
mod mux;
pub mod registry;
pub mod remote;
pub mod server;
pub mod ssh;
pub(crate) mod target;
pub mod ws;
