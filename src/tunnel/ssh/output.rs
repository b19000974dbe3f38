//! Queue of messages to be sealed and written.
//!
//! ```text
//! identification ─┐
//! transport ──────┤ key exchange and DISCONNECT; while keys change, nothing else passes
//! urgent ─────────┼─> batch ─> Writer
//! bulk ───────────┘ chunks of whole packets
//! ```
//!
//! Packets are framed when queued and sealed when taken, so the order on the wire is decided
//! late: urgent packets overtake all bulk data that has not been taken, and packets queued
//! during a key exchange are sealed with the new keys.

use std::collections::VecDeque;

use super::config;
use super::packet::{Form, Framer, OVERHEAD, SealingKey};

/// Bytes of a chunk: a batch, and what framing and the message's head add to its two packets.
const CHUNK: usize = config::BATCH + 2 * (OVERHEAD + 16);

/// New keys for the direction outward, from the packet after NEWKEYS on.
pub(super) struct SealKeys {
    pub(super) seal: SealingKey,
    /// Strict key exchange: count from zero again.
    pub(super) restart: bool,
}

/// Bytes to be sealed and written in one go.
#[derive(Default)]
pub(super) struct Batch {
    pub(super) bytes: Vec<u8>,
    /// No packets: the identification.
    pub(super) raw: bool,
    /// Takes effect after the batch.
    pub(super) keys: Option<SealKeys>,
}

/// Whole bulk packets, and the bytes of each channel in them.
#[derive(Default)]
struct Chunk {
    bytes: Vec<u8>,
    shares: Vec<(u32, usize)>,
}

/// The queues. See the module.
pub(super) struct Output {
    framer: Framer,
    form: Form,
    transport: VecDeque<Batch>,
    urgent: Vec<u8>,
    /// Bytes of `urgent` that are channel data, with their frames.
    interactive: usize,
    bulk: VecDeque<Chunk>,
    bulk_bytes: usize,
    spare: Vec<Chunk>,
    /// A key exchange is under way: only `transport` passes.
    held: bool,
    /// DISCONNECT is queued: nothing follows it.
    ended: bool,
    bulk_is_next: bool,
}

impl Output {
    pub(super) fn new(ident: &str) -> Self {
        let line = Batch {
            bytes: format!("{ident}\r\n").into_bytes(),
            raw: true,
            keys: None,
        };
        Self {
            framer: Framer::new(),
            form: Form::Plain,
            transport: VecDeque::from([line]),
            urgent: Vec::new(),
            interactive: 0,
            bulk: VecDeque::new(),
            bulk_bytes: 0,
            spare: Vec::new(),
            held: true,
            ended: false,
            bulk_is_next: false,
        }
    }

    /// Queues a message of the transport layer (RFC 4253).
    pub(super) fn transport(&mut self, message: &[u8]) {
        if self.ended {
            return;
        }
        let appendable = self
            .transport
            .back()
            .is_some_and(|last| !last.raw && last.keys.is_none());
        if !appendable {
            self.transport.push_back(Batch::default());
        }
        let last = self.transport.back_mut().expect("one to append to");
        self.framer.frame(&mut last.bytes, self.form, &[message]);
    }

    /// Lets only messages of the key exchange pass from now on (RFC 4253 §7.1).
    pub(super) fn hold(&mut self) {
        self.held = true;
    }

    /// Ends a key exchange: `newkeys` is the last packet under the old keys.
    pub(super) fn switch(&mut self, newkeys: &[u8], keys: SealKeys) {
        self.transport(newkeys);
        if let Some(last) = self.transport.back_mut() {
            last.keys = Some(keys);
        }
        self.form = Form::Sealed;
        self.held = false;
    }

    /// Queues the last packet; whatever else waits is dropped.
    pub(super) fn end(&mut self, disconnect: &[u8]) {
        self.transport(disconnect);
        self.ended = true;
        self.urgent = Vec::new();
        self.bulk.clear();
        self.bulk_bytes = 0;
    }

    /// Queues a control packet ahead of bulk data.
    pub(super) fn urgent(&mut self, parts: &[&[u8]]) {
        if !self.ended {
            // Sealed always: nothing of this kind is taken before there are keys.
            self.framer.frame(&mut self.urgent, Form::Sealed, parts);
        }
    }

    /// Queues a small data packet ahead of bulk data, if there is room for that.
    pub(super) fn interactive(&mut self, head: &[u8], data: &[u8]) -> bool {
        let needed = OVERHEAD + head.len() + data.len();
        let fits = self.interactive + needed <= config::INTERACTIVE_QUEUE;
        if fits {
            let before = self.urgent.len();
            self.urgent(&[head, data]);
            self.interactive += self.urgent.len() - before;
        }
        fits
    }

    /// Queues a packet behind its channel's bulk data; answers the bytes it takes there.
    pub(super) fn bulk(&mut self, channel: u32, parts: &[&[u8]]) -> usize {
        if self.ended {
            return 0;
        }
        let needed = OVERHEAD + parts.iter().map(|part| part.len()).sum::<usize>();
        let fits = self
            .bulk
            .back()
            .is_some_and(|chunk| chunk.bytes.len() + needed <= CHUNK);
        if !fits {
            let chunk = self.spare.pop().unwrap_or_else(Chunk::roomy);
            self.bulk.push_back(chunk);
        }
        let chunk = self.bulk.back_mut().expect("one with room is there");
        let before = chunk.bytes.len();
        self.framer.frame(&mut chunk.bytes, Form::Sealed, parts);
        let size = chunk.bytes.len() - before;
        chunk.count(channel, size);
        self.bulk_bytes += size;
        size
    }

    /// Bytes that bulk data may still take.
    pub(super) fn bulk_room(&self) -> usize {
        config::BULK_QUEUE.saturating_sub(self.bulk_bytes)
    }

    /// Bytes of control packets that wait.
    pub(super) fn answers(&self) -> usize {
        let transport = self.transport.iter().map(|batch| batch.bytes.len());
        self.urgent.len() + transport.sum::<usize>()
    }

    /// Bytes of all that waits.
    pub(super) fn size(&self) -> usize {
        self.answers() + self.bulk_bytes
    }

    /// True if [`Output::take`] would take something.
    pub(super) fn is_ready(&self) -> bool {
        let passing = !self.held && (!self.urgent.is_empty() || !self.bulk.is_empty());
        passing || !self.transport.is_empty()
    }

    /// Moves the next batch into `batch`, which is empty. Calls `note_written` for each channel with
    /// the bulk bytes taken from it.
    pub(super) fn take(&mut self, batch: &mut Batch, note_written: impl FnMut(u32, usize)) -> bool {
        if let Some(mut first) = self.transport.pop_front() {
            std::mem::swap(batch, &mut first);
            return true;
        }
        if self.held || self.ended {
            return false;
        }
        let bulk_first = std::mem::take(&mut self.bulk_is_next) && !self.bulk.is_empty();
        if !bulk_first && !self.urgent.is_empty() {
            return self.take_urgent(batch);
        }
        self.take_bulk(batch, note_written)
    }

    fn take_urgent(&mut self, batch: &mut Batch) -> bool {
        std::mem::swap(&mut batch.bytes, &mut self.urgent);
        self.interactive = 0;
        self.bulk_is_next = batch.bytes.len() > config::URGENT_SHARE;
        true
    }

    fn take_bulk(&mut self, batch: &mut Batch, mut note_written: impl FnMut(u32, usize)) -> bool {
        let Some(mut chunk) = self.bulk.pop_front() else {
            return false;
        };
        std::mem::swap(&mut batch.bytes, &mut chunk.bytes);
        self.bulk_bytes = self.bulk_bytes.saturating_sub(batch.bytes.len());
        for (channel, size) in chunk.shares.drain(..) {
            note_written(channel, size);
        }
        // The chunk takes over the writer's last buffer: two at hand are enough.
        if self.spare.len() < 2 && chunk.bytes.capacity() >= CHUNK {
            self.spare.push(chunk);
        }
        true
    }
}

impl Chunk {
    fn roomy() -> Self {
        Self {
            bytes: Vec::with_capacity(CHUNK),
            shares: Vec::new(),
        }
    }

    fn count(&mut self, channel: u32, size: usize) {
        match self.shares.last_mut() {
            Some((last, sum)) if *last == channel => *sum += size,
            _ => self.shares.push((channel, size)),
        }
    }
}
