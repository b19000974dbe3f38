//! HTTP/1.1 messages (RFC 9112): bytes in, verdicts out, without sockets or clocks.

pub mod answer;
pub mod body;
pub mod head;
pub mod hop_by_hop;
mod refusal;

pub use refusal::Refusal;
