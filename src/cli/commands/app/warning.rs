//! Warnings of `postern app add` and `app import`.

use crate::api::App;
use crate::cli::failure::warn;

/// Warns if a database was added with flags that reduce its protection.
pub(super) fn print(app: &App) {
    if let Some((what, given)) = less_protection(app) {
        warn(&format!("once connected, {what} ({given})"));
    }
}

/// Warns if an imported database has reduced protection.
pub(super) fn of_imported(app: &App) -> Option<String> {
    let (what, _) = less_protection(app)?;
    Some(format!("once connected, {what}"))
}

/// Describes what visitors can do, and the flags that allow it.
fn less_protection(app: &App) -> Option<(&'static str, &'static str)> {
    match (app.invisible, app.db_readonly) {
        _ if !app.protocol.is_database() => None,
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
