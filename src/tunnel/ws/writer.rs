//! The writing half: one lock orders whole frames.

use std::io;
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;

use rustls::Connection;
use tungstenite::protocol::Role;

use super::shared_socket::SharedSocket;

/// Sends on a WebSocket; clones send on the same. The connection ends with the last of the clones
/// and the [`WsReader`](super::WsReader), or with [`WsWriter::shutdown`].
#[derive(Clone)]
pub struct WsWriter(Arc<SharedSocket>);

/// Bytes of the tunnel's stream that a WebSocket has carried.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counters {
    /// From the peer.
    pub received: u64,
    /// To the peer: taken by the socket, or kept by [`WsWriter::write_now`].
    pub sent: u64,
}

impl WsWriter {
    pub(super) fn new(socket: TcpStream, tls: Option<Connection>, role: Role) -> Self {
        Self(Arc::new(SharedSocket::new(socket, tls, role)))
    }

    /// Sends `payload` as one frame, after those of earlier calls. A client masks it in place,
    /// so what it holds afterwards is of no use.
    ///
    /// Waits while the socket is full, at most [`WRITE_STALL`](super::WRITE_STALL) without any
    /// progress. An error ends the WebSocket.
    pub fn write(&self, payload: &mut [u8]) -> io::Result<()> {
        self.0.write(payload)
    }

    /// Writes without waiting: false when something is left, which goes before the next frame,
    /// or with [`WsWriter::flush`]. What is left is kept in memory: to be used for short frames,
    /// and not again before all has gone.
    pub fn write_now(&self, payload: &mut [u8]) -> io::Result<bool> {
        self.0.write_now(payload)
    }

    /// True if [`WsWriter::write_now`] has left nothing.
    pub fn is_clear(&self) -> bool {
        self.0.is_clear()
    }

    /// Sends what [`WsWriter::write_now`] left. Waits as [`WsWriter::write`] does.
    pub fn flush(&self) -> io::Result<()> {
        self.0.flush()
    }

    /// Sends a close frame, as far as that goes without waiting, and ends the sending. The reading
    /// half goes on to the peer's end; call [`WsWriter::shutdown`] when it has taken long enough.
    pub fn close(&self) {
        self.0.close();
    }

    /// Ends the connection in both directions at once: whoever reads or writes is woken.
    pub fn shutdown(&self) {
        self.0.shutdown();
    }

    /// Returns the WebSocket's counters.
    pub fn counters(&self) -> Counters {
        let (received, sent) = self.0.counts();
        Counters { received, sent }
    }

    /// The other end's address: a proxy's, where one is used.
    pub fn peer_addr(&self) -> io::Result<SocketAddr> {
        self.0.socket.peer_addr()
    }

    pub(super) fn shared(&self) -> &Arc<SharedSocket> {
        &self.0
    }
}

impl std::fmt::Debug for WsWriter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("WsWriter")
            .field("socket", &self.0.socket)
            .field("counters", &self.counters())
            .finish()
    }
}
