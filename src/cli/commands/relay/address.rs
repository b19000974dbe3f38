//! Where a relay listens.

use std::net::SocketAddr;

use crate::cli::args::command::Flag;
use crate::cli::args::table::relay::COMMAND;
use crate::cli::args::values::socket_address;
use crate::cli::failure::Failure;

/// The address that a flag gives.
pub(super) fn address(flag: &Flag, text: &str) -> Result<SocketAddr, Failure> {
    let reason = "give ADDRESS:PORT, such as 0.0.0.0:8180 or [::]:8180";
    socket_address(text).ok_or_else(|| COMMAND.refuse(flag, text, reason))
}
