//! The requests of an application's visitors through its gateway, its current visitors, and its audit log.
//!
//! Records are in memory and bounded: a visitor cannot make one larger than `MAX_SHOWN` allows. They contain no query,
//! header, cookie or code.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use serde::{Serialize, Serializer};

use super::apps::app::AppConfig;
use crate::gateway::{RequestStats, shown};
use crate::http::{
    self, ActivityLog, Numbered, Record, Sink, VisitorCount, VisitorPresence, VisitorTable,
};
use crate::store::time::serialize_rfc3339;
use crate::store::{AuditFiles, AuditSets};
use crate::sync::Changes;

/// Bytes of a method with its path that are kept. Default 200: a visitor may send 32 KiB.
const MAX_SHOWN: usize = 200;

/// A request that was answered, or broke off.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "Request"))]
pub(crate) struct RequestRecord {
    /// Begin of the request, RFC 3339.
    #[serde(serialize_with = "serialize_rfc3339")]
    #[cfg_attr(test, schemars(with = "String"))]
    time: SystemTime,
    /// The visitor's address; empty if no trusted source names it.
    #[serde(serialize_with = "serialize_source")]
    #[cfg_attr(test, schemars(with = "String"))]
    source: Option<IpAddr>,
    /// Method of the request.
    method: Box<str>,
    /// Path without the query; a shortened one ends in `…`, which no path can.
    path: Box<str>,
    /// Status of the answer; 0 if none was sent.
    status: u16,
    /// Duration in whole milliseconds.
    ms: u64,
    /// Bytes sent to the visitor, including the head.
    bytes: u64,
}

impl RequestRecord {
    /// A request for `path`, which has no query, that began at `time`.
    pub(crate) fn new(
        method: &str,
        path: &str,
        source: Option<IpAddr>,
        time: SystemTime,
        took: Duration,
        status: u16,
        bytes: u64,
    ) -> RequestRecord {
        let method = shown(method, MAX_SHOWN);
        let path = shown(path, MAX_SHOWN.saturating_sub(method.len()));
        RequestRecord {
            time,
            source,
            method: method.into(),
            path: path.into(),
            status,
            ms: u64::try_from(took.as_millis()).unwrap_or(u64::MAX),
            bytes,
        }
    }
}

impl Record for RequestRecord {
    const NAME: &'static str = "request";
    /// Default 500, some 100 KiB.
    const MOST: usize = crate::limits::REQUEST_LOG;
}

fn serialize_source<S: Serializer>(source: &Option<IpAddr>, to: S) -> Result<S::Ok, S::Error> {
    let source = source.map(|source| source.to_string());
    to.serialize_str(&source.unwrap_or_default())
}

/// Requests and current visitors of a connection.
#[derive(Default)]
pub(crate) struct RequestLog {
    /// The requests that have come to an end.
    pub(crate) records: ActivityLog<RequestRecord>,
    /// Counters since the connection was made.
    pub(crate) stats: Arc<RequestStats>,
    visitors: Arc<VisitorTable<IpAddr>>,
}

impl RequestLog {
    /// Returns a log that notifies `changes` of each visitor and request, numbered after `before`.
    pub(crate) fn notifying(changes: &Arc<Changes>, before: u64) -> Self {
        Self {
            records: ActivityLog::notifying(Arc::clone(changes), before),
            stats: Arc::default(),
            visitors: Arc::new(VisitorTable::notifying(Arc::clone(changes))),
        }
    }

    /// Notes that a visitor asks at this time; [`RequestLog::note`] follows at the end of the request.
    pub(crate) fn begin(&self, time: SystemTime) {
        self.visitors.count_request(time);
    }

    /// Notes a request.
    pub(crate) fn note(&self, record: RequestRecord) {
        let took = Duration::from_millis(record.ms);
        self.stats.note(record.status, took);
        self.records.add(record);
    }

    /// Keeps the visitor from `source` present in `presence`, or in a new one. A network that a single host may use
    /// counts as one visitor.
    pub(crate) fn keep_present(
        &self,
        presence: &mut Option<VisitorPresence<IpAddr>>,
        source: Option<IpAddr>,
    ) {
        let visitor = source.map(http::source);
        match presence {
            Some(presence) => presence.set_visitor(visitor),
            None => *presence = Some(VisitorPresence::new(&self.visitors, visitor)),
        }
    }

    /// Returns the current visitors, with the number of requests that have come to an end.
    pub(crate) fn visitors(&self) -> VisitorCount {
        VisitorCount {
            requests: self.records.count(),
            ..self.visitors.count(Duration::ZERO)
        }
    }
}

/// Audit log of an application.
pub(super) struct AppAudit {
    files: Arc<AuditFiles>,
    id: String,
    name: String,
}

#[derive(Serialize)]
struct Line<'a, T> {
    what: &'static str,
    application: &'a str,
    name: &'a str,
    #[serde(flatten)]
    record: &'a T,
}

impl AppAudit {
    /// Returns the audit log of `app`; none if it has none.
    pub(super) fn of(app: &AppConfig, files: &AuditSets) -> Option<Arc<Self>> {
        app.audit.then(|| {
            Arc::new(Self {
                files: files.of(&app.id),
                id: app.id.clone(),
                name: app.name.clone(),
            })
        })
    }
}

impl<R: Record + Serialize> Sink<R> for AppAudit {
    fn write(&self, record: &Numbered<R>) {
        self.files.write(&Line {
            what: R::NAME,
            application: &self.id,
            name: &self.name,
            record,
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(path: &str) -> RequestRecord {
        let took = Duration::from_millis(7);
        RequestRecord::new("GET", path, None, SystemTime::UNIX_EPOCH, took, 200, 12)
    }

    #[test]
    fn a_request_is_small_whatever_was_sent() {
        let record = record(&format!("/{}", "a".repeat(30_000)));
        assert!(record.path.ends_with("a…") && record.path.len() < MAX_SHOWN + 8);
        let shown = serde_json::to_value(&record).unwrap();
        assert_eq!((&shown["method"], &shown["ms"]), (&"GET".into(), &7.into()));
        assert_eq!(shown["source"], "");
        assert_eq!(shown["time"], "1970-01-01T00:00:00Z");
    }

    #[test]
    fn requests_are_numbered_and_counted() {
        let log = RequestLog::default();
        for n in 1..=510 {
            log.note(record(&format!("/{n}")));
        }
        let (last, all) = log.records.after(0);
        assert_eq!((last, all.len()), (510, RequestRecord::MOST));
        assert_eq!((all[0].n, &*all[0].record.path), (11, "/11"));
        assert_eq!(log.visitors().requests, 510);
        let classes = log.stats.classes();
        assert_eq!((classes[2], classes[4]), (("2xx", 510), ("4xx", 0)));
        let json = serde_json::to_string(&all[0]).unwrap();
        let form = r#"{"n":11,"time":"1970-01-01T00:00:00Z","source":"","method":"GET","path":"/11","status":200,"#;
        assert_eq!(json, format!(r#"{form}"ms":7,"bytes":12}}"#));
    }

    #[test]
    fn visitors_are_counted_by_network() {
        let log = RequestLog::default();
        let ip = |text: &str| Some(text.parse().unwrap());
        let mut presence = None;
        for source in ["192.0.2.1", "2001:db8::1", "2001:db8::2"] {
            log.keep_present(&mut presence, ip(source));
        }
        let count = log.visitors();
        assert_eq!((count.now, count.total), (1, 2));
        drop(presence);
        assert_eq!(log.visitors().now, 0);
    }
}
