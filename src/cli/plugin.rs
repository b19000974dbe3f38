//! `postern plugin add|remove|list`.

use super::PLUGINS;
use super::command::Command;
use super::failure::{Failure, quoted};
use super::output::print;
use super::suggest::nearest;
use crate::plugin::{Error, Installed, Registry};
use crate::store::DataDir;

pub(super) const GROUP: Command = Command {
    name: "plugin",
    operands: "add|remove|list",
    operand_count: 0..=usize::MAX,
    about: "Makes built-in plugins available, and shows which are.",
    flags: &[],
    notes: "\
Commands:
  add NAME                    make a plugin available
  remove NAME                 take it away again
  list                        show NAME, VERSION, PROTOCOLS, INSTALLED",
};
const ADD: Command = Command {
    name: "plugin add",
    operands: "NAME",
    operand_count: 1..=1,
    about: "Makes a plugin available, by its name or one of its protocols.",
    flags: &[],
    notes: "",
};
const REMOVE: Command = Command {
    name: "plugin remove",
    about: "Takes a plugin away, by its name or one of its protocols.",
    ..ADD
};
const LIST: Command = Command {
    name: "plugin list",
    operands: "",
    operand_count: 0..=0,
    about: "Lists the plugins that were added, with the time of that in UTC.",
    flags: &[],
    notes: "",
};

/// What a subcommand does with its operands.
type Action = fn(&[String]) -> Result<(), Failure>;

/// Runs the subcommand that the first argument names.
pub(super) fn run(arguments: &[String]) -> Result<(), Failure> {
    let (word, rest) = match arguments.split_first() {
        Some((word, rest)) => (word.as_str(), rest),
        None => return Err(Failure::usage_text(&GROUP.help(GROUP.name))),
    };
    let (command, action): (&Command, Action) = match word {
        "add" => (&ADD, add),
        "remove" => (&REMOVE, remove),
        "list" => (&LIST, list),
        _ => return no_subcommand(arguments, word),
    };
    let parsed = command.parse(rest)?;
    if parsed.wants_help() {
        return print(&command.help(command.name));
    }
    action(parsed.operands())
}

/// Ends with the failure of `postern PROTOCOL` where the plugin was not added.
pub(super) fn require(protocol: &str, plugin: &str) -> Result<(), Failure> {
    if registry()?
        .serves(protocol)
        .map_err(|error| failed(&error))?
    {
        return Ok(());
    }
    Err(
        Failure::verbatim(format!("unsupported protocol '{protocol}'"))
            .hint(format!("run 'postern plugin add {plugin}' first")),
    )
}

fn no_subcommand(arguments: &[String], word: &str) -> Result<(), Failure> {
    if GROUP.parse(arguments)?.wants_help() {
        return print(&GROUP.help(GROUP.name));
    }
    let near = nearest(word, ["add", "remove", "list"]);
    let guess = near.map_or(String::new(), |near| format!("did you mean '{near}'? "));
    let message = format!("unknown command {}", quoted(&format!("plugin {word}")));
    Err(Failure::usage(message).hint(guess + &GROUP.see_help()))
}

fn add(operands: &[String]) -> Result<(), Failure> {
    let typed = operands.first().map_or("", String::as_str);
    let plugin = PLUGINS
        .iter()
        .find(|plugin| plugin.name() == typed || plugin.protocols().contains(&typed))
        .ok_or_else(|| unknown(typed))?;
    let added = registry()?
        .add(plugin.name(), plugin.protocols())
        .map_err(|error| failed(&error))?;
    print(&format!(
        "Added plugin {} {} (protocols {})\n",
        added.name,
        added.version,
        added.protocols.join(", ")
    ))
}

fn remove(operands: &[String]) -> Result<(), Failure> {
    let typed = operands.first().map_or("", String::as_str);
    let registry = registry()?;
    let plugins = registry.list().map_err(|error| failed(&error))?;
    let is_meant = |plugin: &&Installed| {
        plugin.name == typed || plugin.protocols.iter().any(|name| name == typed)
    };
    let built_in = |plugin: &&&super::BuiltIn| plugin.protocols().contains(&typed);
    let name = match (plugins.iter().find(is_meant), PLUGINS.iter().find(built_in)) {
        (Some(plugin), _) => plugin.name.as_str(),
        (None, Some(plugin)) => plugin.name(),
        (None, None) => return Err(unknown(typed)),
    };
    let removed = registry.remove(name).map_err(|error| failed(&error))?;
    print(&format!(
        "Removed plugin {} {}\n",
        removed.name, removed.version
    ))
}

fn list(_: &[String]) -> Result<(), Failure> {
    let plugins = registry()?.list().map_err(|error| failed(&error))?;
    if plugins.is_empty() {
        return print("No plugins are added. Run 'postern plugin add mysql' to add one.\n");
    }
    print(&table(&plugins))
}

fn unknown(typed: &str) -> Failure {
    let describe = |plugin: &&super::BuiltIn| {
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
    let home = DataDir::locate().map_err(|error| failed(&error.into()))?;
    Ok(Registry::new(home))
}

fn failed(error: &Error) -> Failure {
    Failure::operation(error.to_string()).hint(error.hint())
}

/// Columns as wide as their widest cell, two spaces apart.
fn table(plugins: &[Installed]) -> String {
    let head = ["NAME", "VERSION", "PROTOCOLS", "INSTALLED"].map(str::to_owned);
    let row = |plugin: &Installed| {
        let protocols = plugin.protocols.join(",");
        [&plugin.name, &plugin.version, &protocols, &plugin.installed].map(Clone::clone)
    };
    let rows: Vec<[String; 4]> = std::iter::once(head)
        .chain(plugins.iter().map(row))
        .collect();
    let mut widths = [0; 4];
    for cells in &rows {
        for (width, cell) in widths.iter_mut().zip(cells) {
            *width = cell.len().max(*width);
        }
    }
    let line = |cells: &[String; 4]| {
        let padded = cells
            .iter()
            .zip(widths)
            .map(|(cell, width)| format!("{cell:width$}"));
        let joined = padded.collect::<Vec<_>>().join("  ");
        format!("{}\n", joined.trim_end())
    };
    rows.iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_aligned() {
        let plugin = |name: &str, protocols: &[&str]| Installed {
            name: name.into(),
            version: "v0.1.0".into(),
            protocols: protocols.iter().map(|&name| name.into()).collect(),
            installed: "2026-01-02T03:04:05Z".into(),
        };
        let shown = table(&[plugin("mysql", &["mysql", "mariadb"]), plugin("x", &["x"])]);
        assert_eq!(
            shown,
            "NAME   VERSION  PROTOCOLS      INSTALLED\n\
             mysql  v0.1.0   mysql,mariadb  2026-01-02T03:04:05Z\n\
             x      v0.1.0   x              2026-01-02T03:04:05Z\n"
        );
    }
}
