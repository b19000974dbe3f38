//! The wait for a connection: progress on the terminal, result and exit status.

use std::io::IsTerminal;
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, never, select};

use super::listing::extending;
use super::trust;
use crate::api::ConnectionState::{Connected, Connecting, Failed};
use crate::api::{ConnectResult, ErrorClass};
use crate::cli::args::values::PASSWORD_VARIABLE;
use crate::cli::failure::{FAILED, Failure, INTERRUPTED, REFUSED, UNREACHABLE, printable, say};
use crate::cli::manager_client::Manager;

/// Time for an application to be connected. Default 180 s: five calls of 30 s and the waits for two tunnels rarely all
/// happen.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(180);
/// Time to reconnect after the tunnel was lost. Default 30 s, as for a new tunnel; it goes on trying.
const RECONNECT_TIMEOUT: Duration = Duration::from_secs(30);
/// Time before progress is printed. Default 700 ms: most are connected by then.
const QUIET: Duration = Duration::from_millis(700);
/// Time before a share without a terminal prints its step once. Default 1 s.
const QUIET_UNSEEN: Duration = Duration::from_secs(1);
/// Pauses between two questions to another process: the first and the longest.
const POLL: (Duration, Duration) = (Duration::from_millis(2), Duration::from_millis(100));
/// The step of a connection that is complete.
const SERVING: u8 = 8;

/// Maximum number of calls of a round.
const ATTEMPTS: u32 = crate::manager::quick_setup::ATTEMPTS;

/// Waits until the application is connected. Fails with its error, and at a message on `interrupted`. `name` is the
/// user's name for the application; none if it ends with the command.
pub(in crate::cli::commands) fn wait_connected(
    manager: &Manager,
    id: &str,
    name: Option<&str>,
    interrupted: &Receiver<()>,
    patience: Patience,
) -> Result<ConnectResult, Failure> {
    let mut waiting = ConnectWait::new(name, patience);
    let mut next = None;
    loop {
        next = next.or_else(|| manager.next_change(id));
        let result = manager.status(id)?;
        let is_retried = result.next_retry_ms.is_some();
        match result.status {
            Connected => return Ok(result),
            Connecting => waiting.look(&result)?,
            // An automatic retry has a time.
            Failed if patience.is_endless && is_retried => waiting.print_step(&result),
            Failed => return Err(failed(&result, name)),
            _ if result.class() == ErrorClass::Expired.code() => return Err(failed(&result, name)),
            _ => return Err(Failure::operation("it was disconnected")),
        }
        pause(interrupted, &mut next, waiting.since, name)?;
    }
}

/// Waits for the next change. Without notifications it waits for a while, which is short at first for an application
/// that ends with the command.
fn pause(
    interrupted: &Receiver<()>,
    next: &mut Option<Receiver<()>>,
    since: Instant,
    name: Option<&str>,
) -> Result<(), Failure> {
    let (first, longest) = POLL;
    let longest = match next {
        // Progress is printed meanwhile.
        Some(_) => QUIET,
        None if name.is_none() => (since.elapsed() / 4).clamp(first, longest),
        None => longest,
    };
    select! {
        recv(next.clone().unwrap_or_else(never)) -> _ => {
            *next = None;
            Ok(())
        }
        recv(interrupted) -> _ => {
            let failure = match name {
                Some(name) => {
                    let message = format!("interrupted; {} is still connecting", printable(name));
                    Failure::operation(message)
                        .hint(format!("'postern app disconnect {name}' stops it"))
                }
                None => Failure::operation("interrupted before connecting: nothing is shared"),
            };
            Err(failure.exit_status(INTERRUPTED))
        }
        default(longest) => Ok(()),
    }
}

/// Time limit of the wait, and its output meanwhile.
#[derive(Clone, Copy)]
pub(crate) struct Patience {
    pub(super) timeout: Duration,
    pub(super) prints_progress: bool,
    /// True for a share that was connected before and is retried as long as its server is away.
    is_endless: bool,
}

impl Patience {
    /// Waits without a time limit while it is retried.
    pub(in crate::cli::commands) fn endless_if(self, is_endless: bool) -> Self {
        Self { is_endless, ..self }
    }
}

impl Default for Patience {
    fn default() -> Self {
        Self {
            timeout: CONNECT_TIMEOUT,
            prints_progress: std::io::stderr().is_terminal(),
            is_endless: false,
        }
    }
}

/// State of a connection that is being made.
struct ConnectWait<'a> {
    name: Option<&'a str>,
    since: Instant,
    /// Time at which the tunnel of a connected application was lost.
    lost: Option<Instant>,
    /// True if the last look found a refused host key: a key that was just trusted is still shown for a moment.
    was_refused: bool,
    printed: String,
    patience: Patience,
}

impl<'a> ConnectWait<'a> {
    fn new(name: Option<&'a str>, patience: Patience) -> Self {
        Self {
            name,
            since: Instant::now(),
            lost: None,
            was_refused: false,
            printed: String::new(),
            patience,
        }
    }

    /// Fails if waiting longer makes no sense.
    fn look(&mut self, result: &ConnectResult) -> Result<(), Failure> {
        if self.patience.is_endless {
            self.print_step(result);
            return Ok(());
        }
        let key = result
            .host_key
            .as_ref()
            .filter(|_| result.next_retry_ms.is_some());
        let was_refused = std::mem::replace(&mut self.was_refused, key.is_some());
        if let Some(key) = key.filter(|_| was_refused) {
            return Err(trust::failure(key, &trusting(result, self.name)));
        }
        let is_lost = result.step == Some(SERVING);
        self.lost = is_lost.then(|| self.lost.unwrap_or_else(Instant::now));
        let is_long = |since: Instant, wait| since.elapsed() >= wait;
        if is_long(self.since, self.patience.timeout)
            || self
                .lost
                .is_some_and(|lost| is_long(lost, RECONNECT_TIMEOUT))
        {
            let message = format!("still connecting: {}", why(result));
            return Err(Failure::operation(message)
                .hint(match self.name {
                    Some(_) => "postern keeps trying",
                    None => "nothing is shared now; run the command again",
                })
                .exit_status(UNREACHABLE));
        }
        self.print_step(result);
        Ok(())
    }

    /// Prints a line after each change on a terminal; for a share, always the first one.
    fn print_step(&mut self, result: &ConnectResult) {
        if self.patience.is_endless {
            return self.print_outage(result);
        }
        let mut line = match result.step {
            Some(SERVING) => "tunnel lost; reconnecting".to_owned(),
            _ => doing(result),
        };
        if !result.error.is_empty() {
            line = format!("{line}: {}", printable(&result.error));
        }
        let is_first = self.name.is_none() && self.printed.is_empty();
        let quiet = match self.patience.prints_progress {
            true => QUIET,
            false => QUIET_UNSEEN,
        };
        let is_long = self.since.elapsed() >= quiet;
        if is_long && line != self.printed && (self.patience.prints_progress || is_first) {
            say(&format!("{line}\n"));
            self.printed = line;
        }
    }

    /// Prints one line for the whole outage.
    fn print_outage(&mut self, result: &ConnectResult) {
        if self.printed.is_empty() && !result.error.is_empty() {
            self.printed = format!("reconnecting: {}", why(result));
            say(&format!("{}\n", self.printed));
        }
    }
}

/// Describes the current step.
fn doing(result: &ConnectResult) -> String {
    let server = &*result.server;
    let host = printable(server.split_once("://").map_or(server, |(_, host)| host));
    match result.step_name.as_deref().unwrap_or_default() {
        "web client" => "signing in to the database".to_owned(),
        "quick-setup" | "credentials" => {
            let attempt = result.attempt;
            let attempt = attempt.filter(|n| *n > 1 || !result.error.is_empty());
            let attempt =
                attempt.map_or(String::new(), |n| format!(" (attempt {n} of {ATTEMPTS})"));
            format!("asking {host} for an address{attempt}")
        }
        // The port or the URL is dialled: the error tells which.
        _ => {
            let parts = host.rsplit_once(':');
            let parts = parts.filter(|(_, port)| port.bytes().all(|b| b.is_ascii_digit()));
            let name = parts.map_or(host.as_str(), |(name, _)| name);
            format!("opening the tunnel to {name}")
        }
    }
}

/// The error, and the tunnel's own message if it says more.
fn why(result: &ConnectResult) -> String {
    let (error, detail) = (&result.error, &result.detail);
    if detail.is_empty() || detail == error {
        return printable(error);
    }
    format!("{}: {}", printable(error), printable(detail))
}

/// Command that accepts a changed host key. Names the server for an application that ends with the command.
fn trusting(result: &ConnectResult, name: Option<&str>) -> String {
    match name {
        Some(name) => format!("app trust {name}"),
        None => format!("server trust {}", printable(&result.server)),
    }
}

/// Failure of a connection. `name` as for [`wait_connected`].
pub(in crate::cli::commands) fn failed(result: &ConnectResult, name: Option<&str>) -> Failure {
    if let Some(key) = &result.host_key {
        return trust::failure(key, &trusting(result, name));
    }
    let class = result.class();
    let row = ErrorClass::named(class);
    let exit = match row {
        // Same status as for a relay that refuses credentials.
        Some(row) if row.code == "plugin" && result.error.contains("Access denied") => REFUSED,
        Some(row) => row.exit,
        None => FAILED,
    };
    let failure = Failure::operation(why(result)).exit_status(exit);
    let hints = [
        name.and_then(|name| again(result, name)),
        advice(result, class, name),
    ];
    let hints: Vec<String> = hints.into_iter().flatten().collect();
    failure.hint_if(Some(hints.join("; ")).filter(|hint| !hint.is_empty()))
}

/// Hint of the next automatic attempt, if there is one.
fn again(result: &ConnectResult, name: &str) -> Option<String> {
    let wait = result.next_retry_ms?.div_ceil(1000);
    Some(format!(
        "next attempt in {wait} s ('postern app disconnect {name}' stops it)"
    ))
}

/// Hint for a failed connection.
fn advice(result: &ConnectResult, class: &str, name: Option<&str>) -> Option<String> {
    let (hint, error) = (&result.hint, &result.error);
    match class {
        "expired" if name.is_some() => name.map(extending),
        _ if !hint.is_empty() => Some(printable(hint)),
        "plugin" if error.starts_with("unsupported protocol") => {
            Some("run 'postern plugin add mysql' first".to_owned())
        }
        // The error itself says what is missing.
        "plugin" if error.contains("guest account") => None,
        "plugin" if name.is_some() => name.map(|name| {
            format!(
                "check the database's address, user and password; change them with 'postern app edit {name} --db-user \
                 U' and the password in {PASSWORD_VARIABLE}"
            )
        }),
        _ => {
            let row = ErrorClass::named(class)?;
            Some(row.hint.to_owned()).filter(|hint| !hint.is_empty())
        }
    }
}
