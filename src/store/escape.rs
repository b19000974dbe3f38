//! Escaping of characters from strangers that must not reach a terminal, a log or a file unchanged.

use std::borrow::Cow;
use std::fmt::Write as _;

/// True if a character controls a terminal, is invisible, or changes the writing direction: the C1 controls and DEL,
/// and Unicode's marks without a shape. C0 controls are not included, because tab and line feed are wanted; see
/// `char::is_control`.
pub fn is_hidden(character: char) -> bool {
    matches!(character, '\u{7f}'..='\u{9f}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{61c}')
}

/// Escapes these characters as JSON's `\uXXXX`. Parsers read a JSON text the same, because they occur only in its
/// strings.
pub fn escaped(text: &str) -> Cow<'_, str> {
    if !text.contains(is_hidden) {
        return Cow::Borrowed(text);
    }
    let mut out = String::new();
    for character in text.chars() {
        if is_hidden(character) {
            // Writing to a String cannot fail; all of these are below U+10000.
            let _ = write!(out, "\\u{:04x}", u32::from(character));
        } else {
            out.push(character);
        }
    }
    Cow::Owned(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_drives_a_terminal_is_escaped_and_json_stays_what_it_is() {
        let marks =
            "\u{7f}\u{80}\u{9b}31m\u{9f}\u{200e}\u{200f}\u{202a}\u{202e}\u{2066}\u{2069}\u{61c}";
        let value = serde_json::json!({ marks: format!("käse\n\u{1b}{marks}☺") });
        for json in [value.to_string(), format!("{value:#}")] {
            let shown = escaped(&json);
            assert!(!shown.contains(is_hidden), "{shown}");
            assert!(shown.contains("\\u009b31m") && shown.contains("käse\\n\\u001b"));
            let parsed: serde_json::Value = serde_json::from_str(&shown).unwrap();
            assert_eq!(parsed, value);
        }
        assert!(matches!(escaped("käse\t☺\n"), Cow::Borrowed(_)));
    }
}
