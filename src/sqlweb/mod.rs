//! The database plugin: a web SQL client over a local HTTP API.

pub mod gate;
mod options;

pub use options::{Options, Target, TlsMode};
