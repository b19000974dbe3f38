//! Connections: begun, ended, looked at.

use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;
use serde_json::json;

use super::answer::{Answer, failed, id};
use crate::api::ChangeCount;
use crate::http::{ApiError, Numbered, Request, Response};
use crate::manager::app_state::AppState;
use crate::manager::connection::{self, ConnectionRecord, ConnectionState};
use crate::manager::request_log::RequestRecord;
use crate::plugin::StatementRecord;

/// The longest that a request waits for a change. Default 10 s: less than any client's patience.
const LONGEST_WAIT: Duration = Duration::from_secs(10);

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
    // Whoever asks before it looks misses none.
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
