//! Which application is meant, and where it is asked for.

use serde_json::Value;

use crate::cli::args::command::Parsed;
use crate::cli::failure::{Failure, quoted};
use crate::cli::manager_client::{Manager, text};
use crate::cli::serve::data_dir;
use crate::manager::app_store::{self, AppStore};
use crate::store::DataDir;

/// Every application as the API shows it; without a manager all are idle.
pub(super) fn apps(home: &DataDir, manager: Option<&Manager>) -> Result<Vec<Value>, Failure> {
    if let Some(manager) = manager {
        let answer = manager.call("GET", "/api/apps", None)?;
        return Ok(answer.as_array().cloned().unwrap_or_default());
    }
    let stored = AppStore::new(home.clone()).list().map_err(of_store)?;
    let shown = stored.iter().map(|app| {
        let mut shown = app.to_json();
        if let Some(members) = shown.as_object_mut() {
            members.insert("conn_status".into(), "idle".into());
        }
        shown
    });
    Ok(shown.collect())
}

/// The manager, without which nothing can be connected, and the application that is meant.
pub(super) fn running(parsed: &Parsed) -> Result<(Manager, String), Failure> {
    let home = data_dir()?;
    let Some(manager) = Manager::find(&home)? else {
        let message = format!("no 'postern start' runs on {}", home.dir().display());
        return Err(
            Failure::operation(message).hint("run 'postern start' first: it keeps the connections")
        );
    };
    let id = selected(parsed, &apps(&home, Some(&manager))?)?;
    Ok((manager, id))
}

/// What the user calls the application, where a shell takes that as one word; else its identifier.
pub(super) fn typed(parsed: &Parsed, id: &str) -> String {
    let typed = parsed.operand();
    if is_plain_word(typed) {
        return typed.to_owned();
    }
    id.to_owned()
}

/// Whether a shell takes it as one word, and no command as a flag.
pub(super) fn is_plain_word(text: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
    !text.is_empty() && !text.starts_with('-') && text.bytes().all(is_plain)
}

/// By identifier, or by a name that only one has.
pub(super) fn selected(parsed: &Parsed, apps: &[Value]) -> Result<String, Failure> {
    let typed = parsed.operand();
    let with = |member: &str| -> Vec<&Value> {
        apps.iter()
            .filter(|app| text(app, member) == typed)
            .collect()
    };
    let by_id = with("/id");
    let found = if by_id.is_empty() {
        with("/name")
    } else {
        by_id
    };
    match found.as_slice() {
        [app] => Ok(text(app, "/id").to_owned()),
        [] => Err(
            Failure::operation(format!("there is no application {}", quoted(typed)))
                .hint("'postern app list' shows what is there"),
        ),
        _ => Err(Failure::operation(format!(
            "{} applications are called {}",
            found.len(),
            quoted(typed)
        ))
        .hint("give the ID: 'postern app list' shows it")),
    }
}

/// The stored list cannot be read or written.
pub(super) fn of_store(error: app_store::Error) -> Failure {
    Failure::operation(error.to_string()).hint_if(error.hint())
}
