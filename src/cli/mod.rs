//! The command line: commands, each with its flags in one table, and what they share.

mod api_client;
mod args;
mod browser;
mod clock;
mod commands;
mod endpoint;
mod expiry;
mod failure;
mod fields;
mod link;
mod logging;
mod manager_client;
mod output;
mod plugins;
mod port_holder;
mod qr;
mod serve;
mod signals;
mod suggest;
mod systemd;
mod target;

use std::process::ExitCode;

use commands::{app, plugin, relay, start, tunnel_client, tunnel_server};
use failure::{Failure, quoted};
use output::print;
use plugins::{BuiltIn, PLUGINS, speaking};
use suggest::nearest;

const USAGE: &str = "\
A web SQL client for MySQL-protocol databases, and a manager that shares local
applications through tunnels.

Usage: postern COMMAND

Commands:
  mysql [target]              open the web SQL client for a database
  mariadb [target]            the same
  start [port]                start the manager and its page (default port 8181)
  app list|add|connect|…      the manager's applications, for scripts
  relay                       start the remote side: sites, tunnels, quick-setup
  relay list|revoke|allow     who is enrolled at it; turn one out, let it in
  plugin add|remove|list      make built-in plugins available
  help [COMMAND]              show the help of a command

Options:
  -h, --help                  show this help; every command has it
  -V, --version               show the version

First: postern plugin add mysql
Then:  postern mysql HOST:PORT
";
const VERSION: &str = concat!("postern ", env!("CARGO_PKG_VERSION"), "\n");
const SEE_HELP: &str = "see 'postern --help'";

/// Runs the command that the process's arguments name.
///
/// Exit status: 0 done, 1 the operation failed, 2 the command line is wrong.
pub fn main() -> ExitCode {
    match arguments().and_then(|arguments| run(&arguments)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.report(),
    }
}

/// The arguments as text. One that is none is not repeated: it may hold a password.
fn arguments() -> Result<Vec<String>, Failure> {
    let text = |(position, argument): (usize, std::ffi::OsString)| {
        argument
            .into_string()
            .map_err(|_| Failure::usage(format!("argument {position} is not UTF-8")).hint(SEE_HELP))
    };
    std::env::args_os().enumerate().skip(1).map(text).collect()
}

fn run(arguments: &[String]) -> Result<(), Failure> {
    let Some((word, rest)) = arguments.split_first() else {
        return Err(Failure::usage_text(USAGE));
    };
    match word.as_str() {
        "--help" | "-h" => print(USAGE),
        "--version" | "-V" => print(VERSION),
        "help" => help(rest),
        "plugin" => plugin::run(rest),
        "start" => start::run(rest),
        "app" => app::run(rest),
        "relay" => relay::run(rest),
        // For operators and tests; not in the list above.
        "tunnel-client" => tunnel_client::run(rest),
        "tunnel-server" => tunnel_server::run(rest),
        protocol => match speaking(protocol) {
            Some(plugin) => run_plugin(plugin, protocol, rest),
            None => Err(unknown(word)),
        },
    }
}

/// `help plugin add` is `plugin add --help`.
fn help(words: &[String]) -> Result<(), Failure> {
    match words.first().map(String::as_str) {
        None | Some("help" | "--help" | "-h") => print(USAGE),
        Some(_) => run(&[words, &["--help".to_owned()]].concat()),
    }
}

/// Help is there before the plugin is added.
fn run_plugin(plugin: &BuiltIn, protocol: &str, arguments: &[String]) -> Result<(), Failure> {
    if let Some(text) = plugin.help(protocol, arguments) {
        return print(&text);
    }
    plugin::require(protocol, plugin.name())?;
    plugin.run(protocol, arguments)
}

fn unknown(word: &str) -> Failure {
    let kind = if word.starts_with('-') {
        "option"
    } else {
        "command"
    };
    let protocols = PLUGINS.iter().flat_map(|plugin| plugin.protocols());
    let names = [
        "plugin",
        "start",
        "app",
        "relay",
        "help",
        "--help",
        "--version",
    ];
    let near = nearest(word, names.into_iter().chain(protocols.copied()));
    let guess = near.map_or(String::new(), |near| format!("did you mean '{near}'? "));
    let shown = quoted(&target::redacted(word));
    Failure::usage(format!("unknown {kind} {shown}")).hint(guess + SEE_HELP)
}
