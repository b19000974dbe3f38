//! Points in time as text in UTC, and durations as short texts.

use std::time::{Duration, SystemTime};

use serde::{Deserialize, Deserializer, Serialize, Serializer};

const SECONDS_A_DAY: u64 = 86_400;

/// Seconds since 1970, UTC.
pub(crate) fn unix_seconds() -> u64 {
    since_epoch(SystemTime::now()).as_secs()
}

/// Time since the machine was started, including sleep (clock_gettime(2)): nobody can set it.
#[cfg(target_os = "linux")]
pub(crate) fn since_boot() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::Boottime);
    let seconds = u64::try_from(time.tv_sec).unwrap_or_default();
    let nanos = u32::try_from(time.tv_nsec).unwrap_or_default();
    Duration::new(seconds, nanos)
}

/// Time since the first call; it may stand still while the machine sleeps.
#[cfg(not(target_os = "linux"))]
pub(crate) fn since_boot() -> Duration {
    static FIRST: std::sync::LazyLock<std::time::Instant> =
        std::sync::LazyLock::new(std::time::Instant::now);
    FIRST.elapsed()
}

/// `2026-01-31T23:59:59Z`, the form of RFC 3339. A time before 1970 is shown as 1970.
pub fn rfc3339(time: SystemTime) -> String {
    format!("{}Z", date_time(since_epoch(time).as_secs()))
}

/// RFC 3339 of seconds since 1970; `None` for 0.
pub(crate) fn rfc3339_of(seconds: u64) -> Option<String> {
    (seconds > 0).then(|| format!("{}Z", date_time(seconds)))
}

/// Seconds since 1970 of a text of RFC 3339.
pub(crate) fn parse_seconds(text: &str) -> Option<u64> {
    Some(since_epoch(parse_rfc3339(text)?).as_secs())
}

/// Serialises a time by [`rfc3339`], and none as null.
pub(crate) fn serialize_rfc3339<S: Serializer>(
    time: &(impl Copy + Into<Option<SystemTime>>),
    to: S,
) -> Result<S::Ok, S::Error> {
    (*time).into().map(rfc3339).serialize(to)
}

/// Reads the output of [`serialize_rfc3339`].
pub(crate) fn deserialize_rfc3339<'de, D: Deserializer<'de>>(
    from: D,
) -> Result<Option<SystemTime>, D::Error> {
    let text = Option::<String>::deserialize(from)?;
    Ok(text.as_deref().and_then(parse_rfc3339))
}

/// `2026-01-31T23:59:59.123Z`: the same with milliseconds.
pub fn rfc3339_millis(time: SystemTime) -> String {
    let elapsed = since_epoch(time);
    let mut buffer = itoa::Buffer::new();
    // Three digits, after one that is dropped.
    let (_, millis) = buffer
        .format(1000 + u64::from(elapsed.subsec_millis()))
        .split_at(1);
    let mut text = date_time(elapsed.as_secs());
    for part in [".", millis, "Z"] {
        text.push_str(part);
    }
    text
}

/// Parses RFC 3339, from 1970 on; fractions of a second are dropped. `None` if the text is invalid, or the day does not
/// exist.
pub fn parse_rfc3339(text: &str) -> Option<SystemTime> {
    let (date, rest) = text.split_once(['T', 't', ' '])?;
    let [year, month, day] = numbers(date, '-', [4, 2, 2])?;
    let zone_at = rest.find(['Z', 'z', '+', '-'])?;
    let (time, zone) = rest.split_at(zone_at);
    let time = match time.split_once('.') {
        Some((whole, part)) if is_digits(part) => whole,
        Some(_) => return None,
        None => time,
    };
    let [hour, minute, second] = numbers(time, ':', [2, 2, 2])?;
    let days = days_since_epoch(year, month, day)?;
    let is_time = hour < 24 && minute < 60 && second <= 60;
    let local = days * SECONDS_A_DAY + hour * 3600 + minute * 60 + second;
    let (ahead, offset) = zone_offset(zone)?;
    let seconds = if ahead {
        local.checked_sub(offset)?
    } else {
        local + offset
    };
    is_time.then(|| SystemTime::UNIX_EPOCH + Duration::from_secs(seconds))
}

/// Returns whether the zone is ahead of UTC, and by how many seconds.
fn zone_offset(zone: &str) -> Option<(bool, u64)> {
    if zone.eq_ignore_ascii_case("z") {
        return Some((true, 0));
    }
    let (sign, offset) = zone.split_at_checked(1)?;
    let [hours, minutes] = numbers(offset, ':', [2, 2])?;
    (hours < 24 && minutes < 60).then_some((sign == "+", hours * 3600 + minutes * 60))
}

/// Numbers of so many digits each.
fn numbers<const N: usize>(text: &str, separator: char, digits: [usize; N]) -> Option<[u64; N]> {
    let mut parts = text.split(separator);
    let mut read = [0; N];
    for (number, width) in read.iter_mut().zip(digits) {
        let part = parts.next().filter(|part| part.len() == width)?;
        *number = part.parse().ok().filter(|_| is_digits(part))?;
    }
    parts.next().is_none().then_some(read)
}

fn is_digits(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// Days from 1970-01-01 to a day of the calendar; the inverse of [`civil`].
pub(crate) fn days_since_epoch(year: u64, month: u64, day: u64) -> Option<u64> {
    // Days of a common year before its months.
    const BEFORE: [u64; 12] = [0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334];
    let index = usize::try_from(month.checked_sub(1)?).ok()?;
    let past = year.checked_sub(1970)? * 365 + leap_days(year) - leap_days(1970);
    let is_after_leap = month > 2 && leap_days(year + 1) > leap_days(year);
    let days = past + BEFORE.get(index)? + u64::from(is_after_leap) + day.checked_sub(1)?;
    (civil(days) == (year, month, day)).then_some(days)
}

/// Leap days of the years before this one, from year 1 on.
fn leap_days(year: u64) -> u64 {
    let before = year - 1;
    before / 4 - before / 100 + before / 400
}

/// Time since 1970; zero for an earlier time.
pub(crate) fn since_epoch(time: SystemTime) -> Duration {
    time.duration_since(SystemTime::UNIX_EPOCH)
        .unwrap_or_default()
}

fn date_time(seconds: u64) -> String {
    let (year, month, day) = civil(seconds / SECONDS_A_DAY);
    let of_day = seconds % SECONDS_A_DAY;
    let (hour, minute, second) = (of_day / 3600, of_day / 60 % 60, of_day % 60);
    let parts = [month, day, hour, minute, second];
    // Larger numbers are billions of years away.
    let join = |all: u64, part: u64| all.saturating_mul(100).saturating_add(part);
    let all = parts.into_iter().fold(year, join);
    let mut buffer = itoa::Buffer::new();
    let all = buffer.format(all);
    let mut text = String::with_capacity("2026-01-31T23:59:59.123Z".len());
    for (digit, left) in all.chars().zip((1..=all.len()).rev()) {
        match left {
            10 | 8 => text.push('-'),
            6 => text.push('T'),
            4 | 2 => text.push(':'),
            _ => {}
        }
        text.push(digit);
    }
    text
}

/// Year, month and day, both from 1, of a count of days since 1970-01-01.
///
/// Counts in years that begin on 1 March, so that the leap day is the last
/// of its year, and in eras of 400 years (146,097 days), after which the
/// Gregorian calendar repeats.
pub(crate) fn civil(days_since_epoch: u64) -> (u64, u64, u64) {
    const DAYS_FROM_0000_03_01: u64 = 719_468;
    const DAYS_AN_ERA: u64 = 146_097;
    let days = days_since_epoch + DAYS_FROM_0000_03_01;
    let (era, day_of_era) = (days / DAYS_AN_ERA, days % DAYS_AN_ERA);
    let leap_days = day_of_era / 1460 + day_of_era / 146_096 - day_of_era / 36_524;
    let year_of_era = (day_of_era - leap_days) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let march_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * march_month + 2) / 5 + 1;
    let month = (march_month + 2) % 12 + 1;
    let year = era * 400 + year_of_era + u64::from(month <= 2);
    (year, month, day)
}

/// A duration in at most two units, rounded to the smaller one: `119 s`, `12 min`, `3 h 5 min`, `2 d 1 h`.
pub(crate) fn in_words(time: Duration) -> String {
    let seconds = time.saturating_add(Duration::from_millis(500)).as_secs();
    let (minutes, hours) = (
        seconds.saturating_add(30) / 60,
        seconds.saturating_add(1800) / 3600,
    );
    match (seconds, minutes) {
        (0..120, _) => format!("{seconds} s"),
        (_, 0..60) => format!("{minutes} min"),
        (_, 60..1440) => format!("{} h {} min", minutes / 60, minutes % 60),
        _ => format!("{} d {} h", hours / 24, hours % 24),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: u64) -> String {
        rfc3339(SystemTime::UNIX_EPOCH + Duration::from_secs(seconds))
    }

    #[test]
    fn known_times() {
        for (seconds, text) in [
            (0, "1970-01-01T00:00:00Z"),
            (951_782_399, "2000-02-28T23:59:59Z"),
            (951_782_400, "2000-02-29T00:00:00Z"),
            (951_868_800, "2000-03-01T00:00:00Z"),
            (1_000_000_000, "2001-09-09T01:46:40Z"),
            (1_709_164_800, "2024-02-29T00:00:00Z"),
            (1_735_689_599, "2024-12-31T23:59:59Z"),
            (2_147_483_648, "2038-01-19T03:14:08Z"),
            (4_107_542_400, "2100-03-01T00:00:00Z"),
            (253_402_300_799, "9999-12-31T23:59:59Z"),
        ] {
            assert_eq!(at(seconds), text, "{seconds}");
            let parsed = parse_rfc3339(text).map(rfc3339);
            assert_eq!(parsed.as_deref(), Some(text));
        }
    }

    /// Every day of 400 years follows the day before it by the rules of the calendar.
    #[test]
    fn each_day_follows_the_last() {
        let mut last = (1970, 1, 1);
        for day in 1..=146_097 {
            let (y, m, d) = last;
            let leap = y % 4 == 0 && (y % 100 != 0 || y % 400 == 0);
            let length = match m {
                2 => 28 + u64::from(leap),
                4 | 6 | 9 | 11 => 30,
                _ => 31,
            };
            let next = match (m, d) {
                (12, 31) => (y + 1, 1, 1),
                (m, d) if d == length => (y, m + 1, 1),
                (m, d) => (y, m, d + 1),
            };
            assert_eq!(civil(day), next);
            assert_eq!(days_since_epoch(next.0, next.1, next.2), Some(day));
            last = next;
        }
        assert_eq!(last, (2370, 1, 1));
    }

    #[test]
    fn zones_and_what_is_no_time() {
        let utc = |text: &str| parse_rfc3339(text).map(rfc3339);
        for (text, expected) in [
            ("2030-01-01T00:30:00+01:00", "2029-12-31T23:30:00Z"),
            ("2030-01-01t00:30:00.123-00:30", "2030-01-01T01:00:00Z"),
            ("2030-01-01 00:30:00z", "2030-01-01T00:30:00Z"),
        ] {
            assert_eq!(utc(text).as_deref(), Some(expected), "{text}");
        }
        for text in [
            "",
            "2030-01-01",
            "2030-01-01T00:00:00",
            "2030-13-01T00:00:00Z",
            "2030-00-01T00:00:00Z",
            "2030-02-29T00:00:00Z",
            "2030-01-01T24:00:00Z",
            "2030-01-01T00:60:00Z",
            "2030-01-01T00:00:00+24:00",
            "2030-01-01T00:00:00.Z",
            "2030-01-01T00:00:00ZZ",
            "2030-01-01T0:00:00Z",
            "+203-01-01T00:00:00Z",
            "1969-12-31T23:59:59Z",
            "1970-01-01T00:00:00+01:00",
        ] {
            assert_eq!(utc(text), None, "{text}");
        }
    }

    #[test]
    fn lengths_are_told_in_two_words_at_most() {
        for (millis, words) in [
            (499, "0 s"),
            (119_499, "119 s"),
            (119_500, "2 min"),
            (239_000, "4 min"),
            (3_569_000, "59 min"),
            (3_599_000, "1 h 0 min"),
            (11_070_000, "3 h 5 min"),
            (86_399_000, "1 d 0 h"),
            (176_400_000, "2 d 1 h"),
        ] {
            assert_eq!(in_words(Duration::from_millis(millis)), words);
        }
    }

    #[test]
    fn milliseconds_and_times_before_the_epoch() {
        let time = SystemTime::UNIX_EPOCH + Duration::from_millis(1_000_000_000_007);
        assert_eq!(rfc3339_millis(time), "2001-09-09T01:46:40.007Z");
        let before = SystemTime::UNIX_EPOCH - Duration::from_secs(1);
        assert_eq!(rfc3339(before), "1970-01-01T00:00:00Z");
    }
}
