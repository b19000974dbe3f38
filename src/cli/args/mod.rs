//! Command lines: one table of all commands and flags, the parser, help and completion that use it.

pub(super) mod app;
pub(super) mod command;
pub(super) mod help;
pub(super) mod operations;
pub(super) mod root;
pub(super) mod table;
pub(super) mod values;
