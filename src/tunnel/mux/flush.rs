//! Writing the WebSocket: by any thread that gets the writer's lock, and by the writer thread, which also keeps the
//! time.

use std::io;
use std::sync::Arc;
use std::time::Instant;

use super::connection::Mux;
use super::end::End;
use super::stream_state::StreamState;
use crate::net::in_words;
use crate::sync::MutexGuard;
use crate::tunnel::ssh::{ChannelId, Writer};

/// Batches that a stream's thread writes for others before the writer thread takes over, 32: 2 MiB.
const BATCHES_FOR_OTHERS: usize = 32;
/// Bytes that are written by threads that must not wait, 4 KiB: a change of threads costs more.
const LITTLE: usize = 4 * 1024;
/// Bytes of a batch if one thread carries many streams, 32 KiB: what comes for them at one moment.
const OF_MANY: usize = 32 * 1024;

impl Mux {
    /// Writes what waits, unless another thread is writing, which then does it. May wait for the WebSocket.
    pub(super) fn flush(&self) {
        self.flush_by(|writer| self.write_batches(writer, BATCHES_FOR_OTHERS));
    }

    /// Flushes for a thread that others wait for: what is more than a batch is the writer thread's.
    #[cfg(target_os = "linux")]
    pub(super) fn flush_once(&self) {
        self.flush_by(|writer| self.write_batches(writer, 1));
    }

    /// Flushes if it is little and the WebSocket takes it at once; it is the writer thread's
    /// otherwise. Never waits.
    pub(super) fn flush_now(&self) {
        self.flush_by(|writer| self.write_batch_now(writer, LITTLE));
    }

    /// Flushes for a thread that carries streams of many tunnels. Never waits.
    pub(super) fn flush_soon(&self) {
        self.flush_by(|writer| self.write_batch_now(writer, OF_MANY));
    }

    /// Flushes the WebSocket, where a write without waiting may have left something.
    pub(super) fn flush_ws(&self) {
        // The holder of the lock clears the WebSocket first, or leaves it to the writer thread again.
        if let Some(writer) = self.writer.try_lock() {
            self.write_locked(writer, |_| self.ws.flush().map_err(broken).map(|()| true));
        }
    }

    /// Writes the last packets; errors do not matter any more.
    pub(super) fn flush_last(&self) {
        let mut writer = self.writer.lock();
        let _ = self.write_batches(&mut writer, BATCHES_FOR_OTHERS);
        let _ = self.ws.flush();
        self.cut();
    }

    fn flush_by(&self, write: impl Fn(&mut Writer) -> Result<bool, End>) {
        while self.session().has_output() {
            // While another thread writes: it sees what is new before it leaves.
            let Some(writer) = self.writer.try_lock() else {
                return;
            };
            if !self.write_locked(writer, &write) {
                return;
            }
        }
    }

    /// True if `write` has left nothing; what it has left is the writer thread's.
    fn write_locked(
        &self,
        mut writer: MutexGuard<'_, Writer>,
        write: impl FnOnce(&mut Writer) -> Result<bool, End>,
    ) -> bool {
        let done = write(&mut writer);
        drop(writer);
        match done {
            Ok(true) => return true,
            Ok(false) => self.nudge_writer(),
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
                return Ok(self.ws.is_clear());
            }
            let count = writer.output().len();
            self.ws.write(writer.output()).map_err(broken)?;
            writer.advance(count);
        }
        Ok(!self.session().has_output())
    }

    /// Writes one batch, without waiting.
    fn write_batch_now(&self, writer: &mut Writer, most: usize) -> Result<bool, End> {
        if !self.ws.is_clear() || !self.session().has_at_most(most) {
            return Ok(false);
        }
        if !self.fill(writer)? {
            return Ok(true);
        }
        let count = writer.output().len();
        let all = self.ws.write_now(writer.output()).map_err(broken)?;
        writer.advance(count);
        Ok(all)
    }

    /// Takes the next batch, and wakes the streams that have room then; false when there is none.
    fn fill(&self, writer: &mut Writer) -> Result<bool, End> {
        let filled = writer.fill(|| self.session()).map_err(End::Protocol)?;
        let woken: Vec<ChannelId> = writer.woken().collect();
        for channel in woken {
            if let Some(stream) = self.stream(channel) {
                stream.writable();
            }
        }
        Ok(filled)
    }
}

// The writer thread.
impl Mux {
    /// Writes what others have left, and keeps the time, until the connection ends.
    pub(super) fn write_until_end(self: &Arc<Self>) {
        while !self.has_ended() {
            // In this order: what was queued meanwhile is seen by the second.
            self.flush_ws();
            self.flush();
            if let Err(end) = self.keep_time() {
                self.end(end);
                self.cut();
            }
            self.sleep();
        }
        self.flush_last();
    }

    fn sleep(&self) {
        let mut timers = self.timers();
        while !timers.is_writer_woken && !self.has_ended() {
            let left = timers.next().saturating_duration_since(Instant::now());
            if left.is_zero() {
                return;
            }
            timers = self.timers_changed.wait_timeout(timers, left);
        }
        timers.is_writer_woken = false;
    }

    /// Does what is due.
    fn keep_time(self: &Arc<Self>) -> Result<(), End> {
        let now = Instant::now();
        let due = self.timers().due(now)?;
        for stream in due.lingered {
            self.update(&stream, StreamState::cut);
        }
        if due.sweep {
            self.turn_away_late(now);
        }
        if due.tick {
            self.session().tick(now).map_err(End::Protocol)?;
        }
        if due.ping {
            // Noted under the session's lock: its answer must not come before.
            let mut session = self.session();
            match session.request("ping", b"", now) {
                Ok(id) => self.timers().note_ping(id, now),
                // Too early, or too many unanswered: those have deadlines of their own.
                Err(error) => log::debug!("no keep-alive: {error}"),
            }
            drop(session);
            self.flush();
        }
        Ok(())
    }
}

fn broken(error: io::Error) -> End {
    End::Link(in_words(error))
}
