//! The management API: which path is answered by what.

use crate::sync::Permits;
use std::sync::Arc;
use std::time::Duration;

use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::app::AppConfig;
use super::app_input::{AppInput, Invalid};
use super::app_state::AppState;
use super::connection::Refused;
use super::connection::state::State;
use super::reset::reset;
use super::{app_store, main_tunnel, quick_setup};
use crate::http::{ApiError, Method, Request, Response, Router, assets};
use crate::store::files_set_aside;

/// The description of the API, served at `/api/openapi.json`.
const OPENAPI: &str = include_str!("openapi.json");
/// Requests that write files at once; each has a thread. Default 16: a write takes milliseconds.
const MAX_WRITERS: usize = 16;
/// Bytes of such a thread's stack. Default 256 KiB.
const STACK: usize = 256 * 1024;
/// Time for a deleted application's connection to end before the application is removed. Default 2 s.
const DELETE_WAIT: Duration = Duration::from_secs(2);

pub(super) type Answer = Result<Response, ApiError>;

/// Everything the management server answers.
pub(crate) fn routes(core: &Arc<AppState>) -> Router {
    let on = |answer: fn(&Arc<AppState>, &Request) -> Answer| {
        let core = Arc::clone(core);
        move |request: Request| {
            let answer = answer(&core, &request);
            respond(request, answer);
        }
    };
    let writers = Permits::default();
    let writing = |answer: fn(&Arc<AppState>, &Request) -> Answer| {
        let (core, writers) = (Arc::clone(core), writers.clone());
        move |request: Request| apart(&core, &writers, request, answer)
    };
    Router::new()
        .on(Method::Get, "/", |request| {
            assets::page(request, "manage/index.html")
        })
        .on(Method::Get, "/assets/*", assets::asset)
        .on(Method::Get, "/api/openapi.json", |request| {
            request.respond(Response::new(200, "application/json", OPENAPI));
        })
        .on(Method::Get, "/api/apps", on(list))
        .on(Method::Post, "/api/apps", writing(add))
        .on(Method::Get, "/api/apps/{id}", on(show))
        .on(Method::Put, "/api/apps/{id}", writing(replace))
        .on(Method::Delete, "/api/apps/{id}", writing(remove))
        .on(Method::Post, "/api/connect/{id}", on(connect))
        .on(Method::Post, "/api/disconnect/{id}", on(disconnect))
        .on(Method::Get, "/api/status/{id}", on(status))
        .on(Method::Post, "/api/retry/{id}", on(retry))
        .on(Method::Post, "/api/trust", writing(trust))
        .on(Method::Post, "/api/reset", writing(reset))
        .on(Method::Get, "/api/tunnel", on(tunnels))
        .on(Method::Get, "/api/plugins", on(plugins))
        .on(Method::Get, "/api/version", on(version))
}

fn respond(request: Request, answer: Answer) {
    let response = answer.unwrap_or_else(|error| Response::error(&error));
    log::debug!(
        "{} {}: {}",
        request.method().as_str(),
        request.path(),
        response.status()
    );
    request.respond(response);
}

/// Answers on a thread of its own, which ends with the answer: a write may wait for another process's.
fn apart(
    core: &Arc<AppState>,
    writers: &Permits,
    request: Request,
    answer: fn(&Arc<AppState>, &Request) -> Answer,
) {
    let Some(permit) = writers.take(MAX_WRITERS) else {
        let busy = ApiError::too_many(format!(
            "{MAX_WRITERS} changes are under way already, the limit; try again"
        ));
        return respond(request, Err(busy));
    };
    let core = Arc::clone(core);
    let spawned = std::thread::Builder::new()
        .name("manage".into())
        .stack_size(STACK)
        .spawn(move || {
            let _permit = permit;
            let answer = answer(&core, &request);
            respond(request, answer);
        });
    if let Err(error) = spawned {
        log::warn!("no thread for a request: {error}");
    }
}

fn list(core: &Arc<AppState>, _: &Request) -> Answer {
    let apps = core.apps.list().map_err(failed)?;
    let shown: Vec<Value> = apps.iter().map(|app| with_connection(core, app)).collect();
    Ok(Response::ok(shown))
}

fn with_connection(core: &AppState, app: &AppConfig) -> Value {
    let mut shown = app.shown();
    let result = core.connections.result_beside(app);
    if let Some(members) = shown.as_object_mut() {
        let status = result.as_ref().map_or(State::Idle, |result| result.status);
        members.insert("conn_status".into(), json!(status));
        if let Some(result) = result {
            if let Some(health) = &result.health {
                members.insert("health".into(), json!(health));
            }
            members.insert("connection".into(), json!(result));
        }
    }
    shown
}

fn add(core: &Arc<AppState>, request: &Request) -> Answer {
    let added = core.apps.add(draft(core, request)?).map_err(failed)?;
    log::info!("application {}: added", added.id);
    Ok(Response::json(
        201,
        &json!({"code": 201, "data": added.shown()}),
    ))
}

fn show(core: &Arc<AppState>, request: &Request) -> Answer {
    let app = core.apps.find(id(request)).map_err(failed)?;
    Ok(Response::ok(with_connection(core, &app)))
}

fn replace(core: &Arc<AppState>, request: &Request) -> Answer {
    // Before the body is looked at: of an unknown one nothing else matters.
    core.apps.find(id(request)).map_err(failed)?;
    let app = core
        .apps
        .replace(id(request), draft(core, request)?)
        .map_err(failed)?;
    log::info!("application {}: changed", app.id);
    core.connections.application_has_changed(&app.id);
    main_tunnel::retire_unused(core);
    Ok(Response::ok(with_connection(core, &app)))
}

fn remove(core: &Arc<AppState>, request: &Request) -> Answer {
    let id = id(request);
    core.apps.find(id).map_err(failed)?;
    if let Some(done) = core.connections.disconnect(id) {
        // One that takes longer is ended all the same.
        let _ = done.recv_timeout(DELETE_WAIT);
    }
    let removed = core.apps.remove(id).map_err(failed)?;
    // One that began in between; what begins later finds no application.
    core.connections.disconnect(id);
    core.connections.forget(id);
    give_back(core, &removed);
    main_tunnel::retire_unused(core);
    log::info!("application {id}: removed");
    Ok(Response::ok(removed.shown()))
}

/// An application that was connected once has a place at its server.
fn give_back(core: &AppState, app: &AppConfig) {
    let Ok(url) = core.server_of(app) else {
        return;
    };
    let credentials = core
        .servers
        .of(url.origin())
        .credentials(&core.credentials, false);
    let known = credentials.ok().filter(|known| known.accepted);
    if let Some(known) = known.filter(|_| app.last_connected_at.is_some()) {
        // Nobody waits for it.
        drop(quick_setup::release(url, known, app.id.clone()));
    }
}

fn connect(core: &Arc<AppState>, request: &Request) -> Answer {
    let app = core.apps.find(id(request)).map_err(failed)?;
    match core.connections.connect(core, app) {
        Ok(status) => Ok(Response::json(
            200,
            &json!({"code": 200, "status": status, "data": {"status": status}}),
        )),
        Err(refused @ Refused::TooMany) => Err(ApiError::too_many(refused.to_string())),
        Err(refused) => Err(ApiError::new(503, refused.to_string())),
    }
}

fn disconnect(core: &Arc<AppState>, request: &Request) -> Answer {
    let id = id(request);
    // An application that was removed elsewhere may still be connected.
    if core.connections.disconnect(id).is_none() {
        core.apps.find(id).map_err(failed)?;
    }
    Ok(Response::ok(json!({"status": State::Disconnected})))
}

fn status(core: &Arc<AppState>, request: &Request) -> Answer {
    let id = id(request);
    let result = match core.apps.find(id) {
        Ok(app) => core.connections.result_beside(&app).unwrap_or_default(),
        // An application that was removed elsewhere may still be connected.
        Err(error) => core.connections.result(id).ok_or_else(|| failed(error))?,
    };
    Ok(Response::ok(result))
}

fn retry(core: &Arc<AppState>, request: &Request) -> Answer {
    let id = id(request);
    match core.connections.find(id) {
        Some(active) => active.retry(),
        None => drop(core.apps.find(id).map_err(failed)?),
    }
    let status = core
        .connections
        .result(id)
        .map_or(State::Idle, |result| result.status);
    Ok(Response::ok(json!({"status": status})))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Trust {
    server: String,
    fingerprint: String,
}

/// Only a key that a tunnel has just refused can be trusted: nothing else is beside the old one on the page.
fn trust(core: &Arc<AppState>, request: &Request) -> Answer {
    let Trust {
        server,
        fingerprint,
    } = request.json()?;
    let servers = core.servers.all();
    let of_main = |remote: &Arc<_>| main_tunnel::changed_host_key(core, remote);
    let mut changed = core.connections.changed_host_keys();
    changed.extend(servers.iter().filter_map(of_main));
    changed.retain(|change| change.server == server && change.offered == fingerprint);
    if changed.is_empty() {
        return Err(ApiError::not_found(
            "no tunnel was refused for this server and fingerprint",
        ));
    }
    for change in &changed {
        let trusted = core
            .known
            .trust_change(&server, &change.known, &fingerprint);
        trusted.map_err(|error| ApiError::internal(error.to_string()))?;
    }
    log::warn!("the changed host key {fingerprint} of {server} is trusted from now on");
    core.connections.host_key_is_trusted(&server);
    for remote in &servers {
        main_tunnel::retry(core, remote);
    }
    Ok(Response::ok(
        json!({"server": server, "fingerprint": fingerprint}),
    ))
}

fn tunnels(core: &Arc<AppState>, _: &Request) -> Answer {
    let servers = core.servers.all();
    let shown: Vec<Value> = servers
        .iter()
        .filter_map(|remote| main_tunnel::shown(core, remote))
        .collect();
    Ok(Response::ok(shown))
}

fn plugins(core: &Arc<AppState>, _: &Request) -> Answer {
    let installed = core
        .plugins
        .list()
        .map_err(|error| ApiError::internal(error.to_string()))?;
    Ok(Response::ok(installed))
}

fn version(core: &Arc<AppState>, _: &Request) -> Answer {
    let mut notices = core.notices.clone();
    notices.extend(files_set_aside(&core.home).iter().map(|path| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        format!(
            "{name}: this file was unreadable and is kept aside in {}",
            core.home.dir().display()
        )
    }));
    Ok(Response::ok(json!({
        "version": env!("CARGO_PKG_VERSION"),
        "server": core.server.as_ref().map(ToString::to_string),
        "embedded": core.embedded,
        "insecure": core.insecure,
        "notices": notices,
    })))
}

fn id(request: &Request) -> &str {
    request.param("id").unwrap_or_default()
}

fn draft(core: &AppState, request: &Request) -> Result<AppInput, ApiError> {
    let body: Value = request.json()?;
    AppInput::parse(&body, core.insecure).map_err(|invalid| wrong(&invalid))
}

/// All wrong fields, in the message and by name.
fn wrong(invalid: &Invalid) -> ApiError {
    let fields: Map<String, Value> = invalid
        .fields()
        .map(|(name, why)| (name.to_owned(), Value::from(why)))
        .collect();
    ApiError::bad_request(invalid.to_string()).with("fields", fields)
}

fn failed(error: app_store::Error) -> ApiError {
    let status = match &error {
        app_store::Error::Unknown(_) => 404,
        app_store::Error::Full => 429,
        _ => 500,
    };
    ApiError::new(status, error.to_string())
}
