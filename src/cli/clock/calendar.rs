//! Days of the calendar in seconds since 1970.

use crate::store::time::{civil, days_since_epoch};

/// Seconds of a day.
pub(super) const DAY: i64 = 86_400;

/// Year, month and day of so many seconds.
pub(super) fn civil_at(seconds: i64) -> (u64, u64, u64) {
    civil(u64::try_from(seconds.div_euclid(DAY)).unwrap_or_default())
}

/// Days since 1970 of a day of the calendar.
pub(super) fn days(year: u64, month: u64, day: u64) -> i64 {
    let days = days_since_epoch(year, month, day).unwrap_or_default();
    i64::try_from(days).unwrap_or_default()
}
