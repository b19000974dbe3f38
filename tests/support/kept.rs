//! Files of outputs that tests compare with.

use std::path::Path;

/// Compares a text with a file, or writes the file where `POSTERN_BLESS` is set.
#[track_caller]
pub fn compare(path: &Path, text: &str) {
    if std::env::var_os("POSTERN_BLESS").is_some_and(|value| !value.is_empty()) {
        return std::fs::write(path, text).unwrap();
    }
    let kept = std::fs::read_to_string(path).unwrap_or_default();
    assert!(
        kept == text,
        "{} differs from the program; if that is meant, run make bless\n{}",
        path.display(),
        difference(&kept, text)
    );
}

/// The lines that were taken out and put in, with nothing of what is the same.
fn difference(kept: &str, now: &str) -> String {
    let (kept, now): (Vec<&str>, Vec<&str>) = (kept.lines().collect(), now.lines().collect());
    let (mut at, mut to, mut shown) = (0, 0, String::new());
    while at < kept.len() || to < now.len() {
        if kept.get(at) == now.get(to) {
            (at, to) = (at + 1, to + 1);
            continue;
        }
        // Skip to the nearest line that both share.
        let rest = || kept[at..].iter().enumerate();
        let shared = rest()
            .filter_map(|(out, line)| Some((out, now[to..].iter().position(|l| l == line)?)))
            .min_by_key(|(out, put)| out + put);
        let (out, put) = shared.unwrap_or((kept.len() - at, now.len() - to));
        for line in &kept[at..at + out] {
            shown += &format!("-{line}\n");
        }
        for line in &now[to..to + put] {
            shown += &format!("+{line}\n");
        }
        (at, to) = (at + out, to + put);
    }
    shown
}

#[test]
fn a_difference_is_shown_line_by_line() {
    assert_eq!(difference("a\nb\nc\nd\n", "a\nx\nc\n"), "-b\n+x\n-d\n");
    assert_eq!(difference("", "a\n"), "+a\n");
    assert_eq!(difference("a\n", "a\n"), "");
}
