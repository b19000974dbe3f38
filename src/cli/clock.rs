//! Times as people give and read them: in the local time zone, which the system keeps in files (RFC 9636).

use std::error::Error;
use std::fs::File;
use std::io::Read;
use std::time::{Duration, SystemTime};

use tz::{TimeZone, TimeZoneSettings};

use crate::store::time::{civil, parse_rfc3339, since_epoch};

/// Short names of the months.
#[rustfmt::skip]
const MONTHS: [&str; 12] =
    ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/// Seconds of a day.
const DAY: i64 = 86_400;
/// Seconds below which a time is shown with seconds.
const SOON: i64 = 600;

/// Directory of the zones.
const ZONES: &str = "/usr/share/zoneinfo";
/// Bytes of a file. Default 64 KiB: the largest has 4.
const FILE_CAP: u64 = 64 * 1024;

/// A time zone: seconds ahead of UTC, by time.
#[derive(Debug)]
pub(crate) struct Zone(TimeZone);

impl Zone {
    /// The user's zone: `TZ`, else `/etc/localtime`; UTC if that cannot be read.
    pub(crate) fn local() -> Self {
        let name = std::env::var("TZ").unwrap_or_else(|_| "localtime".to_owned());
        Self::named(&name).unwrap_or_else(Self::utc_zone)
    }

    fn utc_zone() -> Self {
        Self(TimeZone::utc())
    }

    /// Seconds ahead of UTC at a time. If the file has no rule, the last change stays in effect.
    fn offset(&self, utc: i64) -> i64 {
        let zone = self.0.as_ref();
        let last = zone.transitions().last();
        let last = last.and_then(|last| zone.local_time_types().get(last.local_time_type_index()));
        let kind = zone.find_local_time_type(utc).ok().or(last);
        kind.map_or(0, |kind| kind.ut_offset().into())
    }

    /// Zone of `Europe/Berlin`, also with a colon before it, of a path, or of a rule.
    fn named(name: &str) -> Option<Self> {
        let name = name.strip_prefix(':').unwrap_or(name);
        if name.contains("..") {
            return None;
        }
        let zones = TimeZoneSettings::new(&[ZONES], read);
        zones.parse_posix_tz(name).ok().map(Self)
    }

    /// The next time that the clock on the wall shows these seconds since midnight, after `now`.
    pub(super) fn next(&self, now: SystemTime, of_day: i64) -> SystemTime {
        let now = unix(now);
        let local = now + self.offset(now);
        let today = local - local.rem_euclid(DAY) + of_day;
        let candidates = [0, 1, 2].map(|days| self.utc(today + days * DAY));
        let next = candidates.into_iter().find(|at| *at > now);
        let next = u64::try_from(next.unwrap_or(now + DAY)).unwrap_or_default();
        SystemTime::UNIX_EPOCH + Duration::from_secs(next)
    }

    /// UTC of a local time; for a time that the clock skips, the moment after.
    fn utc(&self, local: i64) -> i64 {
        let guess = local - self.offset(local);
        local - self.offset(guess)
    }

    /// An RFC 3339 time as it is shown now; any other text as it is.
    pub(super) fn shown_text(&self, text: &str) -> String {
        let time = parse_rfc3339(text);
        time.map_or_else(
            || text.to_owned(),
            |time| self.shown(time, SystemTime::now()),
        )
    }

    /// `18:04`, `tomorrow 18:04`, or with the date on other days; with seconds if it is in less than 10 minutes.
    pub(super) fn shown(&self, time: SystemTime, now: SystemTime) -> String {
        let local = |time: SystemTime| unix(time) + self.offset(unix(time));
        let (at, now) = (local(time), local(now));
        let clock = match at - now {
            1..SOON => with_seconds(at),
            _ => clock(at),
        };
        match at.div_euclid(DAY) - now.div_euclid(DAY) {
            0 => clock,
            1 => format!("tomorrow {clock}"),
            _ => {
                let date = |local: i64| civil(u64::try_from(local / DAY).unwrap_or_default());
                let ((year, month, day), this_year) = (date(at), date(now).0);
                let month = usize::try_from(month)
                    .ok()
                    .and_then(|at| MONTHS.get(at - 1));
                let year = if year == this_year {
                    String::new()
                } else {
                    format!(" {year}")
                };
                format!("{} {day}{year}, {clock}", month.unwrap_or(&""))
            }
        }
    }

    /// `18:04:59`.
    pub(super) fn with_seconds(&self, time: SystemTime) -> String {
        with_seconds(unix(time) + self.offset(unix(time)))
    }
}

/// Seconds since 1970.
fn unix(time: SystemTime) -> i64 {
    i64::try_from(since_epoch(time).as_secs()).unwrap_or(i64::MAX)
}

fn with_seconds(local: i64) -> String {
    format!("{}:{:02}", clock(local), local.rem_euclid(60))
}

fn clock(local: i64) -> String {
    let of_day = local.rem_euclid(DAY);
    format!("{:02}:{:02}", of_day / 3600, of_day / 60 % 60)
}

fn read(path: &str) -> Result<Vec<u8>, Box<dyn Error + Send + Sync>> {
    let mut bytes = Vec::new();
    File::open(path)?.take(FILE_CAP).read_to_end(&mut bytes)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::time::rfc3339;

    fn next(zone: &Zone, now: &str, of_day: i64) -> String {
        rfc3339(zone.next(parse_rfc3339(now).unwrap(), of_day))
    }

    #[test]
    fn the_next_occurrence_is_in_the_zone_also_over_its_changes() {
        let berlin = Zone::named("CET-1CEST,M3.5.0,M10.5.0/3").unwrap();
        for (now, hour, expected) in [
            ("2026-07-01T15:00:00Z", 18, "2026-07-01T16:00:00Z"),
            ("2026-07-01T16:00:00Z", 18, "2026-07-02T16:00:00Z"),
            ("2026-07-01T23:00:00Z", 18, "2026-07-02T16:00:00Z"),
            ("2026-01-01T16:30:00Z", 18, "2026-01-01T17:00:00Z"),
            // The night in which the clock goes forward, and the one in which it goes back.
            ("2026-03-28T20:00:00Z", 18, "2026-03-29T16:00:00Z"),
            ("2026-10-24T20:00:00Z", 18, "2026-10-25T17:00:00Z"),
        ] {
            assert_eq!(next(&berlin, now, hour * 3600), expected, "{now}");
        }
        assert_eq!(
            next(&Zone::utc_zone(), "2026-12-31T23:59:59Z", 0),
            "2027-01-01T00:00:00Z"
        );
    }

    #[test]
    fn times_are_shown_as_the_wall_has_them() {
        let zone = Zone::named("<-03>3").unwrap();
        let at = |text: &str| parse_rfc3339(text).unwrap();
        let now = at("2026-11-22T14:00:00Z");
        for (time, shown) in [
            ("2026-11-22T21:04:00Z", "18:04"),
            ("2026-11-22T14:10:00Z", "11:10"),
            ("2026-11-22T14:09:59Z", "11:09:59"),
            ("2026-11-22T13:59:59Z", "10:59"),
            ("2026-11-23T02:59:00Z", "23:59"),
            ("2026-11-23T03:00:00Z", "tomorrow 00:00"),
            ("2026-12-01T12:00:00Z", "Dec 1, 09:00"),
            ("2026-11-01T12:00:00Z", "Nov 1, 09:00"),
            ("2027-01-31T12:00:00Z", "Jan 31 2027, 09:00"),
        ] {
            assert_eq!(zone.shown(at(time), now), shown);
        }
        assert_eq!(zone.with_seconds(now), "11:00:00");
        assert_eq!(
            zone.shown_text("2001-01-31T12:00:00Z"),
            "Jan 31 2001, 09:00"
        );
        assert_eq!(zone.shown_text("-"), "-");
    }

    #[test]
    fn names_are_zones_and_rules() {
        assert_eq!(Zone::named("UTC0").unwrap().offset(0), 0);
        assert_eq!(Zone::named(":<+03>-3").unwrap().offset(0), 10_800);
        for none in ["", "../../etc/passwd", "/dev/zero", "/etc/passwd", "/"] {
            assert!(Zone::named(none).is_none(), "{none}");
        }
        if std::path::Path::new(ZONES).join("Europe/Berlin").exists() {
            let berlin = Zone::named("Europe/Berlin").unwrap();
            assert_eq!(berlin.offset(1_782_900_000), 7200);
            assert_eq!(berlin.offset(1_767_225_600), 3600);
            assert_eq!(berlin.offset(4_102_444_800), 3600, "after the table");
        }
    }

    /// A file of version 2 or later (RFC 9636) as it is without a rule: one change, to an hour ahead of UTC.
    #[test]
    fn after_the_last_change_of_a_file_without_a_rule_its_offset_stays() {
        let header = |times: u32, types: u32, characters: u32| {
            let counts = [0, 0, 0, times, types, characters];
            let mut header = b"TZif2".to_vec();
            header.resize(20, 0);
            header.extend(counts.iter().flat_map(|count| count.to_be_bytes()));
            header
        };
        let mut file = header(0, 1, 4);
        file.extend([0, 0, 0, 0, 0, 0]);
        file.extend(b"LMT\0");
        file.extend(header(1, 2, 8));
        file.extend(1_000_i64.to_be_bytes());
        file.push(1);
        file.extend(1800_i32.to_be_bytes());
        file.extend([0, 0]);
        file.extend(3600_i32.to_be_bytes());
        file.extend([0, 4]);
        file.extend(b"LMT\0CET\0\n\n");
        let zone = Zone(TimeZone::from_tz_data(&file).unwrap());
        let offsets = [999, 1_000, 1_782_900_000].map(|at| zone.offset(at));
        assert_eq!(offsets, [1800, 3600, 3600]);
    }
}
