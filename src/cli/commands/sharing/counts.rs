//! Short texts for counts and sizes.

use std::time::{Duration, SystemTime};

/// `1 visitor`, `2 visitors`.
pub(super) fn counted(number: u64, what: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{number} {what}{plural}")
}

/// `999 B`, `1.2 KiB`, `30 MiB`.
pub(in crate::cli::commands) fn size(bytes: u64) -> String {
    let mut unit = 1;
    for name in ["B", "KiB", "MiB", "GiB"] {
        if bytes < unit * 1024 {
            return scaled(bytes, unit, name);
        }
        unit *= 1024;
    }
    scaled(bytes, unit, "TiB")
}

fn scaled(bytes: u64, unit: u64, name: &str) -> String {
    let whole = bytes / unit;
    match (bytes % unit) * 10 / unit {
        tenths if unit > 1 && whole < 10 => format!("{whole}.{tenths} {name}"),
        _ => format!("{whole} {name}"),
    }
}

/// Sum over a counter that restarts with each tunnel.
#[derive(Default)]
pub(super) struct Total {
    before: u64,
    now: u64,
}

impl Total {
    pub(super) fn take(&mut self, now: u64) {
        if now < self.now {
            self.before += self.now;
        }
        self.now = now;
    }

    pub(super) fn sum(&self) -> u64 {
        self.before + self.now
    }
}

/// Planned duration, rounded up, because an end time is stored in whole seconds, rounded down.
pub(super) fn planned(asked: SystemTime, end: SystemTime) -> Option<Duration> {
    let length = end.duration_since(asked).ok()?;
    Some(Duration::from_secs(
        length
            .saturating_add(Duration::from_nanos(999_999_999))
            .as_secs(),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_short() {
        for (bytes, shown) in [
            (0, "0 B"),
            (999, "999 B"),
            (1_024, "1.0 KiB"),
            (10_239, "9.9 KiB"),
            (31_000, "30 KiB"),
            (1_310_720, "1.2 MiB"),
            (8_100_000_000_000, "7.3 TiB"),
        ] {
            assert_eq!(size(bytes), shown);
        }
        assert_eq!(
            counted(1, "visitor") + &counted(2, "visitor"),
            "1 visitor2 visitors"
        );
    }

    #[test]
    fn a_counter_that_begins_anew_goes_on() {
        let mut total = Total::default();
        for now in [5, 9, 2, 3] {
            total.take(now);
        }
        assert_eq!(total.sum(), 12);
    }

    #[test]
    fn what_ends_in_time_was_as_long_as_planned() {
        let asked = SystemTime::UNIX_EPOCH + Duration::from_millis(1_900);
        let end = SystemTime::UNIX_EPOCH + Duration::from_secs(121);
        assert_eq!(planned(asked, end), Some(Duration::from_secs(120)));
        assert_eq!(planned(end, asked), None);
    }
}
