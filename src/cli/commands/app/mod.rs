//! `postern app …`: the manager's applications, for scripts.
//!
//! Where a `postern start` runs on the directory, it is asked; where none does, the stored list is read and changed.

mod add;
mod code;
mod connect;
pub(super) mod connecting;
mod edit;
mod listing;
mod pending;
mod sealing;
mod select;
mod show;
mod transfer;
pub(super) mod trust;
mod warning;

use serde_json::Value;

use crate::cli::args::app::{
    ADD, CODE, CONNECT, DISCONNECT, EDIT, EXPORT, GROUP, IMPORT, JSON, LIST, QR_CODE, RECONNECT,
    RELEASE, REMOVE, SHOW, SIGN_OUT, TRUST, WIDE,
};
use crate::cli::args::command::Parsed;
use crate::cli::columns::print_fitting;
use crate::cli::failure::{Failure, quoted, warn};
use crate::cli::manager_client::{Manager, text};
use crate::cli::output::print;
use crate::cli::serve::data_dir;
use crate::store::AuditSets;
pub(crate) use listing::{is_expired, row};
pub(crate) use select::{apps, find, manager, of_store};
use select::{changes, is_plain_word, selected};

/// Text for an empty list.
pub(crate) const NO_APPS: &str = "No applications yet. 'postern app add http 3000' adds one.";

/// Runs the subcommand that the first argument names.
pub(crate) fn run(arguments: &[String]) -> Result<(), Failure> {
    GROUP.run_subcommand(
        arguments,
        &[
            (&LIST, list),
            (&ADD, add::add),
            (&EDIT, edit::edit),
            (&SHOW, show::show),
            (&CONNECT, connect::connect),
            (&DISCONNECT, connect::disconnect),
            (&RECONNECT, connect::reconnect),
            (&CODE, code::code),
            (&QR_CODE, code::qr),
            (&SIGN_OUT, code::sign_out),
            (&TRUST, trust::trust),
            (&EXPORT, transfer::export),
            (&IMPORT, transfer::import),
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
    let rows: Vec<_> = apps.iter().map(listing::row).collect();
    let how = (NO_APPS, parsed.has(&WIDE));
    print_fitting(listing::HEADING, &listing::FIRST, &rows, how)
}

fn remove(parsed: &Parsed) -> Result<(), Failure> {
    let home = data_dir()?;
    let manager = Manager::find(&home)?;
    let place = changes(&home, manager.as_ref());
    for app in selected(&REMOVE, parsed, &place.list()?)? {
        let removed = place.remove(&app.id, parsed.has(&RELEASE))?;
        if parsed.has(&JSON) {
            print(&format!("{removed}\n"))?;
        }
        if let Some(kept) = AuditSets::new(&home).leave(&app.id) {
            let (name, kept) = (quoted(&app.label), kept.display());
            warn(&format!("the audit files of {name} are kept: {kept}"));
        }
    }
    Ok(())
}
