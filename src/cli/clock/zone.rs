//! A time zone: `TZ`, else `/etc/localtime`.

use std::path::{Path, PathBuf};

use super::rule::Rule;

/// Zone file that the system reads if `TZ` is not set.
const LOCAL: &str = "/etc/localtime";
/// Where the zones are by their names.
const ZONES: &str = "/usr/share/zoneinfo";
/// Bytes of a file. Default 64 KiB: the largest has 4.
const FILE_CAP: u64 = 64 * 1024;

/// Seconds ahead of UTC, by time.
#[derive(Debug)]
pub(crate) struct Zone {
    /// From when on which, in order.
    changes: Vec<(i64, i64)>,
    /// Before the first of them.
    before: i64,
    /// After the last of them.
    rule: Option<Rule>,
}

impl Zone {
    /// The user's; UTC where that cannot be found out.
    pub(crate) fn local() -> Self {
        let named = match std::env::var("TZ") {
            Ok(name) => Self::named(&name),
            Err(_) => Self::of_file(Path::new(LOCAL)),
        };
        named.unwrap_or_else(Self::utc_zone)
    }

    pub(super) fn utc_zone() -> Self {
        Self::of_rule(Rule::UTC)
    }

    #[cfg(test)]
    pub(super) fn posix(rule: &str) -> Option<Self> {
        Rule::parse(rule).map(Self::of_rule)
    }

    /// Seconds ahead of UTC at a time.
    pub(super) fn offset(&self, utc: i64) -> i64 {
        let next = self.changes.partition_point(|(at, _)| *at <= utc);
        let last = next.checked_sub(1).and_then(|last| self.changes.get(last));
        match (&self.rule, last) {
            (Some(rule), _) if next == self.changes.len() => rule.offset(utc),
            (_, Some((_, offset))) => *offset,
            (_, None) => self.before,
        }
    }

    /// `Europe/Berlin`, with a colon before it too, a path, or a rule.
    fn named(name: &str) -> Option<Self> {
        let name = name.strip_prefix(':').unwrap_or(name);
        if name.is_empty() || name.contains("..") {
            return None;
        }
        let path = PathBuf::from(ZONES).join(name);
        Self::of_file(&path).or_else(|| Rule::parse(name).map(Self::of_rule))
    }

    fn of_rule(rule: Rule) -> Self {
        Self {
            changes: Vec::new(),
            before: 0,
            rule: Some(rule),
        }
    }

    fn of_file(path: &Path) -> Option<Self> {
        let metadata = std::fs::metadata(path).ok()?;
        let is_fit = metadata.is_file() && metadata.len() <= FILE_CAP;
        parse(&is_fit.then(|| std::fs::read(path).ok())??)
    }
}

/// Takes a file apart from its beginning.
struct Cursor<'a>(&'a [u8]);

impl<'a> Cursor<'a> {
    fn take(&mut self, bytes: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(bytes)?;
        self.0 = rest;
        Some(taken)
    }

    fn counts(&mut self) -> Option<Counts> {
        let header = self.take(20)?;
        let mut next = || {
            let count = u32::from_be_bytes(self.take(4)?.try_into().ok()?);
            // More than the file has room for would overflow a sum of 32 bits.
            let is_possible = u64::from(count) <= FILE_CAP;
            usize::try_from(count).ok().filter(|_| is_possible)
        };
        let [universal, standard, leaps, times, types, characters] =
            [next()?, next()?, next()?, next()?, next()?, next()?];
        header.starts_with(b"TZif").then_some(Counts {
            marks: universal + standard,
            leaps,
            times,
            types,
            characters,
        })
    }
}

/// Numbers of entries in a block of the file.
struct Counts {
    marks: usize,
    leaps: usize,
    times: usize,
    types: usize,
    characters: usize,
}

/// RFC 9636: a block with times of 32 bits, which is passed over, one with 64, and the rule for what comes after.
fn parse(file: &[u8]) -> Option<Zone> {
    let mut cursor = Cursor(file);
    let old = cursor.counts()?;
    cursor.take(old.times * 5 + old.types * 6 + old.characters + old.leaps * 8 + old.marks)?;
    let counts = cursor.counts()?;
    let times = cursor.take(counts.times * 8)?;
    let indices = cursor.take(counts.times)?;
    let types = cursor.take(counts.types * 6)?;
    cursor.take(counts.characters + counts.leaps * 12 + counts.marks)?;
    let offsets: Vec<i64> = types.chunks_exact(6).filter_map(offset).collect();
    let times = times
        .chunks_exact(8)
        .filter_map(|eight| eight.try_into().ok());
    let changes = times.map(i64::from_be_bytes).zip(indices);
    let changes: Option<Vec<(i64, i64)>> = changes
        .map(|(at, index)| Some((at, *offsets.get(usize::from(*index))?)))
        .collect();
    let rule = str::from_utf8(cursor.0).ok().map(str::trim);
    Some(Zone {
        changes: changes?,
        before: offsets.first().copied().unwrap_or_default(),
        rule: rule.and_then(Rule::parse),
    })
}

fn offset(record: &[u8]) -> Option<i64> {
    let four = record.first_chunk::<4>()?;
    Some(i64::from(i32::from_be_bytes(*four)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A file as `zic` makes it: one change, then the rule.
    fn file(rule: &str) -> Vec<u8> {
        let header = |times: u32, types: u32, characters: u32| {
            let counts = [0, 0, 0, times, types, characters];
            let mut header = b"TZif2".to_vec();
            header.resize(20, 0);
            header.extend(counts.iter().flat_map(|count| count.to_be_bytes()));
            header
        };
        let mut file = header(0, 1, 1);
        file.extend([0; 7]);
        file.extend(header(1, 2, 8));
        file.extend(1_000_i64.to_be_bytes());
        file.push(1);
        file.extend(1800_i32.to_be_bytes());
        file.extend([0, 0]);
        file.extend(3600_i32.to_be_bytes());
        file.extend([0, 4]);
        file.extend(b"LMT\0CET\0");
        file.extend(format!("\n{rule}\n").bytes());
        file
    }

    #[test]
    fn a_file_is_read_and_its_rule_holds_after_its_last_change() {
        let zone = parse(&file("CET-1CEST,M3.5.0,M10.5.0/3")).unwrap();
        assert_eq!((zone.offset(999), zone.offset(1_000)), (1800, 3600));
        assert_eq!(zone.offset(1_782_900_000), 7200, "a summer's day of 2026");
        let zone = parse(&file("")).unwrap();
        assert_eq!(zone.offset(1_782_900_000), 3600);
        let mut too_many = file("UTC0");
        too_many[32..36].copy_from_slice(&u32::MAX.to_be_bytes());
        assert!(parse(&too_many).is_none());
        let whole = file("UTC0");
        for length in 0..whole.len() - 10 {
            assert!(parse(&whole[..length]).is_none() || length > 100);
        }
    }

    #[test]
    fn names_are_zones_and_rules() {
        assert_eq!(Zone::named("UTC0").unwrap().offset(0), 0);
        assert_eq!(Zone::named(":<+03>-3").unwrap().offset(0), 10_800);
        assert!(Zone::named("").is_none() && Zone::named("../../etc/passwd").is_none());
        if Path::new(ZONES).join("Europe/Berlin").exists() {
            let berlin = Zone::named("Europe/Berlin").unwrap();
            assert_eq!(berlin.offset(1_782_900_000), 7200);
            assert_eq!(berlin.offset(1_767_225_600), 3600);
            assert_eq!(berlin.offset(4_102_444_800), 3600, "after the table");
        }
    }
}
