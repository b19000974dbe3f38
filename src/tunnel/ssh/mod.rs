//! SSH 2 (RFC 4251 to 4254) as a state machine: bytes and time go in, bytes and events come
//! out. No sockets, threads or clocks.
//!
//! # Three objects
//!
//! ```text
//!  stream ──> Reader ──events──> caller          caller ──write()──┐
//!            opens packets          │ lock: accept, consumed ...   │ lock
//!               └────── lock ───────┴─────────> Session <──────────┘
//!                    (not for data)        state, queues, channels
//!                                                  │ lock: a batch is taken
//!  stream <── Writer <─────────────────────────────┘
//!            seals packets
//! ```
//!
//! Encryption is nearly all the work, so both directions of it lie outside the one lock:
//! [`Reader`] and [`Writer`] each own a direction's key and sequence number, [`Session`] owns the
//! rest and never encrypts. The longest critical section is the copying of one write (32 KiB:
//! a few µs) into the queue. A thread that reads and one that writes therefore work at once,
//! and stream threads only meet in the queue. Keys cross in the two calls that need them: with
//! the batch that ends in NEWKEYS, and in the answer to the peer's NEWKEYS.
//!
//! Bulk data is copied once on its way out (into the queue, sealed there in place) and not at
//! all on its way in (opened in place, lent to the caller by [`Event::Data`]).
//!
//! # Use
//!
//! - The reading thread: read into [`Reader::space`], [`Reader::mark_filled`], then
//!   [`Reader::next`] until it answers none.
//! - The writing thread: [`Writer::fill`], write [`Writer::output`], [`Writer::advance`], wake the
//!   streams of [`Writer::woken`]; again, until `fill` answers false. It is to be done after
//!   every call that may have queued something: [`Session::has_output`].
//! - `lock` arguments are closures that return a guard: of a mutex, or, where there is one
//!   thread, `|| session.borrow_mut()` of a `RefCell`.

mod auth;
mod channel;
mod channels;
mod config;
mod error;
mod event;
mod hostkey;
mod kex;
mod names;
mod negotiate;
mod output;
mod packet;
mod reader;
mod session;
mod window;
mod wire;
mod writer;

#[cfg(test)]
mod corpus_tests;
#[cfg(test)]
mod tests;

pub use config::{ChannelLimits, Config};
pub use error::{ChannelOpenFailure, DisconnectReason, Error};
pub use event::Event;
pub use hostkey::{HostKey, HostKeyAlgorithm, KeyKind, ServerKey};
pub use names::{ChannelId, RequestId};
pub use packet::Cipher;
pub use reader::Reader;
pub use session::Session;
pub use writer::Writer;

use std::sync::Arc;

use names::Role;

/// The client's end of a new connection. Its first output waits already.
pub fn client(config: &Config) -> Result<(Session, Reader, Writer), Error> {
    ends(Role::Client, config, Arc::from([]))
}

/// The server's end of a new connection. `keys` holds one host key of each kind.
pub fn server(config: &Config, keys: Arc<[ServerKey]>) -> Result<(Session, Reader, Writer), Error> {
    ends(Role::Server, config, keys)
}

fn ends(
    role: Role,
    config: &Config,
    keys: Arc<[ServerKey]>,
) -> Result<(Session, Reader, Writer), Error> {
    let session = Session::new(role, config, keys)?;
    let reader = Reader::new(role, config.rekey_bytes);
    Ok((session, reader, Writer::new()))
}
