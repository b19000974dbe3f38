//! `POST /api/export` and `POST /api/dump`, and `GET /api/export/{ticket}`, which downloads either of them.

use std::sync::Arc;

use super::params::Fields;
use super::query::{job, job_of};
use crate::http::{Method, Request, Response};
use crate::sqlweb::catalogue::identifier;
use crate::sqlweb::error::ApiError;
use crate::sqlweb::output::{ExportSink, Format, Layout, LazyStream, file_name};
use crate::sqlweb::query::{Download, DumpJob, Export, TimeZone, execute, no_accounts};
use crate::sqlweb::service::Service;
use crate::sqlweb::{dump, gate};

/// Statements that return at most one result set, though the gate refuses them for a call or because they write.
const ONE_SET: [&str; 8] = [
    "SELECT", "WITH", "TABLE", "VALUES", "INSERT", "REPLACE", "DELETE", "UPDATE",
];

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

/// `GET /api/export/{ticket}`: a ticket is valid once, for the visitor it was given to.
pub(crate) fn redeem(service: &Arc<Service>, request: Request) {
    if *request.method() == Method::Head {
        // It would use up the ticket and run a statement whose rows nobody takes.
        let refusal = ApiError::new(405, "downloads use GET only");
        return request.respond(Response::error(&refusal).header("Allow", "GET"));
    }
    let visitor = service.visitor(&request);
    let ticket = request.param("ticket");
    let ticket = ticket.expect("the route ends with the ticket");
    match service.tickets.take(ticket, &visitor) {
        Some(Download::Export(export)) => send(service, request, export),
        Some(Download::Dump(asked)) => send_dump(service, request, asked),
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
    let null = fields.text("null").unwrap_or_default();
    let (delimiter, has_decimal_comma) = csv_signs(&mut fields);
    if format == Format::Csv
        && null
            .bytes()
            .any(|byte| b"\"\r\n".contains(&byte) || byte == delimiter)
    {
        fields.refuse("'null' must not contain the delimiter, a quote or a line end");
    }
    let layout = Layout {
        format,
        name: name(&mut fields, job.db.as_deref(), table.as_deref()),
        header: fields.flag("header", true),
        bom: fields.flag("bom", false),
        null,
        delimiter,
        has_decimal_comma,
        table,
        leave_out: fields.names("leave_out"),
        nested: fields.names("nested"),
    };
    let export = Export { job, layout };
    let ticket = fields.flag("ticket", false);
    fields.refuse_others();
    fields.done()?;
    Ok((export, ticket))
}

/// The delimiter, and true for a decimal comma.
fn csv_signs(fields: &mut Fields) -> (u8, bool) {
    let delimiter = match fields.text("delimiter").as_deref() {
        None | Some(",") => b',',
        Some(";") => b';',
        Some("tab") => b'\t',
        Some(_) => {
            fields.refuse("'delimiter' must be ',', ';' or 'tab'");
            b'\t'
        }
    };
    let has_decimal_comma = match fields.text("decimal").as_deref() {
        None | Some(".") => false,
        Some(",") => true,
        Some(_) => {
            fields.refuse("'decimal' must be '.' or ','");
            false
        }
    };
    if has_decimal_comma && delimiter == b',' {
        fields.refuse(
            "'delimiter' and 'decimal' cannot both be ','; set 'delimiter' to ';' or 'tab'",
        );
    }
    (delimiter, has_decimal_comma)
}

/// Name of the file: the requested one, or by default that of the table or database.
fn name(fields: &mut Fields, db: Option<&str>, table: Option<&str>) -> String {
    let asked = fields.optional("name");
    let of = [db, table].into_iter().flatten().collect::<Vec<_>>();
    file_name(&asked.unwrap_or_else(|| of.join(".")))
}

fn send(service: &Arc<Service>, request: Request, export: Export) {
    let shared = service.clone();
    service.spawn(request, move |request| stream(&shared, request, &export));
}

/// True if `sql` may return several result sets, as a procedure does; their number is known only at its end.
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
            // Without the message, since the server's texts contain values.
            log::debug!("an export failed with status {}", error.status);
            stream.fail(Response::error(&error));
        }
    }
}

/// Requested form of the answer to a dump.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Answer {
    File,
    Ticket,
    Review,
}

/// Streams a dump, hands out a ticket for it, or answers with its contents.
pub(crate) fn dump(service: &Arc<Service>, request: Request) {
    match read_dump(service, &request) {
        Ok((dump, Answer::File)) => send_dump(service, request, dump),
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

fn read_dump(service: &Service, request: &Request) -> Result<(DumpJob, Answer), ApiError> {
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
    fields.refuse_others();
    fields.done()?;
    if service.has_visitors() && db.eq_ignore_ascii_case(gate::OF_ACCOUNTS) {
        return Err(no_accounts("a dump of the database mysql", "DUMP"));
    }
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

fn send_dump(service: &Arc<Service>, request: Request, dump: DumpJob) {
    let shared = service.clone();
    service.spawn(request, move |request| stream_dump(&shared, request, &dump));
}

fn stream_dump(service: &Arc<Service>, request: Request, dump: &DumpJob) {
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
