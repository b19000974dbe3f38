//! Tickets with which a browser downloads an export or a dump by itself.

use std::collections::HashMap;
use std::time::{Duration, Instant};

#[cfg(test)]
use schemars::JsonSchema;
use serde::Serialize;

use super::job::{DumpJob, Job};
use crate::http::Response;
use crate::sqlweb::error::ApiError;
use crate::sqlweb::limits::DOWNLOADS_OF_ONE;
use crate::sqlweb::output::Layout;
use crate::store::random;
use crate::sync::{Mutex, MutexGuard, Permit};

/// Time that a ticket can be redeemed.
const TICKET_TIME: Duration = crate::limits::DOWNLOAD_WAIT;

/// Maximum number of waiting tickets.
const MAX_TICKETS: usize = 100;

/// Maximum bytes of all waiting statements: four of the largest.
const MAX_WAITING: usize = 16 << 20;

/// One requested export.
pub(crate) struct Export {
    /// The statement.
    pub(crate) job: Job,
    /// Layout of its file.
    pub(crate) layout: Layout,
}

/// Permission for one download.
#[derive(Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub(crate) struct Ticket {
    /// Redeemed by `GET /api/export/{ticket}`, once, within 60 s.
    ticket: String,
}

/// Subject of a download.
pub(crate) enum Download {
    /// The rows of a statement.
    Export(Export),
    /// Tables or a database as SQL.
    Dump(DumpJob),
}

impl Download {
    fn job(&self) -> &Job {
        match self {
            Self::Export(export) => &export.job,
            Self::Dump(dump) => &dump.job,
        }
    }

    /// Approximate bytes of memory while it waits.
    fn size(&self) -> usize {
        match self {
            Self::Export(export) => export.size(),
            Self::Dump(dump) => dump.size(),
        }
    }
}

/// Downloads that wait to be fetched.
#[derive(Default)]
pub(crate) struct Tickets(Mutex<HashMap<String, WaitingDownload>>);

/// A waiting download, its start, and its permit among the visitor's, if visitors are counted.
type WaitingDownload = (Download, Instant, Option<Permit>);

impl Export {
    fn size(&self) -> usize {
        let db = self.job.db.as_ref().map_or(0, String::len);
        let Layout {
            null,
            name,
            table,
            leave_out,
            nested,
            ..
        } = &self.layout;
        let table = table.as_ref().map_or(0, String::len);
        let lists = leave_out.iter().chain(nested).map(|one| one.len() + 24);
        self.job.sql.len() + db + null.len() + name.len() + table + lists.sum::<usize>()
    }
}

impl Tickets {
    /// Issues a ticket for the download; status 429 if too many or too large ones wait.
    fn issue(&self, download: Download) -> Result<String, ApiError> {
        let ticket = random::token();
        self.expire();
        let uses = download.job().uses.as_ref();
        let of_visitor = uses.map(|uses| uses.downloads.take(DOWNLOADS_OF_ONE));
        if matches!(of_visitor, Some(None)) {
            return Err(ApiError::too_many(format!(
                "you have {DOWNLOADS_OF_ONE} downloads waiting; fetch them, or try again in a minute"
            )));
        }
        let mut waiting = self.lock();
        let bytes: usize = waiting.values().map(|(waiting, ..)| waiting.size()).sum();
        if waiting.len() >= MAX_TICKETS || bytes.saturating_add(download.size()) > MAX_WAITING {
            return Err(ApiError::too_many(format!(
                "{} downloads are already waiting; try again in a minute",
                waiting.len()
            )));
        }
        waiting.insert(
            ticket.clone(),
            (download, Instant::now(), of_visitor.flatten()),
        );
        Ok(ticket)
    }

    /// Answer with a ticket for the download.
    pub(crate) fn answer(&self, download: Download) -> Response {
        match self.issue(download) {
            Ok(ticket) => Response::ok(Ticket { ticket }),
            Err(error) => Response::error(&error),
        }
    }

    /// Takes the download of a ticket, once, for the visitor it was given to.
    pub(crate) fn take(&self, ticket: &str, visitor: &str) -> Option<Download> {
        let mut waiting = self.lock();
        let (download, since, _) = waiting.get(ticket)?;
        if download.job().owner.visitor != visitor || since.elapsed() >= TICKET_TIME {
            return None;
        }
        waiting.remove(ticket).map(|(download, ..)| download)
    }

    /// Removes downloads that were not fetched in time.
    pub(crate) fn expire(&self) {
        self.lock()
            .retain(|_, (_, since, _)| since.elapsed() < TICKET_TIME);
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, WaitingDownload>> {
        self.0.lock()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sqlweb::conn::StatementOwner;
    use crate::sqlweb::output::Format;
    use crate::sqlweb::query::TextOrigin;
    use crate::sqlweb::visitors::Use;

    fn export(sql: usize) -> Download {
        Download::Export(Export {
            job: Job {
                origin: TextOrigin::Request,
                is_delimited: false,
                reader: String::new(),
                uses: None,
                was_refused: std::cell::Cell::default(),
                visitor: String::new(),
                sql: "x".repeat(sql),
                raw: None,
                db: None,
                time_zone: None,
                query_id: None,
                owner: StatementOwner::default(),
            },
            layout: Layout {
                format: Format::Csv,
                header: true,
                bom: false,
                null: String::new(),
                delimiter: b',',
                has_decimal_comma: false,
                name: String::new(),
                table: None,
                leave_out: Vec::new(),
                nested: Vec::new(),
            },
        })
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
    fn one_visitor_leaves_downloads_to_the_others() {
        let tickets = Tickets::default();
        let of = |uses: &Use| {
            let mut download = export(1);
            if let Download::Export(export) = &mut download {
                export.job.uses = Some(uses.clone());
            }
            tickets.issue(download)
        };
        let (one, other) = (Use::default(), Use::default());
        let first = of(&one).unwrap();
        for _ in 1..DOWNLOADS_OF_ONE {
            assert!(of(&one).is_ok());
        }
        assert_eq!(of(&one).unwrap_err().status, 429);
        assert!(of(&other).is_ok());
        assert!(tickets.take(&first, "").is_some());
        assert!(of(&one).is_ok());
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
