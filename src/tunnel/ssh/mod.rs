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
//! - The reading thread: read into [`Reader::space`], [`Reader::filled`], then
//!   [`Reader::next`] until it answers none.
//! - Whoever writes: [`Writer::fill`], write [`Writer::output`], [`Writer::advance`], wake the
//!   streams of [`Writer::woken`]; again, until `fill` answers false. It is to be done after
//!   every call that may have queued something: [`Session::has_output`].
//! - `lock` arguments are closures that answer a guard: of a mutex, or, where there is one
//!   thread, `|| session.borrow_mut()` of a `RefCell`.

mod cipher;
mod error;
mod event;
mod frame;
mod hostkey;
mod ident;
mod input;
mod kex_crypto;
mod limits;
mod names;
mod negotiate;
mod output;
mod reader;
mod session;
mod window;
mod wire;
mod writer;

#[cfg(test)]
mod corpus_tests;
#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::time::Duration;

pub use cipher::Cipher;
pub use error::{Error, Reason, Refusal};
pub use event::{ChannelId, Event, RequestId};
pub use hostkey::{HostKey, HostKeyAlgorithm, KeyKind, ServerKey};
pub use limits::ChannelLimits;
pub use reader::Reader;
pub use session::Session;
pub use writer::Writer;

/// One end of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    Client,
    Server,
}

/// What one end offers and allows; `Config::default()` is what the program uses.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Config {
    /// Ciphers, the preferred first. Default: all, by what the machine is fast at.
    pub ciphers: Vec<Cipher>,
    /// Host key algorithms that a client takes, the preferred first. Default: all. Put the
    /// kind of a known key first, so that a server with several keys shows that one.
    pub host_keys: Vec<HostKeyAlgorithm>,
    /// Bytes sent or received under one set of keys before a re-key. Default 1 GiB.
    pub rekey_bytes: u64,
    /// Time under one set of keys before a re-key. Default 1 h; seen at the next
    /// [`Session::tick`].
    pub rekey_time: Duration,
    /// Limits of the channels.
    pub channels: ChannelLimits,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            ciphers: Cipher::preferred(),
            host_keys: HostKeyAlgorithm::ALL.to_vec(),
            rekey_bytes: limits::REKEY_BYTES,
            rekey_time: limits::REKEY_TIME,
            channels: ChannelLimits::default(),
        }
    }
}

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
