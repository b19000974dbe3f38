//! Streaming answers.

use std::fmt;
use std::io::{self, Write};

use super::CancelToken;

/// The body of a streaming answer. Each write becomes a chunk, so writes should be large
/// (about 64 KiB). Dropping it without [`Stream::finish`] aborts: the client sees a broken
/// transfer, never a clean end.
pub struct Stream {
    out: Box<dyn Write + Send>,
    client: CancelToken,
    /// The answer to a HEAD request has no body.
    mute: bool,
}

impl Stream {
    pub(super) fn begin(
        mut out: Box<dyn Write + Send>,
        head: &[u8],
        mute: bool,
        client: CancelToken,
    ) -> io::Result<Stream> {
        out.write_all(head)?;
        out.write_all(b"Transfer-Encoding: chunked\r\n\r\n")?;
        out.flush()?;
        Ok(Stream { out, client, mute })
    }

    /// The watch of the request that is answered.
    pub fn client(&self) -> &CancelToken {
        &self.client
    }

    /// Ends the answer cleanly.
    pub fn finish(mut self) -> io::Result<()> {
        if !self.mute {
            self.out.write_all(b"0\r\n\r\n")?;
        }
        self.out.flush()
    }

    /// tiny_http's writer holds small writes back, so the size line and the end of the
    /// chunk before go out together.
    fn chunk(&mut self, data: &[u8]) -> io::Result<()> {
        write!(self.out, "{:x}\r\n", data.len())?;
        self.out.write_all(data)?;
        self.out.write_all(b"\r\n")
    }
}

impl Write for Stream {
    fn write(&mut self, data: &[u8]) -> io::Result<usize> {
        // An empty chunk would be the end of the answer.
        if !data.is_empty() && !self.mute {
            self.chunk(data)?;
        }
        Ok(data.len())
    }

    /// Pushes what was written to the client at once.
    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

impl fmt::Debug for Stream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Stream")
            .field("client", &self.client)
            .finish_non_exhaustive()
    }
}
