//! Buffered output of a streamed answer: large writes while rows come fast, prompt ones while they come slowly.

use std::io::{self, Write};
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

/// Bytes gathered before they are written; large enough that system calls do not show, small enough to hold for each
/// of 32 statements.
const FULL: usize = 64 << 10;

/// Longest piece of one value that is appended between two looks at the buffer, in bytes.
pub(crate) const PIECE: usize = 16 << 10;

/// Time after which even a small buffer is written, so that a person sees rows of a slow statement.
const PROMPT: Duration = Duration::from_millis(100);

/// The output buffer of one answer.
pub(crate) struct Out<'a> {
    buffer: Vec<u8>,
    target: &'a mut dyn Write,
    /// A second copy of what is written, while one is kept.
    copy: Option<tempfile::SpooledTempFile>,
    flushed_at: Duration,
    untouched: bool,
}

impl<'a> Out<'a> {
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

    /// Appends without writing. What is appended between two calls of a `flush_…` should stay near [`PIECE`].
    pub(crate) fn push(&mut self, bytes: &[u8]) {
        self.buffer.extend_from_slice(bytes);
    }

    /// Appends between double quotes.
    pub(crate) fn push_quoted(&mut self, bytes: &[u8]) {
        self.buffer.reserve(bytes.len() + 2);
        self.buffer.push(b'"');
        self.buffer.extend_from_slice(bytes);
        self.buffer.push(b'"');
    }

    /// Writes when the buffer is full.
    pub(crate) fn flush_if_full(&mut self) -> io::Result<()> {
        if self.buffer.len() >= FULL {
            self.flush()?;
        }
        Ok(())
    }

    /// Writes when the buffer is full or has waited long enough. Call once a row.
    pub(crate) fn flush_if_due(&mut self) -> io::Result<()> {
        if self.buffer.len() >= FULL || self.has_waited() {
            self.flush()?;
        }
        Ok(())
    }

    fn has_waited(&self) -> bool {
        coarse_now().saturating_sub(self.flushed_at) >= PROMPT
    }

    /// Whether nothing has been written yet.
    pub(crate) fn is_untouched(&self) -> bool {
        self.untouched
    }

    /// Writes all that was appended.
    pub(crate) fn flush(&mut self) -> io::Result<()> {
        if self.buffer.is_empty() {
            return Ok(());
        }
        self.untouched = false;
        if let Some(copy) = &mut self.copy {
            copy.write_all(&self.buffer)?;
        }
        self.target.write_all(&self.buffer)?;
        self.target.flush()?;
        self.buffer.clear();
        self.flushed_at = coarse_now();
        Ok(())
    }

    /// Starts to keep a second copy of what follows, in memory up to a point and then in a nameless file in `dir`.
    pub(crate) fn start_copy(&mut self, dir: &std::path::Path) -> io::Result<()> {
        self.flush()?;
        self.copy = Some(tempfile::spooled_tempfile_in(FULL, dir));
        Ok(())
    }

    /// Makes the target send its head where no byte was written yet.
    pub(crate) fn write_head(&mut self) -> io::Result<()> {
        self.untouched = false;
        self.target.flush()
    }

    /// Ends the copy and returns it.
    pub(crate) fn end_copy(&mut self) -> Option<tempfile::SpooledTempFile> {
        self.copy.take()
    }

    /// Writes a copy that was kept, whole.
    pub(crate) fn replay(&mut self, copy: Option<tempfile::SpooledTempFile>) -> io::Result<()> {
        use std::io::Seek;
        self.flush()?;
        if let Some(mut copy) = copy {
            copy.rewind()?;
            io::copy(&mut copy, self.target)?;
        }
        Ok(())
    }
}

/// Monotonic time to a few milliseconds, which costs a quarter of the exact one: it is asked for at every row.
fn coarse_now() -> Duration {
    #[cfg(target_os = "linux")]
    let clock = ClockId::MonotonicCoarse;
    #[cfg(not(target_os = "linux"))]
    let clock = ClockId::Monotonic;
    let now = clock_gettime(clock);
    let seconds = u64::try_from(now.tv_sec).unwrap_or(0);
    let nanos = u32::try_from(now.tv_nsec).unwrap_or(0);
    Duration::new(seconds, nanos)
}
