//! `POST /api/edit`: changes, inserts and deletes rows of one table in one transaction.

use std::io::{self, Read};
use std::sync::Arc;
use std::time::{Instant, SystemTime};

use serde_json::Value;

use super::params::Fields;
use crate::http::{Request, Response};
use crate::sqlweb::conn::MAX_ID;
use crate::sqlweb::edit::{self, EditError, EditFailed, EditJob, changes_of};
use crate::sqlweb::error::{ApiError, Details};
use crate::sqlweb::limits::{EDIT_WORK, LARGE_EDIT, MAX_EDIT};
use crate::sqlweb::query::{RowPermit, note, verdict};
use crate::sqlweb::service::Service;

/// Reads the request and applies its changes on a thread of its own.
pub(crate) fn edit(service: &Arc<Service>, request: Request) {
    let refused = request
        .must_be_json()
        .map_err(ApiError::from)
        .and_then(|()| {
            let outcome = check_edit_allowed(service);
            outcome.inspect_err(|error| note_refusal(service, &request, error))
        });
    if let Err(error) = refused {
        return request.respond(Response::error(&error));
    }
    let shared = service.clone();
    service.spawn(request, move |request| answer(&shared, request));
}

fn check_edit_allowed(service: &Service) -> Result<(), ApiError> {
    if !service.options.readonly {
        return Ok(());
    }
    Err(ApiError::refused(
        "read-only mode: rows cannot be edited, and nothing was sent (layer: server gate)",
        "UPDATE",
        Some("gate"),
    ))
}

/// Records a refused edit; its body was not read, so a fixed text is recorded.
fn note_refusal(service: &Service, request: &Request, error: &ApiError) {
    if let Some(statements) = service.statements() {
        let since = (SystemTime::now(), Instant::now());
        let visitor = service.label(request);
        note(
            &statements,
            &visitor,
            "UPDATE /* rows in the grid */",
            since,
            verdict(error),
            0,
        );
    }
}

fn answer(service: &Arc<Service>, mut request: Request) {
    let Some(body) = request.take_stream() else {
        return; // answers itself
    };
    let reader = reader(service, &request);
    let client = request.client().clone();
    let declared = request.header("content-length");
    let declared = declared.and_then(|length| length.parse().ok());
    let read = match read(service, &reader, body, declared.unwrap_or(0)) {
        Ok(read) => read,
        Err(error) => return log::debug!("an edit was interrupted: {error}"),
    };
    // The room is held until the edit has ended.
    let outcome = read.map_err(EditFailed::from).and_then(|(bytes, room)| {
        let work = room
            .as_ref()
            .map(|_| room_for(service, &reader, *EDIT_WORK));
        let _work = work.transpose()?;
        let job = job(service, &request, bytes, reader.clone())?;
        edit::edit(service, job, &client)
    });
    request.respond(outcome.unwrap_or_else(|error| Response::error(&error)));
}

/// A body, with its permit among the large rows if it is large.
type Body<'a> = (Vec<u8>, Option<RowPermit<'a>>);

/// Reads a body of at most [`MAX_EDIT`] bytes, `declared` of them in the request's head; fails if its client has left.
fn read<'a>(
    service: &'a Service,
    reader: &'a str,
    mut body: impl Read,
    declared: usize,
) -> io::Result<Result<Body<'a>, ApiError>> {
    let mut bytes = Vec::new();
    if declared > *MAX_EDIT {
        return Ok(Err(too_large()));
    }
    if !is_longer(&mut body, &mut bytes, LARGE_EDIT)? {
        return Ok(Ok((bytes, None)));
    }
    let room = match room_for(service, reader, *MAX_EDIT) {
        Ok(room) => room,
        Err(error) => return Ok(Err(error)),
    };
    bytes.reserve_exact(declared.saturating_sub(bytes.len()) + 1);
    if is_longer(&mut body, &mut bytes, *MAX_EDIT)? {
        return Ok(Err(too_large()));
    }
    Ok(Ok((bytes, Some(room))))
}

fn room_for<'a>(
    service: &'a Service,
    reader: &'a str,
    bytes: usize,
) -> Result<RowPermit<'a>, ApiError> {
    let room = service.rows.acquire(reader, bytes, &|| true);
    Ok(room?)
}

/// Reads on, up to one byte more than `most` in all; true if that byte exists.
fn is_longer(body: &mut impl Read, bytes: &mut Vec<u8>, most: usize) -> io::Result<bool> {
    let room = u64::try_from(most + 1 - bytes.len()).expect("a size in memory");
    body.take(room).read_to_end(bytes)?;
    Ok(bytes.len() > most)
}

fn too_large() -> ApiError {
    ApiError::too_large(format!(
        "the changes exceed {} MiB: apply fewer at once, or load a larger file with a statement",
        *MAX_EDIT >> 20
    ))
}

fn reader(service: &Service, request: &Request) -> String {
    let visitor = service.visitor(request);
    if visitor.is_empty() {
        request.peer().to_string()
    } else {
        visitor
    }
}

fn job(
    service: &Service,
    request: &Request,
    bytes: Vec<u8>,
    reader: String,
) -> Result<EditJob, EditFailed> {
    let body: Value = serde_json::from_slice(&bytes)
        .map_err(|error| EditFailed::bad_request(format!("malformed JSON: {error}")))?;
    drop(bytes);
    let Value::Object(members) = body else {
        return Err(EditFailed::bad_request("the body must be a JSON object"));
    };
    let mut fields = Fields::from_members(members);
    let changes = changes_of(fields.take("changes"));
    let (db, table) = (fields.required("db"), fields.required("table"));
    let (time_zone, query_id) = (
        fields.time_zone("time_zone"),
        fields.short("query_id", MAX_ID),
    );
    let is_review = fields.flag("review", false);
    let changes = changes.or_else(|(change, what)| match change {
        None => {
            fields.refuse(&what);
            Ok(Vec::new())
        }
        Some(change) => Err(wrong_change(change, &what)),
    })?;
    fields.done()?;
    Ok(EditJob {
        db,
        table,
        changes,
        time_zone,
        query_id,
        is_review,
        id: service.visitor(request),
        counted: service.counted(request),
        visitor: service.label(request),
        reader,
        uses: service.use_of(request),
    })
}

fn wrong_change(change: usize, what: &str) -> EditFailed {
    let what = format!("change {change}: {what}; nothing was written");
    EditFailed::bad_request(what).map(|members| Details {
        applied: Some(0),
        error: Some(EditError::of_request(change)),
        ..members
    })
}
