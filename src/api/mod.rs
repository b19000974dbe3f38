//! Types of the requests and answers of the HTTP APIs, as JSON has them: the server writes them, the command line and the
//! tests read them. A member that is missing in an answer has its default, as other versions may not send it.
//!
//! The OpenAPI descriptions are made of these types and of the routes: `openapi` writes them in a unit test.

pub mod relay;

#[cfg(test)]
#[path = "openapi_tests.rs"]
pub(crate) mod openapi;
