//! The client: one thread a tunnel, which connects, serves streams, and connects again, for ever.
//!
//! ```text
//!             ┌───────────────── wait (100 ms doubling to 10 s) <──┐
//!             ▼                                                    │ failed, or ended
//! start ─> connecting: dial one way or the other, key, login, config ─────────> connected
//!             └─ stop() at any moment: stopped
//! ```

mod attempt;
mod backoff;
mod dial;
mod failure;
mod permits;
mod settings;
mod state;
mod timing;
mod tunnel;
mod way;

pub(crate) use super::mux::Serve;
pub(crate) use backoff::Pauses;
pub(crate) use dial::GREETING;
pub use failure::{Class, Failure, HostKeyChange};
pub(crate) use settings::OnNotice;
pub use settings::{
    Alternate, GONE_WITHIN, HostKeyCheck, KEEPALIVE, MAX_RETRY_INTERVAL, OnFailed, Settings,
};
pub use state::{Snapshot, Status};
pub use timing::{READY_WITHIN, Retries, Timeouts};
pub(in crate::tunnel) use tunnel::Stopper;
pub use tunnel::Tunnel;
pub(crate) use way::LastWays;
pub use way::Way;
