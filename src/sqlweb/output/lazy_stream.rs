//! A streamed answer whose head is sent with its first byte, so that a failure before it can be answered otherwise.

use std::io::{self, Write};

use crate::http::{Request, Response, ResponseHead, Stream};

/// The answer of one request: not begun, or a stream.
pub(crate) enum LazyStream {
    /// Nothing is sent.
    Waiting(Box<Request>, ResponseHead),
    /// The head is sent.
    Begun(Stream),
    /// The stream could not be begun.
    Broken,
}

impl LazyStream {
    /// An answer to `request` that begins with `head`.
    pub(crate) fn new(request: Request, head: ResponseHead) -> Self {
        Self::Waiting(Box::new(request), head)
    }

    /// Ends a stream cleanly.
    pub(crate) fn finish(self) {
        if let Self::Begun(stream) = self
            && let Err(error) = stream.finish()
        {
            log::debug!("an answer could not be ended: {error}");
        }
    }

    /// Answers otherwise where nothing was sent; else breaks the transfer off, so that it is seen to have failed.
    pub(crate) fn fail(self, response: Response) {
        if let Self::Waiting(request, _) = self {
            request.respond(response);
        }
    }

    fn begun(&mut self) -> io::Result<&mut Stream> {
        if let Self::Waiting(..) = self {
            *self = match std::mem::replace(self, Self::Broken) {
                Self::Waiting(request, head) => Self::Begun(request.stream(head)?),
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
        self.begun()?.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.begun()?.flush()
    }
}
