//! The HTTP APIs as their callers see them: the types of requests and answers, and the client.
//!
//! ```text
//! command line ── client ──┬── HTTP over loopback ── the server of a running program
//!                          └── the same handlers, in this process
//! ```
//!
//! Handlers of [`manager`](crate::manager) answer with these types, and the client reads answers into them. The types
//! of
//! the relay's API are in [`relay`]; the relay and its operator's commands share them.
//!
//! Unit tests write the OpenAPI descriptions from types and routes (`openapi`), and the pages' types from the schemas
//! (`typescript`).

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
    ChangeCount, ConnectResult, ConnectionState, Exposed, Health, HealthState, HostKey, MainTunnel,
    RelayAt, Server, Trust, Word,
};
pub(crate) use error_class::{Cure, ErrorClass, FAILED, OVER_LIMIT, REFUSED, UNREACHABLE, Whose};
