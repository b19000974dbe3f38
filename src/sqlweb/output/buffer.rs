//! Buffered output of a streamed answer: large writes for fast rows, prompt ones for slow rows.

use std::io::{self, Write};
use std::time::Duration;

use rows::PIECE;
use rustix::time::{ClockId, clock_gettime};

/// Bytes gathered before they are written: enough to make system calls rare, and few enough for each of 32 statements.
const FULL: usize = 64 << 10;

/// Time after which even a small buffer is written, so that rows of a slow statement are seen.
const PROMPT: Duration = Duration::from_millis(100);

/// Largest second copy of a result set, in bytes; it is on a disk that may be small.
const MAX_COPY: usize = 256 << 20;

/// The output buffer of one answer.
pub(crate) struct OutputBuffer<'a> {
    buffer: Vec<u8>,
    target: &'a mut dyn Write,
    /// A second copy of the output, while one is kept.
    copy: Option<ReplayCopy>,
    flushed_at: Duration,
    untouched: bool,
}

struct ReplayCopy {
    file: tempfile::SpooledTempFile,
    /// Start of the copy in the buffer; unwritten bytes before it do not belong to it.
    from: usize,
    /// Number of bytes kept so far.
    size: usize,
}

impl ReplayCopy {
    /// Adds the buffer to the copy; drops the copy if it grows too large or the disk is full, which must not fail the
    /// statement.
    fn with(mut self, buffer: &[u8]) -> Option<Self> {
        let more = buffer.get(self.from..);
        let more = more.expect("the copy begins within the buffer");
        self.size += more.len();
        self.from = 0;
        (self.size <= MAX_COPY && self.file.write_all(more).is_ok()).then_some(self)
    }
}

impl<'a> OutputBuffer<'a> {
    /// An empty buffer in front of `target`.
    pub(crate) fn new(target: &'a mut dyn Write) -> Self {
        Self {
            buffer: Vec::with_capacity(FULL + 2 * PIECE),
            target,
            copy: None,
            flushed_at: coarse_now(),
            untouched: true,
        }
    }

    /// Appends without writing. Between two calls of `flush_…` about [`PIECE`] bytes may be appended.
    pub(crate) fn push(&mut self, bytes: &[u8]) {
        self.buffer.extend_from_slice(bytes);
    }

    /// Returns the bytes for appending without writing, as by [`push`](Self::push).
    pub(crate) fn bytes(&mut self) -> &mut Vec<u8> {
        &mut self.buffer
    }

    /// Writes if the buffer is full.
    pub(crate) fn flush_if_full(&mut self) -> io::Result<()> {
        if self.buffer.len() >= FULL {
            self.flush()?;
        }
        Ok(())
    }

    /// Writes if the buffer is full or has waited long enough; called once per row.
    pub(crate) fn flush_if_due(&mut self) -> io::Result<()> {
        if self.buffer.len() >= FULL || self.has_waited() {
            self.flush()?;
        }
        Ok(())
    }

    fn has_waited(&self) -> bool {
        coarse_now().saturating_sub(self.flushed_at) >= PROMPT
    }

    /// True if nothing has been written yet.
    pub(crate) fn is_untouched(&self) -> bool {
        self.untouched
    }

    /// Writes the whole buffer.
    pub(crate) fn flush(&mut self) -> io::Result<()> {
        if self.buffer.is_empty() {
            return Ok(());
        }
        self.untouched = false;
        self.copy = self.copy.take().and_then(|copy| copy.with(&self.buffer));
        self.target.write_all(&self.buffer)?;
        self.target.flush()?;
        self.buffer.clear();
        self.flushed_at = coarse_now();
        Ok(())
    }

    /// Starts a second copy of all further output, in memory and, when large, in a nameless file in `dir`.
    pub(crate) fn start_copy(&mut self, dir: &std::path::Path) {
        self.copy = Some(ReplayCopy {
            file: tempfile::spooled_tempfile_in(FULL, dir),
            from: self.buffer.len(),
            size: 0,
        });
    }

    /// Makes the target send its head even if no byte was written.
    pub(crate) fn write_head(&mut self) -> io::Result<()> {
        self.untouched = false;
        self.target.flush()
    }

    /// Ends the copy and returns it, if it could be kept.
    pub(crate) fn end_copy(&mut self) -> Option<tempfile::SpooledTempFile> {
        self.copy.take().map(|kept| kept.file)
    }

    /// Writes a whole copy.
    pub(crate) fn replay(&mut self, mut copy: tempfile::SpooledTempFile) -> io::Result<()> {
        use std::io::Seek;
        self.flush()?;
        copy.rewind()?;
        io::copy(&mut copy, self.target)?;
        Ok(())
    }
}

/// Monotonic time to a few milliseconds, which costs a quarter of the exact time and is read at every row.
fn coarse_now() -> Duration {
    #[cfg(target_os = "linux")]
    let clock = ClockId::MonotonicCoarse;
    #[cfg(not(target_os = "linux"))]
    let clock = ClockId::Monotonic;
    let now = clock_gettime(clock);
    now.try_into()
        .expect("a monotonic clock is never before its start")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_over_its_cap_is_given_up_and_the_output_goes_on() {
        let mut target = Vec::new();
        let mut out = OutputBuffer::new(&mut target);
        out.start_copy(&std::env::temp_dir());
        out.push(b"first");
        out.flush().unwrap();
        if let Some(copy) = &mut out.copy {
            copy.size = MAX_COPY - 3;
        }
        out.push(b"abc");
        out.flush().unwrap();
        assert!(out.copy.is_some());
        out.push(b"d");
        out.flush().unwrap();
        assert!(out.end_copy().is_none());
        drop(out);
        assert_eq!(target, b"firstabcd");
    }
}
