//! Errors of the system as people read them.

use std::fmt::{Display, Write as _};

/// An error's text without the number that the standard library appends to an error of the system, however often and
/// however deep the text quotes one.
pub(crate) fn in_words(error: impl Display) -> String {
    let mut text = String::new();
    push_words(&mut text, error);
    text
}

/// Appends the text of [`in_words`].
pub(crate) fn push_words(text: &mut String, error: impl Display) {
    const NUMBER: &str = " (os error ";
    let begin = text.len();
    // Writing to a string cannot fail.
    let _ = write!(text, "{error}");
    while let Some(at) = text.get(begin..).and_then(|added| added.find(NUMBER)) {
        let at = begin + at;
        let after = text.split_at(at + NUMBER.len()).1;
        let digits = after.trim_start_matches(|c: char| c.is_ascii_digit() || c == '-');
        let Some(rest) = digits.strip_prefix(')') else {
            break;
        };
        let end = text.len() - rest.len();
        text.replace_range(at..end, "");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io;

    #[test]
    fn an_error_of_the_system_is_told_without_its_number() {
        let missing = io::Error::from_raw_os_error(2);
        assert!(missing.to_string().contains("os error"), "{missing}");
        assert_eq!(in_words(&missing), "No such file or directory");
        assert_eq!(
            in_words(format_args!("a: {missing}; b: {missing}.")),
            "a: No such file or directory; b: No such file or directory."
        );
        for other in ["ünü", "x (os error 2", "x (os error two) (os error 2)"] {
            assert_eq!(in_words(other), other);
        }
    }
}
