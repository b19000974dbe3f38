//! Applications: listed, added, changed, removed.

use std::sync::Arc;
use std::time::{Duration, Instant};

use crossbeam_channel::never;
use serde_json::Value;

use super::answer::{Answer, failed, id, wrong};
use crate::api::App;
use crate::http::{ApiError, Request, Response};
use crate::manager::app_state::AppState;
use crate::manager::apps::app::AppConfig;
use crate::manager::apps::app_input::AppInput;
use crate::manager::apps::app_store;
use crate::manager::quick_setup;
use crate::manager::server_url::ServerUrl;
use crate::store::Credentials;

/// Time for a deleted application's connection to end before the application is removed.
const DELETE_WAIT: Duration = Duration::from_secs(2);
/// Time for the server to hear who is let in no more. Default 5 s: a call takes a tenth, and who waits is told either way.
const FOLLOW_WAIT: Duration = Duration::from_secs(5);
/// Time for the server to take back the place of a temporary one. Default 500 ms: the program that shared it has 2 s to
/// end.
const RELEASE_WAIT: Duration = Duration::from_millis(500);

pub(super) fn list(core: &Arc<AppState>, _: &Request) -> Answer {
    let apps = core.apps.list().map_err(failed)?;
    let shown: Vec<App> = apps.iter().map(|app| with_connection(core, app)).collect();
    Ok(Response::ok(shown))
}

fn with_connection(core: &AppState, app: &AppConfig) -> App {
    let mut shown = app.shown();
    let connection = core.result(app);
    if app.server.is_none() && core.choice.named.is_none() {
        shown.server.clone_from(&app.used_server);
    }
    let status = connection.as_ref().map(|connection| connection.status);
    App {
        conn_status: Some(status.unwrap_or_default()),
        health: connection.as_ref().and_then(|it| it.health.clone()),
        connection,
        ..shown
    }
}

pub(super) fn add(core: &Arc<AppState>, request: &Request) -> Answer {
    let added = core.apps.add(input(core, request)?).map_err(failed)?;
    core.end_in_time(&added);
    log::info!("application '{}': added", added.name);
    Ok(Response::data(201, added.shown()))
}

pub(super) fn show(core: &Arc<AppState>, request: &Request) -> Answer {
    let app = core.apps.find(id(request)).map_err(failed)?;
    Ok(Response::ok(with_connection(core, &app)))
}

pub(super) fn replace(core: &Arc<AppState>, request: &Request) -> Answer {
    // Before the body is looked at: of an unknown one nothing else matters.
    core.apps.find(id(request)).map_err(failed)?;
    let mut input = input(core, request)?;
    if core.choice.named.is_some() {
        // No answer shows what it stays with where the command line names the server.
        input = input.staying();
    }
    let app = core.apps.replace(id(request), input).map_err(failed)?;
    log::info!("application '{}': changed", app.name);
    core.end_in_time(&app);
    core.connections.notify_application_changed(&app.id);
    core.retire_unused_main_tunnels();
    Ok(Response::ok(with_connection(core, &app)))
}

/// Another code for an invisible one: nobody comes in with the old one, nor stays.
pub(super) fn renew_code(core: &Arc<AppState>, request: &Request) -> Answer {
    let app = core.apps.find(id(request)).map_err(failed)?;
    if !app.invisible {
        let why = "this application is public, so it has no code";
        return Err(ApiError::conflict(why).with("hint", "make it invisible first"));
    }
    let app = core.apps.renew_code(&app.id).map_err(failed)?;
    log::info!("application '{}': new code", app.name);
    core.connections.notify_application_changed(&app.id);
    Ok(Response::ok(with_connection(core, &app)))
}

/// Ends every visitor's sign-in, and what they have open. 202 where the server has not heard of it: this end follows at
/// once all the same, and tells it again and again.
pub(super) fn sign_out(core: &Arc<AppState>, request: &Request) -> Answer {
    let app = core.apps.sign_out(id(request)).map_err(failed)?;
    log::info!("application '{}': all visitors are signed out", app.name);
    let deadline = Instant::now() + FOLLOW_WAIT;
    let is_in_force = core.connections.follow_change(&app, deadline);
    let code = if is_in_force { 200 } else { 202 };
    let shown = with_connection(core, &app);
    Ok(Response::data(code, shown))
}

/// With `release=true` its site's name is released first; where that fails, the application stays.
pub(super) fn remove(core: &Arc<AppState>, request: &Request) -> Answer {
    match request.query("release") {
        None | Some("false") => {}
        Some("true") => release_name(core, id(request))?,
        Some(_) => return Err(ApiError::bad_request("release must be true or false")),
    }
    let removed = end_and_remove(core, id(request)).map_err(failed)?;
    Ok(Response::ok(removed.shown()))
}

fn release_name(core: &AppState, id: &str) -> Result<(), ApiError> {
    let app = core.apps.find(id).map_err(failed)?;
    if let Some(done) = core.connections.disconnect(id) {
        let _ = done.recv_timeout(DELETE_WAIT);
    }
    let Some((url, known)) = placed(core, &app) else {
        return Ok(());
    };
    quick_setup::release_name(&url, &known, id).map_err(|why| {
        let why = format!(
            "the site name could not be released, so the application is not removed: {why}"
        );
        ApiError::new(502, why)
    })
}

/// The server that has a place for an application, and the credentials for it; none where it was never connected.
fn placed(core: &AppState, app: &AppConfig) -> Option<(ServerUrl, Credentials)> {
    let url = core.server_of(app).ok()?;
    app.last_connected_at.as_ref()?;
    let known = core.credentials.with_connector_info().ok()?.into_iter();
    let mut known = known.filter(|(origin, known)| origin == url.origin() && known.accepted);
    let (_, known) = known.next()?;
    Some((url, known))
}

/// Ends an application's connection, removes it, and has its place at the server taken back.
pub(super) fn end_and_remove(core: &AppState, id: &str) -> Result<AppConfig, app_store::Error> {
    core.apps.find(id)?;
    if let Some(done) = core.connections.disconnect(id) {
        // One that takes longer is ended all the same.
        let _ = done.recv_timeout(DELETE_WAIT);
    }
    let removed = core.apps.remove(id)?;
    // One that began in between; what begins later finds no application.
    core.connections.disconnect(id);
    core.connections.forget(id);
    core.ends.forget(id);
    give_back(core, &removed);
    core.retire_unused_main_tunnels();
    log::info!("application '{}': removed", removed.name);
    if let Some(kept) = core.audit.leave(id) {
        log::info!("its audit files are kept: {}", kept.display());
        core.sweep_audit();
    }
    Ok(removed)
}

/// An application that was connected once has a place at its server.
fn give_back(core: &AppState, app: &AppConfig) {
    if !core.is_running() {
        return;
    }
    if app.temporary {
        if let Ok(url) = core.server_of(app) {
            give_back_at_once(core, app, url);
        }
    } else if let Some((url, known)) = placed(core, app) {
        // Nobody waits for it.
        drop(quick_setup::release(url, known, app.id.clone()));
    }
}

/// A temporary one may have a place before its answer has come, and its process may end next. A server that does not
/// answer keeps an application that nobody serves.
fn give_back_at_once(core: &AppState, app: &AppConfig, url: ServerUrl) {
    let remote = core.servers.of(url.origin());
    let begun = remote.and_then(|remote| remote.begin_call(false, &never()));
    if let Ok(begun) = begun {
        let done = quick_setup::release(url, begun.credentials, app.id.clone());
        let _ = done.recv_timeout(RELEASE_WAIT);
    }
}

fn input(core: &AppState, request: &Request) -> Result<AppInput, ApiError> {
    let body: Value = request.json()?;
    parsed(core, &body)
}

/// The application that a body describes.
pub(super) fn parsed(core: &AppState, body: &Value) -> Result<AppInput, ApiError> {
    AppInput::parse(body, core.choice.insecure).map_err(|invalid| wrong(&invalid))
}
