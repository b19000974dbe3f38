//! The Date header (RFC 9110 section 6.6.1).

use std::time::{SystemTime, UNIX_EPOCH};

const DAYS: [&str; 7] = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"];
const MONTHS: [&str; 12] = [
    "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
];

/// Now, as `Sun, 06 Nov 1994 08:49:37 GMT`.
pub(super) fn now() -> String {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    format(since.map_or(0, |since| since.as_secs()))
}

fn format(seconds: u64) -> String {
    let (days, second) = (seconds / 86_400, seconds % 86_400);
    let (year, month, day) = civil(days);
    let name = |names: &'static [&'static str], index: u64| {
        let index = usize::try_from(index).unwrap_or_default();
        names.get(index).copied().unwrap_or_default()
    };
    format!(
        "{}, {day:02} {} {year} {:02}:{:02}:{:02} GMT",
        name(&DAYS, days % 7),
        name(&MONTHS, month),
        second / 3600,
        second / 60 % 60,
        second % 60
    )
}

/// Year, month from 0 and day from 1 of a day since 1970. Years begin in March here, so
/// that the leap day is the last; 146,097 days are 400 years.
fn civil(days: u64) -> (u64, u64, u64) {
    let days = days + 719_468;
    let (era, day) = (days / 146_097, days % 146_097);
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let first = (153 * month + 2) / 5;
    let carry = u64::from(month >= 10);
    (era * 400 + year + carry, (month + 2) % 12, day - first + 1)
}

#[cfg(test)]
mod tests {
    use super::format;

    #[test]
    fn writes_dates_as_http_does() {
        assert_eq!(format(784_111_777), "Sun, 06 Nov 1994 08:49:37 GMT");
        assert_eq!(format(0), "Thu, 01 Jan 1970 00:00:00 GMT");
        assert_eq!(format(951_782_400), "Tue, 29 Feb 2000 00:00:00 GMT");
        assert_eq!(format(1_735_689_599), "Tue, 31 Dec 2024 23:59:59 GMT");
    }
}
