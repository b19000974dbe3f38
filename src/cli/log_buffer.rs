//! Lines of the request log that are written together: a call for each would be a good part of what a
//! quick request costs. Pure.
//!
//! A rare line is written at once. Lines that follow within [`TOGETHER`] waits for the end of that
//! time, for [`ENOUGH`] bytes, or for any other line: so lines keep their order.

use std::time::{Duration, Instant};

/// Time that lines are gathered for. Default 100 ms: nobody who reads along notices; a process that is
/// killed loses as much.
pub(super) const TOGETHER: Duration = Duration::from_millis(100);
/// Bytes that are written without waiting any longer. Default 16 KiB.
const ENOUGH: usize = 16 * 1024;

/// Lines that are not written yet.
#[derive(Default)]
pub(super) struct LogBuffer {
    lines: Vec<u8>,
    written: Option<Instant>,
}

impl LogBuffer {
    /// Takes a line; true when all lines are to be written now.
    pub(super) fn push(&mut self, line: &str, may_wait: bool, now: Instant) -> bool {
        self.lines.extend_from_slice(line.as_bytes());
        !may_wait || self.lines.len() >= ENOUGH || self.is_due(now)
    }

    /// True if the waiting lines are due.
    pub(super) fn is_due(&self, now: Instant) -> bool {
        let is_over = |written| now.saturating_duration_since(written) >= TOGETHER;
        self.written.is_none_or(is_over)
    }

    /// Lines to write; [`LogBuffer::wrote`] frees the room.
    pub(super) fn lines(&self) -> &[u8] {
        &self.lines
    }

    /// All of it has been written.
    pub(super) fn wrote(&mut self, now: Instant) {
        self.lines.clear();
        self.written = Some(now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
