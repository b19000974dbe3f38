//! Search over the names and comments of everything that the account sees: databases, tables, views, columns, routines,
//! triggers and events.
//!
//! ```text
//! api/search ── kept (one catalogue, one thread that reads it) ── load (database by database) ── index (memory alone)
//! ```
//!
//! The catalogue is read at the first search and kept until nobody has searched for a while. It belongs to one account: the
//! web client of a guest has its own.

mod index;
mod kept;
mod load;

pub(crate) use index::{Kind, Match, Query};
pub(crate) use kept::{Search, Wanted};
pub(crate) use load::{Account, Missing, Work};
