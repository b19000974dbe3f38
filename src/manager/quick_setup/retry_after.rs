//! The `Retry-After` header (RFC 9110 §10.2.3).

use std::time::{Duration, SystemTime};

/// The longest wait that a server can ask for: a person is looking at it.
const MAX_WAIT: Duration = crate::limits::RETRY_AFTER;

/// How long to wait from `now` on: the header has seconds or a date. `None` for anything else.
pub(super) fn parse(value: &str, now: SystemTime) -> Option<Duration> {
    let value = value.trim();
    let is_number = !value.is_empty() && value.bytes().all(|b| b.is_ascii_digit());
    let wait = if is_number {
        // More digits than fit is a long time.
        Duration::from_secs(value.parse().unwrap_or(u64::MAX))
    } else {
        let date = httpdate::parse_http_date(value).ok()?;
        date.duration_since(now).unwrap_or_default()
    };
    Some(wait.min(MAX_WAIT))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: u64) -> SystemTime {
        SystemTime::UNIX_EPOCH + Duration::from_secs(seconds)
    }

    #[test]
    fn seconds_and_dates_are_read() {
        let now = at(784_111_777);
        for (value, seconds) in [
            ("0", 0),
            (" 7 ", 7),
            ("301", 300),
            ("99999999999999999999999", 300),
            ("Sun, 06 Nov 1994 08:49:47 GMT", 10),
            ("Sun, 06 Nov 1994 08:49:07 GMT", 0),
            ("Fri, 31 Dec 9999 23:59:59 GMT", 300),
        ] {
            assert_eq!(
                parse(value, now),
                Some(Duration::from_secs(seconds)),
                "{value}"
            );
        }
        for value in [
            "",
            "-1",
            "1.5",
            "soon",
            "Sun, 06 Nov 1994",
            "Sun, 30 Feb 2024 00:00:00 GMT",
            "Sun, 06 Nov 1994 08:49:47 CET",
            "Sun, 06 Nov 1994 24:00:00 GMT",
            "Sun, 06 Foo 1994 08:00:00 GMT",
            "Sun, 06 Nov 1894 08:00:00 GMT",
            "Sun, 06 Nov 1994 08:00 GMT",
        ] {
            assert_eq!(parse(value, now), None, "{value}");
        }
    }
}
