//! Connections of applications.
//!
//! [`state`] is the table of states, [`map`] has all connections, [`record`] is one of them as others see it. The rest
//! is the work of its thread: [`connect`] makes round after round, [`sequence`] is one connect sequence with its
//! [`setup_call`] and what holds by the answer ([`enforcement`]), [`watch`] asks whether what is exposed answers
//! ([`probe`]), and [`terms`] makes hold what is changed meanwhile.

mod connect;
mod enforcement;
mod error;
mod map;
mod ports;
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
pub(crate) use ports::PortReservations;
pub(crate) use probe::answers;
pub(crate) use record::{ConnectionRecord, ConnectionStats};
pub(crate) use state::ConnectionState;
pub(crate) use state::{ConnectResult, EXTEND};
