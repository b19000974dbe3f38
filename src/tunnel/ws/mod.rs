//! The WebSocket between two tunnel ends: a byte stream in the binary messages of a WebSocket
//! (RFC 6455) over TCP or TLS.
//!
//! ```text
//! dial ── resolve ── connect ── [proxy] ── [TLS] ── upgrade ──▶ (WsReader, WsWriter)
//! accept ─────────────────────────────────────── [TLS] ── upgrade ──▶ (WsReader, WsWriter)
//! ```
//!
//! [`dial()`] and [`accept()`] can be ended from another thread at any moment by [`Cancel`], and
//! the WebSocket they answer by [`WsWriter::shutdown`]; `cancel.watch(move || writer.shutdown())`
//! joins the two.
//!
//! # Two halves, one order
//!
//! [`WsReader`] belongs to one thread, [`WsWriter`] to any number. Whole frames are ordered
//! by one lock, which is held while the socket takes them. The reading half never waits for that
//! lock nor for the socket to take something: it leaves its messages (pong, close, TLS's own) to
//! the holder of the lock. If nobody holds it, it sends them itself, as far as that goes without
//! waiting. So two ends whose socket buffers are full in both
//! directions go on reading, and nothing can lock up.
//!
//! With TLS a second lock guards its state, only ever held for the arithmetic on at most 64 KiB:
//! the reading half takes ciphertext from the socket before it locks, the writing half gives
//! ciphertext to the socket after it has unlocked.
//!
//! Files: `dial` and `handshake` make WebSockets, the client's and the server's, of the parts `proxy`, `socks`, `tls`
//! and `upgrade`. `frames` holds the rules of frames, without sockets; `socket` the system calls and [`Cancel`];
//! `reader` and `shared_socket` the two halves.

mod dial;
mod endpoint;
mod error;
mod frames;
mod handshake;
mod proxy;
mod reader;
mod shared_socket;
pub(super) mod socket;
mod socks;
mod tls;
mod upgrade;

pub use dial::{CONNECT_TIMEOUT, DialOptions, RESOLVE_TIMEOUT, Timeouts, dial};
pub use endpoint::Endpoint;
pub(crate) use error::NO_NAME;
pub use error::{AcceptError, CertificateProblem, ConnectStage, DialError, FrameError};
pub use frames::MAX_FRAME;
pub use handshake::{AcceptOptions, Accepted, HANDSHAKE_TIMEOUT, MAX_HEAD, accept, accept_request};
pub(crate) use proxy::ProxyKind;
pub use proxy::{PROXY_VARIABLES, Proxy, ProxyChoice, environment_proxy, network_variables};
pub use reader::WsReader;
pub use shared_socket::{Counters, WsWriter};
pub use socket::{Cancel, WRITE_STALL, Watch};
pub(crate) use tls::https_failure;
pub use tls::{ServerTls, Tls, authorities};
pub use upgrade::{Header, UpgradeRequest};
