//! Reasons for the end of a connection.

use std::time::Duration;

use crate::tunnel::ssh;

/// Reason for the end of a connection.
#[derive(Debug, Clone)]
pub(in crate::tunnel) enum End {
    /// This side wanted it.
    Stopped,
    /// The peer closed the WebSocket, or vanished.
    Link(String),
    /// The peer broke the protocol, or said why it left.
    Protocol(ssh::Error),
    /// An answer was due, and nothing came within this time.
    Silent(Duration),
    /// The connection was not ready for use within this time.
    NotReady(Duration),
    /// This machine is short of something.
    Resources(String),
    /// The handler of events has its own reason.
    Handler,
}
