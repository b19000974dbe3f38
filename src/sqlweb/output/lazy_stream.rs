//! A streamed answer whose head is sent with its first byte, so that an earlier failure can have another answer.

use std::io::{self, Seek, Write};
use std::path::Path;

use tempfile::SpooledTempFile;

use crate::http::{Request, Response, ResponseHead, Stream};

/// Bytes held back in memory; more are held in a file.
const HELD_IN_MEMORY: usize = 64 << 10;

/// Largest answer that is held back, in bytes; it is on a disk that may be small.
const MAX_HELD: u64 = 256 << 20;

/// The answer to one request.
pub(crate) enum LazyStream {
    /// Nothing was sent.
    Waiting(Box<Request>, ResponseHead),
    /// Nothing was sent, and the output is held back.
    Held(Box<Request>, ResponseHead, SpooledTempFile),
    /// The head was sent.
    Begun(Stream),
    /// The stream could not be begun.
    Broken,
}

impl LazyStream {
    /// An answer to `request` that begins with `head`.
    pub(crate) fn new(request: Request, head: ResponseHead) -> Self {
        Self::Waiting(Box::new(request), head)
    }

    /// Like [`new`](Self::new), but held back up to 256 MiB until it is finished, so that a failure until then can have
    /// another answer. It is held in memory and, when large, in a nameless file in `dir`.
    pub(crate) fn held(request: Request, head: ResponseHead, dir: &Path) -> Self {
        let file = tempfile::spooled_tempfile_in(HELD_IN_MEMORY, dir);
        Self::Held(Box::new(request), head, file)
    }

    /// Ends a stream cleanly.
    pub(crate) fn finish(mut self) {
        if let Self::Held(..) = self
            && let Err(error) = self.begun()
        {
            log::debug!("cannot send an answer: {error}");
        }
        if let Self::Begun(stream) = self
            && let Err(error) = stream.finish()
        {
            log::debug!("cannot end an answer: {error}");
        }
    }

    /// Sends `response` if nothing was sent; else breaks the transfer off, so that the client notices the failure.
    pub(crate) fn fail(self, response: Response) {
        if let Self::Waiting(request, _) | Self::Held(request, ..) = self {
            request.respond(response);
        }
    }

    /// Holds `more` back; returns false if nothing is held back or there is no room, so that it must be sent.
    fn hold(&mut self, more: &[u8]) -> io::Result<bool> {
        let Self::Held(_, _, file) = self else {
            return Ok(false);
        };
        let at = file.stream_position()?;
        let fits = u64::try_from(more.len()).is_ok_and(|n| at.saturating_add(n) <= MAX_HELD);
        if fits && file.write_all(more).is_ok() {
            return Ok(true);
        }
        // The disk may be full with a part of it written.
        file.set_len(at)?;
        Ok(false)
    }

    fn begun(&mut self) -> io::Result<&mut Stream> {
        if let Self::Waiting(..) | Self::Held(..) = self {
            *self = match std::mem::replace(self, Self::Broken) {
                Self::Waiting(request, head) => Self::Begun(request.stream(head)?),
                Self::Held(request, head, mut file) => {
                    let mut stream = request.stream(head)?;
                    file.rewind()?;
                    io::copy(&mut file, &mut stream)?;
                    Self::Begun(stream)
                }
                other => other,
            };
        }
        match self {
            Self::Begun(stream) => Ok(stream),
            _ => Err(io::ErrorKind::BrokenPipe.into()),
        }
    }
}

impl Write for LazyStream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.hold(bytes)? {
            return Ok(bytes.len());
        }
        self.begun()?.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        if let Self::Held(..) = self {
            return Ok(());
        }
        self.begun()?.flush()
    }
}
