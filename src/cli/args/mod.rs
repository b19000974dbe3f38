//! Command lines: one table of all commands and flags, and what reads a line by it.

pub(super) mod app;
pub(super) mod command;
pub(super) mod completion;
pub(super) mod help;
pub(super) mod operations;
pub(super) mod root;
pub(super) mod table;
pub(super) mod values;
