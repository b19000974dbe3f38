//! The way up of an exchange: a request that waits for its stream. Bytes in, bytes out.

use std::time::Instant;

use crate::http::h1::body::{Body, Framing};
use crate::http::server::Refusal;

/// A request on its way.
pub(super) struct RequestBody {
    pub(super) body: Body,
    is_chunked: bool,
    /// What the stream has not taken; of it the first bytes that it has.
    pending: Vec<u8>,
    taken: usize,
    /// The application takes nothing more; what it says tells why.
    pub(super) is_deaf: bool,
    pub(super) moved: Instant,
}

impl RequestBody {
    /// Begins with `head`, a body in this framing behind it.
    pub(super) fn new(framing: Framing, head: Vec<u8>) -> RequestBody {
        RequestBody {
            body: Body::new(framing),
            is_chunked: framing == Framing::Chunked,
            pending: head,
            taken: 0,
            is_deaf: false,
            moved: Instant::now(),
        }
    }

    /// What the application is to take next.
    pub(super) fn pending(&self) -> &[u8] {
        self.pending.get(self.taken..).unwrap_or_default()
    }

    /// Whether the application has got all of it.
    pub(super) fn is_whole(&self) -> bool {
        self.pending.is_empty() && self.body.is_done()
    }

    pub(super) fn has_taken(&mut self, count: usize) {
        self.moved = Instant::now();
        self.taken += count;
        if self.taken >= self.pending.len() {
            self.pending = Vec::new();
            self.taken = 0;
        }
    }

    /// Takes what it can of the body; chunks are written afresh, without extensions and trailers:
    /// two readers could read those differently.
    pub(super) fn encode(&mut self, input: &[u8]) -> Result<usize, Refusal> {
        let mut at = 0;
        while let Some(rest) = input.get(at..).filter(|rest| !rest.is_empty())
            && !self.body.is_done()
        {
            let step = self.body.step(rest)?;
            let data = rest.get(step.data).unwrap_or_default();
            at += step.consumed;
            if self.is_chunked && !data.is_empty() {
                self.pending
                    .extend_from_slice(format!("{:x}\r\n", data.len()).as_bytes());
                self.pending.extend_from_slice(data);
                self.pending.extend_from_slice(b"\r\n");
            } else {
                self.pending.extend_from_slice(data);
            }
        }
        if self.is_chunked && self.body.is_done() {
            self.pending.extend_from_slice(b"0\r\n\r\n");
        }
        Ok(at)
    }
}
