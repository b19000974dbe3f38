//! `postern start [port]`: runs the manager with its page and, without a server, a built-in relay; prints its systemd
//! unit.

use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, RecvTimeoutError};
use log::LevelFilter;
use zeroize::Zeroizing;

use crate::cli::args::command::Parsed;
use crate::cli::args::table::start::{
    ALLOW_HOST, ALLOW_OTHER_USERS, COMMAND, ENROLL_TOKEN, INSECURE, LOG_FORMAT, NO_OPEN,
    PRINT_UNIT, QUIET, RESET, SERVER, VERBOSE,
};
use crate::cli::args::values::{SERVER_VARIABLE, whole_number};
use crate::cli::commands::plugin::BuiltIns;
use crate::cli::commands::sharing::line::{given_token, server};
use crate::cli::failure::{Failure, print, printable, quoted};
use crate::cli::manager_client::ManagerInstance;
use crate::cli::relay_standby::{RelayPlace, RelayStandby};
use crate::cli::serve::SignalWatch;
use crate::cli::systemd::{Unit, UnitScope, command_line, escaped};
use crate::cli::{browser, logging, serve};
use crate::manager::server_store::ServerStore;
use crate::manager::{LocalRelay, Options, Running, ServerAccess, ServerUrl};
use crate::relay::embedded::{EmbeddedRelay, NotEmbedded};
use crate::relay::{SAVE_COUNTERS_EVERY, embedded};
use crate::store::{ClaimError, CredentialStore, DataDir, Instance, RunDir};
use crate::sync::{Thread, spawn_scoped};
use crate::{manager, relay};

/// Default port of the page.
const DEFAULT_PORT: u16 = 8181;
/// Pause between two checks for the relay of another command.
const LOOK: Duration = Duration::from_secs(1);
/// Time in which the reachability of the server is printed. Default 30 s, as for a main tunnel.
const REACHED_WITHIN: Duration = Duration::from_secs(30);
/// Pause between two checks of reachability.
const LOOK_AGAIN: Duration = Duration::from_millis(200);
/// Advice on installing the unit.
const HOW: [&str; 5] = [
    "Put this in ~/.config/systemd/user/postern.service ('postern service install' does it), then:",
    "  systemctl --user daemon-reload && systemctl --user enable --now postern",
    "To run it without a login: loginctl enable-linger",
    "For POSTERN_ENROLL_TOKEN, HTTPS_PROXY, NO_PROXY or SSL_CERT_FILE: Environment=NAME=VALUE in",
    "'systemctl --user edit postern'; the service does not see those of your shell.",
];

/// Relay that serves applications if no server is given.
#[derive(Default)]
struct DefaultRelay {
    local_relay: LocalRelay,
    /// The relay in this process.
    embedded: Option<EmbeddedRelay>,
    /// Standby for the relay in another command.
    standby: Option<RelayStandby>,
}

/// Settings from the command line.
struct Settings {
    port: u16,
    server: Option<ServerUrl>,
    enroll_token: Option<Zeroizing<String>>,
    insecure: bool,
}

/// Serves until a signal.
pub(crate) fn run(arguments: &[String]) -> Result<(), Failure> {
    COMMAND.run(arguments, |parsed| {
        let settings = Settings::read(parsed)?;
        if parsed.has(&PRINT_UNIT) {
            return print(&settings.unit(parsed, None));
        }
        start(parsed, &settings)
    })
}

fn start(parsed: &Parsed, settings: &Settings) -> Result<(), Failure> {
    let level = if parsed.has(&QUIET) {
        LevelFilter::Warn
    } else {
        LevelFilter::Info
    };
    logging::start_by(&COMMAND, parsed, level, &logging::OWNED)?;
    let watch = SignalWatch::start()?;
    let home = serve::data_dir()?;
    let instance = claim(&home, !parsed.has(&NO_OPEN))?;
    let listener = listen(settings.port)?;
    if parsed.has(&RESET) {
        CredentialStore::new(home.clone()).reset()?;
    }
    let run_dir = serve::run_dir(Some(&home), &watch)?;
    let check_other_users = !parsed.has(&ALLOW_OTHER_USERS);
    let mut own = if settings.is_connected_elsewhere(&ServerStore::new(home.clone()))? {
        DefaultRelay::default()
    } else {
        DefaultRelay::start(&home, &run_dir, check_other_users)
    };
    let options = Options {
        home,
        run_dir: run_dir.path().to_owned(),
        applications: manager::Applications::Stored,
        server: settings.server.clone(),
        local_relay: own.local_relay.clone(),
        own_listeners: own.listeners(),
        enroll_token: settings.enroll_token.clone(),
        insecure: settings.insecure,
        allow_hosts: parsed.values(&ALLOW_HOST),
        check_other_users,
        web_clients: &BuiltIns,
        notices: Vec::new(),
    };
    let running = manager::start(options, listener).map_err(|error| match error {
        manager::StartError::Host(_) => COMMAND.usage(error.to_string()),
        _ => Failure::operation(error.to_string()),
    })?;
    announce(&instance, &running)?;
    // Before the first line is printed: its reader may send the signal at once.
    let stopped = watch.running();
    let embedded = own.embedded.as_ref();
    let sites = embedded.map(|embedded| embedded.site_url("NAME"));
    let is_quiet = parsed.has(&QUIET);
    let ended = print(&announcement(&running, sites.as_deref(), is_quiet)).map(|()| {
        if !parsed.has(&NO_OPEN) {
            browser::open(&url(&running));
        }
        let says_more = !is_quiet && sites.is_none();
        if !(says_more && print_reachability(&running, &stopped)) {
            own.keep_until(&stopped, &running);
        }
    });
    serve::stop_in_time(move || stop(running, own.embedded));
    ended
}

impl Settings {
    fn read(parsed: &Parsed) -> Result<Self, Failure> {
        let insecure = parsed.has(&INSECURE);
        Ok(Self {
            port: port(parsed)?,
            server: server(&COMMAND, parsed, insecure)?,
            enroll_token: given_token(parsed),
            insecure,
        })
    }

    /// Unit for the user's systemd manager, with a file of variables, or else with advice on how to install it. The
    /// enrolment token is a secret and belongs in a file of the user.
    fn unit(&self, parsed: &Parsed, environment_file: Option<&str>) -> String {
        let left_out = [
            SERVER,
            ENROLL_TOKEN,
            NO_OPEN,
            RESET,
            PRINT_UNIT,
            LOG_FORMAT,
            QUIET,
            VERBOSE,
        ];
        let mut command = command_line(&COMMAND, parsed, &left_out);
        command.splice(2..2, [self.port.to_string(), "--no-open".to_owned()]);
        // Given by the flag or the variable.
        let server = self.server.as_ref();
        command.extend(server.map(|server| format!("--server={}", escaped(&server.to_string()))));
        Unit {
            description: "postern",
            scope: UnitScope::User,
            command,
            environment_file,
            drain: Duration::ZERO,
            waits: false,
            how: if environment_file.is_some() {
                &[]
            } else {
                &HOW
            },
        }
        .text()
    }

    /// True if a server is given or the user has a default. A given server is saved.
    fn is_connected_elsewhere(&self, known: &ServerStore) -> Result<bool, Failure> {
        if let Some(server) = &self.server {
            if let Err(error) = known.remember(server) {
                log::debug!("cannot save the relay: {error}");
            }
            return Ok(true);
        }
        let list = known.read()?;
        let Some(default) = list.default_server() else {
            return Ok(false);
        };
        ServerUrl::parse(&default.url, self.insecure).map_err(|why| {
            Failure::operation(format!("the default relay: {why}"))
                .hint("choose another with 'postern server default URL' or --server")
        })?;
        Ok(true)
    }
}

impl DefaultRelay {
    /// The embedded relay, or a running one of this user.
    fn start(home: &DataDir, run_dir: &RunDir, check_other_users: bool) -> Self {
        match embedded::start(home, run_dir.path(), check_other_users) {
            Ok(embedded) => Self::embedded(embedded),
            Err(NotEmbedded::AlreadyRunning(Some(relay))) => Self {
                standby: RelayStandby::of(&relay, home, run_dir.path(), check_other_users),
                ..Self::other_process(relay)
            },
            Err(error) => {
                log::warn!("no built-in relay: {error}");
                Self::of(
                    None,
                    vec![format!(
                        "Cannot connect yet: {error}. Add a relay, start with --server URL, or set {SERVER_VARIABLE}."
                    )],
                )
            }
        }
    }

    fn of(relay: Option<(&str, Zeroizing<String>)>, notices: Vec<String>) -> Self {
        let access = |(url, token): (&str, Zeroizing<String>)| {
            Some(ServerAccess {
                server: ServerUrl::parse(url, false).ok()?,
                enroll_token: Some(token),
            })
        };
        Self {
            local_relay: LocalRelay {
                relay: relay.and_then(access),
                is_embedded: false,
                notices,
            },
            ..Self::default()
        }
    }

    fn listeners(&self) -> Vec<(SocketAddr, &'static str)> {
        let embedded = self.embedded.iter();
        embedded.flat_map(EmbeddedRelay::listeners).collect()
    }

    /// Waits for a message on `stopped`. Takes over the relay when the command that embeds it ends.
    fn keep_until(&mut self, stopped: &Receiver<()>, running: &Running) {
        let mut warned = String::new();
        while let Some(standby) = &self.standby {
            // An error means that nobody can send any more: then it ends too.
            if stopped.recv_timeout(LOOK) != Err(RecvTimeoutError::Timeout) {
                return;
            }
            let next = match standby.take_over_if_ended() {
                Ok(RelayPlace::ThisProcess(embedded)) => Self::embedded(*embedded),
                Ok(RelayPlace::OtherProcess(relay)) if standby.is_different(&relay) => Self {
                    standby: standby.moved_to(&relay),
                    ..Self::other_process(relay)
                },
                Ok(RelayPlace::Changing | RelayPlace::OtherProcess(_)) => continue,
                Err(why) => {
                    if warned != why {
                        log::warn!("the relay on this machine has ended: {why}");
                    }
                    warned = why;
                    continue;
                }
            };
            *self = next;
            running.set_local_relay(self.local_relay.clone(), &self.listeners());
            if let Some(embedded) = &self.embedded {
                let address = embedded.address();
                log::info!(
                    "the command that ran the relay has ended; this process runs it now, at {address}"
                );
            }
        }
        while stopped.recv_timeout(SAVE_COUNTERS_EVERY) == Err(RecvTimeoutError::Timeout) {
            if let Some(embedded) = &self.embedded {
                embedded.save_counters();
            }
        }
    }

    fn other_process(relay: relay::RelayInstance) -> Self {
        let notice = format!(
            "No relay given: applications use the relay that already runs here, at {}.",
            relay.url
        );
        let url = format!("http://{}", relay.address);
        Self::of(Some((&url, relay.token)), vec![notice])
    }

    fn embedded(embedded: EmbeddedRelay) -> Self {
        let mut notices = vec![format!(
            "No server given: only this machine can open applications, at addresses such as {}. Browsers find these, \
             other programs may not. To share with others, add a server or start with --server URL.",
            embedded.site_url("name")
        )];
        if let Some(taken) = embedded.port_taken() {
            let holder = serve::by_whom(taken);
            let notice = format!(
                "Port {taken} is in use{holder}. Until the next start, addresses use another port, such as {}.",
                embedded.site_url("name")
            );
            log::warn!("{notice}");
            notices.push(notice);
        }
        for path in embedded.set_aside() {
            notices.push(relay::set_aside_notice(path));
        }
        let mut own = Self::of(Some((&embedded.server(), embedded.token.clone())), notices);
        own.local_relay.is_embedded = true;
        own.embedded = Some(embedded);
        own
    }
}

/// Unit for the user's systemd manager, and the enrolment token in the options.
pub(crate) fn user_unit(
    options: &[String],
    environment_file: &str,
) -> Result<(String, Option<String>), Failure> {
    let parsed = COMMAND.parse(options)?;
    let settings = Settings::read(&parsed)?;
    let token = parsed.value(&ENROLL_TOKEN);
    Ok((settings.unit(&parsed, Some(environment_file)), token))
}

fn port(parsed: &Parsed) -> Result<u16, Failure> {
    let Some(text) = parsed.operands().first() else {
        return Ok(DEFAULT_PORT);
    };
    whole_number(text, &(0..=u16::MAX)).ok_or_else(|| {
        let text = quoted(text);
        COMMAND.usage(format!("{text} is not a port: give a number up to 65535"))
    })
}

/// Claims the directory for this manager. If another runs there, the failure names its page, which `opens` opens.
fn claim(home: &DataDir, opens: bool) -> Result<Instance, Failure> {
    Instance::claim(home).map_err(|claimed| match claimed {
        ClaimError::Failed(error) => error.into(),
        ClaimError::Held(said) => {
            let dir = home.dir().display();
            let first = said.and_then(|said| serde_json::from_slice::<ManagerInstance>(&said).ok());
            match first {
                Some(first) => {
                    if opens {
                        browser::open(&first.url);
                    }
                    Failure::operation(format!("already running on {dir} (process {})", first.pid))
                        .hint(format!("its page is at {}", first.url))
                }
                None => Failure::operation(format!("another 'postern start' is starting on {dir}"))
                    .hint("try again, or set POSTERN_HOME to another directory"),
            }
        }
    })
}

fn listen(port: u16) -> Result<TcpListener, Failure> {
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    let hint = |kind| match kind {
        io::ErrorKind::AddrInUse => {
            Some("stop that program, or use another port: postern start PORT")
        }
        io::ErrorKind::PermissionDenied => Some("use a port from 1024 up: postern start PORT"),
        _ => None,
    };
    serve::listen(address, |kind| hint(kind).map(str::to_owned))
}

/// Announces the page's address to other commands.
fn announce(instance: &Instance, running: &Running) -> Result<(), Failure> {
    let address = ManagerInstance {
        url: url(running),
        pid: std::process::id(),
    };
    let said = serde_json::to_vec(&address);
    let said = said.expect("strings and numbers have a JSON form");
    Ok(instance.announce(&said)?)
}

fn url(running: &Running) -> String {
    format!("http://{}/", running.address())
}

/// Stops both at the same time, because there are two seconds for both.
fn stop(running: Running, embedded: Option<EmbeddedRelay>) {
    // First, or the tunnels would report the relay's end as a failure.
    running.begin_stop();
    std::thread::scope(|scope| {
        if let Some(embedded) = embedded {
            // Ends with the relay; without a thread, the relay stops when it is dropped.
            let stopping = spawn_scoped(Thread::EmbeddedStop, scope, move || embedded.stop());
            if let Err(error) = stopping {
                log::debug!("no thread to stop the relay: {error}");
            }
        }
        running.stop();
    });
}

/// Text with the page's address and, unless `is_quiet`, relay and applications. `sites` is the pattern of site
/// addresses of the built-in relay.
fn announcement(running: &Running, sites: Option<&str>, is_quiet: bool) -> String {
    let page = format!("Management page: http://{}/\n", running.address());
    if is_quiet {
        return page;
    }
    let relay = match (sites, running.server()) {
        (Some(sites), _) => {
            format!("Relay: built in, for this machine only\nSites: {sites}\n")
        }
        (None, Some((server, None))) => {
            format!("Relay: {server}, contacted at the first connect\n")
        }
        (None, Some((server, _))) => format!("Relay: {server}\n"),
        (None, None) => "Relay: none; 'postern server add URL --default' sets one\n".to_owned(),
    };
    let (all, connected) = running.applications();
    let applications = match connected {
        0 => format!("Applications: {all}\n"),
        some => format!("Applications: {all}, of which {some} are connected\n"),
    };
    format!("{page}{relay}{applications}Ctrl-C stops it.\n")
}

/// Prints once whether the server is reachable. True if the signal came meanwhile.
fn print_reachability(running: &Running, stopped: &Receiver<()>) -> bool {
    let until = Instant::now() + REACHED_WITHIN;
    while Instant::now() < until {
        let line = match running.server() {
            Some((server, Some(main))) if main.status == "connected" => {
                format!("Relay: {server} is reachable\n")
            }
            Some((server, Some(main))) if !main.error.is_empty() => {
                format!(
                    "Relay: {server} is unreachable, retrying: {}\n",
                    printable(&main.error)
                )
            }
            Some(_) => String::new(),
            None => return false,
        };
        if !line.is_empty() {
            // A closed standard output is not a failure here.
            let _ = print(&line);
            return false;
        }
        match stopped.recv_timeout(LOOK_AGAIN) {
            Err(RecvTimeoutError::Timeout) => {}
            // An error means that nobody can send any more: then it ends too.
            Ok(()) | Err(RecvTimeoutError::Disconnected) => return true,
        }
    }
    false
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
