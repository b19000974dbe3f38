//! Tunnels: the protocol of both ends.

pub mod link;
pub mod remote;
pub mod ssh;
