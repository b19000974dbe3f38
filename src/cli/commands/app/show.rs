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
use crate::manager::apps::fields::FIELDS;
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
    ];
    let fields = FIELDS.iter().filter(|field| !field.label.is_empty());
    let fields = fields.map(|field| (field.label, shown(field.name, app, holds)));
    let rows = rows.into_iter().chain(fields);
    let lines = rows.filter(|(_, value)| !value.is_empty());
    lines
        .map(|(name, value)| format!("{name:COLUMN$} {value}\n"))
        .chain(after_a_reconnect(app))
        .collect()
}

/// The value of a field: the active one if connections show it.
fn shown(field: &str, app: &Value, holds: &Value) -> String {
    match (field, app.get(field)) {
        ("expires", _) => until(text(holds, "/expires")),
        ("allow", _) => list(holds, "allow"),
        ("guest", _) => guest_reads(holds),
        ("host_header", _) => pending::host(holds),
        (_, Some(Value::Bool(true))) => "yes".to_owned(),
        (_, Some(Value::Number(number))) => number.to_string(),
        (_, Some(Value::String(text))) => {
            let lines: Vec<String> = text.lines().map(printable).collect();
            lines.join(&format!("\n{:COLUMN$} ", ""))
        }
        _ => String::new(),
    }
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
