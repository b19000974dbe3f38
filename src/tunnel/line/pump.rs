//! Writing: the pump thread, and whoever else holds the writer's lock.

use std::sync::{PoisonError, TryLockError};
use std::time::Instant;

use super::{End, Line};
use crate::tunnel::ssh::{ChannelId, Writer};

/// Batches that a stream's thread writes for others before the pump takes over. Default 32: 2 MiB.
const BATCHES_FOR_OTHERS: usize = 32;

impl Line {
    /// Writes what waits, unless another thread is at it, which then does. May wait for the link.
    pub(super) fn flush(&self) {
        self.flush_some(BATCHES_FOR_OTHERS);
    }

    /// The same for a thread that others wait for: what is more than a batch is the pump's.
    #[cfg_attr(not(target_os = "linux"), allow(dead_code))] // the watch's
    pub(super) fn flush_once(&self) {
        self.flush_some(1);
    }

    fn flush_some(&self, most: usize) {
        while self.session().has_output() {
            let mut writer = match self.writer.try_lock() {
                Ok(writer) => writer,
                Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
                Err(TryLockError::WouldBlock) => return,
            };
            match self.write_batches(&mut writer, most) {
                Ok(true) => {}
                Ok(false) => return drop_then(writer, || self.nudge_pump()),
                Err(end) => {
                    drop(writer);
                    self.end(end);
                    return self.cut();
                }
            }
        }
    }

    /// False when there is more, for the pump.
    fn write_batches(&self, writer: &mut Writer, most: usize) -> Result<bool, End> {
        for _ in 0..most {
            if !writer.fill(|| self.session()).map_err(End::Protocol)? {
                return Ok(true);
            }
            let woken: Vec<ChannelId> = writer.woken().collect();
            for channel in woken {
                self.tell(channel, |stream| stream.writable());
            }
            let count = writer.output().len();
            self.link
                .write(writer.output())
                .map_err(|error| End::Link(error.to_string()))?;
            writer.advance(count);
        }
        Ok(!self.session().has_output())
    }

    /// The pump thread.
    pub(super) fn pump(&self) {
        while !self.has_ended() {
            self.flush();
            if let Err(end) = self.keep_time() {
                self.end(end);
                self.cut();
            }
            self.sleep();
        }
        let mut writer = self.writer.lock().unwrap_or_else(PoisonError::into_inner);
        // The last packets; whatever fails now, it is over.
        let _ = self.write_batches(&mut writer, BATCHES_FOR_OTHERS);
        self.cut();
    }

    fn sleep(&self) {
        let mut clock = self.clock();
        while !clock.woken && !self.has_ended() {
            let left = clock.next().saturating_duration_since(Instant::now());
            if left.is_zero() {
                return;
            }
            clock = self
                .wake
                .wait_timeout(clock, left)
                .unwrap_or_else(PoisonError::into_inner)
                .0;
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

    /// The same where nobody but the pump needs to know.
    pub(super) fn nudge_pump(&self) {
        if !std::mem::replace(&mut self.clock().woken, true) {
            self.wake.notify_all();
        }
    }
}

fn drop_then<T>(value: T, then: impl FnOnce()) {
    drop(value);
    then();
}
