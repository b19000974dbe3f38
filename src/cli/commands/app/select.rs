//! Which applications are meant.

use crate::api::{App, Error};
use crate::cli::args::app::ALL;
use crate::cli::args::command::{Command, Parsed};
use crate::cli::args::flags::ENROLL_TOKEN;
use crate::cli::failure::{Failure, quoted};
use crate::cli::manager_client::Manager;
use crate::manager::ServerUrl;

/// Keeps the enrolment token that the flag gives for the server that is named.
pub(super) fn enroll(
    manager: &Manager,
    command: &Command,
    parsed: &Parsed,
    server: Option<&str>,
) -> Result<(), Failure> {
    let Some(token) = parsed.value(&ENROLL_TOKEN) else {
        return Ok(());
    };
    let server = server.ok_or_else(|| command.usage("--enroll-token needs --server"))?;
    let server =
        ServerUrl::parse(server, true).map_err(|why| command.usage(format!("--server: {why}")))?;
    manager.enroll(&server, token.into())
}

/// Adds a hint where an application is not saved for its name or number.
pub(super) fn unsaved(error: Error) -> Failure {
    let hint = match &error {
        Error::Refused { code: 409, .. } => Some("choose another name"),
        Error::Refused { code: 429, .. } => Some("remove an unused one"),
        _ => None,
    };
    Failure::from(error).hint_if(hint)
}

/// The applications that the operands name, or all.
pub(super) fn selected(parsed: &Parsed, mut apps: Vec<App>) -> Result<Vec<App>, Failure> {
    if parsed.has(&ALL) {
        return Ok(apps);
    }
    let ids: Vec<String> = parsed
        .operands()
        .iter()
        .map(|typed| find(&apps, typed).map(|app| app.id.clone()))
        .collect::<Result<_, _>>()?;
    apps.retain(|app| ids.contains(&app.id));
    apps.sort_by_key(|app| ids.iter().position(|id| *id == app.id));
    Ok(apps)
}

/// Text by which a user can name it.
pub(super) fn called(app: &App) -> &str {
    match is_plain_word(&app.name) {
        true => &app.name,
        false => &app.id,
    }
}

/// True if a shell takes it as one word, and no command as a flag.
pub(super) fn is_plain_word(text: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
    !text.is_empty() && !text.starts_with('-') && text.bytes().all(is_plain)
}

/// By identifier, or by a name that only one has.
pub(crate) fn find<'a>(apps: &'a [App], typed: &str) -> Result<&'a App, Failure> {
    let by_id = apps.iter().find(|app| app.id == typed);
    let found = by_id.map_or_else(|| named(apps, typed), |app| Ok(Some(app)))?;
    found.ok_or_else(|| {
        Failure::operation(format!("there is no application {}", quoted(typed)))
            .hint("see 'postern app list'")
            .code(404)
    })
}

/// The one with that name.
pub(super) fn named<'a>(apps: &'a [App], name: &str) -> Result<Option<&'a App>, Failure> {
    let mut found = apps.iter().filter(|app| app.name == name);
    let first = found.next();
    match found.count() {
        0 => Ok(first),
        more => Err(Failure::operation(format!(
            "{} applications are named {}",
            more + 1,
            quoted(name)
        ))
        .hint("use the ID, see 'postern app list'")),
    }
}
