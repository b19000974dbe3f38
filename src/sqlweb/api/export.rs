//! `POST /api/export`, and `GET /api/export/{ticket}` for the download.

use std::sync::Arc;

use serde_json::json;

use super::params::Fields;
use super::query::job;
use crate::http::{ApiError, Method, Request, Response};
use crate::sqlweb::gate;
use crate::sqlweb::output::{ExportSink, Format, Layout, LazyStream};
use crate::sqlweb::query::{Export, execute};
use crate::sqlweb::service::Service;

/// Streams an export, or hands out a ticket for it.
pub(crate) fn export(service: &Arc<Service>, request: Request) {
    match read(service, &request) {
        Ok((export, false)) => send(service, request, export),
        Ok((export, true)) => {
            let response = match service.tickets.issue(export) {
                Ok(ticket) => Response::ok(json!({"ticket": ticket})),
                Err(error) => Response::error(&error),
            };
            request.respond(response);
        }
        Err(error) => request.respond(Response::error(&error)),
    }
}

/// `GET /api/export/{ticket}`: a ticket is good once, for the visitor it was given to.
pub(crate) fn redeem(service: &Arc<Service>, request: Request) {
    if *request.method() == Method::Head {
        // A statement whose rows nobody takes would run on, and the ticket would be gone.
        let refusal = ApiError::new(405, "a download is asked for by GET alone");
        return request.respond(Response::error(&refusal).header("Allow", "GET"));
    }
    let visitor = service.visitor(&request);
    let ticket = request.param("ticket");
    let ticket = ticket.expect("the route ends with the ticket");
    match service.tickets.take(ticket, &visitor) {
        Some(export) => send(service, request, export),
        None => request.respond(no_ticket()),
    }
}

fn no_ticket() -> Response {
    Response::error(&ApiError::not_found(
        "this download link was used already or is older than 60 s; start the export again",
    ))
}

fn read(service: &Service, request: &Request) -> Result<(Export, bool), ApiError> {
    let mut fields = Fields::of(request)?;
    let format = match fields.optional("format").as_deref() {
        None | Some("csv") => Format::Csv,
        Some("jsonl") => Format::Jsonl,
        Some(_) => {
            fields.refuse("'format' must be csv or jsonl");
            Format::Csv
        }
    };
    let export = Export {
        job: job(service, request, &mut fields),
        layout: Layout {
            format,
            header: fields.flag("header", true),
            bom: fields.flag("bom", false),
            null: fields.text("null").unwrap_or_default(),
        },
    };
    let ticket = fields.flag("ticket", false);
    fields.done()?;
    Ok((export, ticket))
}

fn send(service: &Arc<Service>, request: Request, export: Export) {
    let shared = service.clone();
    service.spawn(request, move |request| stream(&shared, request, &export));
}

/// Statements that never do, of those that do not pass the gate: for what they call, or since they write.
const ONE_SET: [&str; 8] = [
    "SELECT", "WITH", "TABLE", "VALUES", "INSERT", "REPLACE", "DELETE", "UPDATE",
];

/// Whether `sql` may return several result sets, as a procedure does. How many there are is known at its end.
fn has_several_sets(service: &Service, sql: &str) -> bool {
    match gate::check(sql, &service.info().dialect) {
        Ok(_) => false,
        Err(refusal) => {
            let is_query = refusal.statement.starts_with("function ");
            !is_query && !ONE_SET.contains(&refusal.statement.as_str())
        }
    }
}

fn stream(service: &Arc<Service>, request: Request, export: &Export) {
    let client = request.client().clone();
    let head = export.layout.head(export.job.db.as_deref());
    let mut stream = if has_several_sets(service, &export.job.sql) {
        LazyStream::held(request, head, &service.options.run_dir)
    } else {
        LazyStream::new(request, head)
    };
    let mut sink = ExportSink::new(&mut stream, &export.layout);
    let outcome = execute(service, &export.job, &mut sink, &client).and_then(|_| sink.finish());
    match outcome {
        Ok(()) => stream.finish(),
        Err(error) => {
            // Not the message: the server's texts hold values.
            log::debug!("an export failed with status {}", error.status);
            stream.fail(Response::error(&error));
        }
    }
}
