//! Warnings of `postern app add` and `app import`.

use serde_json::Value;

use crate::cli::manager_client::text;
use crate::manager::protocol::Protocol;

/// Warns if a database was added with flags that reduce its protection.
pub(super) fn of(app: &Value) -> Option<String> {
    let (what, given) = less_protection(app)?;
    Some(format!("once connected, {what} ({given})"))
}

/// Warns if an imported database has reduced protection.
pub(super) fn of_imported(app: &Value) -> Option<String> {
    let (what, _) = less_protection(app)?;
    Some(format!("once connected, {what}"))
}

/// Describes what visitors can do, and the flags that allow it.
fn less_protection(app: &Value) -> Option<(&'static str, &'static str)> {
    let protocol = Protocol::named(text(app, "/protocol"))?;
    let is = |name: &str| app.get(name).and_then(Value::as_bool) == Some(true);
    match (is("invisible"), is("db_readonly")) {
        _ if !protocol.is_database() => None,
        (true, true) => None,
        (true, false) => Some((
            "anyone with the code can change and delete data",
            "--readwrite",
        )),
        (false, true) => Some((
            "anyone who knows the address can read the database without a code",
            "--visible",
        )),
        (false, false) => Some((
            "anyone who knows the address can read, change and delete data without a code",
            "--visible and --readwrite",
        )),
    }
}
