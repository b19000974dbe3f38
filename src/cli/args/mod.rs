//! Command lines: one table of all commands and flags, and what reads a line by it.

pub(super) mod command;
pub(super) mod flags;
pub(super) mod share;
pub(super) mod table;
pub(super) mod values;
