//! The database plugin: a web SQL client over a local HTTP API.

pub mod gate;
mod options;
mod placeholder;

pub use options::{Options, Target, TlsMode};
pub use placeholder::{Running, StartError, start};
