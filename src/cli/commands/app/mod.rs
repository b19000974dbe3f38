//! `postern app …`: the manager's applications, for scripts.
//!
//! If no `postern start` runs on the directory, its API answers in this process, on the stored list.

mod add;
mod code;
mod connect;
pub(super) mod connecting;
mod edit;
mod listing;
mod show;
mod transfer;
pub(super) mod trust;

use crate::cli::args::app::{
    ADD, CODE, CONNECT, DISCONNECT, EDIT, EXPORT, GROUP, IMPORT, LIST, QR_CODE, RECONNECT, RELEASE,
    REMOVE, SHOW, SIGN_OUT, TRUST,
};
use crate::cli::args::command::Parsed;
use crate::cli::columns::print_list;
use crate::cli::failure::{Failure, print_json_line, quoted, warn};
use crate::cli::manager_client::Manager;
use crate::cli::serve::data_dir;
use crate::store::AuditSets;
pub(crate) use listing::find;
use listing::{called, selected};
pub(crate) use listing::{end, is_expired, row};

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

/// Completions for applications: the name if it is one plain word, else the ID; each with a description.
pub(crate) fn names() -> Vec<(String, String)> {
    let found = data_dir().and_then(|home| Ok(Manager::open(&home)?.apps()?));
    let shown = found.unwrap_or_default().into_iter();
    let shown = shown.map(|app| match called(&app) == app.name {
        true => (app.name, app.protocol.name().to_owned()),
        false => (app.id, app.name),
    });
    shown.collect()
}

fn list(parsed: &Parsed) -> Result<(), Failure> {
    let apps = Manager::open(&data_dir()?)?.apps()?;
    let rows: Vec<_> = apps.iter().map(listing::row).collect();
    print_list(parsed, &apps, listing::COLUMNS, &rows, NO_APPS)
}

fn remove(parsed: &Parsed) -> Result<(), Failure> {
    let home = data_dir()?;
    let release = parsed.has(&RELEASE);
    let manager = match release {
        true => Manager::running(&home)?,
        false => Manager::open(&home)?,
    };
    for app in selected(parsed, manager.apps()?)? {
        let removed = manager.remove(&app.id, release)?;
        if parsed.wants_json() {
            print_json_line(&removed)?;
        }
        if let Some(kept) = AuditSets::new(&home).leave(&app.id) {
            let (name, kept) = (quoted(&app.name), kept.display());
            warn(&format!("the audit files of {name} are kept: {kept}"));
        }
    }
    Ok(())
}
