//! What `postern app add` warns of.

use serde_json::Value;

use crate::cli::manager_client::text;
use crate::manager::protocol::Protocol;

/// What less protection than usual lets visitors of a database do.
pub(super) fn of(app: &Value) -> Option<String> {
    let protocol = Protocol::named(text(app, "/protocol"))?;
    let is = |name: &str| app.get(name).and_then(Value::as_bool) == Some(true);
    let what = match (is("invisible"), is("db_readonly")) {
        _ if !protocol.is_database() => return None,
        (true, true) => return None,
        (true, false) => {
            "whoever has its code will be able to change and delete data: --readwrite is given"
        }
        (false, true) => {
            "whoever knows its address will be able to read the database without a code: --visible is given"
        }
        (false, false) => {
            "whoever knows its address will be able to read, change and delete data without a code: \
             --visible and --readwrite are given"
        }
    };
    Some(format!("once it is connected, {what}"))
}
