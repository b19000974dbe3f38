//! Counters of a gateway's requests, a few atomics each without a lock, and the access log. The log limits the length
//! of a line and, per minute, the lines of requests that fail: no visitor fills the disk with them.

use std::borrow::Cow;
use std::fmt;
use std::net::IpAddr;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use crate::http::metrics::{Histogram, Tally};
use crate::sync::LogLimiter;

/// Classes of answers: by the first digit of the status, 0 where the visitor was told nothing.
const CLASSES: [&str; 6] = ["none", "1xx", "2xx", "3xx", "4xx", "5xx"];
/// The status of a connection that goes on as another protocol's (RFC 9110 section 15.2.2).
const SWITCHING: u16 = 101;
/// Bytes of a path that are shown. Default 500: a visitor may send 32 KiB. Methods, sites and addresses
/// are short where they come from.
const SHOWN_PATH: usize = 500;

/// Reason that a gateway answered in place of an application, or that an answer was not whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Cause {
    BadRequest,
    BrokenOff,
    Changed,
    CodeAsked,
    ConnectorBusy,
    Ended,
    Loop,
    NotAllowed,
    RelayBusy,
    SourceBusy,
    TargetDown,
    Timeout,
    TooManyCodes,
    TunnelDown,
    UnknownSite,
    WrongCode,
    WrongPort,
}

/// All causes with their names outside.
const CAUSES: [(Cause, &str); 17] = [
    (Cause::BadRequest, "bad_request"),
    (Cause::BrokenOff, "broken_off"),
    (Cause::Changed, "changed"),
    (Cause::CodeAsked, "code_asked"),
    (Cause::ConnectorBusy, "connector_busy"),
    (Cause::Ended, "ended"),
    (Cause::Loop, "loop"),
    (Cause::NotAllowed, "not_allowed"),
    (Cause::RelayBusy, "relay_busy"),
    (Cause::SourceBusy, "source_busy"),
    (Cause::TargetDown, "target_down"),
    (Cause::Timeout, "timeout"),
    (Cause::TooManyCodes, "too_many_codes"),
    (Cause::TunnelDown, "tunnel_down"),
    (Cause::UnknownSite, "unknown_site"),
    (Cause::WrongCode, "wrong_code"),
    (Cause::WrongPort, "wrong_port"),
];

/// Reasons of refusals before the destination was known.
const EARLY: [&str; 5] = [
    "malformed",
    "misdirected",
    "no_room",
    "too_large",
    "too_slow",
];

fn early(status: u16) -> &'static str {
    match status {
        408 => "too_slow",
        413 | 414 | 431 => "too_large",
        421 => "misdirected",
        503 => "no_room",
        _ => "malformed",
    }
}

impl Cause {
    /// Returns the usual cause of this status.
    pub(super) fn of(status: u16) -> Cause {
        match status {
            404 => Cause::UnknownSite,
            410 => Cause::Ended,
            421 => Cause::WrongPort,
            502 => Cause::TargetDown,
            503 => Cause::RelayBusy,
            504 => Cause::Timeout,
            508 => Cause::Loop,
            _ => Cause::BadRequest,
        }
    }
}

/// Counters since the gateway was made.
#[derive(Debug, Default)]
pub(crate) struct RequestStats {
    classes: Tally<{ CLASSES.len() }>,
    causes: Tally<{ CAUSES.len() }>,
    /// From a request's head to the first byte of its application's answer that the visitor took.
    pub(crate) first_byte: Histogram,
    /// From a request's head to the end of its answer; not of connections that go on as another protocol's.
    pub(crate) whole: Histogram,
    /// Connections that are open, those for the server's own names among them.
    pub(crate) open: AtomicU64,
    /// Connections that were accepted.
    pub(crate) connections: AtomicU64,
    /// Refusals before it was known whom the request is for.
    early: Tally<{ EARLY.len() }>,
}

impl RequestStats {
    /// Counts a request that has ended; `status` is 0 if the visitor got no answer.
    pub(crate) fn note(&self, status: u16, took: Duration) {
        self.classes.add(Some(usize::from(status / 100)));
        if status != SWITCHING {
            self.whole.note(took);
        }
    }

    /// Counts a request that was refused, or not answered to its end.
    pub(crate) fn refuse(&self, cause: Cause) {
        let index = CAUSES.iter().position(|(known, _)| *known == cause);
        self.causes.add(index);
    }

    /// Counts a connection, or a request of unknown destination, that was refused with this status.
    pub(super) fn refuse_early(&self, status: u16) {
        let cause = early(status);
        self.early.add(EARLY.iter().position(|name| *name == cause));
    }

    /// Refusals of unknown destination, by cause.
    pub(crate) fn early_refusals(&self) -> Vec<(&'static str, u64)> {
        self.early.read(EARLY)
    }

    /// Requests by the class of their status.
    pub(crate) fn classes(&self) -> Vec<(&'static str, u64)> {
        self.classes.read(CLASSES)
    }

    /// Refusals by cause.
    pub(crate) fn refusals(&self) -> Vec<(&'static str, u64)> {
        self.causes.read(CAUSES.map(|(_, name)| name))
    }
}

/// Content of a line.
pub(super) struct AccessLine<'a> {
    pub(super) source: IpAddr,
    pub(super) site: &'a str,
    pub(super) method: &'a str,
    /// Without the query, which may hold secrets.
    pub(super) path: &'a str,
    /// 0 when the visitor was told nothing.
    pub(super) status: u16,
    /// Sent to the visitor.
    pub(super) bytes: u64,
    pub(super) took: Duration,
}

/// Writes the lines; those of requests that failed are limited.
#[derive(Debug, Default)]
pub(super) struct AccessLog(LogLimiter);

impl AccessLog {
    /// Writes a line, or counts it.
    pub(super) fn record(&self, line: &AccessLine<'_>) {
        let has_failed = !(100..400).contains(&line.status);
        let sum_up = |more| {
            log::info!(target: "postern::access", "{more} more requests failed (not shown)");
        };
        if self.0.may_tell(has_failed, sum_up) {
            let AccessLine {
                site,
                method,
                status,
                bytes,
                ..
            } = *line;
            let ms = (line.took.as_secs_f64() * 1e4).round() / 10.0;
            log::info!(
                target: "postern::access",
                source:% = line.source, site, method, path = &*shown(line.path, SHOWN_PATH), status, bytes, ms;
                "{line}"
            );
        }
    }
}

/// Writes the line by hand: each request has one, and formatting its numbers would be most of the work.
impl fmt::Display for AccessLine<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.source {
            IpAddr::V4(source) => {
                write_numbers(f, ["", ".", ".", "."], source.octets().map(u64::from))?;
            }
            IpAddr::V6(source) => source.fmt(f)?,
        }
        for word in [self.site, self.method, &shown(self.path, SHOWN_PATH)] {
            f.write_str(" ")?;
            f.write_str(word)?;
        }
        let micros = u64::try_from(self.took.as_micros()).unwrap_or(u64::MAX);
        let tenths = micros.saturating_add(50) / 100;
        let numbers = [self.status.into(), self.bytes, tenths / 10, tenths % 10];
        write_numbers(f, [" ", " ", " ", "."], numbers)
    }
}

fn write_numbers(f: &mut fmt::Formatter<'_>, before: [&str; 4], numbers: [u64; 4]) -> fmt::Result {
    let mut buffer = itoa::Buffer::new();
    for (before, number) in before.into_iter().zip(numbers) {
        f.write_str(before)?;
        f.write_str(buffer.format(number))?;
    }
    Ok(())
}

/// Returns so many bytes of a path, or of a method. One that is cut ends in `…`, which neither can.
pub(crate) fn shown(path: &str, most: usize) -> Cow<'_, str> {
    match path.get(..most) {
        Some(begin) if path.len() > most => Cow::Owned(format!("{begin}…")),
        _ => Cow::Borrowed(path),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_count_by_class_and_an_upgrade_is_no_duration() {
        let stats = RequestStats::default();
        for status in [0, 101, 200, 204, 302, 404, 503] {
            stats.note(status, Duration::from_millis(3));
        }
        let counts: Vec<u64> = stats
            .classes()
            .into_iter()
            .map(|(_, count)| count)
            .collect();
        assert_eq!(counts, [1, 1, 2, 1, 1, 1]);
        assert_eq!(stats.whole.read().count(), 6);
    }

    #[test]
    fn each_cause_has_a_counter_of_its_own() {
        let stats = RequestStats::default();
        for (cause, name) in CAUSES {
            stats.refuse(cause);
            let counts = stats.refusals();
            assert!(counts.contains(&(name, 1)), "{name}: {counts:?}");
        }
        assert!(stats.refusals().iter().all(|(_, count)| *count == 1));
    }

    #[test]
    fn a_line_tells_who_asked_for_what_and_how_it_ended() {
        let mut line = AccessLine {
            source: IpAddr::from([192, 0, 2, 7]),
            site: "shop",
            method: "GET",
            path: "/a",
            status: 200,
            bytes: 1234,
            took: Duration::from_micros(12_387),
        };
        assert_eq!(line.to_string(), "192.0.2.7 shop GET /a 200 1234 12.4");
        line.source = "2001:db8::7".parse().unwrap();
        (line.status, line.bytes, line.took) = (0, 0, Duration::ZERO);
        assert_eq!(line.to_string(), "2001:db8::7 shop GET /a 0 0 0.0");
        line.bytes = 5 << 30;
        assert_eq!(line.to_string(), "2001:db8::7 shop GET /a 0 5368709120 0.0");
    }
}
