//! Failure of a command (exit status, message and hint), and the output of all commands.

use std::fmt::Write as _;
use std::io::{self, Write};
use std::process::ExitCode;

use serde::Serialize;
use serde_json::{Value, json};
use zeroize::Zeroizing;

use crate::http::ApiError;
use crate::net::in_words;
use crate::store::{self, escaped, is_hidden};

pub(crate) use crate::api::{FAILED, OVER_LIMIT, REFUSED, UNREACHABLE};

/// The longest text from elsewhere that is printed, in characters. Default 16 Ki: far longer than any real message, and
/// short enough not to hide other output.
const TEXT_CAP: usize = 16 * 1024;

/// Exit status of a command that Ctrl-C ended, as in shells.
pub(crate) const INTERRUPTED: u8 = 130;

/// Hints for system messages about a shortage, which is then the cause of any failure; C libraries have different
/// messages.
const SHORTAGES: [(&str, &str); 5] = [
    ("Resource temporarily unavailable", MORE_THREADS),
    ("the limit of open files is", MORE_FILES),
    ("Too many open files", MORE_FILES),
    ("No file descriptors available", MORE_FILES),
    (
        "No space left on device",
        "free some space on that disk ('df'), or inodes ('df -i')",
    ),
];
const MORE_THREADS: &str = "raise the limit of threads ('ulimit -u', or pids.max of the cgroup) or of memory ('ulimit -v')";
const MORE_FILES: &str = "raise the limit of open files ('ulimit -n 1024')";

/// The end of a command that has failed.
#[derive(Debug)]
pub(crate) struct Failure {
    status: u8,
    message: String,
    hint: Option<String>,
    /// Status for the JSON output, if the exit status does not imply it.
    code: Option<u16>,
    /// True if it is printed as JSON too, because of `--json`.
    is_json: bool,
    /// Answer that `--json` prints also after a failure; an object gets the members of the error too.
    answer: Option<Box<Value>>,
}

impl Failure {
    /// Failure of an operation: status 1.
    pub(crate) fn operation(message: impl AsRef<str>) -> Self {
        Self::verbatim(format!("postern: {}", message.as_ref()))
    }

    /// Failure of an operation with a message that is specified exactly.
    pub(crate) fn verbatim(message: impl Into<String>) -> Self {
        Self {
            status: FAILED,
            message: in_words(message.into()),
            hint: None,
            code: None,
            is_json: false,
            answer: None,
        }
    }

    /// Failure for a wrong command line: status 2.
    pub(crate) fn usage(message: impl AsRef<str>) -> Self {
        Self {
            status: 2,
            ..Self::operation(message)
        }
    }

    /// Failure with a whole text as its message, such as a command's help; status 2.
    pub(crate) fn usage_text(text: &str) -> Self {
        Self {
            status: 2,
            ..Self::verbatim(text.trim_end())
        }
    }

    /// Failure to write to standard output. A reader that closes its end is not a failure.
    pub(crate) fn output(error: &io::Error) -> Self {
        if error.kind() == io::ErrorKind::BrokenPipe {
            return Self {
                status: 0,
                ..Self::verbatim("")
            };
        }
        Self::operation(format!("cannot write to standard output: {error}"))
    }

    /// Adds the second line: a hint.
    #[must_use]
    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Adds a hint, if there is one.
    #[must_use]
    pub(crate) fn hint_if(self, hint: Option<impl Into<String>>) -> Self {
        match hint {
            Some(hint) => self.hint(hint),
            None => self,
        }
    }

    /// Ends with another exit status.
    #[must_use]
    pub(crate) fn exit_status(mut self, status: u8) -> Self {
        self.status = status;
        self
    }

    /// Sets the status for the JSON output.
    #[must_use]
    pub(crate) fn code(mut self, code: u16) -> Self {
        self.code = Some(code);
        self
    }

    /// Prints a wrong command line as JSON too, if it contains `--json`.
    #[must_use]
    pub(super) fn usage_in_json(self, is_json: bool) -> Self {
        let is_usage = self.status == 2;
        self.in_json(is_json && is_usage)
    }

    /// Prints it as JSON too, with `--json`.
    #[must_use]
    pub(crate) fn in_json(mut self, is_json: bool) -> Self {
        self.is_json |= is_json;
        self
    }

    /// Adds the answer that `--json` prints also after a failure.
    #[must_use]
    pub(crate) fn answer(mut self, answer: Value) -> Self {
        self.answer.get_or_insert_with(|| Box::new(answer));
        self
    }

    /// Adds the name of the item that it is about, if there are several.
    #[must_use]
    pub(crate) fn about(mut self, name: &str) -> Self {
        let message = self
            .message
            .strip_prefix("postern: ")
            .unwrap_or(&self.message);
        self.message = format!("postern: {}: {message}", printable(name));
        self
    }

    /// Message without the program's name.
    pub(crate) fn message(&self) -> String {
        let message = self.message.strip_prefix("postern: ");
        message.unwrap_or(&self.message).to_owned()
    }

    /// True if Ctrl-C is the reason.
    pub(crate) fn is_interruption(&self) -> bool {
        self.status == INTERRUPTED
    }

    /// True if this is the hint.
    pub(crate) fn hints(&self, hint: &str) -> bool {
        self.hint.as_deref() == Some(hint)
    }

    /// Prints the lines and returns the exit status. Errors of the output are ignored: they cannot be reported.
    pub(crate) fn report(&self) -> ExitCode {
        let shortage = SHORTAGES
            .iter()
            .find(|(text, _)| self.message.contains(text));
        let hint = shortage.map(|(_, hint)| *hint).or(self.hint.as_deref());
        if self.is_json && self.status > 0 {
            let json = format!("{}\n", self.to_json(hint));
            let _ = io::stdout().lock().write_all(escaped(&json).as_bytes());
        }
        let lines = [Some(self.message.as_str()), hint];
        let lines = lines.into_iter().flatten().filter(|line| !line.is_empty());
        let text: String = lines.map(|line| format!("{line}\n")).collect();
        say(&text);
        ExitCode::from(self.status)
    }

    /// The error as our APIs answer it, with the command's answer.
    fn to_json(&self, hint: Option<&str>) -> Value {
        let code = self.code.unwrap_or(match self.status {
            2 => 400,
            UNREACHABLE => 503,
            REFUSED => 403,
            OVER_LIMIT => 429,
            _ => 500,
        });
        let mut error = ApiError::new(code, self.message()).members();
        error.extend(hint.map(|hint| ("hint".to_owned(), json!(hint))));
        match self.answer.as_deref() {
            Some(Value::Object(answer)) => {
                let mut all = answer.clone();
                all.extend(error);
                all.into()
            }
            // Other answers have no room for the error.
            Some(answer) => answer.clone(),
            None => error.into(),
        }
    }

    #[cfg(test)]
    pub(crate) fn parts(&self) -> (u8, &str, Option<&str>) {
        (self.status, &self.message, self.hint.as_deref())
    }
}

/// A file of the per-user directory.
impl From<store::Error> for Failure {
    fn from(error: store::Error) -> Self {
        Self::operation(error.to_string()).hint(error.hint())
    }
}

/// Prints a warning.
pub(crate) fn warn(message: &str) {
    say(&format!("postern: {}\n", in_words(message)));
}

/// Writes to standard error; errors are ignored.
pub(crate) fn say(text: &str) {
    let _ = io::stderr().lock().write_all(escaped(text).as_bytes());
}

/// The user's text in single quotes, with control characters escaped.
pub(crate) fn quoted(text: &str) -> String {
    format!("'{}'", printable(text))
}

/// A text from elsewhere (the user, a file, a server) with its control characters escaped. After [`TEXT_CAP`] it is
/// cut, and the removed characters are counted.
pub(crate) fn printable(text: &str) -> String {
    let mut shown = String::new();
    for character in text.chars().take(TEXT_CAP) {
        if character.is_control() || is_hidden(character) {
            // Writing to a String cannot fail.
            let _ = write!(shown, "{}", character.escape_unicode());
        } else {
            shown.push(character);
        }
    }
    match text.chars().skip(TEXT_CAP).count() {
        0 => shown,
        left => format!("{shown}… ({left} more characters)"),
    }
}

/// Writes `text` and flushes, so that a reader sees it at once. Text of strangers, also in JSON, cannot control the
/// terminal: see [`escaped`].
pub(crate) fn print(text: &str) -> Result<(), Failure> {
    let mut stdout = io::stdout().lock();
    stdout
        .write_all(escaped(text).as_bytes())
        .and_then(|()| stdout.flush())
        .map_err(|error| Failure::output(&error))
}

/// Prints the output of `--json`, with the members of each object by name.
pub(crate) fn print_json(of: &impl Serialize) -> Result<(), Failure> {
    print(&Zeroizing::new(format!("{:#}\n", json!(of))))
}

/// Like [`print_json`], on one line: there may be several.
pub(crate) fn print_json_line(of: &impl Serialize) -> Result<(), Failure> {
    print(&Zeroizing::new(format!("{}\n", json!(of))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quoted_text_cannot_drive_a_terminal() {
        assert_eq!(quoted("a\u{1b}[2Jb"), "'a\\u{1b}[2Jb'");
        assert_eq!(quoted("a\nb\u{202e}"), "'a\\u{a}b\\u{202e}'");
        assert_eq!(quoted("käse"), "'käse'");
        assert_eq!(printable("no\u{1b}]0;x\u{7}"), "no\\u{1b}]0;x\\u{7}");
    }

    #[test]
    fn a_text_is_whole_and_where_it_cannot_be_the_rest_is_counted() {
        let long = "ä".repeat(TEXT_CAP);
        assert_eq!(printable(&long), long);
        let longer = format!("{long}end");
        assert_eq!(printable(&longer), format!("{long}… (3 more characters)"));
    }
}
