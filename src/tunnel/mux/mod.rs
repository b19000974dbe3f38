//! One connection at work: what client and server share once there is a WebSocket. It carries many
//! streams, each in a channel of the SSH session.
//!
//! ```text
//!          ┌─ reading thread ──> stream's socket       (what that does not take at once
//!          │    │ wakes            ▲                    waits in the stream's queue, and
//! ws ──────┘    │                  └─ drain thread      the window stays closed)
//!               ▼
//! ws <── writer thread ─────────┐
//!        poller thread, for all │
//!        quiet streams together ├─ the holder of the writer's lock
//!        a busy stream's thread │
//!        a user in this process ┘
//! ```
//!
//! The reading thread never waits: not for a target, and not for the WebSocket to take something.
//! Each thread writes what it has queued itself, which saves a change of threads, unless another
//! thread is writing: then that one goes on with it. Where the reading or a listening thread would
//! have to wait for the WebSocket, the writer thread does.
//!
//! | thread | started by | ends |
//! |---|---|---|
//! | the caller of [`Mux::run`] reads | client, server | with the connection |
//! | `tunnel-writer`: writes what others left, keeps the time | [`Mux::run`], which joins it | with the connection |
//! | `tunnel-poller`: carries quiet streams up | the first stream | with the connection |
//! | `tunnel-stream`: connects to a target, carries a busy stream up, drains a queue | the pool | when it has had no work for a second |
//!
//! Each file imports only from those below it:
//!
//! ```text
//! run            the reading thread: events of the session become transitions of streams
//! opening, local_stream       streams begin
//! carry_up, carry_down        bytes move; `apply` does what a transition leads to
//! flush          writing the WebSocket, and the writer thread
//! connection     the Mux, with the buffers and threads that its streams share
//! timers, poller              deadlines, and waiting for quiet streams
//! stream, stream_state        one stream; the second has the diagram of its states
//! socket, queue, stats, token_bucket, end
//! ```
//!
//! With a rate ([`Mux::limit`]), each byte of a stream is counted when it is taken, up and down, and the thread that
//! reads for the stream waits for its turn: a visitor's thread here, a stream's thread, a drain thread. Bytes that are
//! not read close a window or fill a socket, so the sender waits too. The reading thread and the poller's never wait:
//! they leave the stream to another thread.
//!
//! Locks are taken in this order: writer, session, streams, a stream's state; the timers' after the
//! session's or alone; the poller's, the pool's, the buffers' and a rate's alone. None but the writer's is held
//! over a call that waits. A transition of a stream returns its effects, and those are applied when
//! the state is unlocked.

mod carry_down;
mod carry_up;
mod connection;
mod end;
mod flush;
mod local_stream;
mod opening;
#[cfg(target_os = "linux")]
mod poller;
mod queue;
mod run;
mod socket;
mod stats;
mod stream;
mod stream_state;
mod timers;
mod token_bucket;

pub(super) use connection::{Mux, Options};
pub(super) use end::End;
pub(crate) use local_stream::Serve;
pub use local_stream::{LocalStream, OpenError, StreamEnd};
pub(super) use run::{FAREWELL, Handler};
pub use stats::{Traffic, VisitStats};
pub(super) use timers::ANSWER_WITHIN;
pub use token_bucket::TokenBucket;
