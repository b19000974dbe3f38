//! What is shared for as long as a command runs, whatever command that is.

pub(super) mod alone;
pub(super) mod figures;
pub(super) mod line;
pub(super) mod session;
pub(super) mod teller;
