//! The server: takes clients, listens for them, and opens a stream for every visitor.

mod clients;
mod listener;
mod opener;
mod policy;
mod ports;

pub use super::mux::{LocalStream, OpenError, StreamEnd, TokenBucket, Traffic, VisitStats};
pub use clients::{ClientCounts, ServerStats};
pub use listener::{Intake, Server};
pub use opener::Opener;
pub use policy::Users;
pub use policy::{CONFIG_WITHIN, LOGIN_WITHIN, Settings, Timeouts};
pub use policy::{Grant, Policy, PortAccess};
