//! `postern service install|remove|status [start|relay]`: a unit of systemd's user manager and its files.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Command as Process, Stdio};
use std::{fs, io};

use serde_json::json;
use sha2::{Digest, Sha256};

use super::{relay, start};
use crate::cli::args::command::{Command, Parsed};
use crate::cli::args::operations::service::{GROUP, INSTALL, REMOVE, STATUS};
use crate::cli::args::table;
use crate::cli::args::table::environment::PROXY;
use crate::cli::args::values::{SERVER_VARIABLE, TOKEN_VARIABLE, environment};
use crate::cli::failure::{Failure, print, print_json, printable, quoted};
use crate::cli::manager_client::Manager;
use crate::cli::serve::data_dir;
use crate::store::random::hex;
use crate::store::write_atomic;
use crate::tunnel::ws::PROXY_VARIABLES;

/// Begin of the first line of each file; the digest of the rest of the file ends the line.
const MARK: &str = "# Written by 'postern service install'; a change is yours, and stays: ";

/// Returns the unit for options, and the enrolment token in them.
type UserUnit = fn(&[String], &str) -> Result<(String, Option<String>), Failure>;

/// Command that a unit can run.
struct Service {
    word: &'static str,
    unit: &'static str,
    /// The command that it runs; its environment variables are saved.
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

/// The service that the first operand names, by default `start`, and the further operands.
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
        files.unit.display()
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
    // A running service takes up the changes.
    systemctl(&["restart", service.unit]).map_err(after)?;
    print(&format!(
        "{} is enabled and started\n{}",
        service.unit,
        lingering()
    ))
}

/// Refuses to install while a manager runs, because the service could not start.
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

/// Text about the start of the service: at boot or at login.
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
    let shown = json!({"unit": service.unit, "file": files.unit, "installed": is_installed,
        "enabled": enabled, "active": active});
    if is_installed && !parsed.wants_json() {
        let path = files.unit.display();
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

/// The word that systemctl answers; `unknown` if it answers nothing.
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

/// The unit, and its file of variables.
struct UnitFiles {
    unit: PathBuf,
    environment: PathBuf,
}

impl UnitFiles {
    /// Files of the unit of that name, in the user manager's own directory.
    fn of(unit: &str) -> Result<Self, Failure> {
        let set = |name| {
            std::env::var_os(name)
                .filter(|value| !value.is_empty())
                .map(PathBuf::from)
        };
        let config = set("XDG_CONFIG_HOME").filter(|dir| dir.is_absolute());
        let config = config.or_else(|| Some(set("HOME")?.join(".config")));
        let Some(config) = config else {
            return Err(
                Failure::operation("neither XDG_CONFIG_HOME nor HOME is set")
                    .hint("set HOME: units are below ~/.config/systemd/user"),
            );
        };
        let unit = config.join("systemd/user").join(unit);
        let environment = unit.with_extension("env");
        Ok(Self { unit, environment })
    }

    /// Path of the file of variables, as a unit names it.
    fn environment_path(&self) -> Result<String, Failure> {
        match self.environment.to_str() {
            Some(path) if !path.chars().any(char::is_control) => Ok(path.to_owned()),
            _ => Err(Failure::operation(
                "the path of ~/.config cannot be used in a unit",
            )),
        }
    }

    fn is_installed(&self) -> bool {
        fs::symlink_metadata(&self.unit).is_ok()
    }

    /// Fails if one of the files is not as this command has written it.
    fn check_ours(&self) -> Result<(), Failure> {
        for path in [&self.unit, &self.environment] {
            match fs::read_to_string(path) {
                Ok(text) if is_ours(&text) => {}
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Ok(_) => {
                    let message = format!(
                        "{} was not written by this command, or was changed since",
                        path.display()
                    );
                    return Err(
                        Failure::operation(message).hint("check it, move it away, then try again")
                    );
                }
                Err(error) => return Err(failed("read", path, &error)),
            }
        }
        Ok(())
    }

    /// Writes both files; true if the unit has changed.
    fn install(&self, unit: &str, variables: &[(&str, String)]) -> Result<bool, Failure> {
        self.check_ours()?;
        let dir = self.unit.parent().expect("it is below a directory");
        fs::create_dir_all(dir).map_err(|error| failed("create", dir, &error))?;
        if variables.is_empty() {
            self.remove_one(&self.environment)?;
        } else {
            let lines = variables
                .iter()
                .map(|(name, value)| format!("{name}={}\n", quoted_word(value)));
            write(&self.environment, &marked(&lines.collect::<String>()))?;
        }
        let unit = marked(unit);
        let changed = fs::read_to_string(&self.unit).ok().as_ref() != Some(&unit);
        write(&self.unit, &unit)?;
        Ok(changed)
    }

    /// Removes both files.
    fn remove(&self) -> Result<(), Failure> {
        self.remove_one(&self.unit)?;
        self.remove_one(&self.environment)
    }

    fn remove_one(&self, path: &Path) -> Result<(), Failure> {
        match fs::remove_file(path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Err(failed("remove", path, &error))
            }
            _ => Ok(()),
        }
    }
}

/// Writes a file with mode 0600.
fn write(path: &Path, text: &str) -> Result<(), Failure> {
    write_atomic(path, text.as_bytes()).map_err(|error| failed("write", path, &error))
}

fn failed(what: &str, path: &Path, error: &io::Error) -> Failure {
    Failure::operation(format!("cannot {what} {}: {error}", path.display()))
}

/// Quotes a value for a file of variables, as systemd.exec(5) reads it.
fn quoted_word(value: &str) -> String {
    let mut text = String::from("\"");
    for character in value.chars() {
        if matches!(character, '"' | '\\' | '`' | '$') {
            text.push('\\');
        }
        text.push(character);
    }
    text + "\""
}

fn marked(text: &str) -> String {
    format!("{MARK}{}\n{text}", digest(text))
}

fn is_ours(text: &str) -> bool {
    let first = text
        .split_once('\n')
        .and_then(|(first, rest)| Some((first.strip_prefix(MARK)?, rest)));
    first.is_some_and(|(expected, rest)| expected == digest(rest))
}

fn digest(text: &str) -> String {
    let mut digits = hex(&Sha256::digest(text));
    digits.truncate(16);
    digits
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_changed_file_is_known() {
        let text = marked("[Unit]\nx=1\n");
        assert!(is_ours(&text));
        for other in [
            text.replace("x=1", "x=2"),
            text.clone() + "#\n",
            text.replacen('#', ";", 1),
            String::new(),
        ] {
            assert!(!is_ours(&other), "{other}");
        }
    }

    #[test]
    fn values_are_whole() {
        assert_eq!(quoted_word("a b$c\"\\`"), "\"a b\\$c\\\"\\\\\\`\"");
    }
}
