//! postern: one small static executable with a web SQL client for
//! MySQL-protocol databases, and tunnels that share a local application.
//!
//! Rooms, imports point downward only: [`cli`], [`manager`], [`relay`], [`sqlweb`],
//! [`plugin`], [`tunnel`], [`http`], [`store`].

pub mod cli;
pub mod http;
pub mod manager;
pub mod net;
pub mod plugin;
pub mod relay;
pub mod sqlweb;
pub mod store;
mod sync;
pub mod tunnel;

/// The fuzz inputs are shared with targets outside, which know the crate by its name.
#[cfg(test)]
extern crate self as postern;
