//! `POST /api/dump`: a database or some of its tables as SQL, a look at what that would be, or a ticket for the download.

use std::sync::Arc;

use super::params::Fields;
use super::query::job_of;
use crate::http::{Request, Response};
use crate::sqlweb::catalogue::identifier;
use crate::sqlweb::dump;
use crate::sqlweb::error::ApiError;
use crate::sqlweb::output::{Format, LazyStream, file_name};
use crate::sqlweb::query::{Download, DumpJob};
use crate::sqlweb::service::Service;

/// Answer that is asked for instead of the dump itself.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Answer {
    File,
    Ticket,
    Review,
}

/// Reads the request and answers it, on a thread of its own where the database is asked.
pub(crate) fn dump(service: &Arc<Service>, request: Request) {
    match read(service, &request) {
        Ok((dump, Answer::File)) => send(service, request, dump),
        Ok((dump, Answer::Review)) => {
            let shared = service.clone();
            service.spawn(request, move |request| review(&shared, request, &dump));
        }
        Ok((dump, Answer::Ticket)) => {
            let response = service.tickets.answer(Download::Dump(dump));
            request.respond(response);
        }
        Err(error) => request.respond(Response::error(&error)),
    }
}

fn read(service: &Service, request: &Request) -> Result<(DumpJob, Answer), ApiError> {
    let mut fields = Fields::of(request)?;
    let db = fields.required("db");
    let tables = fields.names("tables");
    let is_whole = tables.is_empty();
    let wanted = ["ticket", "review"].map(|name| fields.flag(name, false));
    if wanted == [true, true] {
        fields.refuse("'ticket' and 'review' cannot both be true");
    }
    let sql = match tables.as_slice() {
        [] => format!("DUMP {}", identifier(&db)),
        [table] => format!("DUMP {}.{}", identifier(&db), identifier(table)),
        tables => format!("DUMP {} tables of {}", tables.len(), identifier(&db)),
    };
    let dump = DumpJob {
        job: job_of(service, request, &mut fields, sql),
        tables,
        structure: fields.flag("structure", true),
        data: fields.flag("data", true),
        routines: fields.flag("routines", is_whole),
        triggers: fields.flag("triggers", true),
        events: fields.flag("events", is_whole),
        drop: fields.flag("drop", true),
        definers: fields.flag("definers", true),
        create_database: fields.flag("create_database", false),
    };
    fields.done()?;
    let answer = match wanted {
        [true, _] => Answer::Ticket,
        [_, true] => Answer::Review,
        _ => Answer::File,
    };
    Ok((dump, answer))
}

fn review(service: &Arc<Service>, request: Request, dump: &DumpJob) {
    let client = request.client().clone();
    let response = match dump::review(service, dump, &client) {
        Ok(found) => Response::ok(found),
        Err(error) => Response::error(&error),
    };
    request.respond(response);
}

/// Streams the dump on a thread of its own.
pub(super) fn send(service: &Arc<Service>, request: Request, dump: DumpJob) {
    let shared = service.clone();
    service.spawn(request, move |request| stream(&shared, request, &dump));
}

fn stream(service: &Arc<Service>, request: Request, dump: &DumpJob) {
    let client = request.client().clone();
    let name = match dump.tables.as_slice() {
        [table] => format!("{}.{table}", dump.db()),
        _ => dump.db().to_owned(),
    };
    let mut stream = LazyStream::new(request, Format::Sql.head(&file_name(&name)));
    match dump::dump(service, dump, &mut stream, &client) {
        Ok(()) => stream.finish(),
        Err(error) => {
            log::debug!("a dump failed with status {}", error.status);
            stream.fail(Response::error(&error));
        }
    }
}
