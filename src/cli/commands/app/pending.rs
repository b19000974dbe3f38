//! Saved settings that a connection does not have before it is made again.

use serde_json::{Value, json};

use super::listing;
use crate::cli::failure::printable;
use crate::cli::manager_client::text;
use crate::manager::ServerUrl;

/// A setting that is saved otherwise than it is in force.
pub(super) struct Pending {
    /// Label on the sheet of an application.
    pub(super) name: &'static str,
    pub(super) in_force: String,
    pub(super) saved: String,
}

/// Settings as a connection has them, or as they are saved, in words; empty for what is not set. Networks and the end are
/// none of them: those count at once.
struct Words([(&'static str, String); 5]);

/// Active settings of a connected application, as the API shows them.
pub(super) fn exposed(app: &Value) -> Option<&Value> {
    let exposed = app.pointer("/connection/exposed")?;
    exposed.is_object().then_some(exposed)
}

/// True if it is connected and saved settings wait for the next connection.
pub(super) fn is_pending(app: &Value) -> bool {
    app.pointer("/connection/pending_changes") == Some(&Value::Bool(true))
}

/// The differences that can be named: of a password, say, nothing tells what is in force.
pub(super) fn differences(app: &Value) -> Vec<Pending> {
    let Some(exposed) = exposed(app) else {
        return Vec::new();
    };
    let mut saved = app.clone();
    let server = text(app, "/connection/server");
    if is_same_server(text(app, "/server"), server)
        && let Some(members) = saved.as_object_mut()
    {
        members.insert("server".to_owned(), json!(server));
    }
    let Words(now) = words(exposed, &target(exposed), server);
    let Words(then) = words(&saved, &target(app), text(&saved, "/server"));
    let both = now.into_iter().zip(then);
    let differing = both.filter(|((_, now), (_, then))| now != then);
    differing
        .map(|((name, in_force), (_, saved))| Pending {
            name,
            in_force,
            saved,
        })
        .collect()
}

/// Without one of its own it keeps what it came through.
fn is_same_server(saved: &str, in_force: &str) -> bool {
    let origin = |url| ServerUrl::parse(url, true).map(|url| url.to_string()).ok();
    saved.is_empty()
        || saved == in_force
        || (origin(saved).is_some() && origin(saved) == origin(in_force))
}

/// Protocol and address of what is in force, or of what is saved.
pub(super) fn target(settings: &Value) -> String {
    let protocol = printable(text(settings, "/protocol"));
    match text(settings, "/target") {
        "" => format!("{protocol} {}", listing::saved_address(settings)),
        target => format!("{protocol} {}", printable(target)),
    }
}

fn words(settings: &Value, target: &str, server: &str) -> Words {
    Words([
        ("target", target.to_owned()),
        ("access", listing::mode(settings)),
        ("server", printable(server)),
        ("guest reads", list(settings, "guest")),
        ("host", host(settings)),
    ])
}

/// The texts of a list, after each other.
pub(super) fn list(settings: &Value, name: &str) -> String {
    let entries = settings.get(name).and_then(Value::as_array);
    let texts = entries.into_iter().flatten().filter_map(Value::as_str);
    texts.map(printable).collect::<Vec<_>>().join(", ")
}

/// The name that it is asked by, where that is not the visitors'.
pub(super) fn host(settings: &Value) -> String {
    match printable(text(settings, "/host_header")) {
        host if host == "visitor" => String::new(),
        host => host,
    }
}

/// Warns that saved changes are not active yet: lists the active settings and the command to run.
pub(super) fn warning(app: &Value, name: &str) -> Option<String> {
    if !is_pending(app) {
        return None;
    }
    let holds = differences(app).into_iter().map(|one| {
        let value = or_none(one.in_force);
        format!("{} {value}", one.name)
    });
    let holds = holds.collect::<Vec<_>>().join("; ");
    let holds = if holds.is_empty() {
        holds
    } else {
        format!(": {holds}")
    };
    let label = printable(text(app, "/name"));
    Some(format!(
        "{label} keeps its old settings until it reconnects{holds}\n\
         run 'postern app reconnect {name}'"
    ))
}

/// A value that a person sees.
pub(super) fn or_none(value: String) -> String {
    match value.is_empty() {
        true => "default".to_owned(),
        false => value,
    }
}
