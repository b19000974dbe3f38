//! The client: one thread a tunnel, which connects, serves streams, and connects again, for ever.
//!
//! ```text
//!             ┌───────────────── wait (100 ms doubling to 10 s) <──┐
//!             ▼                                                    │ failed, or ended
//! start ─> connecting: dial, key, login, config ─────────> connected
//!             └─ stop() at any moment: stopped
//! ```

mod attempt;
mod backoff;
mod failure;
mod permits;
mod settings;
mod state;
mod timing;
mod tunnel;

pub(crate) use super::mux::{Serve, StreamThreads};
pub(crate) use backoff::Pauses;
pub use failure::{Class, Failure, HostKeyChange};
pub(crate) use settings::OnTold;
pub use settings::{GONE_WITHIN, HostKeyCheck, KEEPALIVE, MAX_RETRY_INTERVAL, OnFailed, Settings};
pub use state::{Snapshot, Status};
pub use timing::{READY_WITHIN, Retries, Timeouts};
pub(in crate::tunnel) use tunnel::Stopper;
pub use tunnel::Tunnel;
