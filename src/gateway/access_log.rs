//! A request's line in the log. Its length is capped, and so are the lines a minute of requests that
//! fail: no visitor fills the disk with them.

use crate::sync::LogLimiter;
use std::borrow::Cow;
use std::fmt;
use std::net::IpAddr;
use std::time::Duration;

/// Bytes of a path that are shown. Default 500: a visitor may send 32 KiB. Methods, sites and addresses
/// are short where they come from.
const SHOWN_PATH: usize = 500;

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

/// By hand: each request has such a line, and formatting its numbers would be the most of it.
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
