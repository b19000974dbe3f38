//! Opening streams: to a target that the peer asks for, or for a visitor of a port.

use std::io;
use std::net::TcpStream;
use std::sync::Arc;
use std::time::Instant;

use super::connection::Mux;
use super::local_stream::{LocalStream, Serve};
use super::socket::Socket;
use super::stats::{StreamPermit, VisitStats};
use super::stream::Stream;
use super::stream_state::StreamState;
use crate::net::Waker;
use crate::sync::Permit;
use crate::tunnel::ssh::{ChannelId, ChannelOpenFailure, Error};
use crate::tunnel::target::{self, Begun};

// Client: to a target.
impl Mux {
    /// Accepts an offered channel and connects it to `target`, on a thread of its own where that
    /// takes time. Never waits. `shares` are kept as long as the stream is.
    pub(in crate::tunnel) fn serve_target(
        self: &Arc<Self>,
        channel: ChannelId,
        host: &str,
        port: u16,
        shares: Vec<Permit>,
    ) -> Result<(), Error> {
        let permit = StreamPermit::new(&self.options.traffic, None, shares);
        let stream = Stream::new(channel, None, StreamState::offered(permit));
        self.streams().insert(channel, Arc::clone(&stream));
        let begun = match Begun::new(host, port, self.options.may_dial.as_ref()) {
            Some(Begun::Ended(Err(error))) if target::is_forbidden(&error) => {
                return self.forbid(&stream);
            }
            Some(Begun::Ended(outcome)) => {
                self.accept(&stream);
                self.carry_target(&stream, outcome);
                return Ok(());
            }
            begun => begun,
        };
        let (mux, own, host) = (Arc::clone(self), Arc::clone(&stream), host.to_owned());
        // On a thread because connecting waits.
        let job = move || mux.reach_target(&own, begun, &host, port);
        if let Err(error) = self.threads.run(job) {
            log::warn!("stream refused: no thread for it: {error}");
            return self.refuse_offered(&stream, ChannelOpenFailure::ResourceShortage, "no thread");
        }
        Ok(())
    }

    /// Accepts an offered channel and serves its stream in this process. Never waits.
    pub(in crate::tunnel) fn serve_here(
        self: &Arc<Self>,
        channel: ChannelId,
        serve: &Serve,
        shares: Vec<Permit>,
    ) -> Result<(), Error> {
        let permit = StreamPermit::new(&self.options.traffic, None, shares);
        let full = ChannelOpenFailure::ResourceShortage;
        let readable = match Waker::new() {
            Ok(waker) => Arc::new(waker),
            Err(error) => {
                log::warn!("stream refused: {error}");
                self.options.traffic.count_refused(true);
                return self.session().refuse(channel, full, "no descriptor");
            }
        };
        let stream = Stream::new(
            channel,
            None,
            StreamState::offered_to(Arc::clone(&readable), permit),
        );
        self.streams().insert(channel, Arc::clone(&stream));
        let (mux, own, serve) = (Arc::clone(self), Arc::clone(&stream), Arc::clone(serve));
        // On a thread because it waits for the application; it ends with the stream.
        let job = move || {
            mux.accept(&own);
            mux.flush();
            serve(LocalStream::new(&mux, own, readable, None));
        };
        if let Err(error) = self.threads.run(job) {
            log::warn!("stream refused: no thread for it: {error}");
            return self.refuse_offered(&stream, full, "no thread");
        }
        Ok(())
    }

    fn reach_target(
        self: &Arc<Self>,
        stream: &Arc<Stream>,
        begun: Option<Begun>,
        host: &str,
        port: u16,
    ) {
        let deadline = Instant::now() + self.options.target_within;
        let may_dial = self.options.may_dial.as_ref();
        let found = match begun {
            Some(_) => Ok(Vec::new()),
            None => target::resolve(host, port, may_dial),
        };
        if found.as_ref().is_err_and(target::is_forbidden) {
            // The connection may have ended.
            let _ = self.forbid(stream);
            return self.flush();
        }
        // Confirmed before the target answers, as the visitor's first bytes are then on their way.
        self.accept(stream);
        self.flush();
        let unwanted = || {
            let state = stream.state();
            state.is_dead() || state.is_closed_by_peer()
        };
        let outcome = match begun {
            Some(begun) => begun.finish(deadline, unwanted),
            None => {
                found.and_then(|found| target::connect_to(&found, deadline, may_dial, unwanted))
            }
        };
        self.carry_target(stream, outcome);
        self.flush();
    }

    fn accept(self: &Arc<Self>, stream: &Arc<Stream>) {
        let accepted = self.session().accept(stream.channel);
        if accepted.is_err() {
            // The connection has ended.
            self.update(stream, StreamState::abort);
        }
    }

    /// Refuses a channel whose target may not be dialled.
    fn forbid(self: &Arc<Self>, stream: &Arc<Stream>) -> Result<(), Error> {
        log::debug!("stream refused: its target is postern itself");
        self.report_target_missed();
        self.refuse_offered(
            stream,
            ChannelOpenFailure::AdministrativelyProhibited,
            "not a target of this client",
        )
    }

    fn refuse_offered(
        self: &Arc<Self>,
        stream: &Arc<Stream>,
        why: ChannelOpenFailure,
        text: &str,
    ) -> Result<(), Error> {
        let is_full = why == ChannelOpenFailure::ResourceShortage;
        self.options.traffic.count_refused(is_full);
        self.update(stream, StreamState::on_failed);
        self.session().refuse(stream.channel, why, text)
    }

    fn carry_target(self: &Arc<Self>, stream: &Arc<Stream>, outcome: io::Result<TcpStream>) {
        let may_dial = self.options.may_dial.as_ref();
        match outcome.and_then(|socket| target::still_permitted(socket, may_dial)) {
            Ok(socket) => match Socket::new(socket) {
                Ok(socket) => self.carry_when_attached(stream, socket),
                Err(_) => self.update(stream, StreamState::on_failed),
            },
            Err(error) => {
                log::debug!("cannot connect to a target: {error}");
                self.options.traffic.count_refused(false);
                self.report_target_missed();
                self.update(stream, StreamState::on_failed);
            }
        }
    }

    fn report_target_missed(&self) {
        if let Some(missed) = &self.options.target_missed {
            // One message is enough.
            let _ = missed.try_send(());
        }
    }

    fn carry_when_attached(self: &Arc<Self>, stream: &Arc<Stream>, socket: Socket) {
        if let Some(socket) = self.attach(stream, socket) {
            self.carry_when_readable(stream, socket);
        }
    }

    /// Attaches the socket, and writes the bytes that have come for it; none if that ended the stream.
    fn attach(self: &Arc<Self>, stream: &Arc<Stream>, socket: Socket) -> Option<Arc<Socket>> {
        let socket = Arc::new(socket);
        let (is_attached, effects) = stream.state().attach(&socket);
        self.apply(stream, effects);
        is_attached.then_some(socket)
    }
}

// Server: for a visitor.
impl Mux {
    /// Opens a channel for a visitor; its bytes are carried when the client has confirmed the
    /// channel. Never waits. `shares` are kept as long as the visitor is.
    pub(in crate::tunnel) fn serve_visitor(
        self: &Arc<Self>,
        visitor: TcpStream,
        target: &str,
        port: &Arc<VisitStats>,
        shares: Vec<Permit>,
    ) {
        let permit = StreamPermit::new(&self.options.traffic, Some(port), shares);
        let state = StreamState::asked_for(visitor, permit);
        match self.open_channel(target, Some(Arc::clone(port)), state) {
            Ok(stream) => {
                self.flush_now();
                if self.has_ended() {
                    self.update(&stream, StreamState::abort);
                }
            }
            Err(error) => log::debug!("visitor refused: {error}"),
        }
    }

    /// Opens a channel for a stream.
    pub(super) fn open_channel(
        &self,
        target: &str,
        port: Option<Arc<VisitStats>>,
        state: StreamState,
    ) -> Result<Arc<Stream>, Error> {
        // Locked until the stream is in the table: the answer must find it.
        let mut session = self.session();
        let channel = session.open("chisel", target.as_bytes())?;
        let stream = Stream::new(channel, port, state);
        self.streams().insert(channel, Arc::clone(&stream));
        Ok(stream)
    }

    /// Carries the visitor of a channel that the client has confirmed.
    pub(super) fn opened(self: &Arc<Self>, stream: &Arc<Stream>) {
        let mut effects = stream.state().on_opened();
        let visitor = effects.visitor.take();
        self.apply(stream, effects);
        match visitor.map(Socket::new) {
            Some(Ok(visitor)) => {
                if let Some(socket) = self.attach(stream, visitor) {
                    self.carry_visitor(stream, socket);
                }
            }
            Some(Err(_)) => self.update(stream, StreamState::on_failed),
            None => {}
        }
    }

    /// Ends all streams that are open now, and none that is opened later. Bytes that were not taken are dropped, so
    /// that a side that takes none cannot hold a stream. The connection stays.
    pub(in crate::tunnel) fn cut_streams(self: &Arc<Self>) {
        let streams: Vec<Arc<Stream>> = self.streams().values().cloned().collect();
        for stream in streams {
            let effects = stream.state().discard();
            if let Some((socket, _)) = &effects.shut {
                socket.reset_when_closed();
            }
            self.apply(&stream, effects);
            self.close_channel(stream.channel);
        }
        self.flush();
    }

    /// Turns visitors away whose channel the client has not confirmed for too long.
    pub(super) fn turn_away_late(self: &Arc<Self>, now: Instant) {
        let streams: Vec<Arc<Stream>> = self.streams().values().cloned().collect();
        for stream in streams {
            let is_late = stream.state().is_late(now);
            if is_late {
                self.update(&stream, StreamState::abort);
                self.close_channel(stream.channel);
            }
        }
    }
}
