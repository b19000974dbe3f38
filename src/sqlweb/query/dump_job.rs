//! A dump as a request asks for it.

use super::job::Job;

/// Contents and source of a dump.
pub(crate) struct DumpJob {
    /// To whom it belongs; its database is the one that is dumped, its text what a log says of it.
    pub(crate) job: Job,
    /// Tables, views and sequences; all of the database where there are none.
    pub(crate) tables: Vec<String>,
    /// The statements that make them.
    pub(crate) structure: bool,
    /// Their rows.
    pub(crate) data: bool,
    /// Procedures, functions and packages.
    pub(crate) routines: bool,
    /// The tables' triggers.
    pub(crate) triggers: bool,
    /// Events.
    pub(crate) events: bool,
    /// True if what is there already is dropped before it is made.
    pub(crate) drop: bool,
    /// True if views and programs keep who they run as.
    pub(crate) definers: bool,
    /// True if the database is made and entered.
    pub(crate) create_database: bool,
}

impl DumpJob {
    /// The database.
    pub(crate) fn db(&self) -> &str {
        self.job.db.as_deref().unwrap_or_default()
    }

    /// Bytes that it holds while it waits for its download.
    pub(super) fn size(&self) -> usize {
        let names: usize = self.tables.iter().map(|name| name.len() + 24).sum();
        self.db().len() + self.job.sql.len() + names
    }
}
