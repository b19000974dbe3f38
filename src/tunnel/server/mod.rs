//! The server: takes clients, listens for them, and opens a stream for every visitor.

mod clients;
mod connection;
mod listener;
mod ports;
mod settings;
mod state;

pub use super::mux::{LocalStream, OpenError, StreamEnd, TokenBucket, Traffic, VisitStats};
pub use clients::{ClientCounts, ServerStats};
pub use listener::{Intake, Server};
pub use settings::{
    CONFIG_WITHIN, Grant, LOGIN_WITHIN, Policy, PortAccess, Settings, Timeouts, Users,
};
pub use state::Opener;
