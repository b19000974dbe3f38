//! `POST /api/export` and the tickets by which a browser downloads an export by itself.

use crate::sync::{Mutex, MutexGuard};
use std::collections::HashMap;
use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

use mysql::{Column, Row, Value as Cell};
use serde_json::json;

use super::cells::{self, Kind, Record};
use super::execute::{Job, execute};
use super::lazy::LazyStream;
use super::out::Out;
use super::params::Fields;
use super::query::job;
use super::service::Service;
use super::statement::{Done, Flow, RowSink};
use crate::http::{ApiError, Method, Request, Response, ResponseHead};
use crate::store::random;

/// How long a ticket can be redeemed.
const TICKET_TIME: Duration = Duration::from_secs(60);

/// Tickets that may wait at once.
const MAX_TICKETS: usize = 100;

/// Bytes of all statements that wait for their download: four of the largest.
const MAX_WAITING: usize = 16 << 20;

/// One export as asked for.
pub(crate) struct Export {
    job: Job,
    format: Format,
    header: bool,
    bom: bool,
    null: String,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Format {
    Csv,
    Jsonl,
}

/// Exports that wait for their download.
#[derive(Default)]
pub(crate) struct Tickets(Mutex<HashMap<String, (Export, Instant)>>);

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
    let ticket = request.param("ticket").unwrap_or_default();
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
        format,
        header: fields.flag("header", true),
        bom: fields.flag("bom", false),
        null: fields.text("null").unwrap_or_default(),
    };
    let ticket = fields.flag("ticket", false);
    fields.done()?;
    Ok((export, ticket))
}

fn send(service: &Arc<Service>, request: Request, export: Export) {
    let at_work = service.clone();
    service.apart(request, move |request| stream(&at_work, request, &export));
}

fn stream(service: &Arc<Service>, request: Request, export: &Export) {
    let client = request.client().clone();
    let mut stream = LazyStream::new(request, export.head());
    let mut sink = ExportSink::new(&mut stream, export);
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

impl Export {
    /// Bytes that it holds while it waits.
    fn size(&self) -> usize {
        let db = self.job.db.as_ref().map_or(0, String::len);
        self.job.sql.len() + db + self.null.len()
    }

    fn head(&self) -> ResponseHead {
        let (kind, extension) = match self.format {
            Format::Csv => ("text/csv; charset=utf-8", "csv"),
            Format::Jsonl => ("application/x-ndjson", "jsonl"),
        };
        let name: String = self
            .job
            .db
            .as_deref()
            .unwrap_or("export")
            .chars()
            .map(|c| if c.is_ascii_alphanumeric() { c } else { '_' })
            .take(64)
            .collect();
        ResponseHead::new(200)
            .header("Content-Type", kind)
            .header(
                "Content-Disposition",
                format!("attachment; filename=\"{name}.{extension}\""),
            )
            .header("Cache-Control", "no-store")
    }
}

impl Tickets {
    fn issue(&self, export: Export) -> Result<String, ApiError> {
        let ticket = random::token();
        self.expire();
        let mut waiting = self.lock();
        let bytes: usize = waiting.values().map(|(waiting, _)| waiting.size()).sum();
        if waiting.len() >= MAX_TICKETS || bytes.saturating_add(export.size()) > MAX_WAITING {
            return Err(ApiError::too_many(format!(
                "{} exports wait for their download already; try again in a minute",
                waiting.len()
            )));
        }
        waiting.insert(ticket.clone(), (export, Instant::now()));
        Ok(ticket)
    }

    fn take(&self, ticket: &str, visitor: &str) -> Option<Export> {
        let mut waiting = self.lock();
        let (export, since) = waiting.get(ticket)?;
        if export.job.owner.visitor != visitor || since.elapsed() >= TICKET_TIME {
            return None;
        }
        waiting.remove(ticket).map(|(export, _)| export)
    }

    /// Forgets the exports that nobody came for.
    pub(crate) fn expire(&self) {
        self.lock()
            .retain(|_, (_, since)| since.elapsed() < TICKET_TIME);
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, (Export, Instant)>> {
        self.0.lock()
    }
}

/// Writes the first result set as CSV or JSON lines.
struct ExportSink<'a> {
    out: Out<'a>,
    export: &'a Export,
    record: Record,
    sets: usize,
}

impl<'a> ExportSink<'a> {
    fn new(target: &'a mut LazyStream, export: &'a Export) -> Self {
        Self {
            out: Out::new(target),
            export,
            record: Record::default(),
            sets: 0,
        }
    }

    fn finish(mut self) -> Result<(), ApiError> {
        if self.sets == 0 {
            return Err(ApiError::bad_request(
                "the statement ran and returned no rows to export; export a statement that returns rows",
            ));
        }
        // An empty result without a header is an answer too, whose head must be sent.
        self.out
            .write_head()
            .and_then(|()| self.out.flush())
            .map_err(|error| {
                ApiError::internal(format!("the client could not be written to: {error}"))
            })
    }

    fn csv_header(&mut self) -> io::Result<()> {
        if self.export.bom {
            self.out.push("\u{feff}".as_bytes());
        }
        if !self.export.header {
            return Ok(());
        }
        for (i, name) in self.record.names.iter().enumerate() {
            if i > 0 {
                self.out.push(b",");
            }
            cells::csv_text(&mut self.out, name.as_bytes())?;
        }
        self.out.push(b"\r\n");
        Ok(())
    }

    fn csv_row(&mut self, row: &Row) -> io::Result<()> {
        for (i, kind) in self.record.kinds.iter().enumerate() {
            if i > 0 {
                self.out.push(b",");
            }
            match (row.as_ref(i), kind) {
                (Some(Cell::Bytes(bytes)), Kind::Hex | Kind::BitDigits(_)) => {
                    cells::binary(&mut self.out, *kind, bytes)?;
                }
                (Some(Cell::Bytes(bytes)), _) => cells::csv_text(&mut self.out, bytes)?,
                _ => self.out.push(self.export.null.as_bytes()),
            }
        }
        self.out.push(b"\r\n");
        Ok(())
    }
}

impl RowSink for ExportSink<'_> {
    fn begin(&mut self, columns: &[Column]) -> io::Result<()> {
        self.sets += 1;
        if self.sets > 1 {
            // One file cannot hold two tables; the transfer is broken off rather than cut short in silence.
            return Err(io::Error::other(
                "the statement returned several result sets; an export takes one",
            ));
        }
        self.record = Record::of(columns);
        match self.export.format {
            Format::Csv => self.csv_header(),
            Format::Jsonl => Ok(()),
        }
    }

    fn row(&mut self, row: &Row) -> io::Result<Flow> {
        match self.export.format {
            Format::Csv => self.csv_row(row)?,
            Format::Jsonl => {
                self.record.json(&mut self.out, row)?;
                self.out.push(b"\n");
            }
        }
        self.out.flush_if_due()?;
        Ok(Flow::Continue)
    }

    fn end(&mut self, _truncated: bool) -> io::Result<()> {
        Ok(())
    }

    fn done(&mut self, _done: Done) {}
}

#[cfg(test)]
mod tests {
    use super::super::running::Owner;
    use super::*;

    fn export(sql: usize) -> Export {
        Export {
            job: Job {
                reader: String::new(),
                sql: "x".repeat(sql),
                db: None,
                query_id: None,
                owner: Owner::default(),
            },
            format: Format::Csv,
            header: true,
            bom: false,
            null: String::new(),
        }
    }

    #[test]
    fn waiting_exports_are_bounded_by_number_and_bytes() {
        let tickets = Tickets::default();
        let first = tickets.issue(export(MAX_WAITING - 1)).unwrap();
        assert_eq!(tickets.issue(export(2)).unwrap_err().status, 429);
        assert!(tickets.issue(export(1)).is_ok());
        assert!(tickets.take(&first, "another visitor").is_none());
        assert!(tickets.take(&first, "").is_some());
        assert!(tickets.take(&first, "").is_none());
        let more = (0..MAX_TICKETS).filter(|_| tickets.issue(export(1)).is_ok());
        assert_eq!(more.count(), MAX_TICKETS - 1);
    }

    #[test]
    fn an_export_that_nobody_came_for_is_forgotten() {
        let tickets = Tickets::default();
        let ticket = tickets.issue(export(1)).unwrap();
        let long_ago = Instant::now().checked_sub(TICKET_TIME).unwrap();
        tickets.lock().get_mut(&ticket).unwrap().1 = long_ago;
        assert!(tickets.take(&ticket, "").is_none());
        tickets.expire();
        assert!(tickets.lock().is_empty());
    }
}
