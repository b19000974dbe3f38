//! The strict HTTP/1.1 server that every listener shares.
//!
//! `listener` accepts; `threads` starts a thread a connection, and one for the connections of a gateway that wait for
//! their next request (`parking_lot`); `connection` is the loop of one, and `connection_table` has all of them, within
//! the [`limits`]. [`policy`] (Host, Origin, Sec-Fetch) and [`peer`] (user of the asking process) decide about access.
//!
//! ```text
//!          head complete        checks pass, body read       answer ended, keep-alive
//! Waiting ───────────────▶ Body ──────────────────────▶ Exchange ──────────────▶ Waiting
//!    │ time, cap, syntax    │ time, cap, framing           │ client gone, aborted
//!    ▼                      ▼                              ▼
//!  refusal, lingering close                              close or reset
//! ```
//!
//! Nothing here knows tiny_http: its upstream is a `Backend`, and beside it may be a [`connection_handler::Gateway`]
//! that serves requests for other names itself.

pub mod connection_handler;
pub mod limits;
pub mod peer;
pub mod policy;

mod connection;
mod connection_table;
mod listener;
mod parking_lot;
mod proc_net;
mod requests;
mod server_state;
#[cfg(target_os = "linux")]
mod sock_diag;
mod threads;

pub use limits::ExchangeSlot;
pub(crate) use limits::{raise_open_files, wanted_files};
pub use listener::StreamServer;
pub(super) use listener::{Listener, ListenerConfig};
pub(crate) use parking_lot::{Next, Parkable, Parked, ParkingLot, Steps, carry};
pub(crate) use proc_net::{ListedSocket, listening};
pub(crate) use requests::{ConnectionEnd, HeadNow, RequestReader};
pub(super) use server_state::{Backend, PendingResponse, UpstreamConnection};
