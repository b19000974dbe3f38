//! Saved settings that a connection does not have before it is made again.

use super::listing;
use super::select::called;
use crate::api::{App, Exposed};
use crate::cli::failure::printable;
use crate::manager::ServerUrl;

/// A setting that is saved otherwise than it is in force.
pub(super) struct Pending {
    /// Label on the sheet of an application.
    pub(super) name: &'static str,
    pub(super) in_force: String,
    pub(super) saved: String,
}

/// The differences that can be named: of a password, say, nothing tells what is in force.
pub(super) fn differences(app: &App) -> Vec<Pending> {
    let (Some(exposed), Some(connection)) = (app.exposed(), &app.connection) else {
        return Vec::new();
    };
    let in_force = &*connection.server;
    let saved = app.server.as_deref().unwrap_or_default();
    let saved = match is_same_server(saved, in_force) {
        true => in_force,
        false => saved,
    };
    let both = words(exposed, in_force).into_iter();
    let both = both.zip(words(&app.saved(), saved));
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
pub(super) fn target(settings: &Exposed) -> String {
    format!(
        "{} {}",
        settings.protocol.name(),
        printable(&settings.target)
    )
}

/// Settings as a connection has them, or as they are saved, in words; empty for what is not set. Networks and the end are
/// none of them: those count at once.
fn words(settings: &Exposed, server: &str) -> [(&'static str, String); 5] {
    [
        ("target", target(settings)),
        ("access", listing::mode(settings)),
        ("server", printable(server)),
        ("guest reads", list(&settings.guest)),
        ("host", host(settings)),
    ]
}

/// Texts, after each other.
pub(super) fn list(texts: &[String]) -> String {
    let texts: Vec<String> = texts.iter().map(|text| printable(text)).collect();
    texts.join(", ")
}

/// The name that it is asked by, where that is not the visitors'.
pub(super) fn host(settings: &Exposed) -> String {
    match printable(&settings.host_header) {
        host if host == "visitor" => String::new(),
        host => host,
    }
}

/// Warns that saved changes are not active yet: lists the active settings and the command to run.
pub(super) fn warning(app: &App) -> Option<String> {
    if !app.is_pending() {
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
    let (label, name) = (printable(&app.name), called(app));
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
