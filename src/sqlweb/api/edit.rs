//! `POST /api/edit`: rows of one table, changed, made and deleted in one transaction.

use std::io::{self, Read};
use std::sync::Arc;

use serde_json::{Value, json};

use super::error::api_error;
use super::params::Fields;
use crate::http::{ApiError, Request, Response};
use crate::sqlweb::conn::MAX_ID;
use crate::sqlweb::edit::{self, EditJob, changes_of};
use crate::sqlweb::limits::{EDIT_COUNTS, LARGE_EDIT, MAX_EDIT};
use crate::sqlweb::service::Service;

/// Reads the request and does what it asks for on a thread of its own.
pub(crate) fn edit(service: &Arc<Service>, request: Request) {
    let refused = may_edit(service).and_then(|()| request.must_be_json());
    if let Err(error) = refused {
        return request.respond(Response::error(&error));
    }
    let shared = service.clone();
    service.spawn(request, move |request| answer(&shared, request));
}

fn may_edit(service: &Service) -> Result<(), ApiError> {
    if !service.options.readonly {
        return Ok(());
    }
    Err(ApiError::forbidden(
        "read-only mode: rows cannot be edited, and nothing was sent (layer: server gate)",
    )
    .with("statement", "UPDATE")
    .with("layer", "gate"))
}

fn answer(service: &Arc<Service>, mut request: Request) {
    let Some(mut body) = request.take_stream() else {
        return; // answers itself
    };
    let reader = reader(service, &request);
    let client = request.client().clone();
    let mut bytes = Vec::new();
    let is_wanted = || true;
    let mut read = |most: usize| {
        let room = u64::try_from(most + 1 - bytes.len()).expect("a size in memory");
        (&mut body).take(room).read_to_end(&mut bytes)?;
        Ok::<_, io::Error>(bytes.len() > most)
    };
    let mut permit = None;
    let outcome = match read(LARGE_EDIT) {
        Err(error) => return log::debug!("an edit was broken off: {error}"),
        Ok(false) => Ok(()),
        Ok(true) => match service.rows.acquire(&reader, EDIT_COUNTS, &is_wanted) {
            Err(error) => Err(api_error(&error)),
            Ok(room) => {
                permit = Some(room);
                match read(MAX_EDIT) {
                    Err(error) => return log::debug!("an edit was broken off: {error}"),
                    Ok(true) => Err(too_large()),
                    Ok(false) => Ok(()),
                }
            }
        },
    };
    let outcome = outcome
        .and_then(|()| job(service, &request, bytes, reader.clone()))
        .and_then(|job| edit::edit(service, job, &client));
    let response = match outcome {
        Ok(body) => {
            Response::new(200, "application/json", body).header("Cache-Control", "no-store")
        }
        Err(error) => Response::error(&error),
    };
    request.respond(response);
    drop(permit);
}

fn too_large() -> ApiError {
    ApiError::too_large(format!(
        "the changes take more than {} MiB, the most at once: apply fewer, or load a larger file with a statement",
        MAX_EDIT >> 20
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
) -> Result<EditJob, ApiError> {
    let body: Value = serde_json::from_slice(&bytes)
        .map_err(|error| ApiError::bad_request(format!("malformed JSON: {error}")))?;
    drop(bytes);
    let Value::Object(members) = body else {
        return Err(ApiError::bad_request("the body must be a JSON object"));
    };
    let mut fields = Fields::from_members(members);
    let changes = changes_of(fields.take("changes"));
    let (db, table) = (fields.required("db"), fields.required("table"));
    let (time_zone, query_id) = (
        fields.time_zone("time_zone"),
        fields.short("query_id", MAX_ID),
    );
    let is_review = fields.flag("review", false);
    let changes = match changes {
        Ok(changes) => changes,
        Err((None, what)) => {
            fields.refuse(&what);
            Vec::new()
        }
        Err((Some(change), what)) => {
            let error = json!({"kind": "request", "change": change});
            return Err(ApiError::bad_request(format!("change {change}: {what}"))
                .with("error", error)
                .with("applied", 0));
        }
    };
    fields.done()?;
    Ok(EditJob {
        db,
        table,
        changes,
        time_zone,
        query_id,
        is_review,
        cookie: service.visitor(request),
        counted: service.counted(request),
        visitor: service.label(request),
        reader,
        uses: service.use_of(request),
    })
}
