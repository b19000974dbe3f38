//! Which applications are meant.

use crate::api::{App, Error};
use crate::cli::args::app::ALL;
use crate::cli::args::command::{Command, Parsed};
use crate::cli::args::flags::ENROLL_TOKEN;
use crate::cli::failure::{Failure, printable, quoted};
use crate::cli::manager_client::Manager;
use crate::cli::serve::data_dir;
use crate::manager::ServerUrl;

/// An application that the command line means.
pub(crate) struct Selected {
    pub(crate) id: String,
    /// Text by which a user can name it.
    pub(crate) name: String,
    /// Its name.
    pub(crate) label: String,
}

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

/// The running manager, and the one application that is meant.
pub(super) fn running(parsed: &Parsed) -> Result<(Manager, Selected), Failure> {
    let manager = Manager::running(&data_dir()?)?;
    let selected = find(&manager.apps()?, parsed.operand())?;
    Ok((manager, selected))
}

/// The applications that the operands name, or all.
pub(super) fn selected(parsed: &Parsed, apps: &[App]) -> Result<Vec<Selected>, Failure> {
    let operands = parsed.operands();
    if parsed.has(&ALL) {
        return Ok(apps.iter().map(of_app).collect());
    }
    let mut found: Vec<Selected> = Vec::new();
    for typed in operands {
        let one = find(apps, typed)?;
        if !found.iter().any(|other| other.id == one.id) {
            found.push(one);
        }
    }
    Ok(found)
}

/// True if a shell takes it as one word, and no command as a flag.
pub(super) fn is_plain_word(text: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
    !text.is_empty() && !text.starts_with('-') && text.bytes().all(is_plain)
}

/// By identifier, or by a name that only one has.
pub(crate) fn find(apps: &[App], typed: &str) -> Result<Selected, Failure> {
    let has_id = |id: &str| apps.iter().find(|app| app.id == id);
    let by_name = match has_id(typed) {
        Some(_) => None,
        None => named(apps, Some(typed))?,
    };
    let app = has_id(by_name.as_deref().unwrap_or(typed)).ok_or_else(|| {
        Failure::operation(format!("there is no application {}", quoted(typed)))
            .hint("see 'postern app list'")
            .code(404)
    })?;
    let mut found = of_app(app);
    if is_plain_word(typed) {
        typed.clone_into(&mut found.name);
    }
    Ok(found)
}

/// The identifier of the one with that name.
pub(super) fn named(apps: &[App], name: Option<&str>) -> Result<Option<String>, Failure> {
    let name = name.unwrap_or_default();
    let mut found = apps.iter().filter(|app| app.name == name);
    let first = found.next().map(|app| app.id.clone());
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

/// The application of an answer.
pub(super) fn of_app(app: &App) -> Selected {
    let name = if is_plain_word(&app.name) {
        &app.name
    } else {
        &app.id
    };
    Selected {
        id: app.id.clone(),
        name: name.clone(),
        label: printable(&app.name),
    }
}
