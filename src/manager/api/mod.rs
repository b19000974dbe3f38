//! The management API of `postern start`: [`mod@routes`] is the table of calls, the other modules have the handlers.

mod answer;
mod apps;
mod listeners;
mod metrics;
#[cfg(test)]
#[path = "openapi_tests.rs"]
mod openapi;
mod routes;
mod servers;

pub(super) use routes::{Local, routes};
pub(super) use servers::main_tunnel;
