//! `POST /api/query`, `/api/cancel`, `/api/session/resume` and `/api/session/close`.

use std::cell::Cell;
use std::sync::Arc;
use std::time::Instant;

#[cfg(test)]
use schemars::JsonSchema;
use serde::Serialize;

use super::params::Fields;
use crate::http::{Request, Response, ResponseHead};
use crate::sqlweb::conn::{MAX_ID, SessionLeft, StatementOwner, stop_in_background};
use crate::sqlweb::error::{ApiError, StopCause};
use crate::sqlweb::gate;
use crate::sqlweb::output::{JsonAnswer, LazyStream};
use crate::sqlweb::query::{Job, TextOrigin, execute};
use crate::sqlweb::service::Service;

/// Reads the request and answers it on a thread of its own.
pub(crate) fn query(service: &Arc<Service>, request: Request) {
    match read(service, &request) {
        Ok((job, limit)) => {
            let shared = service.clone();
            service.spawn(request, move |request| {
                answer(&shared, request, &job, limit)
            });
        }
        Err(error) => request.respond(Response::error(&error)),
    }
}

fn read(service: &Service, request: &Request) -> Result<(Job, Option<u64>), ApiError> {
    let mut fields = Fields::of(request)?;
    let job = job(service, request, &mut fields);
    let limit = fields.count("limit");
    fields.done()?;
    Ok((job, limit))
}

/// Reads the members that a query and an export share.
pub(crate) fn job(service: &Service, request: &Request, fields: &mut Fields) -> Job {
    let sql = fields.required("sql");
    job_of(service, request, fields, sql)
}

/// Reads the members that all jobs share, for a text from elsewhere.
pub(super) fn job_of(
    service: &Service,
    request: &Request,
    fields: &mut Fields,
    sql: String,
) -> Job {
    let visitor = service.visitor(request);
    let reader = if visitor.is_empty() {
        request.peer().to_string()
    } else {
        visitor.clone()
    };
    Job {
        sql,
        raw: None,
        reader,
        uses: service.use_of(request),
        visitor: service.label(request),
        db: fields.optional("db"),
        time_zone: fields.time_zone("time_zone"),
        origin: TextOrigin::Request,
        is_delimited: false,
        query_id: fields.short("query_id", MAX_ID),
        owner: StatementOwner {
            visitor,
            session: fields.short("session", MAX_ID).unwrap_or_default(),
        },
        was_refused: Cell::new(false),
    }
}

fn answer(service: &Arc<Service>, request: Request, job: &Job, limit: Option<u64>) {
    let started = Instant::now();
    let client = request.client().clone();
    let head = ResponseHead::new(200)
        .header("Content-Type", "application/json")
        .header("Cache-Control", "no-store");
    let mut stream = LazyStream::new(request, head);
    let several =
        may_return_several(service, &job.sql).then_some(service.options.run_dir.as_path());
    let mut answer = JsonAnswer::new(&mut stream, limit, several, started);
    let outcome = execute(service, job, &mut answer, &client);
    let sent = match outcome {
        Ok(told) => answer.finish(Ok((&told.warnings, told.in_transaction))),
        Err(error) if answer.is_untouched() => {
            drop(answer);
            return stream.fail(Response::error(&error));
        }
        Err(error) => answer.finish(Err(error.members())),
    };
    match sent {
        Ok(()) => stream.finish(),
        Err(error) => log::debug!("an answer was interrupted: {error}"),
    }
}

/// True if the gate refuses `sql`: only procedures and compound statements return several result sets, and it refuses
/// both.
fn may_return_several(service: &Service, sql: &str) -> bool {
    !service.options.readonly && gate::check(sql, &service.info().dialect).is_err()
}

/// A statement that is being stopped.
#[derive(Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub(super) struct Cancelled {
    /// Its ID.
    query_id: String,
}

/// A session that is closed, or unknown.
#[derive(Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub(super) struct Closed {
    /// Its ID.
    session: String,
}

/// State of a session.
#[derive(Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub(super) struct SessionState {
    /// True if it had a transaction, temporary tables or variables and lost them; reported once.
    lost: bool,
    /// True if it still has its connection, with its transaction, temporary tables and variables.
    open: bool,
}

/// Stops the visitor's statement with the requested id.
pub(crate) fn cancel(service: &Arc<Service>, request: Request) {
    let asked = Fields::of(&request).and_then(|mut fields| {
        let id = fields.required("query_id");
        fields.done().map(|()| id)
    });
    let response = asked.and_then(|id| {
        let found = service.running.find(&service.visitor(&request), &id);
        let running =
            found.ok_or_else(|| ApiError::not_found(format!("no statement '{id}' is running")))?;
        stop_in_background(running, StopCause::Cancelled, service.connector.clone());
        Ok(Response::ok(Cancelled { query_id: id }))
    });
    request.respond(response.unwrap_or_else(|error| Response::error(&error)));
}

/// Tells a reloaded page the state of its session.
pub(crate) fn resume_session(service: &Arc<Service>, request: Request) {
    let asked = Fields::of(&request).and_then(|mut fields| {
        let session = fields.required("session");
        fields.done().map(|()| session)
    });
    let response = asked.map(|session| {
        let owner = StatementOwner {
            visitor: service.visitor(&request),
            session,
        };
        let left = service.sessions.come_back(&owner);
        Response::ok(SessionState {
            lost: left == SessionLeft::Lost,
            open: left == SessionLeft::All,
        })
    });
    request.respond(response.unwrap_or_else(|error| Response::error(&error)));
}

/// Stops the statements of a closed tab and closes its session: at once, or later if its page may only be reloading.
pub(crate) fn close_session(service: &Arc<Service>, request: Request) {
    let asked = Fields::of(&request).and_then(|mut fields| {
        // An empty one would mean all statements without a session.
        let session = fields.required("session");
        let is_leaving = fields.flag("leaving", false);
        fields.done().map(|()| (session, is_leaving))
    });
    let response = asked.map(|(session, is_leaving)| {
        let owner = StatementOwner {
            visitor: service.visitor(&request),
            session,
        };
        let mine = service.running.filter(|o, _| *o == owner);
        for running in mine {
            stop_in_background(running, StopCause::ClientLeft, service.connector.clone());
        }
        if is_leaving {
            service.sessions.leave(&owner);
        } else {
            service.sessions.close(&owner);
        }
        Response::ok(Closed {
            session: owner.session,
        })
    });
    request.respond(response.unwrap_or_else(|error| Response::error(&error)));
}
