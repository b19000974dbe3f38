//! A time zone: `TZ`, else `/etc/localtime`.

use std::error::Error;
use std::fs::File;
use std::io::Read;

use tz::{TimeZone, TimeZoneSettings};

/// Where the zones are by their names.
const ZONES: &str = "/usr/share/zoneinfo";
/// Bytes of a file. Default 64 KiB: the largest has 4.
const FILE_CAP: u64 = 64 * 1024;

/// Seconds ahead of UTC, by time.
#[derive(Debug)]
pub(crate) struct Zone(TimeZone);

impl Zone {
    /// The user's; UTC where that cannot be found out.
    pub(crate) fn local() -> Self {
        let name = std::env::var("TZ").unwrap_or_else(|_| "localtime".to_owned());
        Self::named(&name).unwrap_or_else(Self::utc_zone)
    }

    pub(super) fn utc_zone() -> Self {
        Self(TimeZone::utc())
    }

    /// Seconds ahead of UTC at a time. A file without a rule says nothing of the time after its last change.
    pub(super) fn offset(&self, utc: i64) -> i64 {
        let zone = self.0.as_ref();
        let last = zone.transitions().last();
        let last = last.and_then(|last| zone.local_time_types().get(last.local_time_type_index()));
        let kind = zone.find_local_time_type(utc).ok().or(last);
        kind.map_or(0, |kind| kind.ut_offset().into())
    }

    /// `Europe/Berlin`, with a colon before it too, a path, or a rule.
    pub(super) fn named(name: &str) -> Option<Self> {
        let name = name.strip_prefix(':').unwrap_or(name);
        if name.contains("..") {
            return None;
        }
        let zones = TimeZoneSettings::new(&[ZONES], read);
        zones.parse_posix_tz(name).ok().map(Self)
    }
}

fn read(path: &str) -> Result<Vec<u8>, Box<dyn Error + Send + Sync>> {
    let mut bytes = Vec::new();
    File::open(path)?.take(FILE_CAP).read_to_end(&mut bytes)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

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
