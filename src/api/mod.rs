//! The HTTP APIs as their callers see them: the types of requests and answers, and the one client of the management API.
//!
//! ```text
//! command line ── client ──┬── http_call ── the server of a running program
//!                          └── the same handlers, in this process
//! ```
//!
//! A handler of [`manager`](crate::manager) makes an answer from these types, and the client reads it into them. The types
//! of the relay's API are in [`relay`]; its operator's commands share them with it.
//!
//! The OpenAPI descriptions are made of types and routes, and the types of the pages of their schemas: `openapi` and
//! `typescript` write them in unit tests.

mod application;
mod client;
mod connection;
mod error_class;
pub mod protocol;
pub mod relay;

#[cfg(test)]
#[path = "openapi_tests.rs"]
pub(crate) mod openapi;
#[cfg(test)]
#[path = "typescript_tests.rs"]
pub(crate) mod typescript;

pub(crate) use application::{App, Log, ServerUpdate, Version};
pub(crate) use client::{Client, Error, Service};
pub(crate) use connection::{
    ChangeCount, ConnectResult, ConnectionState, Exposed, Health, HealthState, HostKey, RelayAt,
    Word,
};
pub(crate) use connection::{MainTunnel, Server, Trust};
pub(crate) use error_class::{Cure, ErrorClass, FAILED, OVER_LIMIT, REFUSED, UNREACHABLE, Whose};
