//! One request, and who is there, as the API shows them.

use std::net::IpAddr;
use std::time::{Duration, SystemTime};

use serde::{Serialize, Serializer};

use crate::store::time::rfc3339;

/// Bytes of a method with its path that are kept. Default 200: a visitor may send 32 KiB.
pub(super) const MAX_SHOWN: usize = 200;

/// One request that was answered, or broke off.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RequestRecord {
    /// Counts the requests since the connection was made, from 1.
    pub(crate) n: u64,
    /// When it came.
    pub(crate) time: SystemTime,
    /// The visitor's address; none where nobody that is believed says it.
    pub(crate) source: Option<IpAddr>,
    /// `METHOD PATH`, without the query; one that is cut ends in `…`, which no path can.
    said: Box<str>,
    /// Status of the answer; 0 without one.
    pub(crate) status: u16,
    /// How long it took, in whole milliseconds.
    pub(crate) ms: u32,
    /// Sent to the visitor, the head included.
    pub(crate) bytes: u64,
}

impl RequestRecord {
    /// A request for `path`, which has no query, that began at `time`.
    pub(crate) fn new(
        (method, path): (&str, &str),
        source: Option<IpAddr>,
        (time, took): (SystemTime, Duration),
        (status, bytes): (u16, usize),
    ) -> RequestRecord {
        let whole = format!("{method} {path}");
        let said = match whole.get(..MAX_SHOWN) {
            Some(begin) if whole.len() > MAX_SHOWN => format!("{begin}…"),
            _ => whole,
        };
        RequestRecord {
            n: 0,
            time,
            source,
            said: said.into(),
            status,
            ms: u32::try_from(took.as_millis()).unwrap_or(u32::MAX),
            bytes: u64::try_from(bytes).unwrap_or(u64::MAX),
        }
    }

    /// The method.
    pub(crate) fn method(&self) -> &str {
        self.said
            .split_once(' ')
            .map_or(&*self.said, |(method, _)| method)
    }

    /// The path, without the query.
    pub(crate) fn path(&self) -> &str {
        self.said.split_once(' ').map_or("", |(_, path)| path)
    }
}

impl Serialize for RequestRecord {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Shown<'a> {
            n: u64,
            time: String,
            source: String,
            method: &'a str,
            path: &'a str,
            status: u16,
            ms: u32,
            bytes: u64,
        }
        let shown = Shown {
            n: self.n,
            time: rfc3339(self.time),
            source: self
                .source
                .map_or(String::new(), |source| source.to_string()),
            method: self.method(),
            path: self.path(),
            status: self.status,
            ms: self.ms,
            bytes: self.bytes,
        };
        shown.serialize(to)
    }
}

/// Unit in which visitors are counted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Counted {
    /// Visitors, by where they come from or by their sign-in.
    #[default]
    Visitors,
    /// Connections alone, of which a browser has several: nobody that is believed says whose they are.
    Connections,
}

/// Current visitors.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub(crate) struct Visitors {
    /// Unit of `now` and `total`.
    pub(crate) counts: Counted,
    /// Those who are there now.
    pub(crate) now: u64,
    /// All since the connection was made.
    pub(crate) total: u64,
    /// When something was last asked for: RFC 3339.
    pub(crate) last_at: Option<String>,
    /// Requests since the connection was made; of what does not speak HTTP, connections.
    pub(crate) requests: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_small_whatever_was_sent() {
        let path = format!("/{}", "a".repeat(30_000));
        let times = (SystemTime::UNIX_EPOCH, Duration::from_millis(7));
        let record = RequestRecord::new(("GET", &path), None, times, (200, 12));
        assert!(record.path().ends_with("a…") && record.said.len() < MAX_SHOWN + 8);
        let shown = serde_json::to_value(&record).unwrap();
        assert_eq!((&shown["method"], &shown["ms"]), (&"GET".into(), &7.into()));
        assert_eq!((&shown["source"], &shown["n"]), (&"".into(), &0.into()));
        assert_eq!(shown["time"], "1970-01-01T00:00:00Z");
    }
}
