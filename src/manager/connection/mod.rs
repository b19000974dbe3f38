//! Connections of applications.
//!
//! [`state`] is the table of states, [`map`] has all connections, and [`record`] is one connection with its [`status`].
//! The rest is the work of its thread: [`connect`] makes one round after another; [`sequence`] is one connect sequence
//! with its [`setup_call`], its remote port (`PortReservations` in [`map`]) and the settings that this end enforces
//! ([`enforcement`]); [`watch`] checks the application's health ([`probe`]); [`terms`] applies changes to a running
//! connection; [`relays`] finds another relay if a relay is away.

mod connect;
mod enforcement;
mod error;
mod map;
mod probe;
mod record;
mod relays;
mod sequence;
mod setup_call;
mod state;
mod status;
mod terms;
mod watch;

pub(crate) use connect::{begin, leave};
pub(crate) use enforcement::Enforcement;
pub(crate) use error::{ConnectError, Ended};
pub(crate) use map::Connections;
pub use map::MAX_ACTIVE;
pub(crate) use map::PortReservations;
pub(crate) use probe::answers;
pub(crate) use record::{ConnectionRecord, ConnectionStats};
pub(crate) use state::{ConnectResult, ConnectionState, EXTEND};
