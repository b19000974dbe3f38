//! The writer thread: writes what others have left, and keeps the time.

use std::sync::Arc;
use std::time::Instant;

use super::connection::Mux;
use super::end::End;
use super::stream_state::StreamState;

impl Mux {
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
