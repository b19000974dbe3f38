//! `postern plugin add|remove|list`, and the list of built-in plugins.

use super::mysql::MySql;
use crate::cli::args::command::Parsed;
use crate::cli::args::table::plugin::{ADD, GROUP, LIST, REMOVE};
use crate::cli::columns::{Columns, print_list};
use crate::cli::failure::{Failure, print, printable, quoted};
use crate::plugin::{Database, Error, Installed, NotServed, Plugin, Registry, Served, WebClients};
use crate::store::DataDir;

/// A plugin that is part of this executable.
pub(in crate::cli) type BuiltIn = dyn Plugin<Failure = Failure>;

/// All plugins.
pub(in crate::cli) static PLUGINS: &[&BuiltIn] = &[&MySql];

/// Runs the subcommand that the first argument names.
pub(crate) fn run(arguments: &[String]) -> Result<(), Failure> {
    GROUP.run_subcommand(arguments, &[(&ADD, add), (&REMOVE, remove), (&LIST, list)])
}

/// Fails like `postern PROTOCOL` if the plugin was not added.
pub(crate) fn require(protocol: &str, plugin: &str) -> Result<(), Failure> {
    if registry()?.serves(protocol).map_err(failed)? {
        return Ok(());
    }
    Err(
        Failure::verbatim(format!("unsupported protocol '{protocol}'"))
            .hint(format!("run 'postern plugin add {plugin}' first")),
    )
}

fn add(parsed: &Parsed) -> Result<(), Failure> {
    let typed = parsed.operand();
    let plugin = named(typed).ok_or_else(|| unknown(typed))?;
    let added = match registry()?.add(plugin.name(), plugin.protocols()) {
        Ok(added) => added,
        // No error: scripts may add it each time.
        Err(Error::AlreadyAdded(name)) => {
            return print(&format!("Plugin {name} is already added\n"));
        }
        Err(error) => return Err(failed(error)),
    };
    print(&format!(
        "Added plugin {} {} (protocols {})\n",
        added.name,
        added.version,
        added.protocols.join(", ")
    ))
}

fn remove(parsed: &Parsed) -> Result<(), Failure> {
    let typed = parsed.operand();
    let registry = registry()?;
    let plugins = registry.list().map_err(failed)?;
    let is_meant = |plugin: &&Installed| {
        plugin.name == typed || plugin.protocols.iter().any(|name| name == typed)
    };
    let built_in = |plugin: &&&BuiltIn| plugin.protocols().contains(&typed);
    let name = match (plugins.iter().find(is_meant), PLUGINS.iter().find(built_in)) {
        (Some(plugin), _) => plugin.name.as_str(),
        (None, Some(plugin)) => plugin.name(),
        (None, None) => return Err(unknown(typed)),
    };
    let removed = registry.remove(name).map_err(failed)?;
    print(&format!(
        "Removed plugin {} {}\n",
        removed.name, removed.version
    ))
}

fn list(parsed: &Parsed) -> Result<(), Failure> {
    let plugins = registry()?.list().map_err(failed)?;
    let hint = "No plugins are added. Run 'postern plugin add mysql' to add one.";
    if plugins.is_empty() && !parsed.wants_json() {
        return print(&format!("{hint}\n"));
    }
    let row = |plugin: &Installed| {
        let protocols = plugin.protocols.join(",");
        [&plugin.name, &plugin.version, &protocols, &plugin.installed].map(|cell| printable(cell))
    };
    let rows: Vec<_> = plugins.iter().map(row).collect();
    let columns = Columns::all(["NAME", "VERSION", "PROTOCOLS", "INSTALLED"]);
    print_list(parsed, &plugins, columns, &rows, hint)
}

fn unknown(typed: &str) -> Failure {
    let describe = |plugin: &&BuiltIn| {
        format!(
            "{} (protocols {})",
            plugin.name(),
            plugin.protocols().join(", ")
        )
    };
    let known: Vec<String> = PLUGINS.iter().map(describe).collect();
    Failure::operation(format!("unknown plugin {}", quoted(typed)))
        .hint(format!("available: {}", known.join("; ")))
}

fn registry() -> Result<Registry, Failure> {
    let home = DataDir::locate().map_err(|error| failed(error.into()))?;
    Ok(Registry::new(home))
}

fn failed(error: Error) -> Failure {
    Failure::operation(error.to_string()).hint(error.hint())
}

/// All plugins, by the name of a protocol.
pub(in crate::cli) struct BuiltIns;

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
pub(in crate::cli) fn named(name: &str) -> Option<&'static BuiltIn> {
    let mut plugins = PLUGINS.iter().copied();
    plugins.find(|plugin| plugin.name() == name || plugin.protocols().contains(&name))
}

/// The plugin that speaks a protocol.
pub(in crate::cli) fn speaking(protocol: &str) -> Option<&'static BuiltIn> {
    let speaks = |plugin: &&&BuiltIn| plugin.protocols().contains(&protocol);
    PLUGINS.iter().find(speaks).copied()
}
