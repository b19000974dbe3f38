//! The client: one thread a tunnel, which connects, serves streams, and connects again, for ever.
//!
//! ```text
//!             ┌───────────────── wait (100 ms doubling to 10 s) <──┐
//!             ▼                                                    │ failed, or ended
//! start ─> connecting: dial one way or the other, key, login, config ─────────> connected
//!             └─ stop() at any moment: stopped
//! ```

mod attempt;
mod failure;
mod settings;
mod state;
mod tunnel;

pub(crate) use super::mux::Serve;
pub(crate) use attempt::GREETING;
pub use failure::{Class, Failure, HostKeyChange};
pub use settings::{
    Alternate, GONE_WITHIN, HostKeyCheck, KEEPALIVE, MAX_RETRY_INTERVAL, OnFailed, READY_WITHIN,
    Retries, Settings, Timeouts, Way,
};
pub(crate) use settings::{LastWays, OnNotice};
pub use state::{Snapshot, Status};
pub(crate) use tunnel::Pauses;
pub(in crate::tunnel) use tunnel::Stopper;
pub use tunnel::Tunnel;
