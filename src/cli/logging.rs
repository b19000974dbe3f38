//! Log lines on stderr, for who runs the program.
//!
//! Warnings say what went wrong and was survived; debug lines say what was
//! done, with statements' kinds and sizes. No level holds a password, a code,
//! a cookie, or a value of the database. Other crates are held to warnings:
//! those that speak to servers log secrets at their finer levels.

use std::io::Write;
use std::time::SystemTime;

use log::{LevelFilter, Log, Metadata, Record};

use crate::store::time::rfc3339_millis;

/// The crate whose finer levels may be shown.
const OWN: &str = env!("CARGO_CRATE_NAME");

struct Stderr;

/// Sends log lines to stderr from now on.
pub(crate) fn start(verbose: bool) {
    start_at(if verbose {
        LevelFilter::Debug
    } else {
        LevelFilter::Warn
    });
}

/// The same for a command whose log is its output: what happens is told without `-v` too.
pub(crate) fn start_informing(verbose: bool) {
    start_at(if verbose {
        LevelFilter::Debug
    } else {
        LevelFilter::Info
    });
}

fn start_at(level: LevelFilter) {
    // Fails only where a logger is set already, which then goes on.
    if log::set_logger(&Stderr).is_ok() {
        log::set_max_level(level);
    }
}

impl Log for Stderr {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        let target = metadata.target();
        let is_own = target.split("::").next() == Some(OWN);
        is_own || metadata.level() <= LevelFilter::Warn
    }

    fn log(&self, record: &Record<'_>) {
        if self.enabled(record.metadata()) {
            let line = line(SystemTime::now(), record);
            // One call a line, so that threads do not mix; a failing stderr leaves nowhere to say so.
            let _ = std::io::stderr().lock().write_all(line.as_bytes());
        }
    }

    fn flush(&self) {}
}

/// `TIME LEVEL module: message`, always one line whatever the message holds.
fn line(time: SystemTime, record: &Record<'_>) -> String {
    let mut line = format!(
        "{} {:5} {}: ",
        rfc3339_millis(time),
        record.level(),
        record.target()
    );
    for character in record.args().to_string().chars() {
        if character.is_control() {
            line.extend(character.escape_default());
        } else {
            line.push(character);
        }
    }
    line.push('\n');
    line
}

#[cfg(test)]
mod tests {
    use super::*;
    use log::Level;

    fn is_shown(target: &str, level: Level) -> bool {
        Stderr.enabled(&Metadata::builder().target(target).level(level).build())
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
            .args(format_args!("a\nb\u{1b}"))
            .level(Level::Warn)
            .target("t")
            .build();
        let shown = line(SystemTime::UNIX_EPOCH, &record);
        assert_eq!(shown, "1970-01-01T00:00:00.000Z WARN  t: a\\nb\\u{1b}\n");
    }
}
