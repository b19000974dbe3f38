//! A guest's account: a temporary account on the database server that may `SELECT` what is listed and nothing else.
//!
//! ```text
//! record written ─> CREATE USER ─> GRANT SELECT … ─> proof: signed in, sees what is listed ─> used by the web client
//!      every step may be the last: the next start for the same database sweeps by the records (sweep)
//! the end: locked ─> its connections killed ─> DROP USER ─> record removed
//! ```
//!
//! What is listed is granted table by table: a grant on a database would take `_` and `%` of its name for wildcards, and
//! tables that are made later would come with it. `SHOW VIEW` is never granted: a view's text tells of other tables.

mod account;
mod expand;
mod lifecycle;
mod proof;
mod records;
mod statements;
mod sweep;

use std::fmt;

pub(super) use expand::objects;
pub(super) use lifecycle::{Failure, Guest, begin, sweep_left};

/// Why there is no guest's account.
#[derive(Debug)]
pub(crate) struct NoGuest {
    /// What happened.
    pub(crate) message: String,
    /// What to try.
    pub(crate) hint: String,
}

impl NoGuest {
    fn new(message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            hint: hint.into(),
        }
    }
}

impl fmt::Display for NoGuest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "guest account: {}", self.message)
    }
}
