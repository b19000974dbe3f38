//! The way of one statement from a request to its rows.

pub(super) mod budget;
pub(super) mod execute;
pub(super) mod job;
pub(super) mod statement;
pub(super) mod tickets;
