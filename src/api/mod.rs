//! The management API as its callers see it: the types of its answers, and the one client.
//!
//! ```text
//! command line ── client ──┬── http_call ── the server of a running program
//!                          └── the same handlers, in this process
//! ```
//!
//! A handler of [`manager`](crate::manager) makes an answer from these types, and the client reads it into them.

mod application;
mod client;
mod connection;
mod http_call;
pub mod protocol;
mod server;

pub(crate) use application::{App, Requests, ServerUpdate, Version};
pub(crate) use client::{Client, Error, Service};
pub(crate) use connection::{
    ConnectResult, ConnectionState, Exposed, Health, HealthState, HostKey, RelayAt, Word,
};
pub(crate) use server::{MainTunnel, Server};
