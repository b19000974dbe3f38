//! How the connection of an edit is set up.

use mysql::Conn;

use super::failure::LOCK_WAIT;
use crate::sqlweb::catalogue::text;
use crate::sqlweb::conn::{rows, run_silently};
use crate::sqlweb::error::DbError;
use crate::sqlweb::query::TimeZone;

/// Modes in which a literal means something else than it does here.
const CHANGING: [&str; 2] = ["NO_BACKSLASH_ESCAPES", "EMPTY_STRING_IS_NULL"];

/// Modes in which nothing is cut or rounded to fit, and a 0 is stored as a 0.
const STRICT: [&str; 3] = [
    "STRICT_ALL_TABLES",
    "STRICT_TRANS_TABLES",
    "NO_AUTO_VALUE_ON_ZERO",
];

/// Makes the session take literals as they are written here, strictly, with the offset `zone`, and wait for locks a few
/// seconds. Answers the longest statement that the server takes, in bytes.
pub(super) fn prepare(conn: &mut Conn, zone: Option<&TimeZone>) -> Result<usize, DbError> {
    let told = rows(conn, "SELECT @@session.sql_mode, @@max_allowed_packet")?;
    let cell = |i| {
        told.first()
            .and_then(|row| text(row, i))
            .unwrap_or_default()
    };
    let zone = zone.map_or_else(String::new, |zone| format!(", {}", zone.assignment()));
    run_silently(conn, &format!("SET sql_mode = '{}'{zone}", mode(&cell(0))))?;
    let patience =
        format!("SET innodb_lock_wait_timeout = {LOCK_WAIT}, lock_wait_timeout = {LOCK_WAIT}");
    match run_silently(conn, &patience) {
        // Servers that are neither of the two may not know them.
        Err(error) if !error.leaves_connection_usable() => return Err(error),
        _ => {}
    }
    Ok(cell(1).parse().unwrap_or(usize::MAX))
}

fn mode(own: &str) -> String {
    let is_name = |name: &&str| {
        !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
    };
    let own = own.split(',').filter(is_name);
    let kept = own.filter(|name| !CHANGING.contains(name) && !STRICT.contains(name));
    kept.chain(STRICT).collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::mode;

    #[test]
    fn modes_that_change_literals_go_and_others_stay() {
        let strict = "STRICT_ALL_TABLES,STRICT_TRANS_TABLES,NO_AUTO_VALUE_ON_ZERO";
        assert_eq!(mode(""), strict);
        assert_eq!(
            mode("ANSI_QUOTES,NO_BACKSLASH_ESCAPES,STRICT_TRANS_TABLES,EMPTY_STRING_IS_NULL"),
            format!("ANSI_QUOTES,{strict}")
        );
    }
}
