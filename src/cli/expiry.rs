//! `--for` and `--until`: until when something is shared.

use std::time::{Duration, SystemTime};

use super::args::command::{Command, Parsed};
use super::args::flags::{FOR, UNTIL};
use super::args::values::duration;
use super::clock::Zone;
use super::failure::Failure;
use crate::store::time::parse_rfc3339;

/// The longest `--for`. Default 366 days: what is to last longer has no end.
const LONGEST: Duration = crate::limits::LONGEST_SHARE;

/// The end that the flags name; none where they name none.
pub(super) fn read(command: &Command, parsed: &Parsed) -> Result<Option<SystemTime>, Failure> {
    let now = SystemTime::now();
    let after = command.read(parsed, &FOR, |text| {
        span(text).ok_or("give a time such as 30s, 90m, 1h30m, 8h or 2d, of at most 366 days")
    })?;
    let until = command.read(parsed, &UNTIL, |text| {
        let end = match of_day(text) {
            Some(of_day) => Some(Zone::local().next(now, of_day)),
            None => parse_rfc3339(text),
        };
        match end {
            Some(end) if end > now => Ok(end),
            Some(_) => Err(
                "this time is in the past; give a later one such as 18:00 or 2030-01-31T18:00:00Z",
            ),
            None => Err("give a time such as 18:00 or 2030-01-31T18:00:00Z"),
        }
    })?;
    Ok(after.map(|span| now + span).or(until))
}

/// Above 0, and with its unit: a bare number could be hours as well.
fn span(text: &str) -> Option<Duration> {
    duration(text).filter(|span| !span.is_zero() && *span <= LONGEST)
}

/// `18:00`, as seconds since midnight.
fn of_day(text: &str) -> Option<i64> {
    let (hour, minute) = text.split_once(':')?;
    let number = |text: &str, below: i64| {
        let is_number = matches!(text.len(), 1 | 2) && text.bytes().all(|b| b.is_ascii_digit());
        text.parse()
            .ok()
            .filter(|number: &i64| is_number && *number < below)
    };
    let minute = number(minute, 60).filter(|_| minute.len() == 2)?;
    Some(number(hour, 24)? * 3600 + minute * 60)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_and_times_of_day_are_read() {
        for (text, seconds) in [
            ("30s", 30),
            ("90m", 5400),
            ("8h", 28_800),
            ("2d", 172_800),
            ("1h30m", 5400),
            ("2d12h", 216_000),
            ("366d", 31_622_400),
        ] {
            assert_eq!(span(text), Some(Duration::from_secs(seconds)), "{text}");
        }
        for text in [
            "",
            "8",
            "h",
            "0s",
            "8H",
            "1.5h",
            "-1h",
            "1h30",
            "365d24h1s",
            "367d",
            "99999999999999999999d",
            "8 h",
        ] {
            assert_eq!(span(text), None, "{text}");
        }
        assert_eq!(of_day("18:00"), Some(64_800));
        assert_eq!((of_day("0:05"), of_day("23:59")), (Some(300), Some(86_340)));
        for text in [
            "", "24:00", "18:60", "18", "18:0", "18:00:00", "+1:00", "018:00", ":00",
        ] {
            assert_eq!(of_day(text), None, "{text}");
        }
    }
}
