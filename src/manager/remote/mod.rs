//! Remote servers, each by its origin: what one is told, no other sees.
//!
//! One thread, the **owner**, has all state of one server: the credentials, the quick-setup calls that are not answered,
//! the main tunnel with the service behind it, and the pins of host keys that its answers bring. It takes
//! [commands](server::Command) over a channel, one after the other, so that nothing of that has a lock:
//!
//! ```text
//! connection threads, the API ── RemoteServer ──> commands ──> owner ──> credentials on disk
//!        ▲                                          ▲  ▲         ├─────> main tunnel, local API service
//!        │                                          │  │         └─────> ServerSnapshot (an Arc) ──> the API
//!        └───────── reply, a channel a command ─────┼──┼─────────┘
//!                    "the main tunnel is connected" ┘  └ an answer, on the call's own channel
//! ```
//!
//! - **Asking.** Who sends a command waits for the reply or for its own stop signal, whichever comes first; a reply that
//!   nobody waits for is dropped. The owner writes files and stops tunnels (a second at most), and never waits for a
//!   server: a quick-setup call runs on a thread of its own and brings its answer over the channel that the owner made
//!   for it. The retries and pauses between calls are the connection's.
//! - **Late answers.** A call whose connection was ended may have been heard, so its answer is saved all the same, unless
//!   that of a call that began later was saved meanwhile. Of calls that began before the credentials were forgotten the
//!   owner drops the channels: their answers find nobody.
//! - **Looking.** The API reads the [`server::ServerSnapshot`] that the owner publishes after each change, and never
//!   waits for it.
//! - **Life.** The thread begins with the first [`RemoteServer`] and ends when there is none, no call is unanswered and
//!   no main tunnel set up; the main tunnel goes when no application uses the server any more. What keeps the thread is
//!   its mailbox, the `RemoteServer`: who uses the server holds it, the owner does while it has work, and the list of all
//!   does not. At the program's end all owners are told at once, and are awaited for a bounded time; an answer that comes
//!   while the process is still there is saved.
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
pub(crate) use server::CallAnswer;
pub(crate) use server::{MainTunnelWait, RemoteServer, awaited};
pub(crate) use servers::Servers;
