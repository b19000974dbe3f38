//! The way up of an exchange: a request that waits for its upstream. Bytes in, bytes out.

use std::time::Instant;

use crate::http::h1::Refusal;
use crate::http::h1::body::{Body, Framing};

/// A request on its way.
pub(crate) struct RequestBody {
    pub(super) body: Body,
    is_chunked: bool,
    /// Bytes that the upstream has not wholly taken.
    pending: Vec<u8>,
    /// Bytes of it that the upstream has.
    taken: usize,
    /// The upstream takes nothing more; what it says tells why.
    pub(super) is_deaf: bool,
    pub(super) moved: Instant,
}

impl RequestBody {
    /// Begins with `head`, a body in this framing behind it.
    pub(crate) fn new(framing: Framing, head: Vec<u8>) -> RequestBody {
        RequestBody {
            body: Body::new(framing),
            is_chunked: framing == Framing::Chunked,
            pending: head,
            taken: 0,
            is_deaf: false,
            moved: Instant::now(),
        }
    }

    /// Returns the bytes that the upstream is to take next.
    pub(super) fn pending(&self) -> &[u8] {
        self.pending
            .get(self.taken..)
            .expect("no more is taken than is pending")
    }

    /// True if the upstream has got all of it.
    pub(super) fn is_whole(&self) -> bool {
        self.pending.is_empty() && self.body.is_done()
    }

    /// Notes that the upstream has taken so many bytes.
    pub(super) fn mark_taken(&mut self, count: usize) {
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
            let data = rest.get(step.data).expect("a step stays within its input");
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
