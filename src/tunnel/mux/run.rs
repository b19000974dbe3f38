//! A connection from its first byte to its end: the reading thread.

use std::io::ErrorKind;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use super::connection::Mux;
use super::end::End;
use super::stream_state::{Effects, StreamState};
use crate::net::in_words;
use crate::sync::{Thread, spawn_joined};
use crate::tunnel::ssh::{ChannelId, ChannelOpenFailure, Event, Reader};
use crate::tunnel::ws::WsReader;

/// Time for the last packets (DISCONNECT) to leave before the WebSocket is shut, 300 ms: a stop
/// takes a second at most.
pub(in crate::tunnel) const FAREWELL: Duration = Duration::from_millis(300);

/// Differences between client and server: everything but streams at work and pings.
pub(in crate::tunnel) trait Handler {
    /// Deals with an event, on the reading thread; an error ends the connection.
    fn event(&mut self, mux: &Arc<Mux>, event: Event<'_>) -> Result<(), End>;

    /// Takes a notice of the peer in a ping ([`Mux::notify`]), on the reading thread.
    fn on_notice(&mut self, _data: &[u8]) {}
}

impl Mux {
    /// Reads until the connection ends; the caller's thread is the reading thread.
    pub(in crate::tunnel) fn run(
        self: &Arc<Self>,
        reader: Reader,
        mut ws: WsReader,
        handler: &mut dyn Handler,
    ) -> End {
        let mux = Arc::clone(self);
        let (working, done) = crossbeam_channel::bounded::<()>(0);
        // A thread because the reading thread must not wait to write; ends with the connection.
        let writer = spawn_joined(Thread::TunnelWriter, move || {
            mux.write_until_end();
            drop(working);
        });
        let end = match &writer {
            // The WebSocket is lent: dropping it would shut the connection before the last packets.
            Ok(_) => self.read_until_end(reader, &mut ws, handler),
            Err(error) => End::Resources(in_words(error)),
        };
        self.end(end);
        self.abandon_streams();
        // The writer thread sends the last packets, unless the WebSocket is stuck.
        let _ = done.recv_timeout(FAREWELL);
        self.cut();
        if let Ok(writer) = writer {
            // It has nothing to say.
            let _ = writer.join();
        }
        self.reason()
    }

    fn read_until_end(
        self: &Arc<Self>,
        mut reader: Reader,
        ws: &mut WsReader,
        handler: &mut dyn Handler,
    ) -> End {
        loop {
            match ws.read(reader.space()) {
                Ok(0) => return End::Link("the other end closed the connection".into()),
                Ok(count) => reader.mark_filled(count),
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) => return End::Link(in_words(error)),
            }
            let now = Instant::now();
            self.note_heard(now);
            loop {
                let step = match reader.next(now, || self.session()) {
                    Ok(None) => break,
                    Ok(Some(event)) => self.dispatch(event, handler),
                    Err(error) => Err(End::Protocol(error)),
                };
                if let Err(end) = step {
                    return end;
                }
            }
            self.flush_now();
            if self.has_ended() {
                return End::Stopped;
            }
        }
    }

    fn dispatch(self: &Arc<Self>, event: Event<'_>, handler: &mut dyn Handler) -> Result<(), End> {
        match event {
            Event::Handled => {}
            Event::Rekeyed => {
                let rekeys = &self.options.traffic.rekeys;
                rekeys.fetch_add(1, Ordering::Relaxed);
            }
            Event::Data { channel, data } => {
                let is_held_back = self.is_held_back();
                self.update_at(channel, |state| state.on_data(data, is_held_back));
            }
            Event::Eof { channel } => self.update_at(channel, StreamState::on_eof),
            Event::Closed { channel } => match self.stream(channel) {
                Some(stream) => self.update(&stream, StreamState::on_closed),
                None => self.close_channel(channel),
            },
            Event::Writable { channel } => {
                if let Some(stream) = self.stream(channel) {
                    stream.writable();
                }
            }
            Event::ChannelOpenConfirmation { channel } => {
                if let Some(stream) = self.stream(channel) {
                    self.opened(&stream);
                }
            }
            Event::ChannelOpenFailure { channel, code, .. } => {
                let is_full = code == ChannelOpenFailure::ResourceShortage.code();
                self.options.traffic.count_refused(is_full);
                let stream = self.streams().remove(&channel);
                if let Some(stream) = stream {
                    self.update(&stream, |state| state.on_refused(is_full));
                }
            }
            Event::GlobalRequest {
                id: Some(id),
                name: "ping",
                data,
            } => {
                self.answer(id, true, b"pong")?;
                if !data.is_empty() {
                    handler.on_notice(data);
                }
            }
            Event::RequestReply { id, round_trip, .. } if self.timers().take_answer(id) => {
                self.note_round_trip(round_trip);
                // The writer thread sleeps until this answer is late; now the next ping counts.
                self.timers_changed.notify_all();
            }
            other => handler.event(self, other)?,
        }
        Ok(())
    }

    fn update_at(
        self: &Arc<Self>,
        channel: ChannelId,
        transition: impl FnOnce(&mut StreamState) -> Effects,
    ) {
        if let Some(stream) = self.stream(channel) {
            self.update(&stream, transition);
        }
    }

    fn abandon_streams(self: &Arc<Self>) {
        let streams = std::mem::take(&mut *self.streams());
        // Their channels are gone, and nobody looks at the time any more.
        let lingering = self.timers().take_lingering();
        for stream in streams.into_values().chain(lingering) {
            self.update(&stream, StreamState::abort);
        }
        #[cfg(target_os = "linux")]
        if let Some(Some(poller)) = self.poller.get() {
            poller.close();
        }
        self.threads.close();
    }
}
