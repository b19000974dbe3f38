//! The shared store: a database that speaks the MySQL protocol, at one of its servers.
//!
//! ```text
//! postern_fleet       one row: form, number of the last change, secret of the fleet
//! postern_connectors  name -> connector             postern_rest  all but the connectors
//! postern_changes     number -> what it changed     postern_sites, postern_ports  whose each is
//! postern_relays      id -> beat, addresses
//! ```
//!
//! Rows that take a name or a port that nobody has in the state itself are orphans, and go.
//!
//! A change is one transaction that begins with `UPDATE postern_fleet SET number = new WHERE number = old`: of two that
//! were made of the same state one is [`Committed::Outdated`]. It carries a random id, by which a `COMMIT` whose answer
//! was lost is read back before anything is tried again.

mod commit;
mod dial;
mod members;
mod password;
mod read;
mod schema;
mod server_error;
mod session;
mod url;
mod write;

pub(super) use commit::{Commit, Committed, Taken};
pub(in crate::relay) use members::MemberRow;
pub use password::StorePassword;
pub(super) use read::News;
pub(super) use session::Session;
pub use url::{InvalidStoreUrl, StoreUrl};
