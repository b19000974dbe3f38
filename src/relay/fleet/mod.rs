//! Several relays with one state, which is in a database that they share.
//!
//! ```text
//! setup ── state_store ──┬── row_log                                   (a single relay: files)
//!                        └── shared_state ── store ── a server of the database
//! watch ──┬── state_store ── follow ── sites, tunnels                  (changes of other relays)
//!         └── links, with the roster of member ── hop ── another relay ── the connector's tunnel
//! ```
//!
//! Each relay has the whole state in memory, serves from that, and goes on serving while the store is unavailable; a
//! change is promised when it is in the store.

mod hop;
mod links;
mod member;
mod shared_state;
mod store;
mod watch;

pub use shared_state::{Options, StateLocation, copy};
pub use store::{InvalidStoreUrl, StorePassword, StoreUrl};

pub(super) use links::{LinkSettings, Links};
pub(super) use member::{FleetOverview, Held, Member, is_member};
pub(super) use shared_state::{OpenedStore, Watching};
pub(super) use watch::{Looks, StoreWatch, WatchError, WatchHooks};
