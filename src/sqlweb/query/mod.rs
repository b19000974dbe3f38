//! Executes the statements of requests, and keeps downloads that wait to be fetched.

mod budget;
mod execute;
mod hiding;
mod job;
mod noted;
mod raw;
mod row_count;
mod statement;
mod tickets;

pub(super) use budget::{RowBudget, RowPermit};
pub(super) use execute::{dialect_now, enter, execute, execute_as, no_accounts};
pub(super) use job::TimeZone;
pub(super) use job::{DumpJob, Job, TextOrigin};
pub(super) use noted::{note, verdict};
pub(super) use statement::{RunContext, run};
#[cfg(test)]
pub(super) use tickets::Ticket;
pub(super) use tickets::{Download, Export, Tickets};
