//! `postern app show`: what is saved of an application, and what is in force.

use std::time::SystemTime;

use serde_json::json;

use super::listing;
use super::pending::{self, differences, list, or_none, target};
use super::select::selected;
use crate::api::{App, ConnectResult, Exposed};
use crate::cli::args::app::{JSON, SHOW};
use crate::cli::args::command::Parsed;
use crate::cli::clock::Zone;
use crate::cli::failure::{Failure, printable};
use crate::cli::link;
use crate::cli::manager_client::Manager;
use crate::cli::output::print;
use crate::cli::serve::data_dir;
use crate::plugin::tables_and_views;
use crate::store::time::parse_rfc3339;

/// The width of the column of names.
const COLUMN: usize = 13;

pub(super) fn show(parsed: &Parsed) -> Result<(), Failure> {
    let all = Manager::open(&data_dir()?)?.apps()?;
    let selected = selected(&SHOW, parsed, &all)?;
    let shown = all
        .iter()
        .filter(|app| selected.iter().any(|one| one.id == app.id));
    let texts: Vec<String> = match parsed.has(&JSON) {
        true => shown.map(|app| format!("{:#}\n", json!(app))).collect(),
        false => shown.map(sheet).collect(),
    };
    print(&texts.join(if parsed.has(&JSON) { "" } else { "\n" }))
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
    let switch = |is_on: bool| if is_on { "yes" } else { "" }.to_owned();
    let health = listing::health(app);
    let number = app.max_streams;
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
        ("until", until(holds.expires.as_deref().unwrap_or_default())),
        ("allowed from", list(&holds.allow)),
        ("guest reads", guest_reads(&holds)),
        ("host", pending::host(&holds)),
        ("opens at", of(&app.path)),
        ("group", of(&app.group)),
        (
            "max streams",
            number.map_or(String::new(), |number| number.to_string()),
        ),
        ("db user", of(&app.db_user)),
        ("database", of(&app.db_name)),
        ("autoconnect", switch(app.autoconnect)),
        ("audit", switch(app.audit)),
        ("record sql", switch(app.record_sql)),
    ];
    let lines = rows.iter().filter(|(_, value)| !value.is_empty());
    lines
        .map(|(name, value)| format!("{name:COLUMN$} {value}\n"))
        .chain(after_a_reconnect(app))
        .collect()
}

/// Where its tunnels are, where they are at two relays: at each is its public port, if it has one.
fn relays(connection: &ConnectResult) -> String {
    let relays = connection.relays.iter();
    let shown = relays.map(|relay| format!("{} {}", printable(&relay.address), relay.state));
    shown.collect::<Vec<_>>().join(", ")
}

/// Lists the grants; of an active guest also the number of tables.
fn guest_reads(holds: &Exposed) -> String {
    let listed = list(&holds.guest);
    match holds.guest_tables.zip(holds.guest_views) {
        Some(counts) => format!("{listed} ({})", tables_and_views(counts)),
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

/// A time by the clock of this machine.
fn until(expires: &str) -> String {
    let Some(end) = parse_rfc3339(expires) else {
        return String::new();
    };
    let (zone, now) = (Zone::local(), SystemTime::now());
    let over = if end <= now { " (expired)" } else { "" };
    format!("{}{over}", zone.shown(end, now))
}
