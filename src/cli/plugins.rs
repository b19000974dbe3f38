//! The plugins that are part of this executable.

use super::commands::mysql::MySql;
use super::failure::Failure;
use crate::plugin::{Database, NotServed, Plugin, Served, WebClients};

/// A plugin that is part of this executable.
pub(super) type BuiltIn = dyn Plugin<Failure = Failure>;

/// Every plugin that exists.
pub(super) static PLUGINS: &[&BuiltIn] = &[&MySql];

/// The plugins, for who knows a protocol's name only.
pub(super) struct BuiltIns;

impl WebClients for BuiltIns {
    fn named(&self, name: &str) -> Option<(&'static str, &'static [&'static str])> {
        let plugin = named(name)?;
        Some((plugin.name(), plugin.protocols()))
    }

    fn serve(
        &self,
        protocol: &str,
        database: Database,
    ) -> Option<Result<Box<dyn Served>, NotServed>> {
        speaking(protocol).map(|plugin| plugin.serve(database))
    }

    fn objects(
        &self,
        protocol: &str,
        database: Database,
        within: &[String],
    ) -> Option<Result<Vec<String>, String>> {
        speaking(protocol).map(|plugin| plugin.objects(database, within))
    }

    fn sweep(&self, protocol: &str, database: Database) {
        if let Some(plugin) = speaking(protocol) {
            plugin.sweep(database);
        }
    }
}

/// The plugin of that name, or that speaks that protocol.
pub(super) fn named(name: &str) -> Option<&'static BuiltIn> {
    let mut plugins = PLUGINS.iter().copied();
    plugins.find(|plugin| plugin.name() == name || plugin.protocols().contains(&name))
}

/// The plugin that speaks a protocol.
pub(super) fn speaking(protocol: &str) -> Option<&'static BuiltIn> {
    let speaks = |plugin: &&&BuiltIn| plugin.protocols().contains(&protocol);
    PLUGINS.iter().find(speaks).copied()
}
