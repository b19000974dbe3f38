//! The management API of `postern start`.

mod answer;
mod apps;
mod metrics;
#[cfg(test)]
#[path = "openapi_tests.rs"]
mod openapi;
mod routes;
mod servers;

pub(super) use routes::{Local, routes};
pub(super) use servers::main_tunnel;
