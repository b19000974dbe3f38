//! `POST /api/export`, and `GET /api/export/{ticket}` for the download.

use std::sync::Arc;

use super::dump;
use super::params::Fields;
use super::query::job;
use crate::http::{Method, Request, Response};
use crate::sqlweb::error::ApiError;
use crate::sqlweb::gate;
use crate::sqlweb::output::{ExportSink, Format, Layout, LazyStream, file_name};
use crate::sqlweb::query::{Download, Export, TimeZone, execute};
use crate::sqlweb::service::Service;

/// Streams an export, or hands out a ticket for it.
pub(crate) fn export(service: &Arc<Service>, request: Request) {
    match read(service, &request) {
        Ok((export, false)) => send(service, request, export),
        Ok((export, true)) => {
            let response = service.tickets.answer(Download::Export(export));
            request.respond(response);
        }
        Err(error) => request.respond(Response::error(&error)),
    }
}

/// `GET /api/export/{ticket}`: a ticket is good once, for the visitor it was given to.
pub(crate) fn redeem(service: &Arc<Service>, request: Request) {
    if *request.method() == Method::Head {
        // A statement whose rows nobody takes would run on, and the ticket would be gone.
        let refusal = ApiError::new(405, "downloads use GET only");
        return request.respond(Response::error(&refusal).header("Allow", "GET"));
    }
    let visitor = service.visitor(&request);
    let ticket = request.param("ticket");
    let ticket = ticket.expect("the route ends with the ticket");
    match service.tickets.take(ticket, &visitor) {
        Some(Download::Export(export)) => send(service, request, export),
        Some(Download::Dump(asked)) => dump::send(service, request, asked),
        None => request.respond(no_ticket()),
    }
}

fn no_ticket() -> Response {
    Response::error(&ApiError::not_found(
        "this download link has already been used or is older than 60 s; start the download again",
    ))
}

fn read(service: &Service, request: &Request) -> Result<(Export, bool), ApiError> {
    let mut fields = Fields::of(request)?;
    let format = match fields.optional("format") {
        None => Format::Csv,
        Some(name) => Format::named(&name).unwrap_or_else(|| {
            fields.refuse("'format' must be csv, jsonl, json or insert");
            Format::Csv
        }),
    };
    let job = job(service, request, &mut fields);
    let table = fields.optional("table");
    let layout = Layout {
        format,
        name: name(&mut fields, job.db.as_deref(), table.as_deref()),
        header: fields.flag("header", true),
        bom: fields.flag("bom", false),
        null: fields.text("null").unwrap_or_default(),
        table,
        leave_out: fields.names("leave_out"),
        nested: fields.names("nested"),
    };
    let export = Export { job, layout };
    let ticket = fields.flag("ticket", false);
    fields.done()?;
    Ok((export, ticket))
}

/// Name of the file: as was asked, else after the table or the database.
fn name(fields: &mut Fields, db: Option<&str>, table: Option<&str>) -> String {
    let asked = fields.optional("name");
    let of = [db, table].into_iter().flatten().collect::<Vec<_>>();
    file_name(&asked.unwrap_or_else(|| of.join(".")))
}

fn send(service: &Arc<Service>, request: Request, export: Export) {
    let shared = service.clone();
    service.spawn(request, move |request| stream(&shared, request, &export));
}

/// Statements that never do, of those that do not pass the gate: for what they call, or since they write.
const ONE_SET: [&str; 8] = [
    "SELECT", "WITH", "TABLE", "VALUES", "INSERT", "REPLACE", "DELETE", "UPDATE",
];

/// True if `sql` may return several result sets, as a procedure does. How many there are is known at its end.
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
    let head = export.layout.head();
    let mut stream = if has_several_sets(service, &export.job.sql) {
        LazyStream::held(request, head, &service.options.run_dir)
    } else {
        LazyStream::new(request, head)
    };
    let zone = export.job.time_zone.as_ref().map(TimeZone::assignment);
    let mut sink = ExportSink::new(&mut stream, &export.layout, zone);
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
