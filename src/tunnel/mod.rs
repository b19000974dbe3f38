//! Tunnels: the protocol of both ends.
//!
//! [`link`] carries bytes between the ends; [`remote`] says what is to be forwarded.

pub mod link;
pub mod remote;
