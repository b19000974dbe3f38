//! Writing: the writer thread, and whoever else holds the writer's lock.

use crate::sync::MutexGuard;
use std::io;
use std::time::Instant;

use super::{End, Mux};
use crate::tunnel::ssh::{ChannelId, Writer};

/// Batches that a stream's thread writes for others before the writer thread takes over. Default 32: 2 MiB.
const BATCHES_FOR_OTHERS: usize = 32;
/// Bytes that threads write which must not wait. Default 4 KiB: a change of threads costs more.
const LITTLE: usize = 4 * 1024;

impl Mux {
    /// Writes what waits, unless another thread is at it, which then does. May wait for the WebSocket.
    pub(super) fn flush(&self) {
        self.flush_by(|writer| self.write_batches(writer, BATCHES_FOR_OTHERS));
    }

    /// The same for a thread that others wait for: what is more than a batch is the writer thread's.
    #[cfg_attr(not(target_os = "linux"), allow(dead_code))] // the watch's
    pub(super) fn flush_once(&self) {
        self.flush_by(|writer| self.write_batches(writer, 1));
    }

    /// The same if it is little and the WebSocket takes it at once; it is the writer thread's otherwise. Never
    /// waits.
    pub(super) fn flush_now(&self) {
        self.flush_by(|writer| self.write_batch_now(writer));
    }

    fn flush_by(&self, write: impl Fn(&mut Writer) -> Result<bool, End>) {
        while self.session().has_output() {
            let Some(writer) = self.try_writer() else {
                return;
            };
            if !self.goes_on(writer, &write) {
                return;
            }
        }
    }

    /// None while another thread writes: it sees what is new before it leaves.
    fn try_writer(&self) -> Option<MutexGuard<'_, Writer>> {
        self.writer.try_lock()
    }

    /// Whether `write` has left nothing; what it has left is the writer thread's.
    fn goes_on(
        &self,
        mut writer: MutexGuard<'_, Writer>,
        write: impl FnOnce(&mut Writer) -> Result<bool, End>,
    ) -> bool {
        let done = write(&mut writer);
        drop(writer);
        match done {
            Ok(true) => return true,
            Ok(false) => self.nudge_pump(),
            Err(end) => {
                self.end(end);
                self.cut();
            }
        }
        false
    }

    /// False when there is more, for the writer thread.
    fn write_batches(&self, writer: &mut Writer, most: usize) -> Result<bool, End> {
        for _ in 0..most {
            if !self.fill(writer)? {
                return Ok(self.link.is_clear());
            }
            let count = writer.output().len();
            self.link.write(writer.output()).map_err(broken)?;
            writer.advance(count);
        }
        Ok(!self.session().has_output())
    }

    /// The same for one batch, without waiting.
    fn write_batch_now(&self, writer: &mut Writer) -> Result<bool, End> {
        if !self.link.is_clear() || !self.session().has_at_most(LITTLE) {
            return Ok(false);
        }
        if !self.fill(writer)? {
            return Ok(true);
        }
        let count = writer.output().len();
        let all = self.link.write_now(writer.output()).map_err(broken)?;
        writer.advance(count);
        Ok(all)
    }

    /// Takes the next batch, and wakes the streams that have room then; false when there is none.
    fn fill(&self, writer: &mut Writer) -> Result<bool, End> {
        let filled = writer.fill(|| self.session()).map_err(End::Protocol)?;
        let woken: Vec<ChannelId> = writer.woken().collect();
        for channel in woken {
            self.notify(channel, |stream| stream.writable());
        }
        Ok(filled)
    }

    /// What was written without waiting may have left something.
    fn flush_link(&self) {
        // Whoever holds the lock clears the WebSocket first, or leaves it to the writer thread again.
        if let Some(writer) = self.try_writer() {
            self.goes_on(writer, |_| self.link.flush().map_err(broken).map(|()| true));
        }
    }

    /// The writer thread thread.
    pub(super) fn pump(&self) {
        while !self.has_ended() {
            // In this order: what was queued meanwhile is seen by the second.
            self.flush_link();
            self.flush();
            if let Err(end) = self.keep_time() {
                self.end(end);
                self.cut();
            }
            self.sleep();
        }
        let mut writer = self.writer.lock();
        // The last packets; whatever fails now, it is over.
        let _ = self.write_batches(&mut writer, BATCHES_FOR_OTHERS);
        let _ = self.link.flush();
        self.cut();
    }

    fn sleep(&self) {
        let mut clock = self.clock();
        while !clock.woken && !self.has_ended() {
            let left = clock.next().saturating_duration_since(Instant::now());
            if left.is_zero() {
                return;
            }
            clock = self.wake.wait_timeout(clock, left);
        }
        clock.woken = false;
    }

    /// Does what is due.
    fn keep_time(&self) -> Result<(), End> {
        let now = Instant::now();
        let due = self.clock().due(now)?;
        for stream in due.lingered {
            stream.cut();
        }
        if due.look {
            self.turn_away_late(now);
        }
        if due.tick {
            self.session().tick(now).map_err(End::Protocol)?;
        }
        if due.ping {
            // Noted under the session's lock: its answer must not come before.
            let mut session = self.session();
            match session.request("ping", b"", now) {
                Ok(id) => self.clock().pinged(id, now),
                // Too early, or too many unanswered: those have deadlines of their own.
                Err(error) => log::debug!("no keep-alive: {error}"),
            }
            drop(session);
            self.flush();
        }
        Ok(())
    }

    pub(super) fn wake_pump(&self) {
        self.clock().woken = true;
        self.wake.notify_all();
    }

    /// The same where nobody but the writer thread needs to know.
    pub(super) fn nudge_pump(&self) {
        if !std::mem::replace(&mut self.clock().woken, true) {
            self.wake.notify_all();
        }
    }
}

fn broken(error: io::Error) -> End {
    End::Link(error.to_string())
}
