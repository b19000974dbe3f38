//! The web client's HTTP API: its routes and their handlers.

mod edit;
mod export;
#[cfg(test)]
#[path = "openapi_tests.rs"]
mod openapi;
mod params;
mod query;
mod routes;
mod script;
mod script_body;
mod search;

pub(super) use routes::Routes;
