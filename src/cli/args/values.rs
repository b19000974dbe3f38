//! Values of flags and operands that several commands take.

use std::net::SocketAddr;
use std::ops::RangeInclusive;
use std::str::FromStr;
use std::time::Duration;

/// The variable that may hold the database password.
pub(crate) const PASSWORD_VARIABLE: &str = "POSTERN_DB_PASS";
/// The variable that may name the remote server.
pub(crate) const SERVER_VARIABLE: &str = "POSTERN_SERVER";
/// The variable that may hold the enrolment token.
pub(crate) const TOKEN_VARIABLE: &str = "POSTERN_ENROLL_TOKEN";
/// The variable that may hold the password of the store that relays share.
pub(crate) const STORE_PASS_VARIABLE: &str = "POSTERN_STORE_PASS";
/// The variable that may name a file with that.
pub(crate) const STORE_PASS_FILE_VARIABLE: &str = "POSTERN_STORE_PASS_FILE";

/// A variable of the environment; one that is empty or not UTF-8 counts as unset.
pub(crate) fn environment(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

/// A whole number in digits alone, within `range`.
pub(crate) fn whole_number<T: FromStr + PartialOrd>(
    text: &str,
    range: &RangeInclusive<T>,
) -> Option<T> {
    let is_number = text.bytes().all(|byte| byte.is_ascii_digit());
    let number = text.parse().ok();
    number.filter(|number| is_number && range.contains(number))
}

/// `90m`, `1h30m`, `2d12h`: whole numbers of `d`, `h`, `m`, `s` or `ms`, added up.
pub(crate) fn duration(text: &str) -> Option<Duration> {
    let mut sum = Duration::ZERO;
    let mut rest = text;
    while !rest.is_empty() {
        let (number, after) = rest.split_at(rest.find(|c: char| !c.is_ascii_digit())?);
        let end = after.find(|c: char| c.is_ascii_digit());
        let (unit, after) = after.split_at(end.unwrap_or(after.len()));
        let millis = match unit {
            "ms" => 1,
            "s" => 1000,
            "m" => 60_000,
            "h" => 3_600_000,
            "d" => 86_400_000,
            _ => return None,
        };
        let part = number.parse::<u64>().ok()?.checked_mul(millis)?;
        sum = sum.checked_add(Duration::from_millis(part))?;
        rest = after;
    }
    (!text.is_empty()).then_some(sum)
}

/// Like [`duration`]; without a unit, seconds.
pub(crate) fn time(text: &str) -> Option<Duration> {
    let seconds = whole_number(text, &(0..=u64::MAX));
    seconds.map(Duration::from_secs).or_else(|| duration(text))
}

/// A [`time`] of whole seconds within `range`.
pub(crate) fn whole_seconds(text: &str, range: &RangeInclusive<u64>) -> Option<Duration> {
    time(text).filter(|time| time.subsec_nanos() == 0 && range.contains(&time.as_secs()))
}

/// `ADDRESS:PORT`, or `localhost:PORT`.
pub(crate) fn socket_address(text: &str) -> Option<SocketAddr> {
    match text.strip_prefix("localhost:") {
        Some(port) => format!("127.0.0.1:{port}").parse().ok(),
        None => text.parse().ok(),
    }
}

/// A [`socket_address`] to listen on.
pub(crate) fn listen_address(text: &str) -> Result<SocketAddr, &'static str> {
    socket_address(text).ok_or("give ADDRESS:PORT, such as 0.0.0.0:8180 or [::]:8180")
}

/// `did you mean 'start'? `; empty if no candidate is similar.
pub(crate) fn guess<'a>(typed: &str, candidates: impl IntoIterator<Item = &'a str>) -> String {
    let near = nearest(typed, candidates);
    near.map_or(String::new(), |near| format!("did you mean '{near}'? "))
}

/// The most similar candidate, if it can be a typing error.
pub(crate) fn nearest<'a>(
    typed: &str,
    candidates: impl IntoIterator<Item = &'a str>,
) -> Option<&'a str> {
    // The distance takes quadratic time, and no known word is this long.
    if typed.len() > 64 {
        return None;
    }
    let allowed = 1 + typed.chars().count() / 4;
    candidates
        .into_iter()
        .map(|candidate| (distance(typed, candidate), candidate))
        .filter(|&(edits, _)| edits <= allowed)
        .min_by_key(|&(edits, _)| edits)
        .map(|(_, candidate)| candidate)
}

/// Levenshtein's distance: insertions, deletions and substitutions of characters.
fn distance(from: &str, to: &str) -> usize {
    let to: Vec<char> = to.chars().collect();
    let mut row: Vec<usize> = (0..=to.len()).collect();
    for (i, from) in from.chars().enumerate() {
        row = next_row(&row, i + 1, from, &to);
    }
    *row.last().expect("a row begins with a number")
}

fn next_row(above: &[usize], first: usize, from: char, to: &[char]) -> Vec<usize> {
    let mut row = vec![first];
    let mut left = first;
    for ((&diagonal, &up), &to) in above.iter().zip(above.iter().skip(1)).zip(to) {
        left = (diagonal + usize::from(from != to))
            .min(up + 1)
            .min(left + 1);
        row.push(left);
    }
    row
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_with_one_unit_or_several() {
        for (text, millis) in [
            ("25s", 25_000),
            ("90m", 5_400_000),
            ("1h30m", 5_400_000),
            ("2d12h", 216_000_000),
            ("1m500ms", 60_500),
            ("0s", 0),
            ("366d", 31_622_400_000),
        ] {
            let expected = Some(Duration::from_millis(millis));
            assert_eq!(duration(text), expected, "{text}");
            assert_eq!(time(text), expected, "{text}");
        }
        for text in [
            "",
            "h",
            "8H",
            "1.5h",
            "-1h",
            "1h30",
            "1h 30m",
            "8 h",
            "1hm",
            "m30",
            "1w",
            "99999999999999999999d",
            "18446744073709551615s",
        ] {
            assert_eq!(time(text), None, "{text}");
        }
        assert_eq!(
            (duration("25"), time("25")),
            (None, Some(Duration::from_secs(25)))
        );
        assert_eq!(whole_seconds("1500ms", &(1..=9)), None);
        assert_eq!(whole_seconds("2m", &(1..=9)), None);
        assert_eq!(
            whole_seconds("2m", &(1..=120)),
            Some(Duration::from_secs(120))
        );
    }

    #[test]
    fn distances() {
        for (from, to, edits) in [
            ("", "", 0),
            ("", "abc", 3),
            ("abc", "", 3),
            ("kitten", "sitting", 3),
            ("flaw", "lawn", 2),
            ("readonly", "readonyl", 2),
        ] {
            assert_eq!(distance(from, to), edits, "{from} {to}");
        }
    }

    #[test]
    fn only_a_slip_is_suggested() {
        let names = ["mysql", "mariadb", "plugin"];
        assert_eq!(nearest("mysq", names), Some("mysql"));
        assert_eq!(nearest("plugins", names), Some("plugin"));
        assert_eq!(nearest("postgres", names), None);
        assert_eq!(nearest("", names), None);
        assert_eq!(nearest(&"m".repeat(1000), names), None);
    }
}
