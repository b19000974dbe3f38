//! Why a connection ends.

use std::time::Duration;

use crate::tunnel::ssh;

/// Why a connection ended.
#[derive(Debug, Clone)]
pub(in crate::tunnel) enum End {
    /// This side wanted it.
    Stopped,
    /// The peer closed the WebSocket, or vanished.
    Link(String),
    /// The peer broke the protocol, or said why it left.
    Protocol(ssh::Error),
    /// Nothing came for so long although an answer was due.
    Silent(Duration),
    /// The connection was not ready for use after so long.
    NotReady(Duration),
    /// This machine is short of something.
    Resources(String),
    /// The handler of events has its own reason.
    Handler,
}
