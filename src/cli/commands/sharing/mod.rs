//! Shares that last as long as a command.

pub(super) mod alone;
pub(super) mod counts;
pub(super) mod line;
pub(super) mod progress;
pub(super) mod session;
