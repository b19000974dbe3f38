//! Log lines on stderr, for the user or operator.
//!
//! Warnings are about failures that the program survived; debug lines are about actions, with kinds and sizes of
//! statements. No level contains a password, a code, a cookie, or a value of the database. Other crates are limited to
//! warnings, because those that talk to servers log secrets at finer levels.
//!
//! Lines of the request log that come quickly are written together, at most 100 ms late.

use std::io::Write;
use std::sync::OnceLock;
use std::time::{Duration, Instant, SystemTime};

use log::kv::{self, Key, Value, VisitSource};
use log::{LevelFilter, Log, Metadata, Record};
use serde_json::json;

use super::args::command::{Command, Parsed};
use super::args::table::{LOG_FORMAT, VERBOSE};
use super::failure::Failure;
use crate::net::{in_words, push_words};
use crate::store::time::rfc3339_millis;
use crate::store::{escaped, is_hidden};
use crate::sync::{Lookout, Mutex, REFUSED, Thread};

/// The crate whose finer levels may be shown.
const OWN: &str = env!("CARGO_CRATE_NAME");

/// Format of lines.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Format {
    /// For people: without the place in the program, except for the access log, whose name is used in filters.
    Text,
    /// Text with `-v`.
    Verbose,
    /// One object per line.
    Json,
}

/// The logger, set once.
struct Stderr {
    format: Format,
    /// True if the command prints events in lines of its own, except refused visitors.
    is_quiet: bool,
    /// Prefixes of targets that are limited to warnings: their owner reports the results.
    owned: &'static [&'static str],
    /// Held while lines are written, so that they keep their order.
    buffer: Mutex<LogBuffer>,
    /// Writes waiting lines.
    later: Lookout,
}

static LOGGER: OnceLock<Stderr> = OnceLock::new();

/// Parts of this program that a manager owns: single tunnels, and the relay in its process with its access log.
pub(crate) const OWNED: [&str; 3] = ["postern::tunnel", "postern::relay", ACCESS];
/// Target of the access log.
const ACCESS: &str = "postern::access";

/// Size of a usual line, in bytes. Default 256.
const USUAL: usize = 256;
/// Time for which lines are gathered. Default 100 ms: readers do not notice it; a killed process loses as much.
const TOGETHER: Duration = Duration::from_millis(100);
/// Bytes that are written without more waiting. Default 16 KiB.
const ENOUGH: usize = 16 * 1024;

/// Sends log lines to stderr from now on.
pub(crate) fn start(verbose: bool) {
    start_at(LevelFilter::Warn, verbose, Format::Text, &[], false);
}

/// Starts the log of a command that prints events in lines of its own.
pub(crate) fn start_quietly(verbose: bool) {
    start_at(LevelFilter::Warn, verbose, Format::Text, &[], true);
}

/// Starts the log of a command whose log is its output, also without `-v`.
pub(crate) fn start_informing(verbose: bool) {
    start_at(LevelFilter::Info, verbose, Format::Text, &[], false);
}

/// Starts the log of a command with `-v` and `--log-format`, by default at this level. Only warnings of `owned` parts
/// are logged.
pub(crate) fn start_by(
    command: &Command,
    parsed: &Parsed,
    level: LevelFilter,
    owned: &'static [&'static str],
) -> Result<(), Failure> {
    let format = command.read(parsed, &LOG_FORMAT, |text| match text {
        "text" => Ok(Format::Text),
        "json" => Ok(Format::Json),
        _ => Err("give text or json"),
    })?;
    let format = format.unwrap_or(Format::Text);
    start_at(level, parsed.has(&VERBOSE), format, owned, false);
    Ok(())
}

fn start_at(
    level: LevelFilter,
    is_verbose: bool,
    format: Format,
    owned: &'static [&'static str],
    is_quiet: bool,
) {
    let format = match format {
        Format::Text if is_verbose => Format::Verbose,
        format => format,
    };
    let owned = if is_verbose { &[] } else { owned };
    let logger = LOGGER.get_or_init(|| Stderr {
        is_quiet: is_quiet && !is_verbose,
        ..Stderr::new(format, owned)
    });
    // Fails only if a logger is set already, which then stays.
    if log::set_logger(logger).is_ok() {
        log::set_max_level(if is_verbose {
            LevelFilter::Debug
        } else {
            level
        });
    }
}

/// Writes waiting lines; to be called at the end of the program.
pub(crate) fn flush() {
    log::logger().flush();
}

impl Stderr {
    fn new(format: Format, owned: &'static [&'static str]) -> Stderr {
        Stderr {
            format,
            is_quiet: false,
            owned,
            buffer: Mutex::default(),
            later: Lookout::default(),
        }
    }

    fn write(&self, line: &str, may_wait: bool) {
        let mut buffer = self.buffer.lock();
        let now = Instant::now();
        if buffer.push(line, may_wait, now) {
            return write_out(&mut buffer, now);
        }
        drop(buffer);
        self.later.begin(Thread::Log, || LOGGER.get()?.look());
    }

    /// Writes lines that have waited for long enough; returns none when nothing waits.
    fn look(&self) -> Option<Duration> {
        let mut buffer = self.buffer.lock();
        if buffer.lines().is_empty() {
            return None;
        }
        let now = Instant::now();
        if buffer.is_due(now) {
            write_out(&mut buffer, now);
        }
        Some(TOGETHER)
    }
}

/// Writes in one call, so that no other output comes in between; errors cannot be reported.
fn write_out(buffer: &mut LogBuffer, now: Instant) {
    let _ = std::io::stderr().lock().write_all(buffer.lines());
    buffer.wrote(now);
}

impl Log for Stderr {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        let target = metadata.target();
        if self.is_quiet && metadata.level() > LevelFilter::Error && target != REFUSED {
            return false;
        }
        let is_own = target.split("::").next() == Some(OWN);
        let is_owned = self.owned.iter().any(|part| target.starts_with(part));
        is_own && !is_owned || metadata.level() <= LevelFilter::Warn
    }

    fn log(&self, record: &Record<'_>) {
        if self.enabled(record.metadata()) {
            let line = line(SystemTime::now(), record, self.format);
            self.write(&line, record.target() == ACCESS);
        }
    }

    fn flush(&self) {
        write_out(&mut self.buffer.lock(), Instant::now());
    }
}

/// `TIME LEVEL [place: ]message`, always one line whatever the message holds.
fn line(time: SystemTime, record: &Record<'_>, format: Format) -> String {
    let (time, level, target) = (rfc3339_millis(time), record.level(), record.target());
    if format == Format::Json {
        let level = level.as_str().to_lowercase();
        let message = in_words(record.args());
        let mut line = json!({"time": time, "level": level, "target": target, "message": message});
        // Reading the fields does not fail.
        let _ = record.key_values().visit(&mut KeyValues(&mut line));
        return escaped(&line.to_string()).into_owned() + "\n";
    }
    let mut line = String::with_capacity(USUAL);
    for part in [&time, " ", level.as_str(), " "] {
        line.push_str(part);
    }
    if level.as_str().len() < 5 {
        line.push(' ');
    }
    if format == Format::Verbose || target == ACCESS {
        line.push_str(target);
        line.push_str(": ");
    }
    let begin = line.len();
    push_words(&mut line, record.args());
    let is_plain = |message: &str| message.bytes().all(|byte| (b' '..=b'~').contains(&byte));
    if !line.get(begin..).is_some_and(is_plain) {
        let message = line.split_off(begin);
        push_escaped(&mut line, &message);
    }
    line.push('\n');
    line
}

/// The object that a record's fields are added to.
struct KeyValues<'a>(&'a mut serde_json::Value);

impl<'kvs> VisitSource<'kvs> for KeyValues<'_> {
    fn visit_pair(&mut self, key: Key<'kvs>, value: Value<'kvs>) -> Result<(), kv::Error> {
        let number = value.to_u64().map(serde_json::Value::from);
        let number = number.or_else(|| value.to_f64().map(serde_json::Value::from));
        self.0[key.as_str()] = number.unwrap_or_else(|| value.to_string().into());
        Ok(())
    }
}

fn push_escaped(line: &mut String, message: &str) {
    for character in message.chars() {
        if character.is_control() || is_hidden(character) {
            line.extend(character.escape_default());
        } else {
            line.push(character);
        }
    }
}

/// Lines of the request log that are not written yet: a system call for each would be a large part of the cost of a
/// quick request.
///
/// A rare line is written at once. Lines that follow within [`TOGETHER`] wait for the end of that time, for [`ENOUGH`]
/// bytes, or for any other line: so lines keep their order.
#[derive(Default)]
struct LogBuffer {
    lines: Vec<u8>,
    written: Option<Instant>,
}

impl LogBuffer {
    /// Takes a line; true when all lines are to be written now.
    fn push(&mut self, line: &str, may_wait: bool, now: Instant) -> bool {
        self.lines.extend_from_slice(line.as_bytes());
        !may_wait || self.lines.len() >= ENOUGH || self.is_due(now)
    }

    /// True if the waiting lines are due.
    fn is_due(&self, now: Instant) -> bool {
        let is_over = |written| now.saturating_duration_since(written) >= TOGETHER;
        self.written.is_none_or(is_over)
    }

    /// Lines to write; [`LogBuffer::wrote`] clears them.
    fn lines(&self) -> &[u8] {
        &self.lines
    }

    /// Called when all lines have been written.
    fn wrote(&mut self, now: Instant) {
        self.lines.clear();
        self.written = Some(now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use log::Level;

    fn is_shown(target: &str, level: Level) -> bool {
        let logger = Stderr::new(Format::Text, &[]);
        logger.enabled(&Metadata::builder().target(target).level(level).build())
    }

    #[test]
    fn parts_that_are_owned_are_held_to_warnings() {
        let logger = Stderr::new(Format::Text, &OWNED);
        let is_shown = |target: &str, level: Level| {
            logger.enabled(&Metadata::builder().target(target).level(level).build())
        };
        assert!(is_shown("postern::manager::connection", Level::Info));
        for target in ["postern::tunnel::client::state", "postern::access"] {
            assert!(!is_shown(target, Level::Info) && is_shown(target, Level::Warn));
        }
    }

    #[test]
    fn other_crates_are_held_to_warnings() {
        assert!(is_shown("postern", Level::Debug));
        assert!(is_shown("postern::cli", Level::Trace));
        assert!(is_shown("rustls::client", Level::Warn));
        assert!(!is_shown("rustls::client", Level::Info));
        assert!(!is_shown("postern_like", Level::Debug));
    }

    #[test]
    fn a_message_stays_one_line() {
        let record = Record::builder()
            .args(format_args!("a\nb\u{1b}\u{9b}\u{202e}"))
            .level(Level::Warn)
            .target("t")
            .build();
        let shown = |format| line(SystemTime::UNIX_EPOCH, &record, format);
        let time = "1970-01-01T00:00:00.000Z";
        assert_eq!(
            shown(Format::Verbose),
            format!("{time} WARN  t: a\\nb\\u{{1b}}\\u{{9b}}\\u{{202e}}\n")
        );
        assert_eq!(
            shown(Format::Text),
            format!("{time} WARN  a\\nb\\u{{1b}}\\u{{9b}}\\u{{202e}}\n")
        );
        assert!(!shown(Format::Json).contains(is_hidden));
        let object: serde_json::Value = serde_json::from_str(&shown(Format::Json)).unwrap();
        assert_eq!(
            (&object["level"], &object["message"]),
            (&"warn".into(), &"a\nb\u{1b}\u{9b}\u{202e}".into())
        );
    }

    #[test]
    fn lines_that_follow_soon_wait_and_are_written_with_the_next_that_does_not() {
        let (mut buffer, start) = (LogBuffer::default(), Instant::now());
        assert!(
            buffer.push("a\n", true, start),
            "nothing was written lately"
        );
        buffer.wrote(start);
        let soon = start + TOGETHER / 2;
        assert!(!buffer.push("b\n", true, soon) && !buffer.is_due(soon));
        assert!(buffer.push("warning\n", false, soon));
        assert_eq!(buffer.lines(), b"b\nwarning\n");
        buffer.wrote(soon);
        assert!(!buffer.push("c\n", true, start + TOGETHER));
        assert!(buffer.is_due(soon + TOGETHER));
        assert!(buffer.push("d\n", true, soon + TOGETHER));
        buffer.wrote(soon + TOGETHER);
        let long = "e".repeat(ENOUGH);
        assert!(buffer.push(&long, true, soon + TOGETHER));
    }
}
