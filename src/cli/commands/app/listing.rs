//! The table of `postern app list` with active settings, else saved ones; and the choice of applications by operands.

use std::time::SystemTime;

use crate::api::ConnectionState::{Connecting, Failed};
use crate::api::{App, Error, ErrorClass, Exposed, HealthState};
use crate::cli::args::app::ALL;
use crate::cli::args::command::{Command, ENROLL_TOKEN, Parsed};
use crate::cli::columns::Columns;
use crate::cli::failure::{Failure, printable, quoted};
use crate::cli::manager_client::Manager;
use crate::manager::ServerUrl;
use crate::store::time::parse_rfc3339;

/// Columns of [`row`].
pub(super) const COLUMNS: Columns<8> = Columns {
    heading: [
        "ID", "STATUS", "PROTOCOL", "ADDRESS", "ACCESS", "HEALTH", "SITE", "NAME",
    ],
    first: &["NAME", "STATUS", "SITE", "ADDRESS", "ACCESS", "HEALTH"],
};

/// Row of an application.
pub(crate) fn row(app: &App) -> [String; 8] {
    let settings = app.exposed_or_saved();
    let connection = app.connection.as_ref();
    let site = connection.map(|connection| printable(&connection.site_url));
    let site = site.filter(|site| !site.is_empty());
    [
        printable(&app.id),
        status(app),
        settings.protocol.name().to_owned(),
        printable(&settings.target),
        access(app),
        health(app),
        site.unwrap_or_else(|| "-".to_owned()),
        printable(&app.name),
    ]
}

/// State of its connection, with a short reason and the time of the next attempt.
pub(super) fn status(app: &App) -> String {
    if is_expired(app) {
        return format!("expired: {}", extending(called(app)));
    }
    let state = app.status();
    let mut status = state.name().to_owned();
    let Some(connection) = &app.connection else {
        return status;
    };
    if !matches!(state, Failed | Connecting) {
        return status;
    }
    if let Some(class) = &connection.error_class {
        status = format!("{status}: {}", reason(class, &connection.error));
    }
    match connection.next_retry_ms.filter(|_| state == Failed) {
        Some(wait) => format!("{status}, next try in {} s", wait.div_ceil(1000)),
        None => status,
    }
}

/// End time.
pub(crate) fn end(app: &App) -> Option<SystemTime> {
    parse_rfc3339(app.expires.as_deref()?)
}

/// True if it has expired: it is not connected before it is extended.
pub(crate) fn is_expired(app: &App) -> bool {
    let connection = app.connection.as_ref();
    connection.is_some_and(|connection| connection.class() == ErrorClass::Expired.code())
        || (app.exposed().is_none() && end(app).is_some_and(|end| end <= SystemTime::now()))
}

/// Hint for an expired application.
pub(super) fn extending(name: &str) -> String {
    format!("extend it: 'postern app edit {name} --for 1h'")
}

/// Short text for a class of failure; `--json` has the whole error.
fn reason(class: &str, error: &str) -> String {
    match class {
        "plugin" if error.contains("Access denied") => "database access denied".to_owned(),
        "plugin" if error.contains("guest account") => "guest account refused".to_owned(),
        other => {
            ErrorClass::named(other).map_or_else(|| printable(other), |row| row.text.to_owned())
        }
    }
}

/// Describes access and rights of visitors: the active ones, or else the saved ones.
pub(super) fn access(app: &App) -> String {
    let settings = app.exposed_or_saved();
    let (who, what) = ways(&settings);
    let guest = match shortened(&settings.guest) {
        grants if what.is_empty() || grants.is_empty() => String::new(),
        grants => format!(", guest reads {grants}"),
    };
    let from = match shortened(&settings.allow) {
        networks if networks.is_empty() => networks,
        networks => format!(" from {networks}"),
    };
    let what = format!("{who}{from}{what}{guest}");
    match (app.exposed(), app.is_pending()) {
        (None, false) => format!("will be {what}"),
        (None, true) => format!("will be {what} at the next connect"),
        (Some(_), false) => what,
        (Some(_), true) => format!("{what}; saved changes are not active yet"),
    }
}

/// Describes access, and the rights of a database's visitors: `invisible, read-only`.
pub(super) fn mode(settings: &Exposed) -> String {
    let (who, what) = ways(settings);
    format!("{who}{what}")
}

fn ways(settings: &Exposed) -> (&'static str, &'static str) {
    let who = if settings.invisible {
        "invisible"
    } else {
        "public"
    };
    let what = match settings.db_readonly {
        None => "",
        Some(true) => ", read-only",
        Some(false) => ", read-write",
    };
    (who, what)
}

/// The first texts of a list, and how many more there are.
fn shortened(texts: &[String]) -> String {
    const SHOWN: usize = 3;
    let more = match texts.len().saturating_sub(SHOWN) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let shown: Vec<String> = texts
        .iter()
        .take(SHOWN)
        .map(|text| printable(text))
        .collect();
    format!("{}{more}", shown.join(" "))
}

pub(super) fn health(app: &App) -> String {
    let health = app.connection.as_ref().and_then(|it| it.health.as_ref());
    match health.map(|health| health.state) {
        None => "-",
        Some(HealthState::Unknown) => "unknown",
        Some(HealthState::Ok) => "ok",
        Some(HealthState::Failing) => {
            let error = health.and_then(|health| health.error.as_deref());
            return format!("failing: {}", printable(error.unwrap_or_default()));
        }
    }
    .to_owned()
}

/// Saves the enrolment token of the flag for the given server.
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

/// Adds a hint if an application was not saved because its name is taken or the limit is reached.
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

/// True if a shell reads it as one word, and no command as a flag.
pub(super) fn is_plain_word(text: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
    !text.is_empty() && !text.starts_with('-') && text.bytes().all(is_plain)
}

/// Finds an application by its identifier, or by a unique name.
pub(crate) fn find<'a>(apps: &'a [App], typed: &str) -> Result<&'a App, Failure> {
    let by_id = apps.iter().find(|app| app.id == typed);
    let found = by_id.map_or_else(|| named(apps, typed), |app| Ok(Some(app)))?;
    found.ok_or_else(|| {
        Failure::operation(format!("there is no application {}", quoted(typed)))
            .hint("see 'postern app list'")
            .code(404)
    })
}

/// Returns the application with this name; an error if it is not unique.
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
