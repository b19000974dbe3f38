//! The nearest of several names to one that was mistyped.

/// `did you mean 'start'? `; empty where none of the candidates is near.
pub(crate) fn guess<'a>(typed: &str, candidates: impl IntoIterator<Item = &'a str>) -> String {
    let near = nearest(typed, candidates);
    near.map_or(String::new(), |near| format!("did you mean '{near}'? "))
}

/// The candidate that is fewest edits away, where that is few enough to be a slip.
pub(crate) fn nearest<'a>(
    typed: &str,
    candidates: impl IntoIterator<Item = &'a str>,
) -> Option<&'a str> {
    // The distance is quadratic in the length, and nothing known is this long.
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
