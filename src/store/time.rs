//! Points in time as text, in UTC.

use std::time::{Duration, SystemTime};

const SECONDS_A_DAY: u64 = 86_400;

/// `2026-01-31T23:59:59Z`, the form of RFC 3339. A time before 1970 is shown as 1970.
pub fn rfc3339(time: SystemTime) -> String {
    format!("{}Z", date_time(since_epoch(time).as_secs()))
}

/// `2026-01-31T23:59:59.123Z`: the same with milliseconds.
pub fn rfc3339_millis(time: SystemTime) -> String {
    let elapsed = since_epoch(time);
    let millis = elapsed.subsec_millis();
    format!("{}.{millis:03}Z", date_time(elapsed.as_secs()))
}

fn since_epoch(time: SystemTime) -> Duration {
    time.duration_since(SystemTime::UNIX_EPOCH)
        .unwrap_or_default()
}

fn date_time(seconds: u64) -> String {
    let (year, month, day) = civil(seconds / SECONDS_A_DAY);
    let of_day = seconds % SECONDS_A_DAY;
    let (hour, minute, second) = (of_day / 3600, of_day / 60 % 60, of_day % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}")
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
            last = next;
        }
        assert_eq!(last, (2370, 1, 1));
    }

    #[test]
    fn milliseconds_and_times_before_the_epoch() {
        let time = SystemTime::UNIX_EPOCH + Duration::from_millis(1_000_000_000_007);
        assert_eq!(rfc3339_millis(time), "2001-09-09T01:46:40.007Z");
        let before = SystemTime::UNIX_EPOCH - Duration::from_secs(1);
        assert_eq!(rfc3339(before), "1970-01-01T00:00:00Z");
    }
}
