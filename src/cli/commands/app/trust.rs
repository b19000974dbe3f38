//! `postern app trust` and `postern server trust`: a changed host key, shown beside the known one, and accepted by whoever knows why it changed.

use std::io::{BufRead, IsTerminal, Write};

use serde_json::{Value, json};

use super::select::running;
use crate::cli::args::app::YES;
use crate::cli::args::command::Parsed;
use crate::cli::failure::{Failure, REFUSED, printable, quoted};
use crate::cli::manager_client::{Manager, text};
use crate::cli::output::print;
use crate::tunnel::client::HostKeyChange;

/// A host key that is not the known one.
pub(in crate::cli::commands) struct KeyChange {
    /// The tunnel server, `host:port`.
    server: String,
    known: String,
    offered: String,
}

impl KeyChange {
    /// Reads the change that a connection or a main tunnel reports.
    pub(super) fn of(shown: &Value) -> Option<Self> {
        let part = |name: &str| shown.pointer(name).and_then(Value::as_str);
        Some(Self {
            server: part("/host_key/server")?.to_owned(),
            known: part("/host_key/known")?.to_owned(),
            offered: part("/host_key/offered")?.to_owned(),
        })
    }

    /// Error with both fingerprints and the command to run, as in `app trust shop`.
    pub(super) fn failure(&self, command: &str) -> Failure {
        let [server, known, offered] =
            [&self.server, &self.known, &self.offered].map(|text| printable(text));
        Failure::operation(format!(
            "the relay's host key (saved for {server}) has changed: known {known}, now {offered}; no password was sent"
        ))
        .hint(format!(
            "check the new key with the relay's operator, then run 'postern {command}'"
        ))
        .exit_status(REFUSED)
    }

    /// Converts the result of a look at the server.
    pub(in crate::cli::commands) fn found(change: &HostKeyChange) -> Self {
        Self {
            server: change.server.clone(),
            known: change.known.clone(),
            offered: change.offered.clone(),
        }
    }

    /// Shows both keys, and asks whether to trust the new one; fails where the user does not.
    pub(in crate::cli::commands) fn ask(&self, parsed: &Parsed) -> Result<(), Failure> {
        print(&self.table())?;
        match is_wanted(parsed, self)? {
            true => Ok(()),
            false => Err(Failure::operation("the new key is not trusted").exit_status(REFUSED)),
        }
    }

    /// Lets a manager trust the new one, and try again.
    pub(in crate::cli::commands) fn trust(&self, manager: &Manager) -> Result<(), Failure> {
        let body = json!({"server": self.server, "fingerprint": self.offered});
        manager.call("POST", "/api/trust", Some(&body)).map(drop)
    }

    fn table(&self) -> String {
        let [server, known, offered] =
            [&self.server, &self.known, &self.offered].map(|text| printable(text));
        format!("server   {server}\nknown    {known}\noffered  {offered}\n")
    }
}

/// Runs the command.
pub(super) fn trust(parsed: &Parsed) -> Result<(), Failure> {
    let (manager, app) = running(parsed)?;
    let name = app.name;
    let Some(change) = change_of(&manager, &app.id)? else {
        let message = format!("the host key of {name} has not changed");
        let hint = format!("'postern app connect {name}' reports a changed key");
        return Err(Failure::operation(message).hint(hint));
    };
    change.ask(parsed)?;
    change.trust(&manager)?;
    print(&format!(
        "The new key is trusted. 'postern app connect {name}' waits for the connection.\n"
    ))
}

/// Of the application's own tunnel, else of the main tunnel to its server.
fn change_of(manager: &Manager, id: &str) -> Result<Option<KeyChange>, Failure> {
    let result = manager.call("GET", &format!("/api/status/{id}"), None)?;
    if let Some(change) = KeyChange::of(&result) {
        return Ok(Some(change));
    }
    let server = text(&result, "/server");
    let tunnels = manager.call("GET", "/api/tunnel", None)?;
    let tunnels = tunnels.as_array().map(Vec::as_slice).unwrap_or_default();
    // One that was never connected since the start does not say through which server it will be.
    let is_its_own = |tunnel: &&Value| text(tunnel, "/server") == server || server.is_empty();
    let mut changes = tunnels.iter().filter(is_its_own).filter_map(KeyChange::of);
    let first = changes.next();
    Ok(first.filter(|_| changes.next().is_none()))
}

fn is_wanted(parsed: &Parsed, change: &KeyChange) -> Result<bool, Failure> {
    if let Some(named) = parsed.value(&YES) {
        let is_offered = named == change.offered;
        let other = || {
            Failure::operation(format!("{} is not the offered key", quoted(&named)))
                .hint("check the offered key with the relay's operator")
                .exit_status(REFUSED)
        };
        return is_offered.then_some(true).ok_or_else(other);
    }
    if !std::io::stdin().is_terminal() {
        return Err(Failure::usage("no terminal to ask on").hint(
            "check the offered key with the relay's operator, then give it as --yes FINGERPRINT",
        ));
    }
    let unanswered = |error: std::io::Error| Failure::operation(format!("cannot ask: {error}"));
    write!(
        std::io::stderr(),
        "Check the offered key with the relay's operator, not through this connection.\nTrust it? [y/N] "
    )
    .map_err(unanswered)?;
    let mut answer = String::new();
    std::io::stdin()
        .lock()
        .read_line(&mut answer)
        .map_err(unanswered)?;
    Ok(["y", "yes"].contains(&answer.trim().to_ascii_lowercase().as_str()))
}
