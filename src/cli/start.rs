//! `postern start [port]`: the manager of applications and its page.

use std::io;
use std::net::{Ipv4Addr, TcpListener};

use serde::{Deserialize, Serialize};
use zeroize::Zeroizing;

use super::command::{Command, Flag, Parsed};
use super::failure::{Failure, quoted};
use super::output::print;
use super::signals::Watch;
use super::{BuiltIns, browser, logging, port_holder, shutdown, systemd};
use crate::manager::{self, Options, Running, ServerUrl};
use crate::relay;
use crate::relay::embedded::{self, Embedded, NotEmbedded};
use crate::store::{ClaimError, CredentialStore, DataDir, Instance, RunDir};

/// The page's port where none is named.
const DEFAULT_PORT: u16 = 8181;
/// The variable that may name the remote server.
const SERVER_VARIABLE: &str = "POSTERN_SERVER";
/// The variable that may hold the enrol token.
const TOKEN_VARIABLE: &str = "POSTERN_ENROLL_TOKEN";

const SERVER: Flag = Flag {
    long: "server",
    alias: "",
    value: "URL",
    repeatable: false,
    help: "the remote server that applications are connected through \
           (default: POSTERN_SERVER, else a relay within this process, for this machine alone)",
};
const TOKEN: Flag = Flag {
    long: "enroll-token",
    alias: "",
    value: "TOKEN",
    repeatable: false,
    help: "enrol at the server with this token; other users of this machine can see it in the list \
           of processes: POSTERN_ENROLL_TOKEN is safer",
};
const ALLOW_HOST: Flag = Flag {
    long: "allow-host",
    alias: "",
    value: "HOST[:PORT]",
    repeatable: true,
    help: "also serve requests made to this name, as through a proxy; may be repeated",
};
const INSECURE: Flag = Flag {
    long: "insecure",
    alias: "",
    value: "",
    repeatable: false,
    help: "reach servers off this machine by http too: passwords cross the network unprotected",
};
const NO_OPEN: Flag = super::settings::NO_OPEN;
const RESET: Flag = Flag {
    long: "reset-credentials",
    alias: "",
    value: "",
    repeatable: false,
    help: "forget what the servers know this machine by, and begin afresh; the file is kept aside",
};
const ALLOW_OTHER_USERS: Flag = Flag {
    long: "allow-other-users",
    alias: "",
    value: "",
    repeatable: false,
    help: "also serve the other users of this machine",
};
const PRINT_UNIT: Flag = Flag {
    long: "print-systemd-unit",
    alias: "",
    value: "",
    repeatable: false,
    help: "print a hardened unit file for these options, for systemd's user manager, and end",
};
const VERBOSE: Flag = super::settings::VERBOSE;

pub(super) const COMMAND: Command = Command {
    name: "start",
    operands: "[port]",
    operand_count: 0..=1,
    about: "Starts the manager: a page on 127.0.0.1 that shares applications through tunnels.",
    flags: &[
        SERVER,
        TOKEN,
        ALLOW_HOST,
        INSECURE,
        NO_OPEN,
        RESET,
        ALLOW_OTHER_USERS,
        PRINT_UNIT,
        VERBOSE,
    ],
    notes: "\
The port is 8181 where none is named; 0 takes a free one.",
};

/// What a running manager says to the other commands.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Whereabouts {
    /// The page's address, `http://127.0.0.1:8181/`.
    pub(super) url: String,
    /// Its process.
    pub(super) pid: u32,
}

/// The server that applications are connected through.
#[derive(Default)]
struct Through {
    server: Option<ServerUrl>,
    enroll_token: Option<Zeroizing<String>>,
    /// Where the server is a part of this process.
    embedded: Option<Embedded>,
    /// What the page is to say about it.
    notices: Vec<String>,
}

/// What the command line says.
struct Settings {
    port: u16,
    server: Option<ServerUrl>,
    enroll_token: Option<Zeroizing<String>>,
    insecure: bool,
}

/// Serves until a signal.
pub(super) fn run(arguments: &[String]) -> Result<(), Failure> {
    let parsed = COMMAND.parse(arguments)?;
    if parsed.wants_help() {
        return print(&COMMAND.help(COMMAND.name));
    }
    let settings = Settings::read(&parsed)?;
    if parsed.has(&PRINT_UNIT) {
        return print(&unit(&settings, &parsed));
    }
    start(&parsed, &settings)
}

fn start(parsed: &Parsed, settings: &Settings) -> Result<(), Failure> {
    logging::start(parsed.has(&VERBOSE));
    let watch = Watch::start()
        .map_err(|error| Failure::operation(format!("cannot watch for signals: {error}")))?;
    let home = DataDir::locate().map_err(|error| of_vault(&error))?;
    let instance = claim(&home)?;
    let listener = listen(settings.port)?;
    if parsed.has(&RESET) {
        CredentialStore::new(home.clone())
            .reset()
            .map_err(|error| of_vault(&error))?;
    }
    let run_dir = RunDir::create(Some(&home)).map_err(|error| of_vault(&error))?;
    watch.removes(run_dir.path());
    let check_other_users = !parsed.has(&ALLOW_OTHER_USERS);
    let mut through = settings.through(&home, &run_dir, check_other_users);
    let embedded = through.embedded.take();
    let running = manage(Options {
        home,
        listener,
        run_dir: run_dir.path().to_owned(),
        server: through.server,
        embedded: embedded.is_some(),
        own_listeners: embedded.iter().flat_map(Embedded::listeners).collect(),
        enroll_token: through.enroll_token,
        insecure: settings.insecure,
        allow_hosts: parsed.values(&ALLOW_HOST),
        check_other_users,
        web_clients: &BuiltIns,
        notices: through.notices,
    })?;
    announce(&instance, &running)?;
    serve(running, embedded, !parsed.has(&NO_OPEN), &watch)
}

fn manage(options: Options) -> Result<Running, Failure> {
    manager::start(options).map_err(|error| match error {
        manager::StartError::Host(_) => Failure::usage(error.to_string()).hint(COMMAND.see_help()),
        _ => Failure::operation(error.to_string()),
    })
}

impl Settings {
    fn read(parsed: &Parsed) -> Result<Self, Failure> {
        let insecure = parsed.has(&INSECURE);
        Ok(Self {
            port: port(parsed)?,
            server: server(parsed, insecure)?,
            enroll_token: given(parsed, &TOKEN, TOKEN_VARIABLE)
                .map(|(_, token)| Zeroizing::new(token)),
            insecure,
        })
    }

    /// The named server; else the embedded relay.
    fn through(&self, home: &DataDir, run_dir: &RunDir, check_other_users: bool) -> Through {
        if self.server.is_some() {
            return Through {
                server: self.server.clone(),
                enroll_token: self.enroll_token.clone(),
                ..Through::default()
            };
        }
        match embedded::start(home, run_dir.path(), check_other_users) {
            Ok(embedded) => Through::embedded(embedded),
            Err(NotEmbedded::Beside(Some(relay))) => Through::beside(relay),
            Err(error) => {
                log::warn!("no relay is embedded: {error}");
                Through {
                    notices: vec![format!(
                        "Nothing can be connected yet: {error}. Start with --server URL, or set {SERVER_VARIABLE}."
                    )],
                    ..Through::default()
                }
            }
        }
    }
}

impl Through {
    /// A relay of this user's, in a process of its own.
    fn beside(relay: relay::Whereabouts) -> Self {
        Self {
            server: ServerUrl::parse(&format!("http://{}", relay.address), false).ok(),
            notices: vec![format!(
                "No server is named: applications are connected through the relay that runs here already, at {}.",
                relay.url
            )],
            enroll_token: Some(relay.token),
            embedded: None,
        }
    }

    fn embedded(embedded: Embedded) -> Self {
        let mut notices = vec![format!(
            "No server is named, so applications are shared on this machine only, at addresses such as {}. Browsers \
             find these, other programs may not. To share with others, start with --server URL.",
            embedded.site_url("name")
        )];
        for path in embedded.set_aside() {
            notices.push(format!("unreadable, and kept aside: {}", path.display()));
        }
        Self {
            server: ServerUrl::parse(&embedded.server(), false).ok(),
            enroll_token: Some(embedded.token.clone()),
            embedded: Some(embedded),
            notices,
        }
    }
}

/// The enrol token is a secret and belongs in a file of the user's.
fn unit(settings: &Settings, parsed: &Parsed) -> String {
    let mut command = vec![
        systemd::program(),
        "start".to_owned(),
        settings.port.to_string(),
        "--no-open".to_owned(),
    ];
    let server = settings.server.as_ref().map(ServerUrl::to_string);
    let named = server.iter().map(|server| ("server", server));
    let hosts = parsed.values(&ALLOW_HOST);
    let hosts = hosts.iter().map(|host| ("allow-host", host));
    for (flag, value) in named.chain(hosts) {
        command.push(format!("--{flag}={}", systemd::escaped(value)));
    }
    for flag in [INSECURE, ALLOW_OTHER_USERS]
        .iter()
        .filter(|flag| parsed.has(flag))
    {
        command.push(format!("--{}", flag.long));
    }
    systemd::Unit {
        description: "postern",
        kind: systemd::Kind::User,
        command,
        memory: "512M",
        how: &[
            "Put this in ~/.config/systemd/user/postern.service, then:",
            "  systemctl --user daemon-reload && systemctl --user enable --now postern",
            "So that it runs without a login: loginctl enable-linger",
            "An enrol token: Environment=POSTERN_ENROLL_TOKEN=… in 'systemctl --user edit postern'.",
        ],
    }
    .text()
}

/// A flag, or the variable that stands for it, and which it was. An empty variable counts as unset.
fn given(parsed: &Parsed, flag: &Flag, variable: &str) -> Option<(String, String)> {
    let by_flag = parsed
        .value(flag)
        .map(|value| (format!("--{}", flag.long), value));
    let by_variable = || Some((variable.to_owned(), std::env::var(variable).ok()?));
    by_flag.or_else(|| by_variable().filter(|(_, value)| !value.is_empty()))
}

fn port(parsed: &Parsed) -> Result<u16, Failure> {
    let Some(text) = parsed.operands().first() else {
        return Ok(DEFAULT_PORT);
    };
    let is_number = text.bytes().all(|byte| byte.is_ascii_digit());
    match text.parse() {
        Ok(port) if is_number => Ok(port),
        _ => Err(Failure::usage(format!(
            "{} is not a port: give a number up to 65535",
            quoted(text)
        ))
        .hint(COMMAND.see_help())),
    }
}

fn server(parsed: &Parsed, insecure: bool) -> Result<Option<ServerUrl>, Failure> {
    let Some((name, url)) = given(parsed, &SERVER, SERVER_VARIABLE) else {
        return Ok(None);
    };
    let server = ServerUrl::parse(&url, insecure);
    let refusal = |why| Failure::usage(format!("{name}: {why}")).hint(COMMAND.see_help());
    server.map(Some).map_err(refusal)
}

/// One manager at a time on a directory; a second one says where the first is.
fn claim(home: &DataDir) -> Result<Instance, Failure> {
    Instance::claim(home).map_err(|claimed| match claimed {
        ClaimError::Failed(error) => of_vault(&error),
        ClaimError::Held(said) => {
            let dir = home.dir().display();
            let first = said.and_then(|said| serde_json::from_slice::<Whereabouts>(&said).ok());
            match first {
                Some(first) => {
                    Failure::operation(format!("already running on {dir} (process {})", first.pid))
                        .hint(format!("its page is at {}", first.url))
                }
                None => {
                    Failure::operation(format!("another 'postern start' is just starting on {dir}"))
                        .hint("try again, or set POSTERN_HOME to another directory")
                }
            }
        }
    })
}

fn listen(port: u16) -> Result<TcpListener, Failure> {
    TcpListener::bind((Ipv4Addr::LOCALHOST, port)).map_err(|error| {
        let cannot = format!("cannot listen on 127.0.0.1:{port}");
        match error.kind() {
            io::ErrorKind::AddrInUse => {
                let holder = port_holder::of_loopback(port)
                    .map_or(String::new(), |holder| format!(" by {holder}"));
                Failure::operation(format!("{cannot}: the port is in use{holder}"))
                    .hint("end that program, or name another port: postern start PORT")
            }
            io::ErrorKind::PermissionDenied => Failure::operation(format!("{cannot}: {error}"))
                .hint("name a port from 1024 on: postern start PORT"),
            _ => Failure::operation(format!("{cannot}: {error}")),
        }
    })
}

/// Tells the other commands where the page is.
fn announce(instance: &Instance, running: &Running) -> Result<(), Failure> {
    let whereabouts = Whereabouts {
        url: url(running),
        pid: std::process::id(),
    };
    // Strings and numbers always have a JSON form.
    let said = serde_json::to_vec(&whereabouts).unwrap_or_default();
    instance.announce(&said).map_err(|error| of_vault(&error))
}

fn url(running: &Running) -> String {
    format!("http://{}/", running.address())
}

/// Says where the page is, and ends at the first signal.
fn serve(
    running: Running,
    embedded: Option<Embedded>,
    opens: bool,
    watch: &Watch,
) -> Result<(), Failure> {
    // Before the first line: who reads it may send the signal at once.
    let stopped = watch.running();
    let url = url(&running);
    let printed = print(&format!("Management page: {url}\n"));
    if printed.is_ok() {
        if opens {
            browser::open(&url);
        }
        // An error means that nobody can send any more; ending is right then too.
        let _ = stopped.recv();
    }
    shutdown::within_time(move || stop(running, embedded));
    printed
}

/// Both at the same time, as there are two seconds for both.
fn stop(running: Running, embedded: Option<Embedded>) {
    // First, or the tunnels would complain of the relay's end.
    running.begin_stop();
    std::thread::scope(|scope| {
        if let Some(embedded) = embedded {
            // Ends with the relay; where there is no thread, the relay stops as it is dropped.
            let stopping = std::thread::Builder::new()
                .name("embedded-stop".into())
                .spawn_scoped(scope, move || embedded.stop());
            if let Err(error) = stopping {
                log::debug!("no thread to stop the relay: {error}");
            }
        }
        running.stop();
    });
}

fn of_vault(error: &crate::store::Error) -> Failure {
    Failure::operation(error.to_string()).hint(error.hint())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(line: &[&str]) -> Result<Settings, Failure> {
        let words: Vec<String> = line.iter().map(|&word| word.to_owned()).collect();
        Settings::read(&COMMAND.parse(&words)?)
    }

    #[test]
    fn the_port_is_a_number() {
        assert_eq!(read(&[]).unwrap().port, 8181);
        assert_eq!(read(&["9000"]).unwrap().port, 9000);
        for text in ["", "x", "65536", "+1", "1.5", "8181 ", "127.0.0.1:8181"] {
            let failure = read(&[text]).err().expect(text);
            assert_eq!(failure.parts().0, 2, "{text}");
        }
        assert_eq!(read(&["1", "2"]).err().unwrap().parts().0, 2);
        assert_eq!(read(&["--", "-1"]).err().unwrap().parts().0, 2);
    }

    #[test]
    fn a_server_off_this_machine_needs_tls() {
        assert!(
            read(&["--server", "http://127.0.0.1:8180"])
                .unwrap()
                .server
                .is_some()
        );
        assert!(
            read(&["--server", "https://relay.example"])
                .unwrap()
                .server
                .is_some()
        );
        let failure = read(&["--server", "http://relay.example"]).err().unwrap();
        assert_eq!(failure.parts().0, 2);
        assert!(read(&["--server", "http://relay.example", "--insecure"]).is_ok());
        assert!(read(&["--server", "ftp://relay.example"]).is_err());
    }
}
