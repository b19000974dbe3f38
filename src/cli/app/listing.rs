//! The table of `postern app list`: of a connection what is in force, of the others what would be.

use serde_json::Value;

use super::client::text;
use crate::cli::failure::printable;
use crate::manager::protocol::Protocol;

/// A heading and a line an application, as the API shows them, in columns that tabs separate.
pub(super) fn table(apps: &[Value]) -> String {
    let heading = "ID\tSTATUS\tPROTOCOL\tADDRESS\tACCESS\tHEALTH\tSITE\tNAME\n".to_owned();
    std::iter::once(heading)
        .chain(apps.iter().map(line))
        .collect()
}

fn line(app: &Value) -> String {
    let shown = |pointer: &str| printable(text(app, pointer));
    let (protocol, address) = match app.pointer("/connection/exposed/target") {
        Some(Value::String(target)) => ("/connection/exposed/protocol", printable(target)),
        _ => ("/protocol", saved_address(app)),
    };
    let site = Some(shown("/connection/site_url")).filter(|site| !site.is_empty());
    let site = site.unwrap_or_else(|| "-".to_owned());
    let (access, health) = (access(app), health(app));
    let [id, mut status, protocol, name] = ["/id", "/conn_status", protocol, "/name"].map(shown);
    let wait = app.pointer("/connection/next_retry_ms");
    if let Some(wait) = wait.and_then(Value::as_u64).filter(|_| status == "failed") {
        status = format!("failed, next try in {} s", wait.div_ceil(1000));
    }
    format!("{id}\t{status}\t{protocol}\t{address}\t{access}\t{health}\t{site}\t{name}\n")
}

fn saved_address(app: &Value) -> String {
    let host = printable(text(app, "/ip"));
    let port = app.get("port").and_then(Value::as_u64).unwrap_or_default();
    match host.contains(':') {
        true => format!("[{host}]:{port}"),
        false => format!("{host}:{port}"),
    }
}

/// Who gets in and what he may do: what is in force, or what would be.
fn access(app: &Value) -> String {
    let exposed = app.pointer("/connection/exposed");
    let exposed = exposed.filter(|exposed| exposed.is_object());
    let from = exposed.unwrap_or(app);
    let is = |name: &str| from.get(name).and_then(Value::as_bool) == Some(true);
    let database = Protocol::named(text(from, "/protocol")).is_some_and(Protocol::is_database);
    let who = if is("invisible") {
        "invisible"
    } else {
        "public"
    };
    let what = match (database, is("db_readonly")) {
        (false, _) => "",
        (true, true) => ", read-only",
        (true, false) => ", read-write",
    };
    let pending = app.pointer("/connection/pending_changes") == Some(&Value::Bool(true));
    match (exposed, pending) {
        (None, _) => format!("will be {who}{what}"),
        (Some(_), false) => format!("{who}{what}"),
        (Some(_), true) => format!("{who}{what}; saved changes are not in force"),
    }
}

fn health(app: &Value) -> String {
    match text(app, "/connection/health/state") {
        "" => "-".to_owned(),
        "failing" => format!(
            "failing: {}",
            printable(text(app, "/connection/health/error"))
        ),
        state => printable(state),
    }
}
