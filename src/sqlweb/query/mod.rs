//! The way of one statement from a request to its rows.

mod budget;
mod execute;
mod job;
mod noted;
mod statement;
mod tickets;
mod time_zone;
mod utf8;

pub(super) use budget::RowBudget;
pub(super) use execute::{enter, execute, execute_as};
pub(super) use job::Job;
pub(super) use tickets::{Export, Tickets};
pub(super) use time_zone::TimeZone;
