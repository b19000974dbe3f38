//! `postern service install|remove|status [start|relay]`: a unit of systemd's user manager.

mod files;

use std::collections::BTreeSet;
use std::process::{Command as Process, Stdio};

use serde_json::json;

use super::{relay, start};
use crate::cli::args::command::{Command, Parsed};
use crate::cli::args::operations::service::{GROUP, INSTALL, REMOVE, STATUS};
use crate::cli::args::table;
use crate::cli::args::table::environment::PROXY;
use crate::cli::args::values::{SERVER_VARIABLE, TOKEN_VARIABLE, environment};
use crate::cli::failure::{Failure, printable, quoted};
use crate::cli::manager_client::Manager;
use crate::cli::output::{print, print_json};
use crate::cli::serve::data_dir;
use crate::tunnel::ws::PROXY_VARIABLES;
use files::UnitFiles;

/// Prints the unit for options, the enrolment token among them.
type UserUnit = fn(&[String], &str) -> Result<(String, Option<String>), Failure>;

/// Command that a unit can run.
struct Service {
    word: &'static str,
    unit: &'static str,
    /// The command that it runs, whose variables it keeps.
    command: &'static Command,
    user_unit: UserUnit,
}

static SERVICES: [Service; 2] = [
    Service {
        word: "start",
        unit: "postern.service",
        command: &table::start::COMMAND,
        user_unit: start::user_unit,
    },
    Service {
        word: "relay",
        unit: "postern-relay.service",
        command: &table::relay::COMMAND,
        user_unit: relay::user_unit,
    },
];

/// Runs the subcommand that the first argument names.
pub(crate) fn run(arguments: &[String]) -> Result<(), Failure> {
    GROUP.run_subcommand(
        arguments,
        &[(&INSTALL, install), (&REMOVE, remove), (&STATUS, status)],
    )
}

/// The service that the first operand names, and what follows it. Without one it is `start`.
fn named<'a>(
    command: &Command,
    parsed: &'a Parsed,
) -> Result<(&'static Service, &'a [String]), Failure> {
    let operands = parsed.operands();
    let of_word = |word: &String| SERVICES.iter().find(|service| service.word == word);
    let [first, ..] = &SERVICES;
    match operands.split_first() {
        None => Ok((first, &[])),
        Some((word, _)) if word.starts_with('-') => Ok((first, operands)),
        Some((word, rest)) => match of_word(word) {
            Some(service) => Ok((service, rest)),
            None => Err(command.usage(format!(
                "unknown service {}: give start or relay",
                quoted(word)
            ))),
        },
    }
}

fn install(parsed: &Parsed) -> Result<(), Failure> {
    let (service, options) = named(&INSTALL, parsed)?;
    let files = UnitFiles::of(service.unit)?;
    let (unit, token) = (service.user_unit)(options, &files.environment_path()?)?;
    if service.word == "start" && !files.is_installed() {
        refuse_running()?;
    }
    let variables = variables(service, token)?;
    let changed = files.install(&unit, &variables)?;
    print(&format!(
        "{} {}\n",
        if changed { "Wrote" } else { "Unchanged:" },
        files.unit_path().display()
    ))?;
    if !variables.is_empty() {
        let names: Vec<&str> = variables.iter().map(|(name, _)| *name).collect();
        let path = files.environment_path()?;
        print(&format!(
            "Wrote {path}, readable only by you: {}\n",
            names.join(", ")
        ))?;
    }
    let after = |failure: Failure| {
        failure.hint(format!(
            "once that is fixed: systemctl --user daemon-reload && systemctl --user enable --now {}",
            service.unit
        ))
    };
    systemctl(&["daemon-reload"]).map_err(after)?;
    systemctl(&["enable", "--quiet", service.unit]).map_err(after)?;
    // One that runs already takes up what is new.
    systemctl(&["restart", service.unit]).map_err(after)?;
    print(&format!(
        "{} is enabled and started\n{}",
        service.unit,
        lingering()
    ))
}

/// The service could not start beside it.
fn refuse_running() -> Result<(), Failure> {
    match Manager::find(&data_dir()?)? {
        None => Ok(()),
        Some(manager) => Err(Failure::operation(format!(
            "'postern start' is already running (process {}): the service cannot start",
            manager.pid
        ))
        .hint("stop it first, with Ctrl-C in its terminal")),
    }
}

/// Returns the environment variables for the service, except those on its command line.
fn variables(
    service: &Service,
    token: Option<String>,
) -> Result<Vec<(&'static str, String)>, Failure> {
    let listed = service.command.environment.iter();
    let mut names: BTreeSet<&str> = listed.map(|variable| variable.name).collect();
    // The help lists the usual ones only.
    if names.contains(PROXY.name) {
        names.extend(PROXY_VARIABLES);
    }
    let value = |name: &str| match name {
        SERVER_VARIABLE => None,
        TOKEN_VARIABLE => token.clone().or_else(|| environment(name)),
        _ => environment(name),
    };
    let found: Vec<(&str, String)> = names
        .into_iter()
        .filter_map(|name| Some((name, value(name)?)))
        .collect();
    match found
        .iter()
        .find(|(_, value)| value.chars().any(char::is_control))
    {
        Some((name, _)) => Err(Failure::operation(format!(
            "{name} contains a control character, which an environment file cannot hold"
        ))),
        None => Ok(found),
    }
}

/// Tells when the service starts, and how to start it at boot.
fn lingering() -> &'static str {
    let lingers = Process::new("loginctl")
        .args([
            "show-user",
            "--property=Linger",
            "--value",
            &rustix::process::geteuid().as_raw().to_string(),
        ])
        .stderr(Stdio::null())
        .output();
    match lingers {
        Ok(said) if said.stdout.starts_with(b"yes") => "It starts at boot, without a login.\n",
        _ => "It runs while you are logged in. To start it at boot: loginctl enable-linger\n",
    }
}

fn remove(parsed: &Parsed) -> Result<(), Failure> {
    let (service, _) = named(&REMOVE, parsed)?;
    let files = UnitFiles::of(service.unit)?;
    if !files.is_installed() {
        return print(&format!("{} is not installed\n", service.unit));
    }
    files.check_ours()?;
    let disabled = systemctl(&["disable", "--quiet", "--now", service.unit]);
    files.remove()?;
    disabled?;
    systemctl(&["daemon-reload"])?;
    print(&format!(
        "{} is stopped, disabled and removed\n",
        service.unit
    ))
}

fn status(parsed: &Parsed) -> Result<(), Failure> {
    let (service, _) = named(&STATUS, parsed)?;
    let files = UnitFiles::of(service.unit)?;
    let is_installed = files.is_installed();
    let shown = |what: &str| match is_installed {
        true => systemctl_says(what, service.unit),
        false => String::new(),
    };
    let (enabled, active) = (shown("is-enabled"), shown("is-active"));
    let shown = json!({"unit": service.unit, "file": files.unit_path(), "installed": is_installed,
        "enabled": enabled, "active": active});
    if is_installed && !parsed.wants_json() {
        let path = files.unit_path().display();
        print(&format!("{}: {enabled}, {active} ({path})\n", service.unit))?;
    }
    if active == "active" {
        return match parsed.wants_json() {
            true => print_json(&shown),
            false => Ok(()),
        };
    }
    let unit = service.unit;
    let failure = match is_installed {
        true => Failure::operation(format!("{unit} is not running"))
            .hint(format!("see systemctl --user status {unit}")),
        false => Failure::operation(format!("{unit} is not installed"))
            .hint(format!("run 'postern service install {}'", service.word)),
    };
    Err(failure.answer(shown))
}

/// The one word that it answers; `unknown` where it answers none.
fn systemctl_says(what: &str, unit: &str) -> String {
    let output = Process::new("systemctl")
        .args(["--user", what, unit])
        .stderr(Stdio::null())
        .output();
    let said = output.map(|output| printable(String::from_utf8_lossy(&output.stdout).trim()));
    said.ok()
        .filter(|said| !said.is_empty())
        .unwrap_or_else(|| "unknown".to_owned())
}

fn systemctl(arguments: &[&str]) -> Result<(), Failure> {
    let output = Process::new("systemctl")
        .arg("--user")
        .args(arguments)
        .stdin(Stdio::null())
        .output();
    let what = format!("systemctl --user {}", arguments.join(" "));
    match output {
        Ok(output) if output.status.success() => Ok(()),
        Ok(output) => {
            let said = String::from_utf8_lossy(&output.stderr);
            Err(Failure::operation(format!(
                "'{what}' failed: {}",
                printable(said.trim())
            )))
        }
        Err(error) => Err(Failure::operation(format!("cannot run '{what}': {error}"))
            .hint("without systemd, let another supervisor run 'postern start --no-open'")),
    }
}
