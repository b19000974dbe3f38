//! How a command ends other than well: exit status, what happened, what to try.

use std::fmt::Write as _;
use std::io::{self, Write as _};
use std::process::ExitCode;

/// The longest piece of the user's own text that a message repeats, in characters.
const QUOTE_CAP: usize = 120;
/// The longest text of a server that a message repeats, in characters: its own have at most 512 bytes.
const REPORT_CAP: usize = 1000;

/// The exit status of `app` where a server is not reached: trying again may help.
pub(crate) const UNREACHABLE: u8 = 3;
/// Where credentials, a token or a host key are refused: something has to be changed first.
pub(crate) const REFUSED: u8 = 4;
/// Where a limit is reached.
pub(crate) const OVER_LIMIT: u8 = 5;

/// The end of a command that did not do what was asked.
#[derive(Debug)]
pub(crate) struct Failure {
    status: u8,
    message: String,
    hint: Option<String>,
}

impl Failure {
    /// The operation failed: status 1.
    pub(crate) fn operation(message: impl AsRef<str>) -> Self {
        Self::verbatim(format!("postern: {}", message.as_ref()))
    }

    /// The operation failed, with a message whose every letter is specified.
    pub(crate) fn verbatim(message: impl Into<String>) -> Self {
        Self {
            status: 1,
            message: message.into(),
            hint: None,
        }
    }

    /// The command line is wrong: status 2.
    pub(crate) fn usage(message: impl AsRef<str>) -> Self {
        Self {
            status: 2,
            ..Self::operation(message)
        }
    }

    /// A text that is the whole message, such as a command's help; status 2.
    pub(crate) fn usage_text(text: &str) -> Self {
        Self {
            status: 2,
            ..Self::verbatim(text.trim_end())
        }
    }

    /// Standard output could not be written. A reader that has had enough is no failure.
    pub(crate) fn output(error: &io::Error) -> Self {
        if error.kind() == io::ErrorKind::BrokenPipe {
            return Self {
                status: 0,
                ..Self::verbatim("")
            };
        }
        Self::operation(format!("cannot write to standard output: {error}"))
    }

    /// Adds the second line: what to try.
    #[must_use]
    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Ends with another exit status.
    #[must_use]
    pub(crate) fn exit_status(mut self, status: u8) -> Self {
        self.status = status;
        self
    }

    /// Prints the lines and gives the exit status. A failing stderr leaves nowhere to say so.
    pub(crate) fn report(&self) -> ExitCode {
        let mut text = String::new();
        for line in [Some(&self.message), self.hint.as_ref()]
            .into_iter()
            .flatten()
        {
            if !line.is_empty() {
                text.push_str(line);
                text.push('\n');
            }
        }
        let _ = io::stderr().lock().write_all(text.as_bytes());
        ExitCode::from(self.status)
    }

    #[cfg(test)]
    pub(crate) fn parts(&self) -> (u8, &str, Option<&str>) {
        (self.status, &self.message, self.hint.as_deref())
    }
}

/// The user's text in single quotes, harmless to a terminal and not longer than a line.
pub(crate) fn quoted(text: &str) -> String {
    format!("'{}'", printable(text))
}

/// The text with control characters escaped and its end cut where it is long.
pub(crate) fn printable(text: &str) -> String {
    cut(text, QUOTE_CAP)
}

/// The same for what another program wrote, such as a server's own error text.
pub(crate) fn reported(text: &str) -> String {
    cut(text, REPORT_CAP)
}

fn cut(text: &str, cap: usize) -> String {
    let mut shown = String::new();
    for character in text.chars().take(cap) {
        if character.is_control() || is_invisible(character) {
            // Writing to a String cannot fail.
            let _ = write!(shown, "{}", character.escape_unicode());
        } else {
            shown.push(character);
        }
    }
    if text.chars().nth(cap).is_some() {
        shown.push('…');
    }
    shown
}

/// Marks that reorder or hide what stands beside them.
fn is_invisible(character: char) -> bool {
    matches!(character, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quoted_text_cannot_drive_a_terminal() {
        assert_eq!(quoted("a\u{1b}[2Jb"), "'a\\u{1b}[2Jb'");
        assert_eq!(quoted("a\nb\u{202e}"), "'a\\u{a}b\\u{202e}'");
        assert_eq!(quoted("käse"), "'käse'");
        assert_eq!(quoted(&"x".repeat(121)), format!("'{}…'", "x".repeat(120)));
        assert_eq!(reported("no\u{1b}]0;x\u{7}"), "no\\u{1b}]0;x\\u{7}");
        assert_eq!(reported(&"x".repeat(121)), "x".repeat(121));
    }
}
