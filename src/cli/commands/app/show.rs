//! `postern app show`: saved and active settings of applications.

use std::time::SystemTime;

use serde_json::{Value, json};

use super::listing::{self, called, selected};
use crate::api::{App, ConnectResult, Exposed};
use crate::cli::args::command::Parsed;
use crate::cli::clock::Zone;
use crate::cli::failure::{Failure, print, printable};
use crate::cli::link;
use crate::cli::manager_client::{Manager, is_same_server};
use crate::cli::serve::data_dir;
use crate::manager::apps::fields::FIELDS;
use crate::plugin::tables_and_views;
use crate::store::time::parse_rfc3339;

/// The width of the column of names.
const COLUMN: usize = 13;

pub(super) fn show(parsed: &Parsed) -> Result<(), Failure> {
    let all = Manager::open(&data_dir()?)?.apps()?;
    let selected = selected(parsed, all.clone())?;
    let is_selected = |app: &&App| selected.iter().any(|one| one.id == app.id);
    let shown: Vec<&App> = all.iter().filter(is_selected).collect();
    let is_one = shown.len() == 1;
    let shown = shown.into_iter();
    let texts: Vec<String> = match parsed.wants_json() {
        true if is_one => shown.map(|app| format!("{:#}\n", json!(app))).collect(),
        // One line per application, like other commands.
        true => shown.map(|app| format!("{}\n", json!(app))).collect(),
        false => shown.map(sheet).collect(),
    };
    print(&texts.join(if parsed.wants_json() { "" } else { "\n" }))
}

fn sheet(app: &App) -> String {
    let of = |text: &Option<String>| text.as_deref().map_or(String::new(), printable);
    let holds = app.exposed_or_saved();
    let idle = ConnectResult::default();
    let connection = app.connection.as_ref().unwrap_or(&idle);
    let server = match app.exposed() {
        Some(_) => printable(&connection.server),
        None => of(&app.server),
    };
    let health = listing::health(app);
    let rows = [
        ("name", printable(&app.name)),
        ("id", printable(&app.id)),
        ("target", target(&holds)),
        ("status", listing::status(app)),
        ("error", printable(&connection.error)),
        (
            "link",
            match connection.site_url.as_str() {
                "" => String::new(),
                _ => link::of(connection),
            },
        ),
        ("access", listing::access(app)),
        (
            "health",
            Some(health)
                .filter(|health| health != "-")
                .unwrap_or_default(),
        ),
        ("server", server),
        ("relays", relays(connection)),
        (
            "tunnel",
            match connection.tunnel_way.as_deref() {
                Some("url") => "through the web port".to_owned(),
                _ => String::new(),
            },
        ),
        ("site name", of(&app.site_name)),
        ("name taken", of(&connection.site_name_wanted)),
    ];
    let fields = FIELDS.iter().filter(|field| !field.label.is_empty());
    let saved = json!(app);
    let fields = fields.map(|field| (field.label, shown(field.name, &saved, &holds)));
    let rows = rows.into_iter().chain(fields);
    let lines = rows.filter(|(_, value)| !value.is_empty());
    lines
        .map(|(name, value)| format!("{name:COLUMN$} {value}\n"))
        .chain(after_a_reconnect(app))
        .collect()
}

/// The value of a field: the active one if connections show it.
fn shown(field: &str, saved: &Value, holds: &Exposed) -> String {
    match (field, saved.get(field)) {
        ("expires", _) => until(holds.expires.as_deref().unwrap_or_default()),
        ("allow", _) => list(&holds.allow),
        ("guest", _) => guest_reads(holds),
        ("host_header", _) => host(holds),
        (_, Some(Value::Bool(true))) => "yes".to_owned(),
        (_, Some(Value::Number(number))) => number.to_string(),
        (_, Some(Value::String(text))) => {
            let lines: Vec<String> = text.lines().map(printable).collect();
            lines.join(&format!("\n{:COLUMN$} ", ""))
        }
        _ => String::new(),
    }
}

/// Relays that hold its tunnel, if there are several; each has its public port, if it has one.
fn relays(connection: &ConnectResult) -> String {
    let relays = connection.relays.iter();
    let shown = relays.map(|relay| format!("{} {}", printable(&relay.address), relay.state));
    shown.collect::<Vec<_>>().join(", ")
}

/// Lists the grants; of an active guest also the number of tables.
fn guest_reads(holds: &Exposed) -> String {
    let listed = list(&holds.guest);
    match holds.guest_tables.zip(holds.guest_views) {
        Some((tables, views)) => format!("{listed} ({})", tables_and_views(tables, views)),
        None => listed,
    }
}

/// Lists saved settings that are not active yet, one per line.
fn after_a_reconnect(app: &App) -> Vec<String> {
    let differing = differences(app);
    if differing.is_empty() && app.is_pending() {
        return vec!["after reconnecting: other saved settings\n".to_owned()];
    }
    let lines = differing
        .into_iter()
        .map(|one| format!("after reconnecting: {} {}\n", one.name, or_none(one.saved)));
    lines.collect()
}

/// An end time in local time.
fn until(expires: &str) -> String {
    let Some(end) = parse_rfc3339(expires) else {
        return String::new();
    };
    let (zone, now) = (Zone::local(), SystemTime::now());
    let over = if end <= now { " (expired)" } else { "" };
    format!("{}{over}", zone.shown(end, now))
}

/// A setting whose saved value is not active yet.
struct Pending {
    /// Label on the sheet of an application.
    name: &'static str,
    in_force: String,
    saved: String,
}

/// Differences that can be named: for a password, for example, the active value is unknown.
fn differences(app: &App) -> Vec<Pending> {
    let (Some(exposed), Some(connection)) = (app.exposed(), &app.connection) else {
        return Vec::new();
    };
    let in_force = &*connection.server;
    // Without a server of its own it keeps the current one.
    let saved = app.server.as_deref().unwrap_or(in_force);
    let saved = match is_same_server(saved, in_force) {
        true => in_force,
        false => saved,
    };
    let both = words(exposed, in_force).into_iter();
    let both = both.zip(words(&app.saved(), saved));
    let differing = both.filter(|((_, now), (_, then))| now != then);
    differing
        .map(|((name, in_force), (_, saved))| Pending {
            name,
            in_force,
            saved,
        })
        .collect()
}

/// Protocol and address.
fn target(settings: &Exposed) -> String {
    format!(
        "{} {}",
        settings.protocol.name(),
        printable(&settings.target)
    )
}

/// Texts of settings; empty if not set. Networks and end time are not included, because they apply at once.
fn words(settings: &Exposed, server: &str) -> [(&'static str, String); 5] {
    [
        ("target", target(settings)),
        ("access", listing::mode(settings)),
        ("server", printable(server)),
        ("guest reads", list(&settings.guest)),
        ("host", host(settings)),
    ]
}

/// Texts separated by commas.
fn list(texts: &[String]) -> String {
    let texts: Vec<String> = texts.iter().map(|text| printable(text)).collect();
    texts.join(", ")
}

/// Host header, unless it is the visitors' address.
fn host(settings: &Exposed) -> String {
    match printable(&settings.host_header) {
        host if host == "visitor" => String::new(),
        host => host,
    }
}

/// Warns that saved changes are not active yet: lists the active settings and the command to run.
pub(super) fn warning(app: &App) -> Option<String> {
    if !app.is_pending() {
        return None;
    }
    let holds = differences(app).into_iter().map(|one| {
        let value = or_none(one.in_force);
        format!("{} {value}", one.name)
    });
    let holds = holds.collect::<Vec<_>>().join("; ");
    let holds = if holds.is_empty() {
        holds
    } else {
        format!(": {holds}")
    };
    let (label, name) = (printable(&app.name), called(app));
    Some(format!(
        "{label} keeps its old settings until it reconnects{holds}\n\
         run 'postern app reconnect {name}'"
    ))
}

/// Value to print, or `default`.
fn or_none(value: String) -> String {
    match value.is_empty() {
        true => "default".to_owned(),
        false => value,
    }
}
