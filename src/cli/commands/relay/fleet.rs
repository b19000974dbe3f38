//! `postern relay fleet`: the relays that have one state.

use serde_json::Value;

use super::connectors::SEE_NAMES;
use super::running::{Relay, items, member, text};
use crate::cli::args::command::Parsed;
use crate::cli::args::table::{JSON, WIDE};
use crate::cli::columns::print_fitting;
use crate::cli::failure::Failure;
use crate::cli::output::print;
use crate::http::Method;
use crate::store::DataDir;

const HEADING: [&str; 6] = [
    "RELAY",
    "STATE",
    "CONNECTORS",
    "TUNNELS AT",
    "LINKED AT",
    "VERSION",
];

/// Columns that an operator reads first.
const FIRST: [&str; 5] = ["RELAY", "STATE", "CONNECTORS", "TUNNELS AT", "VERSION"];

/// Prints a line a relay.
pub(super) fn list(data: &DataDir, parsed: &Parsed) -> Result<(), Failure> {
    let relay = Relay::look(data)?;
    if !relay.is_running() {
        let message = format!("no relay is running on {}", data.dir().display());
        let hint = "start it, or give another relay's directory with --data";
        return Err(Failure::operation(message).hint(hint));
    }
    let status = relay.ask((Method::Get, "/api/status"), None, SEE_NAMES)?;
    if status.get("relays").is_none_or(Value::is_null) {
        return Err(Failure::operation("this relay is not part of a fleet")
            .hint("start relays with --store to share their state"));
    }
    if parsed.has(&JSON) {
        return print(&format!("{:#}\n", member(&status, "relays")));
    }
    let rows: Vec<_> = items(&status, "relays").map(row).collect();
    print_fitting(HEADING, &FIRST, &rows, ("", parsed.has(&WIDE)))?;
    if text(&status, "store") == "away" {
        eprintln!(
            "The store is unreachable: existing connections continue, nothing new is accepted until it is back."
        );
    }
    Ok(())
}

fn row(relay: &Value) -> [String; 6] {
    let number = |name: &str| relay.get(name).and_then(Value::as_u64);
    let shown = |name: &str| number(name).map_or_else(|| "-".to_owned(), |it| it.to_string());
    let at = match number("tunnel_port") {
        Some(0) => text(relay, "tunnel_url"),
        _ => format!("{}:{}", text(relay, "external_ip"), shown("tunnel_port")),
    };
    [
        text(relay, "id"),
        text(relay, "state"),
        shown("connected"),
        at,
        text(relay, "peer"),
        text(relay, "version"),
    ]
}
