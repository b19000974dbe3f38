//! Remote servers, each by its origin: what one is told, no other sees.
//!
//! One thread, the **owner**, has all state of one server: the credentials, the unanswered quick-setup calls, the main
//! tunnel with the service behind it, and the pins of host keys from its answers. It takes [commands](server::Command)
//! over a channel, one after the other, so that this state needs no lock:
//!
//! ```text
//! connection threads, the API ── RemoteServer ──> commands ──> owner ──> credentials on disk
//!        ▲                                          ▲  ▲         ├─────> main tunnel, local API service
//!        │                                          │  │         └─────> ServerSnapshot (an Arc) ──> the API
//!        └───────── reply, a channel per command ───┼──┼─────────┘
//!                    "the main tunnel is connected" ┘  └ an answer, on the call's own channel
//! ```
//!
//! - **Asking.** The sender of a command waits for the reply or for its own stop signal; a reply that nobody waits for
//!   is dropped. The owner writes files and stops tunnels (a second at most), and never waits for a server: a
//!   quick-setup call runs on a thread of its own and sends its answer over the channel that the owner made for it. The
//!   connection makes the retries and the pauses between calls.
//! - **Late answers.** The server may have carried out a call whose connection has ended, so its answer is saved
//!   all the same, unless that of a later call was saved meanwhile. When the credentials are forgotten, the owner drops the
//!   channels of earlier calls: their answers are not saved.
//! - **Looking.** The API reads the [`server::ServerSnapshot`] that the owner publishes after each change, and never
//!   waits for the owner.
//! - **Life.** The thread begins with the first [`RemoteServer`] and ends when there is none, no call is unanswered and
//!   no main tunnel is set up; the main tunnel ends when no application uses the server any more. The thread lives as
//!   long as its mailbox, the `RemoteServer`: users of the server hold it, the owner does while it has work, and the
//!   list of all servers does not. At the program's end all owners are told at once and awaited for a bounded time; an
//!   answer that comes before the process ends is saved.
//!
//! The list and each snapshot have a lock that is held for moments; nobody waits for anything under one.

mod connector;
mod environment;
mod main_tunnel;
mod owner;
mod server;
mod servers;
#[cfg(test)]
pub(crate) mod tests;

pub(crate) use connector::Connector;
pub use connector::DEFAULT_TUNNEL_PORT;
pub(crate) use environment::Environment;
pub(crate) use server::{CallAnswer, MainTunnelWait, RemoteServer, awaited};
pub(crate) use servers::Servers;
