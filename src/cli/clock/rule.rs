//! The rule by which a zone's clock changes every year, in the form of POSIX: `CET-1CEST,M3.5.0,M10.5.0/3`.

use super::calendar::{DAY, civil_at, days};

/// Seconds ahead of UTC, and when they are others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Rule {
    standard: i64,
    summer: Option<Summer>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Summer {
    offset: i64,
    begins: Change,
    ends: Change,
}

/// `Mm.w.d/time`: a day of the week in a month, and seconds of that day. Week 5 is the last.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Change {
    month: u64,
    week: i64,
    weekday: i64,
    seconds: i64,
}

impl Rule {
    pub(super) const UTC: Self = Self {
        standard: 0,
        summer: None,
    };

    /// None where it is no such text, or says the days in one of the forms that no zone uses.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let (zone, changes) = match text.split_once(',') {
            Some((zone, changes)) => (zone, Some(changes)),
            None => (text, None),
        };
        let (standard, rest) = named_offset(zone)?;
        let standard = standard?;
        if rest.is_empty() {
            return Some(Self {
                standard,
                summer: None,
            });
        }
        let (offset, rest) = named_offset(rest)?;
        let (begins, ends) = changes?.split_once(',')?;
        let summer = Summer {
            offset: offset.unwrap_or(standard + 3600),
            begins: Change::parse(begins)?,
            ends: Change::parse(ends)?,
        };
        rest.is_empty().then_some(Self {
            standard,
            summer: Some(summer),
        })
    }

    /// Seconds ahead of UTC at a time.
    pub(super) fn offset(&self, utc: i64) -> i64 {
        let Some(summer) = self.summer else {
            return self.standard;
        };
        let (year, ..) = civil_at(utc + self.standard);
        let begins = summer.begins.local(year) - self.standard;
        let ends = summer.ends.local(year) - summer.offset;
        let is_summer = if begins < ends {
            (begins..ends).contains(&utc)
        } else {
            !(ends..begins).contains(&utc)
        };
        if is_summer {
            summer.offset
        } else {
            self.standard
        }
    }
}

impl Change {
    fn parse(text: &str) -> Option<Self> {
        let (day, time) = text.split_once('/').unwrap_or((text, "2"));
        let mut parts = day.strip_prefix('M')?.split('.');
        let mut next = || parts.next()?.parse::<u64>().ok();
        let [month, week, weekday] = [next()?, next()?, next()?];
        let is_known = (1..=12).contains(&month) && (1..=5).contains(&week) && weekday <= 6;
        let signed = |number: u64| i64::try_from(number).ok();
        is_known.then_some(Self {
            month,
            week: signed(week)?,
            weekday: signed(weekday)?,
            seconds: seconds(time)?,
        })
    }

    /// The local time of the change, in seconds since 1970.
    fn local(&self, year: u64) -> i64 {
        let first = days(year, self.month, 1);
        let next_month = match self.month {
            12 => days(year + 1, 1, 1),
            month => days(year, month + 1, 1),
        };
        // 1970 began on a Thursday.
        let to_weekday = (self.weekday - (first + 4)).rem_euclid(7);
        let mut day = first + to_weekday + (self.week - 1) * 7;
        if day >= next_month {
            day -= 7;
        }
        day * DAY + self.seconds
    }
}

/// A zone's name with its offset, ahead of UTC as nobody but POSIX writes it; and what follows.
fn named_offset(text: &str) -> Option<(Option<i64>, &str)> {
    let after = match text.strip_prefix('<') {
        Some(quoted) => quoted.split_once('>')?.1,
        None => {
            let end = text.find(|c: char| !c.is_ascii_alphabetic());
            let (name, after) = text.split_at(end.unwrap_or(text.len()));
            (name.len() >= 3).then_some(after)?
        }
    };
    let is_offset = |c: char| c.is_ascii_digit() || matches!(c, '+' | '-' | ':');
    let end = after.find(|c| !is_offset(c)).unwrap_or(after.len());
    let (offset, rest) = after.split_at(end);
    if offset.is_empty() {
        return Some((None, rest));
    }
    Some((Some(-seconds(offset)?), rest))
}

/// `[+-]h[:mm[:ss]]`.
fn seconds(text: &str) -> Option<i64> {
    let (sign, digits) = match text.strip_prefix('-') {
        Some(digits) => (-1, digits),
        None => (1, text.strip_prefix('+').unwrap_or(text)),
    };
    let mut parts = digits.split(':').map(|part| part.parse::<u32>().ok());
    let hours = i64::from(parts.next()??);
    let mut rest = || parts.next().map_or(Some(0), |part| part.map(i64::from));
    let (minutes, seconds) = (rest()?, rest()?);
    (hours <= 168 && minutes < 60 && seconds < 60)
        .then_some(sign * (hours * 3600 + minutes * 60 + seconds))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn offset(rule: &str, utc: i64) -> i64 {
        Rule::parse(rule).unwrap().offset(utc)
    }

    #[test]
    fn rules_of_both_hemispheres() {
        let (berlin, sydney) = ("CET-1CEST,M3.5.0,M10.5.0/3", "AEST-10AEDT,M10.1.0,M4.1.0/3");
        // 2026-03-29T01:00:00Z and 2026-10-25T01:00:00Z.
        for (utc, hours) in [
            (1_774_745_999, 1),
            (1_774_746_000, 2),
            (1_792_889_999, 2),
            (1_792_890_000, 1),
        ] {
            assert_eq!(offset(berlin, utc), hours * 3600, "{utc}");
        }
        // 2026-04-04T16:00:00Z and 2026-10-03T16:00:00Z.
        for (utc, hours) in [
            (1_775_318_399, 11),
            (1_775_318_400, 10),
            (1_791_043_199, 10),
            (1_791_043_200, 11),
        ] {
            assert_eq!(offset(sydney, utc), hours * 3600, "{utc}");
        }
        assert_eq!(offset("EST5EDT,M3.2.0,M11.1.0", 1_767_225_600), -5 * 3600);
        assert_eq!(offset("<+0545>-5:45", 0), 5 * 3600 + 45 * 60);
        assert_eq!(offset("UTC0", 0), 0);
    }

    #[test]
    fn other_texts_are_none() {
        for text in [
            "",
            "CET",
            "C-1",
            "CET-1CEST",
            "CET-1CEST,J60,J300",
            "CET-x",
            "CET-1CEST,M13.1.0,M1.1.0",
        ] {
            assert_eq!(Rule::parse(text), None, "{text}");
        }
    }
}
