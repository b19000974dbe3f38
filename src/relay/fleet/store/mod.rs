//! The shared store: a database that speaks the MySQL protocol, at one of its servers.
//!
//! ```text
//! postern_fleet    one row: form, number of the last change, secret of the fleet
//! postern_rows     kind, name -> body, number of the change that it is from; no body if it is removed
//! postern_commits  number -> random id of that change
//! postern_forms    one row: the lowest form that a relay must know, the highest that one knows
//! postern_relays   id -> beat, addresses
//! ```
//!
//! A change is one transaction that begins with `UPDATE postern_fleet SET number = new WHERE number = old`, if the store
//! has the old one's id: of two that were made of the same state one has to be made again. By its own id a `COMMIT` whose
//! answer was lost is read back before anything is tried again. What is new is read as the rows with a higher number.

mod rows;
mod schema;
mod session;
mod url;

pub(in crate::relay) use rows::MemberRow;
pub(super) use rows::Version;
pub(super) use session::Session;
pub use url::{InvalidStoreUrl, StorePassword, StoreUrl};
