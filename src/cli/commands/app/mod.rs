//! `postern app list|add|connect|disconnect|trust|remove`: the manager's applications, for scripts.
//!
//! Where a `postern start` runs on the directory, it is asked; where none does, the stored list is read and changed.

mod add;
mod connecting;
mod listing;
mod select;
mod trust;
mod warning;

use serde_json::Value;

use crate::cli::args::command::Parsed;
use crate::cli::args::table::app::{
    ADD, CONNECT, DISCONNECT, GROUP, JSON, LIST, NO_WAIT, REMOVE, TRUST,
};
use crate::cli::columns::print_table;
use crate::cli::failure::{Failure, printable, warn};
use crate::cli::manager_client::{Manager, text};
use crate::cli::output::print;
use crate::cli::serve::data_dir;
use crate::manager::app_store::AppStore;
use select::{apps, is_plain_word, of_store, running, selected, typed};

/// Runs the subcommand that the first argument names.
pub(crate) fn run(arguments: &[String]) -> Result<(), Failure> {
    GROUP.run_subcommand(
        arguments,
        &[
            (&LIST, list),
            (&ADD, add::add),
            (&CONNECT, connect),
            (&DISCONNECT, disconnect),
            (&TRUST, trust::trust),
            (&REMOVE, remove),
        ],
    )
}

/// Every application for a shell to complete: its name where that is one plain word, else its ID; and what it is.
pub(crate) fn names() -> Vec<(String, String)> {
    let found = data_dir().and_then(|home| apps(&home, Manager::find(&home)?.as_ref()));
    let found = found.unwrap_or_default();
    let shown = found.iter().map(|app| {
        let (name, protocol) = (text(app, "/name"), text(app, "/protocol"));
        if is_plain_word(name) {
            (name.to_owned(), protocol.to_owned())
        } else {
            (text(app, "/id").to_owned(), name.to_owned())
        }
    });
    shown.collect()
}

fn list(parsed: &Parsed) -> Result<(), Failure> {
    let home = data_dir()?;
    let apps = apps(&home, Manager::find(&home)?.as_ref())?;
    if parsed.has(&JSON) {
        return print(&format!("{:#}\n", Value::from(apps)));
    }
    if apps.is_empty() {
        return print("No applications are there. 'postern app add http 3000' adds one.\n");
    }
    let rows: Vec<_> = apps.iter().map(listing::row).collect();
    print_table(listing::HEADING, &rows)
}

fn connect(parsed: &Parsed) -> Result<(), Failure> {
    let (manager, id) = running(parsed)?;
    manager.call("POST", &format!("/api/connect/{id}"), None)?;
    let result = if parsed.has(&NO_WAIT) {
        manager.call("GET", &format!("/api/status/{id}"), None)?
    } else {
        connecting::wait_connected(&manager, &id, &typed(parsed, &id))?
    };
    if result.get("pending_changes") == Some(&Value::Bool(true)) {
        let name = typed(parsed, &id);
        warn(&format!(
            "saved changes are not in force\n'postern app disconnect {name}', then 'postern app connect {name}'"
        ));
    }
    if text(&result, "/health/state") == "failing" {
        let error = printable(text(&result, "/health/error"));
        warn(&format!("connected, but {error}"));
    }
    if parsed.has(&JSON) {
        return print(&format!("{result:#}\n"));
    }
    let urls = ["/site_url", "/auth_url"].map(|pointer| text(&result, pointer));
    let lines: Vec<String> = urls
        .into_iter()
        .filter(|url| !url.is_empty())
        .map(|url| format!("{}\n", url.escape_default()))
        .collect();
    print(&lines.concat())
}

fn disconnect(parsed: &Parsed) -> Result<(), Failure> {
    let (manager, id) = running(parsed)?;
    manager
        .call("POST", &format!("/api/disconnect/{id}"), None)
        .map(drop)
}

fn remove(parsed: &Parsed) -> Result<(), Failure> {
    let home = data_dir()?;
    let manager = Manager::find(&home)?;
    let id = selected(parsed, &apps(&home, manager.as_ref())?)?;
    match manager {
        Some(manager) => manager
            .call("DELETE", &format!("/api/apps/{id}"), None)
            .map(drop),
        None => AppStore::new(home).remove(&id).map(drop).map_err(of_store),
    }
}
