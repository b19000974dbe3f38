//! The sealing half: takes framed packets from the session and makes them ready to write.

use std::ops::DerefMut;

use super::error::Error;
use super::names::ChannelId;
use super::output::Batch;
use super::packet::{self, Form, SealingKey};
use super::session::Session;

/// Seals output, outside the session's lock. Owned by the thread that writes the stream.
pub struct Writer {
    batch: Batch,
    /// Bytes of the batch that have been written.
    written: usize,
    seal: Option<SealingKey>,
    sequence: u32,
    woken: Vec<ChannelId>,
}

impl Writer {
    pub(super) fn new() -> Self {
        Self {
            batch: Batch::default(),
            written: 0,
            seal: None,
            sequence: 0,
            woken: Vec::new(),
        }
    }

    /// Takes and seals the next batch, of about 64 KiB at most, unless one is still being
    /// written; false when there is nothing to write. `lock` is called once, and its guard
    /// is dropped before anything is encrypted.
    pub fn fill<S: DerefMut<Target = Session>>(
        &mut self,
        lock: impl FnOnce() -> S,
    ) -> Result<bool, Error> {
        if !self.output().is_empty() {
            return Ok(true);
        }
        self.batch.bytes.clear();
        self.written = 0;
        let taken = lock().take(&mut self.batch, &mut self.woken)?;
        if taken && !std::mem::take(&mut self.batch.raw) {
            self.seal()?;
        }
        Ok(taken)
    }

    /// Returns the bytes to write now. They may be changed in place (masked, say) by the caller.
    pub fn output(&mut self) -> &mut [u8] {
        self.batch
            .bytes
            .get_mut(self.written..)
            .expect("written so far")
    }

    /// Notes the number of bytes of [`Writer::output`] that have been written.
    pub fn advance(&mut self, bytes: usize) {
        self.written = (self.written + bytes).min(self.batch.bytes.len());
    }

    /// The channels that may write again since the last call; to be asked after every
    /// [`Writer::fill`], also one that answered false.
    pub fn woken(&mut self) -> impl Iterator<Item = ChannelId> + '_ {
        self.woken.drain(..)
    }

    #[cfg(test)]
    pub(super) fn sequence(&self) -> u32 {
        self.sequence
    }

    fn seal(&mut self) -> Result<(), Error> {
        let form = match self.seal {
            None => Form::Plain,
            Some(_) => Form::Sealed,
        };
        let mut rest = self.batch.bytes.as_mut_slice();
        while !rest.is_empty() {
            let (packet, after) = packet::next_packet(rest, form)?;
            if let Some(seal) = &mut self.seal {
                seal.seal(self.sequence, packet)?;
            }
            // RFC 4253 §6.4: counts every packet, and wraps.
            self.sequence = self.sequence.wrapping_add(1);
            rest = after;
        }
        if let Some(keys) = self.batch.keys.take() {
            self.seal = Some(keys.seal);
            if keys.restart {
                self.sequence = 0;
            }
        }
        Ok(())
    }
}
