//! The trait that plugins fulfil, and the registry of those made available.
//!
//! Which plugins exist is one table, `cli::PLUGINS`: a plugin's command line
//! belongs to the room above this one.

mod registry;

pub use registry::{Error, Installed, Registry};

/// A part of this program that is run by the name of a protocol.
pub trait Plugin: Sync {
    /// What [`run`](Self::run) fails with.
    type Failure;

    /// The name that `plugin add` takes; also its first protocol.
    fn name(&self) -> &'static str;

    /// Every protocol name that runs the plugin.
    fn protocols(&self) -> &'static [&'static str];

    /// The help text, where the arguments ask for it and it is `protocol` that was typed.
    fn help(&self, protocol: &str, arguments: &[String]) -> Option<String>;

    /// Runs to the end; `arguments` are those after the protocol's name.
    fn run(&self, protocol: &str, arguments: &[String]) -> Result<(), Self::Failure>;
}
