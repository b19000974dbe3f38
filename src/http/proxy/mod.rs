//! The proxy: the one loop that moves a request to its upstream, and the answer back.
//!
//! ```text
//! client ── inbox ── Body ──> RequestBody ──> ByteStream       (what the upstream has not taken)
//! client <── ResponseBody <── ResponseHead <── ByteStream      (what the client has not taken)
//! ```
//!
//! It serves two upstreams: tiny_http on its Unix socket, for the server's own pages, and, for a
//! site of the gateway, a stream through a tunnel. What differs between them is a [`Rules`].
//! [`response_head`] and [`request_body`] are pure, bytes in and bytes out; [`exchange`] and
//! [`upgraded`] own the waits.

mod byte_stream;
mod exchange;
mod response_body;
mod response_head;
mod rules;
mod upgraded;

pub(crate) use byte_stream::only_if;
pub use byte_stream::{ByteStream, ClientStream};
pub(crate) use exchange::RequestBody;
pub(crate) use exchange::{Exchange, ExchangeStep, Transfer};
pub use rules::Client;
pub(crate) use rules::Outcome;
pub(crate) use rules::{Rules, Timeouts, gone_grace};
pub(crate) use upgraded::{Upgraded, UpgradedTimeouts};
