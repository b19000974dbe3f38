//! The database plugin: a web SQL client over a local HTTP API.

pub mod gate;
