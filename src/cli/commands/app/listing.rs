//! The table of `postern app list`: of a connection what is in force, of the others what would be.

use std::time::SystemTime;

use serde_json::Value;

use super::select::of_app;
use crate::cli::failure::printable;
use crate::cli::manager_client::text;
use crate::manager::protocol::Protocol;
use crate::net::authority::bracketed;
use crate::store::time::parse_rfc3339;

/// The heading of [`row`].
pub(super) const HEADING: [&str; 8] = [
    "ID", "STATUS", "PROTOCOL", "ADDRESS", "ACCESS", "HEALTH", "SITE", "NAME",
];

/// Columns that a person reads first.
pub(super) const FIRST: [&str; 6] = ["NAME", "STATUS", "SITE", "ADDRESS", "ACCESS", "HEALTH"];

/// An application, as the API shows it.
pub(crate) fn row(app: &Value) -> [String; 8] {
    let shown = |pointer: &str| printable(text(app, pointer));
    let (protocol, address) = match app.pointer("/connection/exposed/target") {
        Some(Value::String(target)) => ("/connection/exposed/protocol", printable(target)),
        _ => ("/protocol", saved_address(app)),
    };
    let site = Some(shown("/connection/site_url")).filter(|site| !site.is_empty());
    let site = site.unwrap_or_else(|| "-".to_owned());
    let [id, protocol, name] = ["/id", protocol, "/name"].map(shown);
    [
        id,
        status(app),
        protocol,
        address,
        access(app),
        health(app),
        site,
        name,
    ]
}

/// Where it is, why in a few words, and when it is tried again.
pub(super) fn status(app: &Value) -> String {
    if is_expired(app) {
        return format!("expired: {}", extending(&of_app(app).name));
    }
    let mut status = printable(text(app, "/conn_status"));
    let has_failed = status == "failed";
    if !has_failed && status != "connecting" {
        return status;
    }
    let of_connection = |name: &str| app.pointer("/connection")?.get(name);
    let class = of_connection("error_class").and_then(Value::as_str);
    if let Some(class) = class {
        status = format!(
            "{status}: {}",
            reason(class, text(app, "/connection/error"))
        );
    }
    let wait = of_connection("next_retry_ms").and_then(Value::as_u64);
    match wait.filter(|_| has_failed) {
        Some(wait) => format!("{status}, next try in {} s", wait.div_ceil(1000)),
        None => status,
    }
}

/// True if it has ended by itself, and is not connected before it is extended.
pub(crate) fn is_expired(app: &Value) -> bool {
    let is_exposed = app
        .pointer("/connection/exposed")
        .is_some_and(Value::is_object);
    let end = parse_rfc3339(text(app, "/expires"));
    text(app, "/connection/error_class") == "expired"
        || (!is_exposed && end.is_some_and(|end| end <= SystemTime::now()))
}

/// Returns the hint for that.
pub(super) fn extending(name: &str) -> String {
    format!("extend it: 'postern app edit {name} --for 1h'")
}

/// A class of failure in words; the whole error is for `--json`.
fn reason(class: &str, error: &str) -> String {
    let words = match class {
        "network" | "proxy" => "unreachable",
        "dns" => "name not found",
        "timeout" => "no answer in time",
        "wrong-password" => "wrong password",
        "proxy-credentials" => "proxy needs credentials",
        "forbidden" | "permission-denied" | "refused" => "refused",
        "address-refused" => "address not allowed",
        "name-taken" => "site name taken",
        "host-key-changed" => "host key changed",
        "port-held" => "port in use at the relay",
        "tls" => "TLS error",
        "not-a-tunnel-server" => "not a tunnel server",
        "limit" => "over a limit",
        "no-server" => "no relay",
        "plugin" if error.contains("Access denied") => "database access denied",
        "plugin" if error.contains("guest account") => "guest account refused",
        "plugin" => "database error",
        "quick-setup" => "relay setup failed",
        "local" => "local error",
        other => return printable(other),
    };
    words.to_owned()
}

pub(super) fn saved_address(app: &Value) -> String {
    let host = printable(text(app, "/ip"));
    let port = app.get("port").and_then(Value::as_u64).unwrap_or_default();
    format!("{}:{port}", bracketed(&host))
}

/// Describes access and rights of visitors: the active ones, or else the saved ones.
pub(super) fn access(app: &Value) -> String {
    let exposed = app.pointer("/connection/exposed");
    let exposed = exposed.filter(|exposed| exposed.is_object());
    let from = exposed.unwrap_or(app);
    let (who, what) = ways(from);
    let guest = match shortened(from, "guest") {
        grants if what.is_empty() || grants.is_empty() => String::new(),
        grants => format!(", guest reads {grants}"),
    };
    let what = format!("{who}{}{what}{guest}", only_from(from));
    let pending = app.pointer("/connection/pending_changes") == Some(&Value::Bool(true));
    match (exposed, pending) {
        (None, false) => format!("will be {what}"),
        (None, true) => format!("will be {what} at the next connect"),
        (Some(_), false) => what,
        (Some(_), true) => format!("{what}; saved changes are not active yet"),
    }
}

/// Describes access, and the rights of a database's visitors: `invisible, read-only`.
pub(super) fn mode(settings: &Value) -> String {
    let (who, what) = ways(settings);
    format!("{who}{what}")
}

fn ways(settings: &Value) -> (&'static str, &'static str) {
    let is = |name: &str| settings.get(name).and_then(Value::as_bool) == Some(true);
    let protocol = Protocol::named(text(settings, "/protocol"));
    let database = protocol.is_some_and(Protocol::is_database);
    let who = if is("invisible") {
        "invisible"
    } else {
        "public"
    };
    // A guest's account only reads, whatever is saved beside it.
    let only_reads = is("db_readonly") || !shortened(settings, "guest").is_empty();
    let what = match (database, only_reads) {
        (false, _) => "",
        (true, true) => ", read-only",
        (true, false) => ", read-write",
    };
    (who, what)
}

/// The networks that visitors may come from, where not everybody may.
fn only_from(settings: &Value) -> String {
    match shortened(settings, "allow") {
        networks if networks.is_empty() => networks,
        networks => format!(" from {networks}"),
    }
}

/// The first texts of a list, and how many more there are.
fn shortened(settings: &Value, name: &str) -> String {
    const SHOWN: usize = 3;
    let texts = settings.get(name).and_then(Value::as_array);
    let texts: Vec<String> = texts
        .into_iter()
        .flatten()
        .filter_map(|text| text.as_str().map(printable))
        .collect();
    let more = match texts.len().saturating_sub(SHOWN) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let shown: Vec<String> = texts.into_iter().take(SHOWN).collect();
    format!("{}{more}", shown.join(" "))
}

pub(super) fn health(app: &Value) -> String {
    match text(app, "/connection/health/state") {
        "" => "-".to_owned(),
        "failing" => format!(
            "failing: {}",
            printable(text(app, "/connection/health/error"))
        ),
        state => printable(state),
    }
}
