//! `postern app trust` and the question of `postern server trust`: a changed host key is shown with the known one, and
//! the user decides whether to trust it.

use std::io::{BufRead, IsTerminal};

use serde_json::json;

use super::listing::{called, find};
use crate::api::HostKey;
use crate::cli::args::app::YES;
use crate::cli::args::command::Parsed;
use crate::cli::failure::{Failure, REFUSED, print, print_json_line, printable, quoted, say};
use crate::cli::manager_client::Manager;
use crate::cli::serve::data_dir;

/// Error with both fingerprints and the command to run, as in `app trust shop`.
pub(super) fn failure(key: &HostKey, command: &str) -> Failure {
    let [server, known, offered] =
        [&key.server, &key.known, &key.offered].map(|text| printable(text));
    Failure::operation(format!(
        "the relay's host key (saved for {server}) has changed: known {known}, now {offered}; no password was sent"
    ))
    .hint(format!(
        "check the new key with the relay's operator, then run 'postern {command}'"
    ))
    .exit_status(REFUSED)
}

/// Shows both keys, and asks whether to trust the new one; fails if the user does not.
pub(in crate::cli::commands) fn ask(key: &HostKey, parsed: &Parsed) -> Result<(), Failure> {
    let [server, known, offered] =
        [&key.server, &key.known, &key.offered].map(|text| printable(text));
    let text = format!("server   {server}\nknown    {known}\noffered  {offered}\n");
    match parsed.wants_json() {
        true => say(&text),
        false => print(&text)?,
    }
    let is_wanted = is_wanted(parsed, key).and_then(|is_wanted| match is_wanted {
        true => Ok(()),
        false => Err(Failure::operation("the new key is not trusted").exit_status(REFUSED)),
    });
    is_wanted.map_err(|failure| failure.answer(json!({"host_key": key})))
}

/// Runs the command.
pub(super) fn trust(parsed: &Parsed) -> Result<(), Failure> {
    let manager = Manager::running(&data_dir()?)?;
    let apps = manager.apps()?;
    let app = find(&apps, parsed.operand())?;
    let name = called(app);
    let Some(change) = change_of(&manager, &app.id)? else {
        let message = format!("the host key of {name} has not changed");
        let hint = format!("'postern app connect {name}' reports a changed key");
        return Err(Failure::operation(message).hint(hint));
    };
    ask(&change, parsed)?;
    manager.trust(&change)?;
    if parsed.wants_json() {
        return print_json_line(&json!({"id": app.id, "host_key": change}));
    }
    print(&format!(
        "The new key is trusted. 'postern app connect {name}' waits for the connection.\n"
    ))
}

/// Changed host key of the application's own tunnel, else of the main tunnel to its server.
fn change_of(manager: &Manager, id: &str) -> Result<Option<HostKey>, Failure> {
    let result = manager.status(id)?;
    if result.host_key.is_some() {
        return Ok(result.host_key);
    }
    // The server is unknown if the application was not connected since the start.
    let is_its_own = |server: &str| server == result.server || result.server.is_empty();
    let tunnels = manager.tunnels()?.into_iter();
    let tunnels = tunnels.filter(|tunnel| is_its_own(&tunnel.server));
    let mut changes = tunnels.filter_map(|tunnel| tunnel.host_key);
    let first = changes.next();
    Ok(first.filter(|_| changes.next().is_none()))
}

fn is_wanted(parsed: &Parsed, change: &HostKey) -> Result<bool, Failure> {
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
    say(
        "Check the offered key with the relay's operator, not through this connection.\nTrust it? [y/N] ",
    );
    let mut answer = String::new();
    std::io::stdin()
        .lock()
        .read_line(&mut answer)
        .map_err(unanswered)?;
    Ok(["y", "yes"].contains(&answer.trim().to_ascii_lowercase().as_str()))
}
