//! Streaming answers.

use std::io::{self, Write};

/// The body of a streaming answer. Dropping it without [`Stream::finish`] aborts: the
/// client sees a broken transfer, never a clean end.
#[derive(Debug)]
pub struct Stream {}

impl Stream {
    /// Ends the answer cleanly.
    pub fn finish(self) -> io::Result<()> {
        Ok(())
    }
}

impl Write for Stream {
    fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
        Ok(buf.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
