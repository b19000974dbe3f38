//! The server: takes clients, listens for them, and opens a stream for every visitor.

mod clients;
mod connection;
mod listener;
mod open_files;
mod opener;
mod policy;
mod ports;
mod settings;
mod state;
mod stats;
mod users;

pub use super::mux::{LocalStream, OpenError, StreamEnd, TokenBucket, Traffic, VisitStats};
pub use listener::{Intake, Server};
pub use opener::Opener;
pub use policy::{Grant, Policy, PortAccess};
pub use settings::{CONFIG_WITHIN, LOGIN_WITHIN, Settings, Timeouts};
pub use stats::{ClientCounts, ServerStats};
pub use users::Users;
