//! The `Retry-After` header (RFC 9110 §10.2.3).

use std::time::{Duration, SystemTime};

use crate::store::time::civil;

/// The longest wait that a server can ask for. Default 300 s: a person is looking at it.
const MAX_WAIT: Duration = Duration::from_secs(300);

const MONTHS: [&str; 12] = [
    "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
];

/// How long to wait from `now` on: the header has seconds or a date. `None` for anything else.
pub(super) fn parse(value: &str, now: SystemTime) -> Option<Duration> {
    let value = value.trim();
    let wait = match value.bytes().all(|b| b.is_ascii_digit()) && !value.is_empty() {
        // More digits than fit is a long time.
        true => Duration::from_secs(value.parse().unwrap_or(u64::MAX)),
        false => date(value)?.duration_since(now).unwrap_or_default(),
    };
    Some(wait.min(MAX_WAIT))
}

/// `Sun, 06 Nov 1994 08:49:37 GMT`, the one form that senders may generate (RFC 9110 §5.6.7).
fn date(text: &str) -> Option<SystemTime> {
    let (_weekday, rest) = text.split_once(", ")?;
    let [day, month, year, time, "GMT"] = *rest.split(' ').collect::<Vec<_>>() else {
        return None;
    };
    let mut clock = time.splitn(3, ':').map(|part| number(part, 2));
    let (hour, minute, second) = (clock.next()??, clock.next()??, clock.next()??);
    let month = MONTHS.iter().position(|name| *name == month)?;
    let days = days_since_epoch(
        number(year, 4)?,
        u64::try_from(month).ok()? + 1,
        number(day, 2)?,
    )?;
    // 60 is a leap second.
    let in_range = hour < 24 && minute < 60 && second <= 60;
    let seconds = days * 86_400 + hour * 3600 + minute * 60 + second;
    in_range.then(|| SystemTime::UNIX_EPOCH + Duration::from_secs(seconds))
}

fn number(text: &str, digits: usize) -> Option<u64> {
    let all_digits = text.bytes().all(|b| b.is_ascii_digit());
    (all_digits && text.len() == digits).then(|| text.parse().ok())?
}

/// Finds the day whose date it is; `None` where there is none, as for 30 February.
fn days_since_epoch(year: u64, month: u64, day: u64) -> Option<u64> {
    // At most this many leap days have passed, and a month early at worst.
    let years = year.checked_sub(1970)?;
    let first = years * 365 + years / 4 + (month.checked_sub(1)?) * 30;
    (first.saturating_sub(30)..=first + 40).find(|days| civil(*days) == (year, month, day))
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

    #[test]
    fn every_day_of_a_century_is_found() {
        for days in 0..40_000 {
            let (year, month, day) = civil(days);
            assert_eq!(
                days_since_epoch(year, month, day),
                Some(days),
                "{year}-{month}-{day}"
            );
        }
        let (year, month, day) = civil(2_932_896);
        assert_eq!((year, month, day), (9999, 12, 31));
        assert_eq!(days_since_epoch(year, month, day), Some(2_932_896));
    }
}
