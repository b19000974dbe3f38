//! A visitor whose channel the client has not confirmed yet: he has no thread, and nothing of his
//! is read.

use std::net::TcpStream;
use std::sync::Arc;
use std::time::Instant;

use super::{ChannelId, Mux, OPEN_WITHIN, PortStats, State, Stream};

/// Who takes it out of the state counts the stream down, or sees that it is carried.
pub(super) struct Pending {
    pub(super) visitor: TcpStream,
    since: Instant,
}

/// A visitor of a public port, for as long as he is there.
pub(super) struct StreamPermit {
    visits: Arc<PortStats>,
    _seat: Box<dyn Send>,
}

impl StreamPermit {
    fn new(visits: &Arc<PortStats>, seat: impl Send + 'static) -> Self {
        visits.come();
        Self {
            visits: Arc::clone(visits),
            _seat: Box::new(seat),
        }
    }
}

impl Drop for StreamPermit {
    fn drop(&mut self) {
        self.visits.go();
    }
}

impl Mux {
    /// Server: opens a channel for a visitor; his bytes are carried when the client has confirmed
    /// it. Never waits. `seat` is kept as long as the visitor is.
    pub(in crate::tunnel) fn serve_visitor(
        self: &Arc<Self>,
        visitor: TcpStream,
        target: &str,
        visits: &Arc<PortStats>,
        seat: impl Send + 'static,
    ) {
        let guest = StreamPermit::new(visits, seat);
        let stream = {
            let mut session = self.session();
            match session.open("chisel", target.as_bytes()) {
                // Under the session's lock: the answer must find it.
                Ok(channel) => self.add_pending(channel, visitor, guest),
                Err(error) => return log::debug!("a visitor is turned away: {error}"),
            }
        };
        self.flush_now();
        if self.has_ended() {
            stream.abort(self);
        }
    }

    fn add_pending(
        &self,
        channel: ChannelId,
        visitor: TcpStream,
        guest: StreamPermit,
    ) -> Arc<Stream> {
        let stream = self.add(channel, Some(Arc::clone(&guest.visits)), None);
        let mut state = stream.state();
        state.guest = Some(guest);
        state.pending = Some(Pending {
            visitor,
            since: Instant::now(),
        });
        drop(state);
        stream
    }

    /// Turns those away who have waited for too long.
    pub(in crate::tunnel::mux) fn turn_away_late(&self, now: Instant) {
        let streams: Vec<Arc<Stream>> = self.streams().values().cloned().collect();
        for stream in streams {
            let state = stream.state();
            let since = state.pending.as_ref().map(|pending| pending.since);
            drop(state);
            if since.is_some_and(|since| now.saturating_duration_since(since) >= OPEN_WITHIN) {
                stream.abort(self);
                self.release(stream.channel);
            }
        }
    }
}

impl Stream {
    pub(super) fn turn_away(&self, line: &Mux, state: &mut State) {
        if state.pending.take().is_some() {
            state.guest = None;
            line.count_down();
        }
    }
}
