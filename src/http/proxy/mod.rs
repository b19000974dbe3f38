//! The proxy: the one loop that moves a request to its upstream, and the answer back.
//!
//! ```text
//! client ── inbox ── Body ──> RequestBody ──> ByteStream       (what the upstream has not taken)
//! client <── ResponseBody <── ResponseHead <── ByteStream      (what the client has not taken)
//! ```
//!
//! It serves two upstreams: tiny_http on its Unix socket, for the server's own pages, and, for a site of the gateway, a
//! stream through a tunnel; a [`Rules`] contains the differences between them. [`response_head`] is pure, bytes in and
//! bytes out; [`exchange`] and [`upgraded`] own the waits.

mod byte_stream;
mod exchange;
mod response_body;
mod response_head;
mod rules;
mod upgraded;

pub(crate) use byte_stream::only_if;
pub use byte_stream::{ByteStream, ClientStream};
pub(crate) use exchange::{Exchange, ExchangeStep, RequestBody, Transfer};
pub use rules::Client;
pub(crate) use rules::{Outcome, Rules, Timeouts, gone_grace};
pub(crate) use upgraded::{Upgraded, UpgradedTimeouts};
