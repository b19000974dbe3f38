//! Tunnels: the protocol of both ends.
//!
//! [`ssh`] is the protocol as a state machine. It knows nothing of the links that carry it
//! nor of who uses it.

pub mod ssh;
