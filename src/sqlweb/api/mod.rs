//! The HTTP API: which path is answered by what.

pub(super) mod error;
pub(super) mod export;
pub(super) mod params;
pub(super) mod query;
pub(super) mod routes;
