//! The management API of `postern start`.

mod answer;
mod apps;
mod connections;
mod guest;
mod listeners;
mod metrics;
#[cfg(test)]
#[path = "openapi_tests.rs"]
mod openapi;
mod plugins;
mod qr;
mod remotes;
mod routes;
mod servers;
mod shares;

pub(super) use remotes::main_tunnel;
pub(super) use routes::{Local, routes};
