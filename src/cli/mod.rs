//! The command line: commands ([`commands`]), the table of their flags ([`args`]), and their common parts.

mod args;
mod browser;
mod clock;
mod columns;
mod commands;
mod failure;
mod fields;
mod link;
mod logging;
mod manager_client;
mod relay_standby;
mod serve;
mod systemd;
mod target;

use std::panic::PanicHookInfo;
use std::process::ExitCode;

use args::operations;
use args::root::ROOT;
use args::table::tunnel;
use args::values::guess;
use commands::plugin::{BuiltIn, speaking};
use commands::{
    app, completions, docs, doctor, logs, man, plugin, relay, server, service, share, start,
    status, tunnel_client, tunnel_server, version,
};
use failure::{Failure, print, quoted};

const VERSION: &str = concat!("postern ", env!("CARGO_PKG_VERSION"), "\n");
const SEE_HELP: &str = "see 'postern --help'";

/// Runs the command that the process's arguments name.
///
/// Exit status: 0 done, 1 the operation failed, 2 the command line is wrong.
pub fn main() -> ExitCode {
    if std::env::var_os("RUST_BACKTRACE").is_none() {
        std::panic::set_hook(Box::new(log_panic));
    }
    let done = arguments().and_then(|arguments| {
        let mut flags = arguments.iter().take_while(|argument| *argument != "--");
        let is_json = flags.any(|argument| argument == "--json");
        run(&arguments).map_err(|failure| failure.usage_in_json(is_json))
    });
    logging::flush();
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.report(),
    }
}

/// Logs to stderr as `postern relay` does, for a program that measures it.
#[doc(hidden)]
pub fn log_as_relay() {
    logging::start_informing(false);
}

/// Prints a panic on one line; the thread, or the code that catches the panic, decides what ends.
fn log_panic(panic: &PanicHookInfo<'_>) {
    let message = panic.payload_as_str().unwrap_or("no message");
    let place = panic.location().map(ToString::to_string);
    let place = place.as_deref().unwrap_or("an unknown place");
    // This library panics if the system has no file or thread for it; its listener is restarted.
    if place.contains("tiny_http") || message.starts_with("failed to spawn thread") {
        log::warn!("http: out of file descriptors or threads, retrying: {message}");
    } else {
        let report = format!("a fault of the program at {place}: {message}; please report it");
        failure::warn(&report);
    }
}

/// The arguments as text. An invalid one is not printed, because it may be a password.
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
        return Err(Failure::usage_text(&ROOT.help("")));
    };
    match word.as_str() {
        "--help" | "-h" => print(&ROOT.help("")),
        "--version" | "-V" => print(VERSION),
        "help" => help(rest),
        "version" => operations::VERSION.run(rest, version::show),
        "plugin" => plugin::run(rest),
        "start" => start::run(rest),
        "app" => app::run(rest),
        "status" => operations::STATUS.run(rest, status::show),
        "logs" => operations::LOGS.run(rest, logs::show),
        "server" => server::run(rest),
        "doctor" => operations::DOCTOR.run(rest, doctor::examine),
        "docs" => operations::DOCS.run(rest, docs::show),
        "service" => service::run(rest),
        "relay" => relay::run(rest),
        "completions" => operations::COMPLETIONS.run(rest, completions::script),
        completions::NAMES => completions::names(rest),
        "man" => operations::MAN.run(rest, man::write),
        "tunnel-client" => tunnel::CLIENT.run(rest, tunnel_client::keep_tunnel),
        "tunnel-server" => tunnel::SERVER.run(rest, tunnel_server::serve_clients),
        protocol => match (share::command(protocol), speaking(protocol)) {
            (Some(command), _) => share::run(command, rest),
            (None, Some(plugin)) => run_plugin(plugin, protocol, rest),
            (None, None) => Err(unknown(word)),
        },
    }
}

/// `help plugin add` is `plugin add --help`.
fn help(words: &[String]) -> Result<(), Failure> {
    match words.first().map(String::as_str) {
        None | Some("help" | "--help" | "-h") => print(&ROOT.help("")),
        Some(_) => run(&[words, &["--help".to_owned()]].concat()),
    }
}

/// Runs a plugin; its help is available before it is added.
fn run_plugin(plugin: &BuiltIn, protocol: &str, arguments: &[String]) -> Result<(), Failure> {
    if let Some(text) = plugin.help(protocol, arguments) {
        return print(&text);
    }
    let is_json = arguments.iter().any(|argument| argument == "--json");
    plugin::require(protocol, plugin.name()).map_err(|failure| failure.in_json(is_json))?;
    plugin.run(protocol, arguments)
}

fn unknown(word: &str) -> Failure {
    let kind = if word.starts_with('-') {
        "option"
    } else {
        "command"
    };
    let commands = ROOT.commands.iter().flat_map(|command| command.words());
    let names = commands.chain(["--help", "--version"]);
    let guess = match ["share", "expose", "tunnel"].contains(&word) {
        true => "say what to share, as in 'postern http 3000'; ".to_owned(),
        false => guess(word, names),
    };
    let shown = quoted(&target::redacted(word));
    Failure::usage(format!("unknown {kind} {shown}")).hint(guess + SEE_HELP)
}
