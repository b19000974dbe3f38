//! `postern app show`: what is saved of an application, and what is in force.

use std::time::SystemTime;

use serde_json::Value;

use super::listing;
use super::pending::{self, differences, exposed, is_pending, list, or_none, target};
use super::select::{apps, selected};
use crate::cli::args::app::{JSON, SHOW};
use crate::cli::args::command::Parsed;
use crate::cli::clock::Zone;
use crate::cli::failure::{Failure, printable};
use crate::cli::link;
use crate::cli::manager_client::{Manager, text};
use crate::cli::output::print;
use crate::cli::serve::data_dir;
use crate::plugin::tables_and_views;
use crate::store::time::parse_rfc3339;

/// The width of the column of names.
const COLUMN: usize = 13;

pub(super) fn show(parsed: &Parsed) -> Result<(), Failure> {
    let home = data_dir()?;
    let all = apps(&home, Manager::find(&home)?.as_ref())?;
    let selected = selected(&SHOW, parsed, &all)?;
    let shown = all
        .iter()
        .filter(|app| selected.iter().any(|one| one.id == text(app, "/id")));
    let texts: Vec<String> = match parsed.has(&JSON) {
        true => shown.map(|app| format!("{app:#}\n")).collect(),
        false => shown.map(sheet).collect(),
    };
    print(&texts.join(if parsed.has(&JSON) { "" } else { "\n" }))
}

fn sheet(app: &Value) -> String {
    let of = |pointer: &str| printable(text(app, pointer));
    // Active settings of a connected application.
    let holds = exposed(app).unwrap_or(app);
    let server = match exposed(app) {
        Some(_) => of("/connection/server"),
        None => of("/server"),
    };
    let switch = |name: &str| match app.get(name) == Some(&Value::Bool(true)) {
        true => "yes".to_owned(),
        false => String::new(),
    };
    let number = app.get("max_streams").and_then(Value::as_u64);
    let connection = app.get("connection").unwrap_or(&Value::Null);
    let is_connected = !text(connection, "/site_url").is_empty();
    let rows = [
        ("name", of("/name")),
        ("id", of("/id")),
        ("target", target(holds)),
        ("status", listing::status(app)),
        ("error", of("/connection/error")),
        (
            "link",
            if is_connected {
                link::of(connection)
            } else {
                String::new()
            },
        ),
        ("access", listing::access(app)),
        (
            "health",
            Some(listing::health(app))
                .filter(|health| health != "-")
                .unwrap_or_default(),
        ),
        ("server", server),
        ("relays", relays(connection)),
        (
            "tunnel",
            match text(connection, "/tunnel_way") {
                "url" => "through the web port".to_owned(),
                _ => String::new(),
            },
        ),
        ("site name", of("/site_name")),
        ("name taken", of("/connection/site_name_wanted")),
        ("until", until(text(holds, "/expires"))),
        ("allowed from", list(holds, "allow")),
        ("guest reads", guest_reads(holds)),
        ("host", pending::host(holds)),
        ("opens at", of("/path")),
        ("group", of("/group")),
        (
            "max streams",
            number.map_or(String::new(), |number| number.to_string()),
        ),
        ("db user", of("/db_user")),
        ("database", of("/db_name")),
        ("autoconnect", switch("autoconnect")),
        ("audit", switch("audit")),
        ("record sql", switch("record_sql")),
    ];
    let lines = rows.iter().filter(|(_, value)| !value.is_empty());
    lines
        .map(|(name, value)| format!("{name:COLUMN$} {value}\n"))
        .chain(after_a_reconnect(app))
        .collect()
}

/// Where its tunnels are, where they are at two relays: at each is its public port, if it has one.
fn relays(connection: &Value) -> String {
    let relays = connection.get("relays").and_then(Value::as_array);
    let shown = relays.into_iter().flatten().map(|relay| {
        let of = |name| printable(text(relay, name));
        format!("{} {}", of("/address"), of("/state"))
    });
    shown.collect::<Vec<_>>().join(", ")
}

/// Lists the grants; of an active guest also the number of tables.
fn guest_reads(holds: &Value) -> String {
    let listed = list(holds, "guest");
    let number = |name| holds.get(name).and_then(Value::as_u64);
    match number("guest_tables").zip(number("guest_views")) {
        Some(counts) => format!("{listed} ({})", tables_and_views(counts)),
        None => listed,
    }
}

/// Lists saved settings that are not active yet, one per line.
fn after_a_reconnect(app: &Value) -> Vec<String> {
    let differing = differences(app);
    if differing.is_empty() && is_pending(app) {
        return vec!["after reconnecting: other saved settings\n".to_owned()];
    }
    let lines = differing
        .into_iter()
        .map(|one| format!("after reconnecting: {} {}\n", one.name, or_none(one.saved)));
    lines.collect()
}

/// A time by the clock of this machine.
fn until(expires: &str) -> String {
    let Some(end) = parse_rfc3339(expires) else {
        return String::new();
    };
    let (zone, now) = (Zone::local(), SystemTime::now());
    let over = if end <= now { " (expired)" } else { "" };
    format!("{}{over}", zone.shown(end, now))
}
