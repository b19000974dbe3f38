//! Handlers for applications: list and change them, connect them, read their logs, list names in their databases, and
//! add temporary shares.

use std::sync::Arc;
use std::time::{Duration, Instant};

use crossbeam_channel::never;
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::answer::{Answer, failed, id, wrong};
use crate::api::{App, ChangeCount};
use crate::http::{ApiError, Numbered, Request, Response};
use crate::manager::app_state::AppState;
use crate::manager::apps::app::AppConfig;
use crate::manager::apps::app_input::{AppInput, Invalid};
use crate::manager::apps::app_store;
use crate::manager::connection::{ConnectionRecord, ConnectionState};
use crate::manager::request_log::RequestRecord;
use crate::manager::server_url::ServerUrl;
use crate::manager::{connection, quick_setup, web_client};
use crate::plugin::StatementRecord;
use crate::store::{Credentials, LeaseWatch};
use crate::sync::{Thread, spawn};

/// Time for a deleted application's connection to end before the application is removed.
const DELETE_WAIT: Duration = Duration::from_secs(2);
/// Time for the server to confirm a sign-out. Default 5 s: a call takes a tenth, and the caller is answered either way.
const FOLLOW_WAIT: Duration = Duration::from_secs(5);
/// Time for the server to release a temporary application. Default 500 ms: the program that shared it has 2 s to end.
const RELEASE_WAIT: Duration = Duration::from_millis(500);
/// The longest that a request waits for a change. Default 10 s: less than any client's patience.
const LONGEST_WAIT: Duration = Duration::from_secs(10);
/// Characters of a name: MySQL and MariaDB take 64.
const NAME_CAP: usize = 64;
/// Hexadecimal digits of a lease, as of an identifier.
const LEASE_LENGTH: usize = 16;

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
    // An unknown identifier is reported before any error in the body.
    core.apps.find(id(request)).map_err(failed)?;
    let mut input = input(core, request)?;
    if core.choice.named.is_some() {
        // If the command line names the server, answers do not show the one that it stays with.
        input = input.staying();
    }
    let app = core.apps.replace(id(request), input).map_err(failed)?;
    log::info!("application '{}': changed", app.name);
    core.end_in_time(&app);
    core.connections.notify_application_changed(&app.id);
    core.retire_unused_main_tunnels();
    Ok(Response::ok(with_connection(core, &app)))
}

/// Renews the code of an invisible application: the old code becomes invalid, and its visitors are disconnected.
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

/// Ends the sign-ins and open streams of all visitors. Answers 202 if the server has not confirmed it: this end has
/// applied it, and repeats the call until the server has too.
pub(super) fn sign_out(core: &Arc<AppState>, request: &Request) -> Answer {
    let app = core.apps.sign_out(id(request)).map_err(failed)?;
    log::info!("application '{}': all visitors are signed out", app.name);
    let deadline = Instant::now() + FOLLOW_WAIT;
    let is_in_force = core.connections.follow_change(&app, deadline);
    let code = if is_in_force { 200 } else { 202 };
    let shown = with_connection(core, &app);
    Ok(Response::data(code, shown))
}

/// Removes an application. With `release=true` its site's name is released first; if that fails, the application stays.
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

/// Returns the server that has assigned something to the application, and the credentials for it; none if it was never
/// connected.
fn placed(core: &AppState, app: &AppConfig) -> Option<(ServerUrl, Credentials)> {
    let url = core.server_of(app).ok()?;
    app.last_connected_at.as_ref()?;
    let known = core.credentials.with_connector_info().ok()?.into_iter();
    let mut known = known.filter(|(origin, known)| origin == url.origin() && known.accepted);
    let (_, known) = known.next()?;
    Some((url, known))
}

/// Ends an application's connection, removes the application, and releases it at the server.
pub(super) fn end_and_remove(core: &AppState, id: &str) -> Result<AppConfig, app_store::Error> {
    core.apps.find(id)?;
    if let Some(done) = core.connections.disconnect(id) {
        // A connection that takes longer is ended all the same.
        let _ = done.recv_timeout(DELETE_WAIT);
    }
    let removed = core.apps.remove(id)?;
    // Another may have begun in between; a later one finds no application.
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

/// Releases an application at its server, if it was ever connected.
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

/// Releases a temporary application and waits for the answer: this process may end next. Also called if the server's
/// answer to its setup has not come yet. A server that does not answer keeps an application that nobody serves.
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

/// Asks the database of an application, or of a draft of one, for names.
pub(super) fn objects(core: &Arc<AppState>, request: &Request) -> Answer {
    let mut body: Map<String, Value> = request.json()?;
    let within = within(&mut body)?;
    let app = application(core, body)?;
    if !app.protocol.is_database() {
        return Err(ApiError::bad_request("the application is not a database"));
    }
    let names = web_client::objects(core, &app, &within);
    let names = names.map_err(|error| ApiError::new(502, error))?;
    Ok(Response::ok(names))
}

/// Database, and table in it, whose names are wanted.
fn within(body: &mut Map<String, Value>) -> Result<Vec<String>, ApiError> {
    let mut within = Vec::new();
    for field in ["database", "table"] {
        match body.remove(field) {
            None | Some(Value::Null) => {}
            Some(Value::String(name)) if (1..=NAME_CAP).contains(&name.chars().count()) => {
                within.push(name);
            }
            Some(_) => {
                let why = format!("'{field}' must be a string of 1 to {NAME_CAP} characters");
                return Err(ApiError::bad_request(why));
            }
        }
    }
    Ok(within)
}

/// Returns the stored application with the changes of the body. Its stored password is not sent to another address.
fn application(core: &AppState, mut body: Map<String, Value>) -> Result<AppConfig, ApiError> {
    let id = body.remove("id");
    let stored = match id.as_ref().map(Value::as_str) {
        None => None,
        Some(Some(id)) => Some(core.apps.find(id).map_err(failed)?),
        Some(None) => return Err(ApiError::bad_request("'id' must be a string")),
    };
    match stored {
        Some(stored) if body.is_empty() => Ok(stored),
        stored => {
            let input = AppInput::parse(&Value::Object(body), core.choice.insecure);
            let input = input.map_err(|invalid| wrong(&invalid))?;
            match stored {
                Some(stored) if input.sends_elsewhere(&stored) => Err(elsewhere(&stored)),
                Some(stored) => Ok(input.replacing(&stored)),
                None => Ok(input.into_new()),
            }
        }
    }
}

/// Error for a stored password that would be sent to another address.
fn elsewhere(stored: &AppConfig) -> ApiError {
    let why = format!(
        "is saved for {}: enter it again for another address, or save the application first",
        stored.address()
    );
    wrong(&Invalid::of("db_pass", why))
}

pub(super) fn connect(core: &Arc<AppState>, request: &Request) -> Answer {
    let mut app = core.apps.find(id(request)).map_err(failed)?;
    app.site_name_required = request.query("site_name") == Some("required");
    let status = connection::begin(core, app).map_err(|refused| {
        let http = refused.class.map_or(0, |class| class.row().http);
        let error = ApiError::new(if http > 0 { http } else { 503 }, refused.error);
        match refused.hint {
            "" => error,
            hint => error.with("hint", hint),
        }
    })?;
    let answer = json!({"code": 200, "status": status, "data": {"status": status}});
    Ok(Response::json(200, &answer))
}

pub(super) fn disconnect(core: &Arc<AppState>, request: &Request) -> Answer {
    let id = id(request);
    // An application that was removed elsewhere may still be connected.
    if core.connections.disconnect(id).is_none() {
        core.apps.find(id).map_err(failed)?;
    }
    Ok(Response::ok(
        json!({"status": ConnectionState::Disconnected}),
    ))
}

pub(super) fn status(core: &Arc<AppState>, request: &Request) -> Answer {
    let id = id(request);
    let result = match core.apps.find(id) {
        Ok(app) => core.result(&app).unwrap_or_default(),
        // An application that was removed elsewhere may still be connected.
        Err(error) => core
            .connections
            .result(id, None)
            .ok_or_else(|| failed(error))?,
    };
    Ok(Response::ok(result))
}

/// Statements of a database's visitors after a number, as far as they are kept.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "StatementLog"))]
pub(super) struct Statements {
    /// Number of the last statement, 0 before the first.
    last: u64,
    /// In their order.
    statements: Vec<Numbered<StatementRecord>>,
}

pub(super) fn statements(core: &Arc<AppState>, request: &Request) -> Answer {
    let (last, statements) = later(core, request, |of, after| of.statements.after(after))?;
    Ok(Response::ok(Statements { last, statements }))
}

/// Requests of an application's visitors after a number, as far as they are kept.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "RequestLog"))]
pub(super) struct Requests {
    /// Number of the last request, 0 before the first.
    last: u64,
    /// In their order.
    requests: Vec<Numbered<RequestRecord>>,
}

pub(super) fn requests(core: &Arc<AppState>, request: &Request) -> Answer {
    let (last, requests) = later(core, request, |of, after| of.requests.records.after(after))?;
    Ok(Response::ok(Requests { last, requests }))
}

/// Number of the last entry of a log, and those after the wanted number; nothing without a connection.
fn later<T>(
    core: &AppState,
    request: &Request,
    of: fn(&ConnectionRecord, u64) -> (u64, Vec<T>),
) -> Result<(u64, Vec<T>), ApiError> {
    let (id, after) = (id(request), after(request)?.unwrap_or_default());
    match core.connections.find_last(id) {
        Some(connection) => Ok(of(&connection, after)),
        None => core.apps.find(id).map(|_| (0, Vec::new())).map_err(failed),
    }
}

/// The parameter `after`.
fn after(request: &Request) -> Result<Option<u64>, ApiError> {
    let after = request.query("after").map(str::parse).transpose();
    after.map_err(|_| ApiError::bad_request("after must be a whole number"))
}

pub(super) fn changes(core: &Arc<AppState>, request: &Request) -> Answer {
    let (id, after) = (id(request), after(request)?);
    core.apps.find(id).map_err(failed)?;
    let changes = core.connections.changes(id);
    // Subscribed before the count is read, so that no change is missed.
    let next = changes.next();
    if after == Some(changes.count()) {
        let _ = next.recv_timeout(LONGEST_WAIT);
    }
    Ok(Response::ok(ChangeCount {
        changes: changes.count(),
    }))
}

pub(super) fn retry(core: &Arc<AppState>, request: &Request) -> Answer {
    let id = id(request);
    match core.connections.find(id) {
        Some(active) => active.retry(),
        None => drop(core.apps.find(id).map_err(failed)?),
    }
    let status = core
        .connections
        .result(id, None)
        .map_or(ConnectionState::Idle, |result| result.status);
    Ok(Response::ok(json!({"status": status})))
}

/// Adds a temporary application whose identifier is its lease. A command holds the lease; when it no longer does,
/// however it ended, the application is removed.
pub(super) fn add_share(core: &Arc<AppState>, request: &Request) -> Answer {
    let mut body: Value = request.json()?;
    let lease = body.as_object_mut().and_then(|body| body.remove("lease"));
    let id = lease.as_ref().and_then(Value::as_str);
    let id = id.filter(|id| id.len() == LEASE_LENGTH && id.bytes().all(|b| b.is_ascii_hexdigit()));
    let id = id.ok_or_else(|| ApiError::bad_request("lease must be 16 hexadecimal digits"))?;
    let input = parsed(core, &body)?;
    let watch = LeaseWatch::of(&core.home, id);
    let watch = watch.map_err(|error| ApiError::internal(error.to_string()))?;
    let watch = watch.ok_or_else(|| ApiError::new(409, "nobody holds that lease"))?;
    if core.apps.find(id).is_ok() {
        return Err(ApiError::new(409, "that lease has an application already"));
    }
    let added = core.apps.add_temporary(input, id).map_err(failed)?;
    if let Err(error) = remove_after(core, watch, id) {
        let _ = end_and_remove(core, id);
        return Err(ApiError::new(503, format!("no thread for it: {error}")));
    }
    log::info!("application '{}': added until its command ends", added.name);
    Ok(Response::data(201, added.shown()))
}

/// Removes the application when its lease ends. Waits on a thread of its own, because the system has no other way to
/// wait for a lock.
fn remove_after(core: &Arc<AppState>, watch: LeaseWatch, id: &str) -> std::io::Result<()> {
    let (core, id) = (Arc::clone(core), id.to_owned());
    spawn(Thread::Share, move || {
        watch.wait_for_end();
        // A command that ends normally has removed it already.
        if core.apps.find(&id).is_ok_and(|app| app.temporary)
            && let Err(error) = end_and_remove(&core, &id)
        {
            log::warn!("application {id}: not removed after its command: {error}");
        }
    })
}
