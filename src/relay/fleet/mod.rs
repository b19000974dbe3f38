//! Several relays with one state, which is in a database that they share.
//!
//! ```text
//! setup ── state_store ── commits ──┬── journal                          (a single relay: files)
//!                                   └── shared_state ── store ── session ── a server of the database
//! watch ── news ── commits ── follow ── sites, tunnels                   (what other relays have changed)
//!    └──── members ── links ── hop ── another relay ── the connector's tunnel
//! ```
//!
//! Each relay has the whole state in memory, serves from that, and goes on serving while the store is away; what is new
//! is promised when it stands in the store.

mod hop;
mod links;
mod member;
mod shared_state;
mod store;
mod watch;

pub use shared_state::Options;
pub use shared_state::{StateLocation, copy};
pub use store::{InvalidStoreUrl, StorePassword, StoreUrl};

pub(super) use links::{LinkSettings, Links};
pub(super) use member::Member;
pub(super) use member::is_member;
pub(super) use member::{FleetOverview, Held};
pub(super) use shared_state::{OpenedStore, Watching};
pub(super) use watch::{Looks, StoreWatch, WatchError, WatchHooks};
